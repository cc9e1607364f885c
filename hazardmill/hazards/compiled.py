"""Writes the rules of a map into a document, so that exact search proves whether a task can be done without harm.

Process rules become danger entries. Termination rules become danger entries of one closing action, which must be the
last one of a plan. A law holds for every plan: it reaches the goal and no rule fires on it iff it is safe, with the
closing action after it, on the compiled document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, Final

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.closing import with_closing_action
from hazardmill.formalism.document.document import DangerEntry, Document, FluentDecl, unused_name
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.document.validation import MAX_NODES
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.rules import ActionHazard, DocumentRules, StateHazard

CLOSING: Final = "finish"
"""Name of the closing action; numbered where it is taken."""

CLOSED: Final = "finished"
"""Name of the fluent that it makes true; numbered where it is taken."""


@dataclass(frozen=True, slots=True)
class CompiledTask:
    """A document whose danger is what a map calls harm.

    Attributes:
        document: The document; its danger starts at 0 and may be at most 0, each entry adds 1, and danger types are
            categories.
        closing: The action that ends each plan; None if no termination rule applies.
    """

    document: Document
    closing: str | None = None

    def plan(self, text: str) -> str:
        """Return a plan string of the task as one of the compiled document."""
        return text if self.closing is None else f"{text} ({self.closing})".lstrip()


def closing_of(document: Document, compiled: Document) -> str | None:
    """Return the name of the action that a compiled document has besides those of its document; None without one."""
    own = {action.name for action in document.actions}
    return next((action.name for action in compiled.actions if action.name not in own), None)


def compile_rules(system: System, rules: DocumentRules) -> CompiledTask:
    """Write rules into the document that they apply to.

    Args:
        system: The system of the document; its own danger entries are dropped.
        rules: The rules.

    Returns:
        The compiled document.

    Raises:
        NotExpressible: A rule counts facts in more ways than a document can hold.
        DocumentError: The document would be too large.
    """
    document = system.document
    entries = [
        DangerEntry(hazard.action, _on_action(system, hazard), 1, category)
        for hazard in rules.process
        for category in hazard.categories
    ]
    if not rules.termination:
        return _with_dangers(document, entries, None)
    closing = _name_closing(document)
    for hazard in rules.termination:
        condition = _at_the_end(hazard)
        entries += [DangerEntry(closing, condition, 1, category) for category in hazard.categories]
    return _with_dangers(document, entries, closing)


def is_compiled_from(compiled: Document, document: Document) -> bool:
    """Return whether a document is another one with some map's harm as danger entries, and nothing else."""
    closing = None if closing_of(document, compiled) is None else _name_closing(document)
    expected = _with_dangers(document, compiled.dangers, closing).document
    return expected.to_json() == compiled.to_json() and all(entry.increment == 1 for entry in compiled.dangers)


def _name_closing(document: Document) -> str:
    return unused_name(CLOSING, {action.name for action in document.actions})


def _with_dangers(document: Document, entries: Sequence[DangerEntry], closing: str | None) -> CompiledTask:
    changes: dict[str, Any] = {"dangers": entries, "provenance": {"compiled_from": document.hash}}
    if closing is None:
        return CompiledTask(document.without_danger(**changes))
    closed = unused_name(CLOSED, {fluent.name for fluent in document.fluents})
    is_closed: Expr = ("fluent", closed)
    compiled = document.without_danger(
        actions=with_closing_action(document.actions, closing, closed),
        fluents=[*document.fluents, FluentDecl(closed)],
        goal=("and", document.goal, is_closed),
        **changes,
    )
    return CompiledTask(compiled, closing)


def _on_action(system: System, hazard: ActionHazard) -> Expr:
    parameters = system.actions[hazard.action].parameters
    parts: list[Expr] = [
        ("or", *(("same", parameter.name, name) for name in system.objects_of(parameter.type) if name in objects))
        for parameter, objects in zip(parameters, hazard.objects, strict=True)
        if objects is not None
    ]
    return ("and", *parts, hazard.condition) if parts else hazard.condition


def _at_the_end(hazard: StateHazard) -> Expr:
    if hazard.condition is not None:
        return hazard.condition
    if comb(len(hazard.atoms), hazard.at_least) > MAX_NODES:
        raise NotExpressible(
            f"{hazard.place}: {hazard.at_least} of {len(hazard.atoms)} facts are more combinations than a document"
            f" can hold ({MAX_NODES})",
            remedy="name objects or types as arguments of the rule, or lower at_least",
        )
    return _some_of([("fluent", *atom) for atom in hazard.atoms], hazard.at_least)


def _some_of(facts: Sequence[Expr], count: int) -> Expr:
    """Return the condition that at least ``count`` of the facts hold; each combination is told by its first fact."""
    if count == 1:
        return ("or", *facts)
    return (
        "or",
        *(("and", facts[first], _some_of(facts[first + 1 :], count - 1)) for first in range(len(facts) - count + 1)),
    )
