from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.generation.fallback import best_executable
from hazardmill.generation.refine import DraftAttempt, RecordResult
from hazardmill.generation.wave import refine
from hazardmill.records import Outcome
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store

from .support import APPROVED, FOUND, REJECTED, SOUP, faulty, fenced, opened, record


@pytest.fixture
def milled(store: Store, jail: Jail):
    def milled(*codes: str, judge: str = APPROVED) -> RecordResult:
        backend = ScriptedBackend(extract=FOUND, author=[fenced(code) for code in codes], judge=judge)
        with opened(store, backend, jail) as mill:
            return asyncio.run(refine(record(), mill))

    return milled


def number(attempts: Sequence[DraftAttempt]) -> int | None:
    best = best_executable(attempts)
    return None if best is None else best.draft.number


LEAKED = faulty("leaked_name")
TWICE = LEAKED.replace("requires(~slow)", "requires(~slow, window_is_open)")


def test_of_drafts_that_search_passed_the_one_with_the_most_lines_counts_then_the_latest(milled) -> None:
    done = milled(LEAKED, TWICE, LEAKED + "\n", faulty("no_safe_plan"), faulty("syntax"))
    assert done.outcome is Outcome.EXECUTION_FAILED
    assert number(done.attempts) == 3
    assert number(done.attempts[:2]) == 1
    assert number(done.attempts[1:2]) == 2
    # It does not hang on the order in which they are given.
    assert {number(order) for order in itertools.permutations(done.attempts)} == {3}


def test_a_draft_that_only_the_judge_refused_holds_every_line(milled) -> None:
    done = milled(LEAKED, SOUP, LEAKED + "\n", LEAKED + "\n\n", LEAKED, judge=REJECTED)
    assert number(done.attempts) == 2


def test_without_an_executable_draft_there_is_none(milled) -> None:
    done = milled(*map(faulty, ("syntax", "exception", "no_unsafe_plan", "no_safe_plan", "goal_unreachable")))
    assert len(done.attempts) == 5
    assert best_executable(done.attempts) is None
    assert best_executable(()) is None


def test_an_accepted_record_has_none(milled) -> None:
    done = milled(LEAKED, SOUP)
    assert done.outcome is Outcome.ACCEPTED
    assert best_executable(done.attempts) is None


def test_a_draft_of_a_danger_that_was_sent_back_is_not_kept(milled) -> None:
    first, *others = milled(LEAKED, *map(faulty, ("syntax", "exception", "syntax", "exception"))).attempts
    again = [replace(each, draft=each.draft.model_copy(update={"round": 2})) for each in others]
    assert number([first, *others]) == 1
    assert number([first, *again]) is None
