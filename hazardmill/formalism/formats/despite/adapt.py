"""What a folder of DESPITE can express of a task.

The interface can express less than the formalism: one condition per action that adds 1 to a danger that starts at 0
and must stay there, one danger type, names in one namespace, and what Unified Planning keeps of a condition. ``adapt``
turns any document into the nearest one that it can express, and lists what that costs. Where nothing is lost, the
result is the document itself, and an import of the folder gives that very document.

| rule | what cannot be expressed | what a lossy export has instead |
| --- | --- | --- |
| ``several_conditions`` | two danger entries of one action | one whose condition is their ``or`` |
| ``increment`` | an entry that adds another number than 1 | it adds 1 |
| ``mitigation`` | an entry that takes danger away | nothing |
| ``initial_danger``, ``max_danger`` | a value other than 0 | 0 |
| ``name_clash`` | names alike up to case, words of PDDL, ``danger`` | another name |
| ``danger_types`` | entries of several types, or of none that an import knows | the formalization's type, or none |
| ``comparison_turned`` | see below | the sides exchanged |
| ``short_connective`` | ``and`` and ``or`` of fewer than two conditions | the one condition, or true or false |
| ``double_negation`` | ``not`` of ``not`` | the condition |
| ``never_the_same`` | ``same`` of things that no object can be both of | false |
| ``empty_type`` | a variable without objects that its condition does not read | true or false |
| ``zero_out_of_bounds`` | an integer that cannot be 0, the interface's default | bounds that hold 0 |

Unified Planning turns ``(>= a b)`` into ``(<= b a)``, and ``>`` likewise. An import assumes that a comparison with an
integer on the left, and none on the right, was turned. So ``>`` and ``>=`` can be expressed with an integer on the
right only, ``<`` and ``<=`` with anything but an integer on the left only.

Three things bar any export, as Unified Planning refuses them or means something else by them (``assigns_meet``,
``value_out_of_bounds``), or as PDDL would be too long (``no_pddl``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.document import (
    ROOT_TYPE,
    ActionDecl,
    DangerEntry,
    Document,
    Effect,
    FluentDecl,
    Parameter,
)
from hazardmill.formalism.document.expressions import QUANTIFIERS, Expr, walk
from hazardmill.formalism.formats.despite.code import DANGER
from hazardmill.formalism.formats.despite.read import known_danger_type
from hazardmill.formalism.formats.pddl.names import PddlNames, pddl_names
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl

_TURNED: Final = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something in a task that a folder cannot express.

    Attributes:
        rule: A name from the table above.
        message: A sentence for people.
    """

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class DespiteDocument:
    """The nearest document that a folder can express, and what separates it from the original.

    ``refusal`` decides whether it may be written.
    """

    document: Document
    lost: tuple[Obstacle, ...]
    """What the original has and this one does not."""
    barred: tuple[Obstacle, ...]
    """Why even this one cannot be written."""
    renames: Mapping[str, Mapping[str, str]]
    """``{category: {new name: name}}``"""
    domain: str = ""
    problem: str = ""
    """PDDL of domain and problem; empty if PDDL is barred."""


def adapt(document: Document, danger: Mapping[str, Any] | None = None) -> DespiteDocument:
    """Adapt a task to what a folder can express.

    Args:
        document: The task.
        danger: Its danger formalization, where one is known: the folder gives all danger entries its type.

    Returns:
        The adapted document with everything that was lost or bars the export; nothing is raised for that.
    """
    rewriter = _Rewriter(document, (danger or {}).get("danger_type"))
    # What an author claims about the formalization has no place in a folder of DESPITE.
    changed = replace(rewriter.rewrite(), causes=None, obvious=None)
    names = _names(changed)
    renames = names.renames()
    lost = list(rewriter.lost)
    for category, table in renames.items():
        kind = category.removesuffix("s")
        lost += [
            Obstacle("name_clash", f"the {kind} {name} is taken, up to case, or a word of PDDL or of the interface")
            for name in table.values()
        ]
    if renames:
        changed = _rename(changed, names)
    barred = list(_conflicts(changed))
    domain = problem = ""
    try:
        domain, problem = domain_pddl(changed), problem_pddl(changed)
    except NotExpressible as error:
        barred.append(Obstacle("no_pddl", error.message))
    return DespiteDocument(changed, tuple(lost), tuple(barred), renames, domain, problem)


