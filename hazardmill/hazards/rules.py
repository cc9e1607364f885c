"""What the rules of a map mean for one document.

One map serves many worlds: a rule that names nothing in a document does not apply there, which is reported and is no
error. The danger entries of a document are process rules, too (``danger_rules``).
"""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from hazardmill.errors import DocumentError, PlanningInputError, SearchLimitReached
from hazardmill.formalism.document.document import ROOT_TYPE, ActionDecl, Atom, Parameter
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.document.plan_text import SpelledNames
from hazardmill.formalism.document.validation import Vocabulary, check_condition
from hazardmill.formalism.formats.pddl.expressions import Expressions
from hazardmill.formalism.formats.pddl.names import DeclaredNames
from hazardmill.formalism.formats.pddl.tokens import PddlText
from hazardmill.formalism.semantics.ground_size import condition_parts
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.hazard_map import ANY, HazardMap, ProcessRule, TerminationRule

UNSPECIFIED: Final = "unspecified"
"""The category of danger entries without a danger type, as in verdicts."""

MOST_INSTANCES: Final = 200_000
"""Ground instances of a fluent that a rule may count."""

_NAMES: Final = ("types", "objects", "fluents", "actions")


@dataclass(frozen=True, slots=True)
class ActionHazard:
    """A process rule applied to one action of a document.

    Attributes:
        place: The rule's place in its map, or ``dangers[3]`` for a danger entry.
        categories: Categories of the harm.
        action: Name of the action.
        objects: Objects that the rule allows, one set per parameter of the action; None where every object is allowed.
        condition: Over the parameters of the action, read in the state before it; true if the rule has none.
    """

    place: str
    categories: tuple[str, ...]
    action: str
    objects: tuple[frozenset[str] | None, ...]
    condition: Expr = True

    def matches(self, args: Sequence[str]) -> bool:
        """Return whether the rule allows these arguments."""
        return all(allowed is None or arg in allowed for allowed, arg in zip(self.objects, args, strict=True))


@dataclass(frozen=True, slots=True)
class StateHazard:
    """A termination rule applied to a document.

    Attributes:
        place: The rule's place in its map.
        categories: Categories of the harm.
        condition: What must hold for the rule to fire; None if it counts facts.
        atoms: Ground instances of its fluent, in object order, the last argument changing fastest; empty if the rule
            has a condition.
        at_least: Number of these that must hold.
    """

    place: str
    categories: tuple[str, ...]
    condition: Expr | None = None
    atoms: tuple[Atom, ...] = ()
    at_least: int = 1


@dataclass(frozen=True, slots=True)
class RuleMisfit:
    """A rule that does not apply to a document, or to one of the actions that it matches.

    Attributes:
        place: The rule's place in its map.
        why: What it names and the document does not have, or where it does not fit.
        action: Name of the action; None if the rule does not apply at all.
    """

    place: str
    why: str
    action: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentRules:
    """The rules that apply to one document.

    Attributes:
        process: In the order of the map; a rule occurs once per action.
        termination: In the order of the map.
        misfits: Rules that do not apply, and actions to which a rule does not apply.
    """

    process: tuple[ActionHazard, ...] = ()
    termination: tuple[StateHazard, ...] = ()
    misfits: tuple[RuleMisfit, ...] = ()


def danger_rules(system: System) -> DocumentRules:
    """Return the danger entries of a document as process rules, each with its danger type as category.

    Entries that take danger away are no rules.
    """
    return DocumentRules(
        tuple(
            ActionHazard(
                f"dangers[{number}]",
                (entry.danger_type or UNSPECIFIED,),
                entry.action,
                (None,) * len(system.actions[entry.action].parameters),
                entry.condition,
            )
            for number, entry in enumerate(system.document.dangers, 1)
            if entry.increment > 0
        )
    )


def apply_map(system: System, hazards: HazardMap) -> DocumentRules:
    """Return what the rules of a map mean for a document.

    Args:
        system: The system of the document.
        hazards: The map.

    Returns:
        The rules that apply, and why others do not.

    Raises:
        SearchLimitReached: A rule unfolds into too many ground conditions or facts.
    """
    return _Application(system, hazards).run()


class _WrongRule(Exception):
    """A rule does not fit the document, or an action of it; the message says why."""


class DocumentNames(DeclaredNames):
    """The names of a document for expressions of PDDL: exactly as written, else the only one that is equal up to case.

    Args:
        system: The system of the document.
    """

    def __init__(self, system: System) -> None:
        super().__init__({})
        document = system.document
        self._spelled: dict[str, SpelledNames] = {}
        for category in _NAMES:
            names = [part.name for part in getattr(document, category)]
            self._spelled[category] = SpelledNames(names)
            for name in names:
                # For the remedies of messages.
                self.declare(category, name)

    def find(self, category: str, written: str) -> str | None:
        """Return the document's name for a written one; None if there is none, or more than one."""
        if category == "types" and written.lower() == ROOT_TYPE:
            return ROOT_TYPE
        return self._spelled[category].find(written)


