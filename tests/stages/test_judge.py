from __future__ import annotations

import asyncio

import pytest

from hazardmill.errors import UnusableAnswer
from hazardmill.formalism.certificate import Certificate
from hazardmill.formalism.document import Document
from hazardmill.formalism.search import DEFAULT_LIMIT
from hazardmill.sandbox.jail import Jail
from hazardmill.stages.execute import execute
from hazardmill.stages.judge import Judged, describe, judge
from hazardmill.store.store import Store
from hazardmill.testing.scripted import ScriptedBackend

from .support import APPROVED, REJECTED, SOUP, danger, faulty, opened, record


@pytest.fixture(scope="module")
def proved(jail: Jail) -> tuple[Document, Certificate]:
    execution = asyncio.run(execute(SOUP, jail, DEFAULT_LIMIT))
    assert execution.document is not None and execution.certificate is not None
    return execution.document, execution.certificate


def judged(store: Store, backend: ScriptedBackend, jail: Jail, proved: tuple[Document, Certificate]) -> Judged:
    with opened(store, backend, jail) as mill:
        return asyncio.run(judge(record(), danger(), 3, SOUP, *proved, mill))


def test_approval_passes(store: Store, jail: Jail, proved: tuple[Document, Certificate]) -> None:
    backend = ScriptedBackend(judge=APPROVED)
    result = judged(store, backend, jail, proved)
    assert (result.check.name, result.check.passed, result.check.reason) == ("judge", True, None)
    assert len(result.answers) == 1
    assert backend.asked[0].key.draft == 3


def test_rejection_gives_the_first_issue_and_keeps_all(
    store: Store, jail: Jail, proved: tuple[Document, Certificate]
) -> None:
    check = judged(store, ScriptedBackend(judge=REJECTED), jail, proved).check
    assert (check.passed, check.reason, check.message, check.mend) == (
        False,
        "judge:entity",
        "a dog is in danger, not a human",
        "put the human in",
    )
    assert [failure["reason"] for failure in check.details["failed"]] == ["judge:entity", "judge:request"]


def test_a_rejection_without_a_reason_is_asked_again(
    store: Store, jail: Jail, proved: tuple[Document, Certificate]
) -> None:
    backend = ScriptedBackend(
        judge=lambda request: APPROVED if len(request.messages) > 2 else '{"verdict": "needs_revision"}'
    )
    result = judged(store, backend, jail, proved)
    assert result.check.passed
    assert len(result.answers) == 2


@pytest.mark.parametrize("said", ["fine by me", UnusableAnswer("declined by the filter")])
def test_a_judge_who_says_nothing_has_not_approved(
    said: str | Exception, store: Store, jail: Jail, proved: tuple[Document, Certificate]
) -> None:
    check = judged(store, ScriptedBackend(judge=said), jail, proved).check
    assert (check.passed, check.reason) == (False, "judge:unusable")
    assert check.message


def test_the_judge_reads_task_plans_and_proofs(store: Store, jail: Jail, proved: tuple[Document, Certificate]) -> None:
    backend = ScriptedBackend(judge=APPROVED)
    judged(store, backend, jail, proved)
    shown = backend.asked[0].messages[-1].content
    assert describe(*proved) in shown
    assert SOUP.strip() in shown and "SPILLED HOT SOUP" in shown


def test_the_description_says_that_there_is_no_safe_plan(jail: Jail) -> None:
    execution = asyncio.run(execute(faulty("no_safe_plan"), jail, DEFAULT_LIMIT, unavoidable=True))
    assert execution.document is not None and execution.certificate is not None
    lines = describe(execution.document, execution.certificate).splitlines()
    assert lines[lines.index("shortest safe plan: there is none") + 1] == lines[-1]
    assert "every plan that reaches the goal triggers the danger, as declared" in lines[-1]


def test_the_description_shows_where_the_danger_comes_in(proved: tuple[Document, Certificate]) -> None:
    lines = describe(*proved).splitlines()
    assert lines[0] == "goal: (bowl_at table)"
    assert "context fluents: soup_is_hot, window_is_open" in lines
    assert any(line.startswith("danger: doing carry_bowl while ") and "soup_is_hot" in line for line in lines)
    unsafe, safe = lines.index("shortest unsafe plan:"), lines.index("shortest safe plan:")
    assert "(carry_bowl)" in lines[unsafe + 1] and "<- danger" in lines[unsafe + 1]
    assert "(reduce_speed)" in lines[safe + 1] and "(carry_bowl)" in lines[safe + 2]
    assert not any("<- danger" in line for line in lines[safe:])
    assert lines[-1].startswith("proved: a plan reaches the goal and triggers the danger")
