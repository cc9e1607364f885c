"""The PDDL writer: a domain and a problem that hide the danger, the augmented pair that contains it, the sidecar.

PDDL is written in the subset of PDDL 2.1 that Unified Planning's reader takes. What PDDL cannot express goes to the
sidecar (``dangers.json``): which fluents are context, bounds of integers, and the danger entries. PDDL plus sidecar
is the whole task. The same document gives the same bytes: everything is written in document order, nothing passes
through a set.

PDDL differs from the formalism (``docs/formalism.md``) in two places, both outside what the files can express: bounds
are in the sidecar only, and PDDL leaves an assign beside an increase of the same fluent undefined.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.document import (
    ROOT_TYPE,
    ActionDecl,
    DangerEntry,
    Document,
    Effect,
    JsonLike,
    Parameter,
)
from hazardmill.formalism.document.expressions import COMPARISONS, QUANTIFIERS, Expr, walk
from hazardmill.formalism.formats.pddl.names import PddlNames, pddl_names

DangerGoal = Literal["basic", "safe", "unsafe"]

MAX_INITIAL_VALUES = 100_000
"""Most ground integer fluents whose initial values a problem may list."""

_LINE = 100


def domain_pddl(document: Document, *, rename: bool = False) -> str:
    """Return the PDDL domain of a task, without a trace of the danger entries.

    Args:
        document: The task.
        rename: Whether to rename clashing names instead of refusing them.

    Raises:
        NotExpressible: Names clash in PDDL, and ``rename`` is not set; or a connective has no operands.
    """
    return _Writer(document, pddl_names(document, rename=rename, dangers=False)).domain()


def problem_pddl(document: Document, *, rename: bool = False) -> str:
    """Return the problem that belongs to ``domain_pddl``: objects, initial state, goal.

    Args:
        document: The task.
        rename: Whether to rename clashing names, as for the domain.

    Raises:
        NotExpressible: Names clash in PDDL, a connective has no operands, or too many ground integers need an initial
            value.
    """
    return _Writer(document, pddl_names(document, rename=rename, dangers=False)).problem()


def write_augmented(document: Document, *, goal: DangerGoal = "safe", rename: bool = False) -> tuple[str, str]:
    """Return domain and problem in which danger is a numeric fluent that the danger entries increase.

    Args:
        document: The task.
        goal: ``safe`` adds danger <= d_max to the goal, ``unsafe`` danger > d_max, ``basic`` nothing.
        rename: Whether to rename clashing names instead of refusing them.

    Raises:
        NotExpressible: As for ``domain_pddl`` and ``problem_pddl``.
    """
    writer = _Writer(document, pddl_names(document, rename=rename), with_danger=True)
    return writer.domain(), writer.problem(goal)


def sidecar(document: Document, *, rename: bool = False) -> dict[str, Any]:
    """Return what PDDL cannot express, as JSON values (``dangers.json``, ``sidecar.schema.json``).

    Keys: ``context`` (fluent names), ``bounds`` (``{fluent: [lower, upper]}``, null where absent), ``initial_danger``,
    ``max_danger``, ``dangers`` (``action, condition, increment, danger_type?``; conditions are prefix lists, a bare
    string is a fluent without parameters). Two more are written where they are needed: ``objects``, the order of the
    objects where it is not constants before objects, and ``names``, ``{category: {written: original}}``.

    Args:
        document: The task.
        rename: Whether to rename clashing names instead of refusing them.

    Raises:
        NotExpressible: Names clash in PDDL, and ``rename`` is not set.
    """
    names = pddl_names(document, rename=rename)
    writer = _Writer(document, names)
    value: dict[str, Any] = {
        "context": [names.fluents[fluent.name] for fluent in document.fluents if fluent.kind == "context"],
        "bounds": {
            names.fluents[fluent.name]: [fluent.lower, fluent.upper]
            for fluent in document.fluents
            if fluent.integer and (fluent.lower is not None or fluent.upper is not None)
        },
        "initial_danger": document.initial_danger,
        "max_danger": document.max_danger,
        "dangers": [_danger(entry, names) for entry in document.dangers],
    }
    order = [thing.name for thing in document.objects]
    if [*writer.constants, *writer.others] != order:
        value["objects"] = [names.objects[name] for name in order]
    if table := names.renames():
        value["names"] = table
    return value


def prefix_list(expr: Expr, names: PddlNames) -> JsonLike:
    """Return a condition or term as the sidecar has it: ``["and", "hot", ["not", ["at", "cup", "table"]]]``.

    Args:
        expr: The expression.
        names: How names are written in PDDL.
    """
    if isinstance(expr, bool | int):
        return expr
    head = expr[0]
    if head == "fluent":
        parts = [names.fluents[expr[1]], *map(names.argument, expr[2:])]
        return parts if len(parts) > 1 else parts[0]
    if head == "same":
        return ["=", *map(names.argument, expr[1:])]
    if head in QUANTIFIERS:
        return [
            head,
            [[names.argument(name), names.type(type_)] for name, type_ in expr[1]],
            prefix_list(expr[2], names),
        ]
    return [head, *(prefix_list(child, names) for child in expr[1:])]


def _danger(entry: DangerEntry, names: PddlNames) -> dict[str, Any]:
    value = {
        "action": names.actions[entry.action],
        "condition": prefix_list(entry.condition, names),
        "increment": entry.increment,
    }
    return value if entry.danger_type is None else {**value, "danger_type": entry.danger_type}


def _parts(action: ActionDecl) -> Iterator[Expr]:
    yield action.precondition
    for effect in action.effects:
        yield from (effect.target, effect.value, effect.condition)


def _objects_in(exprs: Iterable[Expr]) -> Iterator[str]:
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, tuple) and node[0] in ("fluent", "same"):
                yield from (arg for arg in node[2 if node[0] == "fluent" else 1 :] if not arg.startswith("?"))


class _Writer:
    """Writes one pair of files."""

    def __init__(self, document: Document, names: PddlNames, with_danger: bool = False) -> None:
        self._document = document
        self._names = names
        self._dangers = document.dangers if with_danger else ()
        self._counter = names.unused_name("danger") if with_danger else None
        self._integers = {fluent.name for fluent in document.fluents if fluent.integer}
        exprs = [part for action in document.actions for part in _parts(action)]
        exprs += [entry.condition for entry in self._dangers]
        used = set(_objects_in(exprs))
        self._exprs = [*exprs, document.goal]
        self.constants = [thing.name for thing in document.objects if thing.name in used]
        self.others = [thing.name for thing in document.objects if thing.name not in used]
        self._declares_object = self._object_needs_declaring()
        self._typed = bool(document.types) or self._declares_object

    def domain(self) -> str:
        sections = [f"(:requirements {' '.join(self._requirements())})"]
        if self._typed:
            sections.append(_block(":types", self._types()))
        if self.constants:
            sections.append(_block(":constants", self._typed_names(self.constants)))
        booleans = [self._declaration(f.name, f.parameters) for f in self._document.fluents if not f.integer]
        if booleans:
            sections.append(_block(":predicates", booleans))
        numbers = [self._declaration(f.name, f.parameters) for f in self._document.fluents if f.integer]
        numbers += [f"({self._counter})"] if self._counter else []
        if numbers:
            sections.append(_block(":functions", numbers))
        sections += [self._action(action) for action in self._document.actions]
        return "\n".join(["(define (domain task)", *(f" {section}" for section in sections), ")", ""])

    def problem(self, goal: DangerGoal = "basic") -> str:
        condition = self._condition(self._document.goal)
        if goal != "basic":
            operator = "<=" if goal == "safe" else ">"
            condition = f"(and {condition} ({operator} ({self._counter}) {self._document.max_danger}))"
        sections = [
            "(:domain task)",
            _block(":objects", self._typed_names(self.others)),
            _block(":init", self._initial()),
            f"(:goal {condition})",
        ]
        return "\n".join(["(define (problem task-problem)", *(f" {section}" for section in sections), ")", ""])

    # Conditions and terms. A constant condition is written as an empty connective, because PDDL has no other form for
    # it: so a document's own empty connectives cannot be written.

    def _condition(self, expr: Expr) -> str:
        if isinstance(expr, bool):
            return "(and)" if expr else "(or)"
        head = expr[0]
        if head == "fluent":
            return self._atom(expr[1:])
        if head == "same":
            return f"(= {self._names.argument(expr[1])} {self._names.argument(expr[2])})"
        if head in COMPARISONS:
            return f"({head} {self._term(expr[1])} {self._term(expr[2])})"
        if head in QUANTIFIERS:
            variables = self._typed_list((self._names.argument(name), type_) for name, type_ in expr[1])
            return f"({head} ({' '.join(variables)}) {self._condition(expr[2])})"
        if len(expr) == 1:
            raise NotExpressible(
                f"({head}) stands for a constant in PDDL: a connective without operands would read back as one",
                remedy=f"write {'true' if head == 'and' else 'false'} instead of it",
            )
        return _list(head, map(self._condition, expr[1:]))

    def _break_lines(self, expr: Expr) -> str:
        """Return a condition; a long conjunction gets one line per part."""
        if isinstance(expr, tuple) and expr[0] == "and" and len(expr) > 1:
            return _conjunction([self._condition(part) for part in expr[1:]])
        return self._condition(expr)

    def _term(self, expr: Expr) -> str:
        if isinstance(expr, int):
            return str(expr)
        if expr[0] == "fluent":
            return self._atom(expr[1:])
        return _list(expr[0], map(self._term, expr[1:]))

    def _atom(self, parts: tuple[str, ...]) -> str:
        return _list(self._names.fluents[parts[0]], map(self._names.argument, parts[1:]))

    # Declarations.

    def _requirements(self) -> list[str]:
        needed = {":typing"} if self._typed else set()
        heads = [(node, node[0]) for expr in self._exprs for node in walk(expr) if isinstance(node, tuple)]
        for node, head in heads:
            if head == "not" and _is_atom(node[1]):
                needed.add(":negative-preconditions")
            elif head in ("or", "imply", "not"):
                needed.add(":disjunctive-preconditions")
            elif head == "same":
                needed.add(":equality")
            elif head in QUANTIFIERS:
                needed.add(":existential-preconditions" if head == "exists" else ":universal-preconditions")
        # The constant false is an empty disjunction. Boolean values of effects are not conditions.
        conditions = [self._document.goal, *(entry.condition for entry in self._dangers)]
        effects = [effect for action in self._document.actions for effect in action.effects]
        conditions += [action.precondition for action in self._document.actions]
        conditions += [effect.condition for effect in effects]
        if any(node is False for condition in conditions for node in walk(condition)):
            needed.add(":disjunctive-preconditions")
        if any(effect.condition is not True for effect in effects):
            needed.add(":conditional-effects")
        if any(entry.condition is not True for entry in self._dangers):
            needed.add(":conditional-effects")
        if self._integers or self._counter:
            needed.add(":numeric-fluents")
        return [":strips", *(requirement for requirement in _REQUIREMENTS if requirement in needed)]

    def _types(self) -> list[str]:
        lines = []
        for parent, group in itertools.groupby(self._document.types, key=lambda declared: declared.parent):
            written = " ".join(self._names.types[declared.name] for declared in group)
            lines.append(f"{written} - {self._names.type(parent)}")
        return [*lines, ROOT_TYPE] if self._declares_object else lines

    def _object_needs_declaring(self) -> bool:
        """Return whether ``object`` is used only where Unified Planning's reader does not look for it."""
        document = self._document
        of_type = {thing.name: thing.type for thing in document.objects}
        seen = [parameter.type for fluent in document.fluents for parameter in fluent.parameters]
        seen += [parameter.type for action in document.actions for parameter in action.parameters]
        seen += [of_type[name] for name in self.constants]
        if ROOT_TYPE in seen:
            return False
        nodes = (node for expr in self._exprs for node in walk(expr))
        hidden = [type_ for node in nodes if _is_quantifier(node) for _, type_ in node[1]]
        return ROOT_TYPE in hidden or ROOT_TYPE in (of_type[name] for name in self.others)

    def _typed_names(self, objects: Iterable[str]) -> list[str]:
        of_type = {thing.name: thing.type for thing in self._document.objects}
        return self._typed_list((self._names.objects[name], of_type[name]) for name in objects)

    def _typed_list(self, items: Iterable[tuple[str, str]]) -> list[str]:
        """Return ``a b - place`` for each run of equal types; without types, bare names."""
        groups = []
        for type_, group in itertools.groupby(items, key=lambda item: item[1]):
            names = " ".join(name for name, _ in group)
            groups.append(f"{names} - {self._names.type(type_)}" if self._typed else names)
        return groups

    def _parameters(self, parameters: tuple[Parameter, ...]) -> list[str]:
        return self._typed_list((self._names.argument(parameter.name), parameter.type) for parameter in parameters)

    def _declaration(self, fluent: str, parameters: tuple[Parameter, ...]) -> str:
        return _list(self._names.fluents[fluent], self._parameters(parameters))

    def _action(self, action: ActionDecl) -> str:
        effects = [self._effect(effect) for effect in action.effects]
        effects += [self._increment(entry) for entry in self._dangers if entry.action == action.name]
        return "\n".join(
            [
                f"(:action {self._names.actions[action.name]}",
                f"  :parameters ({' '.join(self._parameters(action.parameters))})",
                f"  :precondition {self._break_lines(action.precondition)}",
                f"  :effect {_conjunction(effects)})",
            ]
        )

    def _effect(self, effect: Effect) -> str:
        target = self._condition(effect.target)
        if isinstance(effect.value, bool):
            written = target if effect.value else f"(not {target})"
        else:
            written = f"({effect.operation} {target} {self._term(effect.value)})"
        return self._when(effect.condition, written)

    def _increment(self, entry: DangerEntry) -> str:
        operation = "increase" if entry.increment > 0 else "decrease"
        return self._when(entry.condition, f"({operation} ({self._counter}) {abs(entry.increment)})")

    def _when(self, condition: Expr, effect: str) -> str:
        return effect if condition is True else f"(when {self._condition(condition)} {effect})"

    def _initial(self) -> list[str]:
        """True Booleans and the value of every ground integer, by atom."""
        values: dict[tuple[str, ...], bool | int] = dict(self._document.initial)
        for atom in self._ground_integers():
            values.setdefault(atom, 0)
        lines = [
            f"(= {self._atom(atom)} {value})" if atom[0] in self._integers else self._atom(atom)
            for atom, value in sorted(values.items())
        ]
        return [*lines, f"(= ({self._counter}) {self._document.initial_danger})"] if self._counter else lines

    def _ground_integers(self) -> Iterator[tuple[str, ...]]:
        parents = {declared.name: declared.parent for declared in self._document.types}
        count = 0
        for fluent in self._document.fluents:
            if not fluent.integer:
                continue
            domains = [
                [thing.name for thing in self._document.objects if parameter.type in _ancestry(thing.type, parents)]
                for parameter in fluent.parameters
            ]
            for args in itertools.product(*domains):
                count += 1
                if count > MAX_INITIAL_VALUES:
                    raise NotExpressible(
                        f"over {MAX_INITIAL_VALUES} ground integer fluents would need an initial value in PDDL",
                        remedy="use fewer objects, or fewer parameters of integer fluents",
                    )
                yield (fluent.name, *args)