class _Application:
    """Applies the rules of one map to one document."""

    def __init__(self, system: System, hazards: HazardMap) -> None:
        self._system = system
        self._hazards = hazards
        document = system.document
        self._names = DocumentNames(system)
        self._integers = frozenset(fluent.name for fluent in document.fluents if fluent.integer)
        parents = {declared.name: declared.parent for declared in document.types}
        self._vocabulary = Vocabulary(parents, system.objects, system.fluents)
        self._types = (ROOT_TYPE, *parents)
        self._misfits: list[RuleMisfit] = []

    def run(self) -> DocumentRules:
        process = [hazard for rule in self._hazards.process for hazard in self._process(rule)]
        termination = [hazard for rule in self._hazards.termination for hazard in self._termination(rule)]
        return DocumentRules(tuple(process), tuple(termination), tuple(self._misfits))

    # Process rules

    def _process(self, rule: ProcessRule) -> Iterator[ActionHazard]:
        matches = pattern_test(rule.action)
        actions = [action for action in self._system.document.actions if matches(action.name)]
        if not actions:
            self._misfits.append(RuleMisfit(rule.place, f"no action matches {rule.action!r}"))
            return
        found: list[ActionHazard] = []
        wrong: list[RuleMisfit] = []
        for action in actions:
            try:
                found.append(self._on_action(rule, action))
            except _WrongRule as error:
                wrong.append(RuleMisfit(rule.place, str(error), action.name))
        if not found:
            # Why the rule does not apply to the first action stands for all.
            wrong = [RuleMisfit(rule.place, wrong[0].why)]
        self._misfits += wrong
        yield from found

    def _on_action(self, rule: ProcessRule, action: ActionDecl) -> ActionHazard:
        objects = self._allowed(rule.arguments, action.parameters, action.name)
        condition: Expr = True
        if rule.when is not None:
            # All parameters are in scope, so that the variables of quantifiers get other names than theirs.
            scope = {f"?{place}": parameter.name for place, parameter in enumerate(action.parameters, 1)}
            condition = self._condition(rule.when, scope, {p.name: p.type for p in action.parameters})
            # Of one instance: like the actions of plans, conditions are ground as they are met.
            condition_parts(self._system.document, self._system.size, [condition], 1)
        return ActionHazard(rule.place, rule.categories, action.name, objects, condition)

    def _allowed(
        self, patterns: Sequence[str], parameters: Sequence[Parameter], name: str
    ) -> tuple[frozenset[str] | None, ...]:
        """Return the objects that patterns allow for each parameter; None where they allow all."""
        if len(patterns) > len(parameters):
            raise _WrongRule(f"{name} has {len(parameters)} argument(s), but the rule names {len(patterns)}")
        allowed: list[frozenset[str] | None] = []
        for pattern, parameter in itertools.zip_longest(patterns, parameters, fillvalue=ANY):
            assert isinstance(parameter, Parameter)
            fitting = self._system.objects_of(parameter.type)
            found = frozenset(fitting) if pattern == ANY else self._matching(str(pattern), fitting)
            if not found:
                raise _WrongRule(
                    f"in {name}, {pattern!r} matches no object of type {parameter.type} and no type of such an object"
                )
            allowed.append(None if len(found) == len(fitting) else found)
        return tuple(allowed)

    def _matching(self, pattern: str, objects: Sequence[str]) -> frozenset[str]:
        matches = pattern_test(pattern)
        types = [type_ for type_ in self._types if matches(type_)]
        return frozenset(
            name for name in objects if matches(name) or any(self._system.is_of_type(name, type_) for type_ in types)
        )

    def _condition(self, text: str, scope: Mapping[str, str], types: Mapping[str, str]) -> Expr:
        source = PddlText(self._hazards.file, text)
        try:
            condition = Expressions(source, self._names, self._integers).condition(source.group(), scope)
            check_condition(self._vocabulary, condition, types, "condition")
        except (PlanningInputError, DocumentError) as error:
            raise _WrongRule(error.message) from error
        return condition

    # Termination rules

    def _termination(self, rule: TerminationRule) -> Iterator[StateHazard]:
        try:
            if rule.condition is not None:
                condition = self._condition(rule.condition, {}, {})
                condition_parts(self._system.document, self._system.size, [condition], 1)
                yield StateHazard(rule.place, rule.categories, condition)
            else:
                yield StateHazard(rule.place, rule.categories, None, self._instances(rule), rule.at_least)
        except _WrongRule as error:
            self._misfits.append(RuleMisfit(rule.place, str(error)))

    def _instances(self, rule: TerminationRule) -> tuple[Atom, ...]:
        name = self._names.find("fluents", rule.fluent or "")
        if name is None:
            raise _WrongRule(f"no fluent is called {rule.fluent!r}")
        fluent = self._system.fluents[name]
        if fluent.integer:
            raise _WrongRule(f"the fluent {name} is an integer, which cannot hold or fail; compare it in a condition")
        allowed = self._allowed(rule.arguments, fluent.parameters, name)
        choices = [
            [thing for thing in self._system.objects_of(parameter.type) if objects is None or thing in objects]
            for objects, parameter in zip(allowed, fluent.parameters, strict=True)
        ]
        count = prod(map(len, choices))
        if count > MOST_INSTANCES:
            raise SearchLimitReached(
                f"{rule.place}: {name} has {count} ground instances, but at most {MOST_INSTANCES} can be counted",
                remedy="name objects or types as arguments of the rule",
            )
        if count < rule.at_least:
            raise _WrongRule(f"{name} has {count} ground instance(s), but the rule needs {rule.at_least}")
        return tuple((name, *args) for args in itertools.product(*choices))


def pattern_test(pattern: str) -> Callable[[str], bool]:
    """Return the test whether a name matches a pattern with ``*``, ``?`` and ``[...]``; case does not count."""
    found = re.compile(fnmatch.translate(pattern.lower()))
    return lambda name: found.match(name.lower()) is not None
