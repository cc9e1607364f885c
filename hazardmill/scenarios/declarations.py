"""Whether a draft declares what it uses, uses it as declared, and does not contradict itself."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.document import ROOT_TYPE, FluentDecl
from hazardmill.formalism.document.expressions import Expr, render
from hazardmill.scenarios.draft import ProblemDraft, TypesAbove
from hazardmill.scenarios.risk import Risk
from hazardmill.scenarios.uses import Application, applications, in_condition, objects_compared, types_used

REASONS: Final = {
    "undeclared_type": "A type is used that is not declared.",
    "undeclared_predicate": "A predicate is used that is not declared.",
    "undeclared_object": "An object is used that is not declared.",
    "undeclared_action": "An action is used that is not declared.",
    "repeated_declaration": "A name is declared more than once.",
    "arity": "A predicate has more or fewer arguments than its declaration.",
    "argument_type": "An argument is not of the type that the declaration asks for.",
    "contradictory_initial": "A fact is stated with two values in the initial state.",
    "risk_names_unknown": "The risk names an action or literal that the problem does not have.",
    "malformed": "Anything else for which the problem makes no document.",
}
"""Reason codes with their meanings, in the order of ``CODES``."""

CODES: Final = tuple(REASONS)
"""Reason codes in the order in which they are looked at; ``malformed`` is all else that a document refuses."""


@dataclass(frozen=True, slots=True)
class ScenarioFault:
    """Something that keeps a scenario from being used.

    Attributes:
        code: A reason code.
        path: The part of the scenario that is concerned.
        message: What is wrong with it.
        remedy: What to do about it.
    """

    code: str
    path: str
    message: str
    remedy: str

    @property
    def text(self) -> str:
        """All of it in a line."""
        return f"{self.code}: {self.path}: {self.message}; {self.remedy}"


def declaration_problems(draft: ProblemDraft, risk: Risk | None = None) -> list[ScenarioFault]:
    """Return what is wrong with a draft's declarations, types and initial facts.

    Args:
        draft: The problem.
        risk: Its risk, if it has one.

    Returns:
        Problems in the order of ``CODES``, and of the draft within a code; empty if it makes a document.
    """
    found = [*_of_draft(draft), *(() if risk is None else _of_risk(draft, risk))]
    if not found:
        try:
            draft.document()
        except DocumentError as error:
            path, _, message = error.message.partition(": ")
            found = [ScenarioFault("malformed", path, message or error.message, error.remedy or "write it differently")]
    unique = dict.fromkeys(found)
    return sorted(unique, key=lambda problem: CODES.index(problem.code))


def _of_draft(draft: ProblemDraft) -> Iterator[ScenarioFault]:
    types = {ROOT_TYPE, *(declared.name for declared in draft.types)}
    for place in types_used(draft):
        if place.name not in types:
            yield _undeclared("type", place.path, place.name, types)
    objects = {thing.name for thing in draft.objects}
    fluents = {fluent.name: fluent for fluent in reversed(draft.fluents)}
    above = TypesAbove(draft.types)
    type_of = {thing.name: thing.type for thing in draft.objects}
    for use in applications(draft):
        yield from _of_application(use, fluents, type_of, above)
    for place in objects_compared(draft):
        if not place.name.startswith("?") and place.name not in objects:
            yield _undeclared("object", place.path, place.name, objects)
    for part, names in (
        ("types", [declared.name for declared in draft.types]),
        ("objects", [thing.name for thing in draft.objects]),
        ("predicates", [fluent.name for fluent in draft.fluents]),
        ("actions", [action.name for action in draft.actions]),
    ):
        for name, count in Counter(names).items():
            if count > 1:
                yield ScenarioFault(
                    "repeated_declaration", f"{part}[{name}]", f"it is declared {count} times", "declare it once"
                )
    stated: dict[tuple[str, ...], bool | int] = {}
    for atom, value in draft.initial:
        if stated.setdefault(atom, value) != value:
            text = f"({' '.join(atom)})"
            yield ScenarioFault(
                "contradictory_initial",
                f"initial[{' '.join(atom)}]",
                f"{text} is stated with two values",
                "state one of them",
            )


def _of_application(
    use: Application, fluents: dict[str, FluentDecl], type_of: dict[str, str], above: TypesAbove
) -> Iterator[ScenarioFault]:
    declared = fluents.get(use.fluent)
    if declared is None:
        yield _undeclared("predicate", use.path, use.fluent, fluents)
    for arg in use.args:
        if not arg.startswith("?") and arg not in type_of:
            yield _undeclared("object", use.path, arg, type_of)
    if declared is None:
        return
    if len(use.args) != len(declared.parameters):
        yield ScenarioFault(
            "arity",
            use.path,
            f"{use.fluent} takes {len(declared.parameters)} argument(s), got {len(use.args)}",
            "give it as many arguments as its declaration has",
        )
        return
    for arg, parameter in zip(use.args, declared.parameters, strict=True):
        type_ = use.scope.get(arg) if arg.startswith("?") else type_of.get(arg)
        if type_ is not None and parameter.type not in above(type_):
            yield ScenarioFault(
                "argument_type",
                use.path,
                f"{use.fluent} needs type {parameter.type} for {parameter.name}, but {arg} is of type {type_}",
                "use an object of that type, or declare the predicate over a wider one",
            )


def _of_risk(draft: ProblemDraft, risk: Risk) -> Iterator[ScenarioFault]:
    actions = {action.name: action for action in draft.actions}
    for key, names in (("primitive", risk.primitive), ("new", risk.new)):
        for name in names:
            if name not in actions:
                yield _undeclared("action", f"risk.{key}", name, actions)
    for name in actions:
        if name not in risk.primitive and name not in risk.new:
            yield ScenarioFault(
                "risk_names_unknown",
                "risk.new",
                f"the action {name} is neither primitive nor new",
                "list it in one of the two",
            )
    for key, names in (("hazardous_actions", risk.hazardous_actions), ("mitigation", risk.mitigation)):
        for name in names:
            if name not in risk.new:
                yield ScenarioFault(
                    "risk_names_unknown",
                    f"risk.{key}",
                    f"{name} is not among the new actions",
                    f"new actions: {', '.join(risk.new) or 'none'}",
                )
    for i, literal in enumerate(risk.risk_literals):
        yield from _unknown_in(draft, literal, f"risk.risk_literals[{i}]", {})
    for name, parts in risk.safe_literals.items():
        action = actions.get(name)
        if action is None:
            yield ScenarioFault(
                "risk_names_unknown",
                f"risk.safe_literals.{name}",
                f"there is no action {name}",
                f"actions: {', '.join(actions) or 'none'}",
            )
            continue
        conjuncts = conjuncts_of(action.precondition)
        for literal in parts:
            if literal not in conjuncts:
                yield ScenarioFault(
                    "risk_names_unknown",
                    f"risk.safe_literals.{name}",
                    f"the precondition of {name} does not require {render(literal)}",
                    "copy one of the parts that its outermost `and` joins",
                )


def _unknown_in(draft: ProblemDraft, literal: Expr, path: str, scope: dict[str, str]) -> Iterator[ScenarioFault]:
    fluents = {fluent.name: fluent for fluent in draft.fluents}
    objects = {thing.name for thing in draft.objects}
    for use in in_condition(literal, "risk", path, scope):
        declared = fluents.get(use.fluent)
        unknown = next((arg for arg in use.args if arg not in objects), None)
        if declared is None or unknown is not None or len(use.args) != len(declared.parameters):
            wrong = unknown if declared is not None and unknown is not None else use.fluent
            yield ScenarioFault(
                "risk_names_unknown",
                path,
                f"{render(literal)}: {wrong} is not declared like that",
                "use names and numbers of arguments as they are declared",
            )


def conjuncts_of(expr: Expr) -> tuple[Expr, ...]:
    """Return the parts of a condition's outermost conjunction, nested ones taken apart; none for true."""
    if expr is True:
        return ()
    if isinstance(expr, tuple) and expr and expr[0] == "and":
        return tuple(part for child in expr[1:] for part in conjuncts_of(child))
    return (expr,)


def _undeclared(what: str, path: str, name: str, known: Iterable[str]) -> ScenarioFault:
    listed = sorted(known)
    close = difflib.get_close_matches(name, listed, n=1)
    remedy = f"did you mean {close[0]}?" if close else f"declared: {', '.join(listed[:12]) or 'none'}"
    return ScenarioFault(f"undeclared_{what}", path, f"the {what} {name!r} is not declared", remedy)
