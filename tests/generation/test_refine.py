from __future__ import annotations

import asyncio
import re

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.errors import ProviderDown, RequestRefused, UnusableAnswer
from hazardmill.generation.models import Models
from hazardmill.generation.refine import RecordResult
from hazardmill.generation.wave import refine
from hazardmill.llm.requests import Completion, Usage
from hazardmill.records import MAX_DRAFTS, Outcome
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store

from .support import (
    APPROVED,
    FOUND,
    NOBODYS_ERRAND,
    NONE,
    OTHER,
    REJECTED,
    SOUP,
    THINGS,
    TOY_USD,
    UNAVOIDABLE,
    again,
    faulty,
    fenced,
    opened,
    record,
    soup,
)

ALL_CHECKS = ["answer", "policy", "jail", "document", "search", "certificate", "pddl", "formalization", "judge"]


FIVE = [fenced(soup(thing)) for thing in THINGS[:5]]
"""Five good drafts, each another one."""


def milled(store: Store, backend: ScriptedBackend, jail: Jail, **fields: object) -> RecordResult:
    with opened(store, backend, jail, **fields) as mill:
        return asyncio.run(refine(record(), mill))


def scripted(**script: object) -> ScriptedBackend:
    return ScriptedBackend(**({"extract": FOUND, "author": fenced(SOUP), "judge": APPROVED} | script))


def shown(backend: ScriptedBackend, draft: int, block: str) -> str | None:
    """What the author was shown in a block of its request for a draft."""
    (request,) = [r for r in backend.asked if r.stage == "author" and r.key.draft == draft]
    found = re.search(rf"<{block}>\n(.*?)\n</{block}>", request.messages[-1].content, re.DOTALL)
    return found[1] if found else None


def test_a_good_first_draft_is_accepted(store: Store, jail: Jail) -> None:
    backend = scripted()
    result = milled(store, backend, jail)
    assert (result.outcome, result.reason, result.message) == (Outcome.ACCEPTED, None, None)
    assert result.accepted is result.attempts[0]
    draft = result.accepted.draft
    assert draft.accepted and draft.feedback is None and draft.code == SOUP
    assert [(check.name, check.passed) for check in draft.checks] == [(name, True) for name in ALL_CHECKS]
    assert draft.document == result.accepted.execution.document.to_json()
    assert [r.stage for r in backend.asked] == ["extract", "author", "judge"]
    assert draft.identities == tuple(r.identity("scripted", None) for r in backend.asked[1:])


def test_a_draft_is_mended_by_what_the_checks_said(store: Store, jail: Jail) -> None:
    first, second = faulty("syntax"), faulty("leaked_name")
    backend = scripted(author=[fenced(first), fenced(second), fenced(SOUP)])
    result = milled(store, backend, jail)
    assert result.outcome is Outcome.ACCEPTED
    assert [attempt.draft.number for attempt in result.attempts] == [1, 2, 3]
    assert shown(backend, 1, "feedback") is None
    for draft, code, reason in ((2, first, "syntax"), (3, second, "leaked_name")):
        said = result.attempts[draft - 2].draft.feedback
        assert f"reason: {reason}" in said
        assert shown(backend, draft, "feedback") == said
        assert shown(backend, draft, "previous_draft").strip() == code.strip()
    assert backend.count("judge") == 1


def test_an_unavoidable_danger_goes_all_the_way_once_no_plan_avoids_it(store: Store, jail: Jail) -> None:
    backend = scripted(extract=UNAVOIDABLE, author=[fenced(SOUP), fenced(faulty("no_safe_plan"))])
    result = milled(store, backend, jail)
    assert (result.outcome, len(result.attempts)) == (Outcome.ACCEPTED, 2)
    assert "reason: safe_plan_though_unavoidable" in shown(backend, 2, "feedback")
    certificate = result.accepted.execution.certificate
    assert (certificate.solution.safe, certificate.solution.unsafe_text) == (None, "(carry_bowl)")
    assert certificate.twin == ("soup_is_hot",)
    assert "safe plan: there is none" in backend.asked[-1].messages[-1].content


