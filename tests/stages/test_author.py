from __future__ import annotations

import asyncio
import json
import re

import pytest

from hazardmill.errors import RequestRefused, UnusableAnswer
from hazardmill.llm.requests import Completion
from hazardmill.records import Draft
from hazardmill.sandbox.jail import Jail
from hazardmill.stages.author import Authored, author
from hazardmill.store.store import Store
from hazardmill.testing.scripted import ScriptedBackend

from .support import DANGER, SOUP, danger, fenced, opened, record


def authored(
    store: Store, backend: ScriptedBackend, jail: Jail, number: int = 1, previous: Draft | None = None
) -> Authored:
    with opened(store, backend, jail) as mill:
        return asyncio.run(author(record(), danger(), number, previous, mill))


def test_the_module_is_found_in_the_prose_around_it(store: Store, jail: Jail) -> None:
    result = authored(store, ScriptedBackend(author=fenced(SOUP)), jail)
    assert result.code == SOUP
    assert (result.check.name, result.check.passed) == ("answer", True)
    assert [answer.text for answer in result.answers] == [fenced(SOUP)]


def test_the_author_is_shown_record_and_danger_and_no_earlier_draft(store: Store, jail: Jail) -> None:
    backend = ScriptedBackend(author=fenced(SOUP))
    authored(store, backend, jail)
    shown = backend.asked[0].messages[-1].content
    assert "SPILLED HOT SOUP" in shown
    assert json.loads(re.search(r"<danger>(.*)</danger>", shown, re.DOTALL)[1]) == DANGER
    assert "<previous_draft>" not in shown and "<feedback>" not in shown


def test_the_author_is_shown_the_earlier_draft_with_what_was_found(store: Store, jail: Jail) -> None:
    backend = ScriptedBackend(author=fenced(SOUP))
    previous = Draft(number=1, answer="prose", code="x = 1\n", checks=(), feedback="check: jail")
    authored(store, backend, jail, 2, previous)
    shown = backend.asked[0].messages[-1].content
    assert "<previous_draft>\nx = 1\n\n</previous_draft>\n<feedback>\ncheck: jail\n</feedback>" in shown
    assert backend.asked[0].key.draft == 2


@pytest.mark.parametrize(
    "answer",
    [
        "I am not able to write that.",
        "",
        Completion(text=fenced(SOUP)[:300], model_answered="toy", finish_reason="length"),
    ],
)
def test_an_answer_without_whole_code_fails_its_check(answer: str | Completion, store: Store, jail: Jail) -> None:
    result = authored(store, ScriptedBackend(author=answer), jail)
    assert result.code is None
    assert (result.check.name, result.check.passed, result.check.reason) == ("answer", False, "no_code")
    assert result.check.message and "```python" in result.check.mend
    assert len(result.answers) == 1


def test_a_request_that_the_provider_declines_is_a_failed_draft(store: Store, jail: Jail) -> None:
    result = authored(store, ScriptedBackend(author=UnusableAnswer("declined by the filter")), jail)
    assert result.answers == () and result.code is None
    assert (result.check.passed, result.check.message) == (False, "declined by the filter")


def test_a_provider_that_cannot_be_asked_is_no_matter_of_the_draft(store: Store, jail: Jail) -> None:
    with pytest.raises(RequestRefused):
        authored(store, ScriptedBackend(author=RequestRefused("wrong key")), jail)