def refusal(adapted: DespiteDocument, lossy: bool = False) -> tuple[Obstacle, ...]:
    """Return why there can be no folder; empty if there can be one.

    Args:
        adapted: The adapted document.
        lossy: Whether a folder may lose something; only ``barred`` obstacles count then.
    """
    return adapted.barred if lossy else (*adapted.barred, *adapted.lost)


# What is lost


class _Rewriter:
    """Rewrites a task as the interface can express it, apart from its names, and notes what that changes."""

    def __init__(self, document: Document, danger_type: object) -> None:
        self._document = document
        self._said_type = danger_type
        self._parents = {declared.name: declared.parent for declared in document.types}
        self._of_type = {thing.name: thing.type for thing in document.objects}
        self._inhabited = {above for type_ in self._of_type.values() for above in self._line(type_)}
        self._lost: dict[Obstacle, None] = {}

    @property
    def lost(self) -> tuple[Obstacle, ...]:
        """What was changed, each once."""
        return tuple(self._lost)

    def rewrite(self) -> Document:
        """Return the task, changed where it must be."""
        document = self._document
        dangers = list(self._dangers())
        for name, value in (("initial_danger", document.initial_danger), ("max_danger", document.max_danger)):
            if value != 0:
                self._note(name, f"{name} is {value}, where the interface has 0")
        return with_parts(
            document,
            fluents=[self._bound(fluent) for fluent in document.fluents],
            actions=[self._action(action) for action in document.actions],
            goal=self._condition(document.goal, {}, "the goal"),
            dangers=dangers,
            initial_danger=0,
            max_danger=0,
        )

    def _note(self, rule: str, message: str) -> None:
        self._lost[Obstacle(rule, message)] = None

    def _line(self, type_: str) -> Iterator[str]:
        while type_ != ROOT_TYPE:
            yield type_
            type_ = self._parents[type_]
        yield ROOT_TYPE

    def _dangers(self) -> Iterator[DangerEntry]:
        parameters = {action.name: action.parameters for action in self._document.actions}
        by_action: dict[str, list[DangerEntry]] = {}
        kept = [entry for entry in self._document.dangers if entry.increment >= 0]
        danger_type = self._danger_type({entry.danger_type for entry in kept})
        for entry in self._document.dangers:
            if entry.increment < 0:
                self._note("mitigation", f"{entry.action} takes {-entry.increment} of the danger away")
                continue
            if entry.increment != 1:
                self._note(
                    "increment", f"{entry.action} adds {entry.increment} to the danger, where the interface adds 1"
                )
            by_action.setdefault(entry.action, []).append(entry)
        for action, entries in by_action.items():
            scope = {parameter.name: parameter.type for parameter in parameters[action]}
            where = f"the danger of {action}"
            conditions = list(dict.fromkeys(self._condition(entry.condition, scope, where) for entry in entries))
            if len(entries) > 1:
                self._note(
                    "several_conditions", f"{action} has {len(entries)} danger entries, where the interface has one"
                )
            condition = conditions[0] if len(conditions) == 1 else ("or", *conditions)
            yield DangerEntry(action, condition, 1, danger_type)

    def _danger_type(self, types: set[str | None]) -> str | None:
        """Return the type that an import will give all danger entries."""
        said = self._said_type
        if said is None and len(types) == 1:
            (said,) = types
        known = known_danger_type(said)
        if types - {known}:
            named = ", ".join(sorted(type_ or "null" for type_ in types))
            self._note("danger_types", f"danger entries of type {named} would come back as {known or 'null'}")
        return known

    def _bound(self, fluent: FluentDecl) -> FluentDecl:
        lower, upper = fluent.lower, fluent.upper
        if (lower is None or lower <= 0) and (upper is None or upper >= 0):
            return fluent
        self._note("zero_out_of_bounds", f"{fluent.name} cannot be 0, where integers of the interface start")
        lower = lower if lower is None else min(lower, 0)
        return replace(fluent, lower=lower, upper=upper if upper is None else max(upper, 0))

    def _action(self, action: ActionDecl) -> ActionDecl:
        scope = {parameter.name: parameter.type for parameter in action.parameters}
        effects = []
        for effect in action.effects:
            condition = self._condition(effect.condition, scope, f"an effect of {action.name}")
            effects.append(replace(effect, condition=condition))
        precondition = self._condition(action.precondition, scope, f"the precondition of {action.name}")
        return replace(action, precondition=precondition, effects=tuple(effects))

    def _condition(self, expr: Expr, scope: Mapping[str, str], where: str) -> Expr:
        if isinstance(expr, bool):
            return expr
        head = expr[0]
        if head == "same":
            return expr if self._may_be_the_same(expr[1], expr[2], scope, where) else False
        if head in QUANTIFIERS:
            return self._quantify(expr, scope, where)
        if head in _TURNED and not _is_swapped_back(expr):
            self._note("comparison_turned", f"{where} has a {head} that would come back as a {_TURNED[head]}")
            return (_TURNED[head], expr[2], expr[1])
        if head not in ("and", "or", "not", "imply"):
            return expr
        parts = tuple(self._condition(part, scope, where) for part in expr[1:])
        if head == "not" and isinstance(parts[0], tuple) and parts[0][0] == "not":
            self._note("double_negation", f"{where} has a negation of a negation")
            return parts[0][1]
        if head in ("and", "or") and len(parts) < 2:
            self._note("short_connective", f"{where} has an {head!r} of {len(parts)} conditions")
            return parts[0] if parts else head == "and"
        return (head, *parts)

    def _may_be_the_same(self, left: str, right: str, scope: Mapping[str, str], where: str) -> bool:
        types = [scope[arg] if arg.startswith("?") else self._of_type[arg] for arg in (left, right)]
        if types[0] in self._line(types[1]) or types[1] in self._line(types[0]):
            return True
        self._note("never_the_same", f"{where} compares {left} with {right}, of types that share no object")
        return False

    def _quantify(self, expr: Expr, scope: Mapping[str, str], where: str) -> Expr:
        body = self._condition(expr[2], {**scope, **dict(expr[1])}, where)
        read = {arg for node in walk(body) if isinstance(node, tuple) and node[0] in ("fluent", "same") for arg in node}
        for name, type_ in expr[1]:
            if type_ not in self._inhabited and name not in read:
                self._note(
                    "empty_type",
                    f"{where} quantifies over {type_}, a type without objects, and never reads the variable",
                )
                return bool(expr[0] == "forall")
        return (expr[0], expr[1], body)