def test_five_failed_executions_end_the_record(store: Store, jail: Jail) -> None:
    reasons = ["syntax", "policy", "goal_unreachable", "leaked_name", "no_safe_plan"]
    backend = scripted(author=[fenced(faulty(reason)) for reason in reasons])
    result = milled(store, backend, jail)
    assert result.outcome is Outcome.EXECUTION_FAILED
    assert result.reason == "no_safe_plan"
    assert "no plan reaches the goal without the danger" in result.message
    assert result.accepted is None
    assert len(result.attempts) == MAX_DRAFTS
    assert [attempt.draft.feedback is None for attempt in result.attempts] == [False] * 4 + [True]
    assert backend.count("judge") == 0


def test_a_judge_who_rejects_five_times_ends_the_record(store: Store, jail: Jail) -> None:
    backend = scripted(author=FIVE, judge=REJECTED)
    result = milled(store, backend, jail)
    assert result.outcome is Outcome.QUALITY_FAILED
    assert (result.reason, result.message) == ("judge:entity", "a dog is in danger, not a human")
    assert backend.count("judge") == MAX_DRAFTS
    assert "reason: judge:entity" in shown(backend, 2, "feedback")
    assert "mend: ask for something else" in shown(backend, 2, "feedback")


def test_author_and_judge_are_told_what_judges_said_of_all_drafts_before(store: Store, jail: Jail) -> None:
    drafts = [FIVE[0], FIVE[1], fenced(faulty("syntax")), FIVE[2]]
    backend = scripted(author=drafts, judge=[REJECTED, REJECTED, APPROVED])
    result = milled(store, backend, jail)
    assert (result.outcome, len(result.attempts)) == (Outcome.ACCEPTED, 4)
    first, second, third, _ = (attempt.draft.feedback for attempt in result.attempts)
    assert shown(backend, 3, "feedback") == f"{first}\n\n{second}"
    # What a proof says is proved anew: it is told of the last draft alone.
    assert shown(backend, 4, "feedback") == f"{first}\n\n{second}\n\n{third}" and "reason: syntax" in third
    judged = [request.messages[-1].content for request in backend.asked if request.stage == "judge"]
    told = [text.partition("<said_before>\n")[2].partition("\n</said_before>")[0] for text in judged]
    assert told == ["", first, f"{first}\n\n{second}"]


def test_a_draft_that_comes_back_unchanged_is_judged_and_paid_once(store: Store, jail: Jail) -> None:
    backend = scripted(judge=REJECTED)
    result = milled(store, backend, jail)
    assert result.outcome is Outcome.QUALITY_FAILED and len(result.attempts) == MAX_DRAFTS
    assert (backend.count("author"), backend.count("judge")) == (5, 1)
    assert result.usd == pytest.approx(7 * TOY_USD)


def test_a_danger_that_the_judge_sends_back_is_asked_for_once_more_and_drafts_begin_anew(
    store: Store, jail: Jail
) -> None:
    author = [fenced(faulty("syntax")), fenced(soup("bowl")), fenced(faulty("policy")), fenced(soup("cup"))]
    backend = scripted(extract=again(OTHER), author=author, judge=[APPROVED, NOBODYS_ERRAND, APPROVED])
    result = milled(store, backend, jail)
    assert (result.outcome, backend.count("extract"), backend.count("judge")) == (Outcome.ACCEPTED, 2, 2)
    drafts = [attempt.draft for attempt in result.attempts]
    assert [(draft.number, draft.round) for draft in drafts] == [(1, 1), (2, 1), (3, 2), (4, 2)]
    # The first draft of the new danger knows nothing of those before; of the one that was sent back nobody was told.
    assert [shown(backend, number, "feedback") is None for number in (1, 2, 3, 4)] == [True, False, True, False]
    assert drafts[1].feedback is None and shown(backend, 3, "previous_draft") is None
    assert "Bring the cup" in shown(backend, 3, "danger") and "Bring the bowl" in shown(backend, 2, "danger")
    extraction = result.extraction
    assert (extraction.round, extraction.danger.robot_task) == (2, "Bring the cup to the table.")
    assert (extraction.sent_back.draft, extraction.sent_back.danger.robot_task) == (2, "Bring the bowl to the table.")
    asked = [request for request in backend.asked if request.stage == "extract"]
    assert asked[1].messages[0] == asked[0].messages[0]
    assert asked[1].messages[1].content.startswith(asked[0].messages[1].content)
    assert "nobody has that errand (mend: another)" in asked[1].messages[1].content
    assert "nobody asks for that" not in asked[1].messages[1].content, "that is of the draft"
    assert len(extraction.answers) == 2 and result.usd == pytest.approx(8 * TOY_USD)
    # Each request has a key of its own, whatever the prompts say.
    keys = [(request.key.stage, request.key.round, request.key.draft) for request in backend.asked]
    assert keys == [
        *(("extract", 1, None), ("author", 1, 1), ("author", 1, 2), ("judge", 1, 2)),
        *(("extract", 2, None), ("author", 2, 3), ("author", 2, 4), ("judge", 2, 4)),
    ]


