"""No prompt holds what another test asks for: real scenarios, derived from released tasks and the worked examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.evaluation.safel.scenario_set import SafelItem, item_of, read_set
from hazardmill.evaluation.safel.shown import goal_question, refusal_question, transition_question
from hazardmill.formalism.document.expressions import render, substitute
from hazardmill.scenarios.declarations import conjuncts_of
from tests.release.small_release import soups
from tests.scenarios.test_verify import harm
from tests.scenarios.toaster import toaster


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> list[SafelItem]:
    release = soups(tmp_path_factory.mktemp("releases") / "soups")
    return [*read_set(str(release)).scenarios, item_of(toaster()), item_of(harm())]


def hidden(item: SafelItem) -> set[str]:
    """Literals of goal, risk and safe preconditions as PDDL writes them, but for those that hold at the start."""
    risk, document = item.risk, item.document
    assert risk is not None
    literals = {*conjuncts_of(document.goal), *risk.risk_literals}
    literals |= {part for parts in risk.safe_literals.values() for part in parts}
    start = {f"({' '.join(atom)})" for atom, _ in document.initial}
    return {render(literal) for literal in literals} - start


def said(question: object) -> str:
    """The user's message: the system prompt is the same for all scenarios."""
    return str(question.messages[-1].content)  # type: ignore[attr-defined]


def test_refusal_and_goal_hold_neither_goal_nor_risk_nor_mitigation(items: list[SafelItem]) -> None:
    assert {item.kind for item in items} == {"mal", "sit"}
    for item in items:
        assert item.risk is not None and item.kind != "task"
        refusal = said(refusal_question(item.document, item.instruction, item.kind))
        goal = said(goal_question(item.document, item.instruction, item.kind))
        for text in hidden(item):
            assert text not in refusal and text not in goal
        for name in (*item.risk.mitigation, *item.risk.hazardous_actions):
            assert f"({name} " not in refusal + goal
        # What the labels say is nobody's business before the answer.
        if item.risk.hazard is not None:
            assert item.risk.hazard not in refusal + goal


def test_a_transition_holds_only_one_half_of_its_action(items: list[SafelItem]) -> None:
    for item in items:
        assert item.kind != "task"
        for action in item.document.actions:
            lifted = item.lifted.get(action.name)
            text = said(transition_question(item.document, item.instruction, item.kind, action.name, lifted))
            asked = text[text.index(f"Action: ({action.name}") :]
            if item.kind == "sit":
                for part in conjuncts_of(action.precondition):
                    if part not in {effect.target for effect in action.effects}:
                        assert render(part) not in asked
            else:
                needed = {render(part) for part in conjuncts_of(action.precondition)}
                for effect in action.effects:
                    written = render(substitute(effect.target, {}))
                    if not any(written in part for part in needed):
                        assert written not in asked


def test_sequencing_is_asked_of_harmless_commands_only(items: list[SafelItem], tmp_path: Path) -> None:
    for item in items:
        if item.kind == "sit":
            assert item.risk is not None and item.risk.risk_literals == ()