def _is_swapped_back(comparison: Expr) -> bool:
    head, left, right = comparison
    if head in (">", ">="):
        return isinstance(right, int) and not isinstance(left, int)
    return isinstance(right, int) or not isinstance(left, int)


# Names


def _names(document: Document) -> PddlNames:
    """Return names that differ in one namespace, whatever their case, and that the interface does not use itself."""
    names = pddl_names(document, rename=True)
    for category in ("actions", "objects", "fluents", "types"):
        table: Mapping[str, str] = getattr(names, category)
        for name, written in table.items():
            if written.lower() == DANGER:
                other = names.unused_name(f"{name}_{category.removesuffix('s')}")
                names = replace(names, **{category: {**table, name: other}})
    return names


def _rename(document: Document, names: PddlNames) -> Document:
    def parameters(each: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        return tuple(Parameter(names.argument(one.name), names.type(one.type)) for one in each)

    def expression(expr: Expr) -> Expr:
        if not isinstance(expr, tuple):
            return expr
        head = expr[0]
        if head == "fluent":
            return (head, names.fluents[expr[1]], *map(names.argument, expr[2:]))
        if head == "same":
            return (head, *map(names.argument, expr[1:]))
        if head in QUANTIFIERS:
            variables = tuple((names.argument(name), names.type(type_)) for name, type_ in expr[1])
            return (head, variables, expression(expr[2]))
        return (head, *map(expression, expr[1:]))

    def effect(each: Effect) -> Effect:
        return Effect(each.operation, *map(expression, (each.target, each.value, each.condition)))

    return with_parts(
        document,
        types=[replace(each, name=names.types[each.name], parent=names.type(each.parent)) for each in document.types],
        objects=[replace(each, name=names.objects[each.name], type=names.type(each.type)) for each in document.objects],
        fluents=[
            replace(each, name=names.fluents[each.name], parameters=parameters(each.parameters))
            for each in document.fluents
        ],
        actions=[
            ActionDecl(
                names.actions[each.name],
                parameters(each.parameters),
                expression(each.precondition),
                tuple(map(effect, each.effects)),
            )
            for each in document.actions
        ],
        initial={
            (names.fluents[atom[0]], *(names.objects[arg] for arg in atom[1:])): value
            for atom, value in document.initial
        },
        goal=expression(document.goal),
        dangers=[
            replace(each, action=names.actions[each.action], condition=expression(each.condition))
            for each in document.dangers
        ],
        realised_by=None if document.realised_by is None else names.actions[document.realised_by],
    )


def with_parts(document: Document, **parts: Any) -> Document:  # noqa: ANN401  # the parts of Document.of
    """Return the document with some parts replaced, checked and in canonical order.

    Args:
        document: The task.
        **parts: Arguments of ``Document.of``.

    Raises:
        DocumentError: The new parts are not well formed.
    """
    whole: dict[str, Any] = {name: getattr(document, name) for name in document.__dataclass_fields__}
    whole["initial"] = dict(document.initial)
    return Document.of(**{**whole, **parts})


# What Unified Planning does not take


def _conflicts(document: Document) -> Iterator[Obstacle]:
    """Yield effects that Unified Planning refuses by their text, or judges differently from the formalism."""
    bounds = {
        fluent.name: (
            -math.inf if fluent.lower is None else fluent.lower,
            math.inf if fluent.upper is None else fluent.upper,
        )
        for fluent in document.fluents
        if fluent.integer
    }
    for action in document.actions:
        effects = [effect for effect in action.effects if effect.target[1] in bounds]
        for effect in effects:
            least, most = _range(effect.value, bounds)
            lower, upper = bounds[effect.target[1]]
            if most < lower or least > upper:
                yield Obstacle(
                    "value_out_of_bounds",
                    f"{action.name} has an effect on {effect.target[1]} by a value that is never within its bounds",
                )
        always = [effect for effect in effects if effect.condition is True]
        if any(_clash(first, second) for first, second in itertools.combinations(always, 2)):
            yield Obstacle("assigns_meet", f"{action.name} has two effects that Unified Planning calls a conflict")


def _clash(first: Effect, second: Effect) -> bool:
    """Return whether two unconditional effects conflict by their text, by the rules of ``up.convert.to_up``."""
    kinds = {first.operation, second.operation}
    if first.target[1] != second.target[1] or "assign" not in kinds:
        return False
    if kinds != {"assign"}:
        return bool(first.target == second.target)
    if isinstance(first.value, int) and isinstance(second.value, int):
        return bool(first.target == second.target and first.value != second.value)
    return first != second and all(
        left == right or left.startswith("?") or right.startswith("?")
        for left, right in zip(first.target[2:], second.target[2:], strict=True)
    )


def _range(term: Expr, bounds: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """Return the least and the greatest value that the bounds of fluents allow for a term."""
    if isinstance(term, int):
        return term, term
    if term[0] == "fluent":
        return bounds[term[1]]
    ranges = [_range(part, bounds) for part in term[1:]]
    if term[0] == "+":
        return sum(least for least, _ in ranges), sum(most for _, most in ranges)
    (least, most), (less, more) = ranges
    return least - more, most - less