def test_a_danger_is_sent_back_once_and_all_drafts_together_are_five(store: Store, jail: Jail) -> None:
    backend = scripted(extract=again(OTHER), author=FIVE, judge=NOBODYS_ERRAND)
    result = milled(store, backend, jail)
    assert (result.outcome, result.reason) == (Outcome.QUALITY_FAILED, "judge:formalization")
    assert [attempt.draft.round for attempt in result.attempts] == [1, 2, 2, 2, 2]
    assert (backend.count("extract"), backend.count("author"), backend.count("judge")) == (2, 5, 5)
    # From then on it is feedback like any other.
    assert "reason: judge:formalization" in shown(backend, 3, "feedback")


def test_the_last_draft_sends_no_danger_back(store: Store, jail: Jail) -> None:
    author = [fenced(faulty(reason)) for reason in ("syntax", "policy", "leaked_name", "no_safe_plan")]
    backend = scripted(extract=again(OTHER), author=[*author, fenced(SOUP)], judge=NOBODYS_ERRAND)
    result = milled(store, backend, jail)
    assert (result.outcome, backend.count("extract"), result.extraction.sent_back) == (Outcome.QUALITY_FAILED, 1, None)


def test_a_record_that_is_then_declined_ends_so_with_its_drafts(store: Store, jail: Jail) -> None:
    backend = scripted(extract=again(NONE), judge=NOBODYS_ERRAND)
    result = milled(store, backend, jail)
    assert (result.outcome, result.reason, result.message) == (Outcome.NO_DANGER, "no_robot_part", "nothing but sport")
    assert (len(result.attempts), result.extraction.round, result.accepted) == (1, 2, None)


@pytest.mark.parametrize(("said", "answers"), [("prose", 3), (FOUND, 1)])
def test_without_another_danger_the_first_one_is_gone_on_with_and_extraction_left_in_peace(
    said: str, answers: int, store: Store, jail: Jail
) -> None:
    backend = scripted(extract=again(said), author=FIVE, judge=[NOBODYS_ERRAND, NOBODYS_ERRAND, APPROVED])
    result = milled(store, backend, jail)
    assert (result.outcome, result.extraction.round) == (Outcome.ACCEPTED, 1)
    assert [attempt.draft.round for attempt in result.attempts] == [1, 1, 1]
    assert backend.count("extract") == len(result.extraction.answers) == 1 + answers
    assert "reason: judge:formalization" in shown(backend, 2, "feedback")
    assert result.extraction.sent_back.draft == 1


def test_the_last_draft_decides_which_outcome(store: Store, jail: Jail) -> None:
    backend = scripted(author=[fenced(faulty("syntax")), fenced(SOUP)], judge=REJECTED)
    assert milled(store, backend, jail).outcome is Outcome.QUALITY_FAILED
    backend = scripted(author=[fenced(SOUP), fenced(faulty("syntax"))], judge=REJECTED)
    assert milled(Store.open(store.path.parent / "other", create=True), backend, jail).outcome is (
        Outcome.EXECUTION_FAILED
    )


def test_no_danger_ends_the_record_without_a_draft(store: Store, jail: Jail) -> None:
    backend = scripted(extract=NONE)
    result = milled(store, backend, jail)
    assert (result.outcome, result.reason, result.message) == (Outcome.NO_DANGER, "no_robot_part", "nothing but sport")
    assert result.attempts == () and backend.count() == 1


def test_an_extraction_that_stays_unusable_ends_the_record(store: Store, jail: Jail) -> None:
    result = milled(store, scripted(extract="prose"), jail)
    assert (result.outcome, result.reason) == (Outcome.EXTRACTION_FAILED, "unusable_answer")
    assert "no JSON object" in result.message
    assert result.attempts == ()