_REQUIREMENTS = (
    ":typing",
    ":negative-preconditions",
    ":disjunctive-preconditions",
    ":equality",
    ":existential-preconditions",
    ":universal-preconditions",
    ":conditional-effects",
    ":numeric-fluents",
)


def _is_atom(expr: Expr) -> bool:
    return isinstance(expr, tuple) and expr[0] in ("fluent", "same")


def _is_quantifier(expr: Expr) -> bool:
    return isinstance(expr, tuple) and expr[0] in QUANTIFIERS


def _ancestry(type_: str, parents: Mapping[str, str]) -> list[str]:
    line = [type_]
    while line[-1] != ROOT_TYPE:
        line.append(parents[line[-1]])
    return line


def _list(head: str, items: Iterable[str]) -> str:
    return f"({' '.join((head, *items))})"


def _block(head: str, lines: list[str]) -> str:
    """Return ``(head line line)``, on several lines where there is more than one."""
    if not lines:
        return f"({head})"
    return "\n".join([f"({head}", *(f"  {line}" for line in lines)]) + ")"


def _conjunction(parts: list[str]) -> str:
    flat = _list("and", parts)
    if len(flat) <= _LINE:
        return flat
    return "\n".join(["(and", *(f"    {part}" for part in parts)]) + ")"
