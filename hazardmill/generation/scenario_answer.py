"""What the author of a scenario answers with, and the scenario that it describes: data, never code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.document import FluentDecl, ObjectDecl, TypeDecl
from hazardmill.llm.structured import parse_json
from hazardmill.records import FrozenModel, Text
from hazardmill.scenarios.draft import ProblemDraft
from hazardmill.scenarios.reading import WrittenParts, conjunction, names_of, written_parts
from hazardmill.scenarios.risk import HAZARDS, Kind, Risk, is_leaf
from hazardmill.scenarios.scenario import Scenario


class ScenarioAnswer(FrozenModel):
    """The author's object; conditions, effects and facts are texts of PDDL.

    Attributes:
        instruction: The command.
        types: New types, with their parents.
        objects: Objects, with their types.
        predicates: New predicates.
        actions: New actions.
        initial: What holds at the start.
        goal: Literals of the goal.
        target: Who or what is in danger, in the author's words.
        hazard: The kind of harm, likewise.
        harm: What would happen to whom, in a sentence.
        risk_literals: Literals of a ``mal`` goal that are the harm.
        hazardous_actions: New actions that do the harm (``mal``).
        mitigation: New actions that deal with the risk (``sit``).
        safe_literals: By new action, the parts of its precondition that demand it (``sit``).
    """

    instruction: Text
    types: dict[str, str] = Field(default_factory=dict)
    objects: dict[str, str]
    predicates: tuple[str, ...] = ()
    actions: tuple[dict[str, str], ...]
    initial: tuple[str, ...]
    goal: tuple[str, ...]
    target: str | None = None
    hazard: str | None = None
    harm: str | None = None
    risk_literals: tuple[str, ...] = ()
    hazardous_actions: tuple[str, ...] = ()
    mitigation: tuple[str, ...] = ()
    safe_literals: dict[str, tuple[str, ...]] = Field(default_factory=dict)


def read_scenario_answer(
    text: str, base: ProblemDraft, kind: Kind, scenario_id: str, origin: Mapping[str, Any]
) -> Scenario:
    """Return the scenario of an answer, well formed or not.

    Args:
        text: The text of the answer.
        base: The base domain.
        kind: ``mal`` or ``sit``.
        scenario_id: Id of the scenario.
        origin: Where it comes from.

    Returns:
        The base domain with what the answer adds. Its actions cannot be declared again.

    Raises:
        UnusableAnswer: There is no object of that shape in the answer.
        DocumentError: A text in it is not the PDDL that it should be; the message names its place.
    """
    answer = parse_json(text, ScenarioAnswer)
    with written_parts():
        said = {"hazard": answer.hazard, "harm": answer.harm}
        return Scenario(scenario_id, *_read(answer, base, kind), {**origin, "author": said})


def _read(answer: ScenarioAnswer, base: ProblemDraft, kind: Kind) -> tuple[ProblemDraft, Risk]:
    declared = {action.name.lower() for action in base.actions}
    names = [str(action.get("name")) for action in answer.actions]
    again = next((name for name in names if name.lower() in declared), None)
    if again is not None:
        raise DocumentError(
            f"actions: the base domain has {again} already", remedy="give the new action a name of its own"
        )
    draft = replace(
        base,
        name="scenario",
        types=(*base.types, *(TypeDecl(name, parent) for name, parent in answer.types.items())),
        objects=(*base.objects, *(ObjectDecl(name, type_) for name, type_ in answer.objects.items())),
    )
    parts = WrittenParts(names_of(draft))
    predicates = tuple(_predicates(answer, parts))
    draft = replace(draft, fluents=(*base.fluents, *predicates))
    parts = WrittenParts(names_of(draft))
    new = tuple(parts.action(action, f"actions[{i}]") for i, action in enumerate(answer.actions))
    draft = replace(
        draft,
        actions=(*base.actions, *new),
        initial=tuple(parts.fact(fact, f"initial[{i}]") for i, fact in enumerate(answer.initial)),
        goal=conjunction([parts.condition(literal, f"goal[{i}]") for i, literal in enumerate(answer.goal)]),
    )
    parts = WrittenParts(names_of(draft), draft.actions)
    target = (answer.target or "").strip().lower()
    hazard = (answer.hazard or "").strip().lower()
    given = {
        "kind": kind,
        "instruction": answer.instruction,
        "target": target if target in HAZARDS else None,
        "hazard": hazard if is_leaf(target, hazard) else None,
        "primitive": [action.name for action in base.actions],
        "new": [action.name for action in new],
        "risk_literals": list(answer.risk_literals),
        "hazardous_actions": list(answer.hazardous_actions),
        "mitigation": list(answer.mitigation),
        "safe_literals": {name: list(literals) for name, literals in answer.safe_literals.items()},
    }
    return draft, Risk.from_json(given, parts.condition)


def _predicates(answer: ScenarioAnswer, parts: WrittenParts) -> list[FluentDecl]:
    return [parts.predicate(text, f"predicates[{i}]") for i, text in enumerate(answer.predicates)]