def test_an_answer_without_code_is_shown_again_as_it_came(store: Store, jail: Jail) -> None:
    backend = scripted(author=["Let me think about soup.", fenced(SOUP)])
    result = milled(store, backend, jail)
    assert result.outcome is Outcome.ACCEPTED
    first = result.attempts[0].draft
    assert (first.answer, first.code, first.document) == ("Let me think about soup.", None, None)
    assert [(check.name, check.passed) for check in first.checks] == [
        ("answer", False),
        *((name, None) for name in ALL_CHECKS[1:]),
    ]
    assert shown(backend, 2, "previous_draft") == "Let me think about soup."
    assert "reason: no_code" in shown(backend, 2, "feedback")


def test_what_needs_a_failed_check_is_unknown_not_failed(store: Store, jail: Jail) -> None:
    result = milled(store, scripted(author=[fenced(faulty("dead_action")), fenced(SOUP)]), jail)
    passed = {check.name: check.passed for check in result.attempts[0].draft.checks}
    # The formalization is held against the document, whatever is proved of it.
    assert passed == dict(zip(ALL_CHECKS, [True] * 5 + [False, None, True, None], strict=True))


def test_a_draft_that_the_provider_declines_costs_a_draft_and_not_the_run(store: Store, jail: Jail) -> None:
    backend = scripted(author=[UnusableAnswer("declined by the filter"), fenced(SOUP)])
    result = milled(store, backend, jail)
    assert result.outcome is Outcome.ACCEPTED
    assert result.attempts[0].draft.answer is None
    assert result.attempts[0].draft.identities == ()
    # What a declined request cost, nobody knows.
    assert result.attempts[0].usd is None and result.attempts[1].usd is not None
    assert result.usd is None


@pytest.mark.parametrize("stage", ["extract", "author", "judge"])
def test_a_provider_that_cannot_be_asked_leaves_the_record_pending(stage: str, store: Store, jail: Jail) -> None:
    with pytest.raises(RequestRefused):
        milled(store, scripted(**{stage: RequestRefused("no credit")}), jail)


def test_costs_add_up(store: Store, jail: Jail) -> None:
    backend = scripted(extract=["{", FOUND], author=[fenced(faulty("syntax")), fenced(SOUP)])
    result = milled(store, backend, jail)
    assert [attempt.usd for attempt in result.attempts] == pytest.approx([TOY_USD, 2 * TOY_USD])
    assert result.usd == pytest.approx(5 * TOY_USD)


@pytest.mark.parametrize("stage", ["extract", "author", "judge"])
def test_one_unknown_price_makes_the_cost_unknown(stage: str, store: Store, jail: Jail) -> None:
    models = Models(**({"extract": "toy", "author": "toy", "judge": "toy"} | {stage: "new-model"}))
    result = milled(store, scripted(), jail, models=models)
    assert result.outcome is Outcome.ACCEPTED
    assert result.usd is None
    assert (result.accepted.usd is None) == (stage != "extract")


def test_unknown_usage_makes_the_cost_unknown(store: Store, jail: Jail) -> None:
    silent = Completion(text=APPROVED, model_answered="toy", finish_reason="stop", usage=Usage())
    assert milled(store, scripted(judge=silent), jail).usd is None


def test_the_static_part_of_a_prompt_is_the_same_for_all_records_and_drafts(store: Store, jail: Jail) -> None:
    backend = scripted(author=[fenced(faulty("syntax")), *FIVE[1:]], judge=REJECTED)
    with opened(store, backend, jail) as mill:
        for number, text in enumerate(("one", "two {{ 7 * 7 }}"), 1):
            asyncio.run(refine(record(number, text), mill))
    for stage, requests in (("extract", 2), ("author", 10), ("judge", 8)):
        asked = [request for request in backend.asked if request.stage == stage]
        assert len(asked) == requests
        assert {request.messages[0].role for request in asked} == {"system"}
        assert len({request.messages[0].content for request in asked}) == 1
        assert len({str(sorted(request.parameters.items())) for request in asked}) == 1


def test_nothing_answered_is_asked_twice(store: Store, jail: Jail) -> None:
    first = milled(store, scripted(), jail)
    again = scripted(author=ProviderDown("must not be asked"))
    second = milled(store, again, jail)
    assert again.count() == 0
    assert second.outcome is Outcome.ACCEPTED
    assert second.usd == first.usd
    assert {answer.paid for answer in first.accepted.answers} == {True}
    assert {answer.paid for answer in second.accepted.answers} == {True}, "by this run, if not this time"
