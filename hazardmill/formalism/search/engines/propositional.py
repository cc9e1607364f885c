"""A task without types, objects, parameters and quantifiers, for engines that know none of them.

Every ground action becomes an action and every ground fluent a fluent without parameters. What PDDL's rule
*true wins over false* decides is decided here, because some engines call it a contradiction.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace

from hazardmill.errors import DocumentError, NotExpressible
from hazardmill.formalism.document.document import ROOT_TYPE, ActionDecl, DangerEntry, Document, Effect, FluentDecl
from hazardmill.formalism.document.expressions import QUANTIFIERS, Expr, all_of, any_of, negate, substitute
from hazardmill.formalism.formats.up.convert import GroundStep
from hazardmill.formalism.search.engines.settled import settle_effects


def propositional(document: Document) -> tuple[Document, dict[str, GroundStep]]:
    """Return the task with everything ground, and the ground action that each of its actions stands for.

    Names are made up (``act0``, ``flu0``); actions whose precondition is false by its form are left out.

    Raises:
        NotExpressible: The ground task would be larger than a document may be.
    """
    return _Grounder(document).ground()


class _Grounder:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._parents = {declared.name: declared.parent for declared in document.types}
        self._integers = {fluent.name: fluent for fluent in document.fluents if fluent.integer}
        self._codes: dict[tuple[str, ...], str] = {}

    def ground(self) -> tuple[Document, dict[str, GroundStep]]:
        document = self._document
        actions: list[ActionDecl] = []
        dangers: list[DangerEntry] = []
        meaning: dict[str, GroundStep] = {}
        for action in document.actions:
            entries = [entry for entry in document.dangers if entry.action == action.name]
            for binding in self._bindings((p.name, p.type) for p in action.parameters):
                precondition = self._fold(substitute(action.precondition, binding))
                if precondition is False:
                    continue
                name = f"act{len(actions)}"
                meaning[name] = (action.name, tuple(binding.values()))
                effects = [self._effect(effect, binding) for effect in action.effects]
                settled = (effect for effect in settle_effects(effects) if effect.condition is not False)
                actions.append(ActionDecl(name, (), precondition, tuple(settled)))
                for entry in entries:
                    condition = self._fold(substitute(entry.condition, binding))
                    dangers.append(replace(entry, action=name, condition=condition))
        goal = self._fold(document.goal)
        try:
            ground = Document.of(
                fluents=[self._declare(atom, code) for atom, code in self._codes.items()],
                actions=actions,
                initial={(self._codes[atom],): value for atom, value in document.initial if atom in self._codes},
                goal=goal,
                dangers=[entry for entry in dangers if entry.condition is not False],
                initial_danger=document.initial_danger,
                max_danger=document.max_danger,
            )
        except DocumentError as error:
            raise NotExpressible(f"the task is too large once it is ground: {error.message}") from error
        return ground, meaning

    def _bindings(self, variables: Iterator[tuple[str, str]]) -> Iterator[dict[str, str]]:
        names, types = [], []
        for name, type_ in variables:
            names.append(name)
            types.append([thing.name for thing in self._document.objects if self._is_a(thing.type, type_)])
        for values in itertools.product(*types):
            yield dict(zip(names, values, strict=True))

    def _is_a(self, type_: str, ancestor: str) -> bool:
        while type_ not in (ancestor, ROOT_TYPE):
            type_ = self._parents[type_]
        return type_ == ancestor

    def _declare(self, atom: tuple[str, ...], code: str) -> FluentDecl:
        fluent = self._integers.get(atom[0])
        if fluent is None:
            return FluentDecl(code)
        return FluentDecl(code, integer=True, lower=fluent.lower, upper=fluent.upper)

    def _effect(self, effect: Effect, binding: Mapping[str, str]) -> Effect:
        return Effect(
            effect.operation,
            self._fold(substitute(effect.target, binding)),
            self._term(substitute(effect.value, binding)),
            self._fold(substitute(effect.condition, binding)),
        )

    def _fold(self, expr: Expr) -> Expr:
        """Return a ground condition without quantifiers, its constant parts folded away."""
        if isinstance(expr, bool):
            return expr
        head = expr[0]
        if head == "fluent":
            return ("fluent", self._codes.setdefault(expr[1:], f"flu{len(self._codes)}"))
        if head == "same":
            return expr[1] == expr[2]
        if head in QUANTIFIERS:
            instances = [self._fold(substitute(expr[2], binding)) for binding in self._bindings(iter(expr[1]))]
            return any_of(instances) if head == "exists" else all_of(instances)
        if head in ("and", "or"):
            parts = [self._fold(child) for child in expr[1:]]
            return all_of(parts) if head == "and" else any_of(parts)
        if head == "not":
            return negate(self._fold(expr[1]))
        if head == "imply":
            return any_of([negate(self._fold(expr[1])), self._fold(expr[2])])
        return (head, *map(self._term, expr[1:]))

    def _term(self, expr: Expr) -> Expr:
        if isinstance(expr, int):
            return expr
        return self._fold(expr) if expr[0] == "fluent" else (expr[0], *map(self._term, expr[1:]))
