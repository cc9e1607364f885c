"""A task as the ``code.py`` of a DESPITE folder: a ``DomainPlanner`` on ``unified_planning.shortcuts``.

The code is a function of the document alone, and keeps the order of operands, objects and parameters. Its layout is
that of common formatters, at 88 columns. ``adapt.adapt`` makes documents that can be written so; others may give code
that Unified Planning refuses or rewrites.
"""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from hazardmill.formalism.document.document import ROOT_TYPE, ActionDecl, Document, FluentDecl, Parameter
from hazardmill.formalism.document.expressions import QUANTIFIERS, Expr, walk

DANGER: Final = "danger"
"""The interface's own fluent, which counts what the danger entries add."""

_WIDTH: Final = 88
_SHORTCUTS: Final = {
    "and": "And",
    "or": "Or",
    "not": "Not",
    "imply": "Implies",
    "exists": "Exists",
    "forall": "Forall",
    "=": "Equals",
    "same": "Equals",
    "<": "LT",
    "<=": "LE",
    ">": "GT",
    ">=": "GE",
    "+": "Plus",
    "-": "Minus",
}
_RESERVED: Final = frozenset(
    {
        *keyword.kwlist,
        *_SHORTCUTS.values(),
        *"FALSE TRUE BoolType Fluent Iff InstantaneousAction IntType Object OrderedDict UserType Variable".split(),
        *"BasePlanner DomainPlanner self super problem base_actions actions action danger_conditions".split(),
        # Built-in names that would confuse a reader.
        *"bool bytes dict dir filter id input int iter list map max min next object open print range set".split(),
        *"sorted str sum tuple type vars zip".split(),
        DANGER,
    }
)
# Keyword arguments of Unified Planning's own constructors, where a parameter's name cannot be one.
_OWN_KEYWORDS: Final = frozenset({"self", "name", "typename", "environment"})


@dataclass(frozen=True, slots=True)
class _Call:
    """A call, tuple or list, to be written on one line or with one item per line."""

    head: str
    items: tuple[Code, ...]
    ends: str = "()"


Code: TypeAlias = "str | _Call"


def planner_code(document: Document) -> str:
    """Return the Python module of a document, which ``adapt`` must have made expressible.

    Run with Unified Planning, it declares types, fluents, objects, actions, goal and danger conditions of the document.
    """
    return _Module(document).text()


def identifiers(document: Document) -> dict[str, str]:
    """Return ``{Python name: name}`` of the types, fluents, objects and actions that have another name in the code."""
    names = _module_names(document)
    return {written: name for name, written in names.items() if written != name}


def is_equivalence(expr: Expr) -> bool:
    """Return whether a condition has the form in which the formalism stores ``iff``: two opposite implications."""
    if not isinstance(expr, tuple) or expr[0] != "and" or len(expr) != 3:
        return False
    left, right = expr[1:]
    return all(isinstance(part, tuple) and part[0] == "imply" for part in (left, right)) and left[1:] == right[1:][::-1]


def types_read(document: Document) -> set[str]:
    """Return the types that objects, parameters and quantified variables have.

    ``object`` is among them where something is of the root type itself; types that are only parents are not.
    """
    types = {thing.type for thing in document.objects}
    types |= {parameter.type for fluent in document.fluents for parameter in fluent.parameters}
    types |= {parameter.type for action in document.actions for parameter in action.parameters}
    for expr in _conditions(document):
        for node in walk(expr):
            if isinstance(node, tuple) and node[0] in QUANTIFIERS:
                types |= {type_ for _, type_ in node[1]}
    return types


def _conditions(document: Document) -> Iterator[Expr]:
    yield document.goal
    yield from (entry.condition for entry in document.dangers)
    for action in document.actions:
        yield action.precondition
        yield from (effect.condition for effect in action.effects)


def _module_names(document: Document) -> dict[str, str]:
    """Return the Python name of each name. All names of such a document differ, whatever they name."""
    names = [declared.name for declared in _parents_first(document)]
    names += [fluent.name for fluent in document.fluents]
    names += [thing.name for thing in document.objects]
    names += [action.name for action in document.actions]
    if ROOT_TYPE in types_read(document):
        names.insert(0, ROOT_TYPE)
    return _spell_names(names, _RESERVED)


def _spell_names(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Return a Python name for each name: its own where possible, reserved before others can take it."""
    names = list(dict.fromkeys(names))
    used = set(taken)
    spelled = {name: name for name in names if name.isidentifier() and name not in used}
    used |= spelled.keys()
    for name in names:
        if name in spelled:
            continue
        wanted = re.sub(r"\W", "_", name, flags=re.ASCII)
        others = (f"{wanted}_{number}" for number in itertools.count(2))
        written = next(each for each in itertools.chain((wanted, f"{wanted}_"), others) if each not in used)
        used.add(written)
        spelled[name] = written
    return {name: spelled[name] for name in names}


def _parents_first(document: Document) -> list[Parameter]:
    """Return the declared types with their parents, each after its parent."""
    left = [Parameter(declared.name, declared.parent) for declared in document.types]
    done = {ROOT_TYPE}
    ordered: list[Parameter] = []
    while left:
        ready = [each for each in left if each.type in done]
        ordered += ready
        done |= {each.name for each in ready}
        left = [each for each in left if each.name not in done]
    return ordered


class _Module:
    """Writes one module."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._names = _module_names(document)
        self._rooted = ROOT_TYPE in self._names
        self._imports: set[str] = set()
        self._ordered = False

    def text(self) -> str:
        # The imports follow from the code, so it is written first.
        body = [*self._declarations(), "", "", *self._planner()]
        lines = [
            '"""A planning task on the interface of DESPITE.',
            "",
            "Context fluents are circumstances that no action changes. An action named in",
            "create_danger_actions adds 1 to the fluent danger if its condition holds before it;",
            "a plan is safe if danger is 0 at its end.",
            '"""',
            "",
            *(["from collections import OrderedDict", ""] if self._ordered else []),
            "from src.planner.solver import BasePlanner",
            *_lay_out("from unified_planning.shortcuts import ", self._write_import(), 0),
            "",
            *self._table(),
            *body,
            "",
            "",
            'if __name__ == "__main__":',
            "    DomainPlanner().run_cli()",
        ]
        return "\n".join(lines) + "\n"

    def _write_import(self) -> _Call | str:
        names = tuple(sorted(self._imports, key=lambda name: (not name.isupper(), name)))
        flat = ", ".join(names)
        fits = len("from unified_planning.shortcuts import ") + len(flat) <= _WIDTH
        return flat if fits else _Call("", names)

    def _table(self) -> list[str]:
        changed = {written: name for name, written in self._names.items() if written != name}
        if not changed:
            return []
        rows = [f"#   {written}: {name}" for written, name in changed.items()]
        return ["# Python names that are not the names in plans:", *rows, ""]

    def _declarations(self) -> list[str]:
        document, names = self._document, self._names
        sections: list[tuple[str, list[str]]] = [("Types", [])]
        types = sections[0][1]
        if self._rooted:
            types += self._write_assignment(names[ROOT_TYPE], self._call("UserType", _quote(ROOT_TYPE)), 0)
        for declared in _parents_first(document):
            father = [] if declared.type == ROOT_TYPE and not self._rooted else [names[declared.type]]
            call = self._call("UserType", _quote(declared.name), *father)
            types += self._write_assignment(names[declared.name], call, 0)
        for title, kind in (("Fluents", "normal"), ("Context fluents", "context")):
            lines: list[str] = []
            for fluent in document.fluents:
                if fluent.kind == kind:
                    lines += self._write_assignment(names[fluent.name], self._fluent(fluent), 0)
            sections.append((title, lines))
        counter = self._call("Fluent", _quote(DANGER), self._call("IntType"))
        sections.append(("Safety fluents", self._write_assignment(DANGER, counter, 0)))
        things: list[str] = []
        for thing in document.objects:
            call = self._call("Object", _quote(thing.name), names[thing.type])
            things += self._write_assignment(names[thing.name], call, 0)
        sections.append(("Objects", things))
        blocks = [[f"# {title}", *lines] for title, lines in sections if lines]
        return [line for i, block in enumerate(blocks) for line in ([""] if i else []) + block]

    def _planner(self) -> list[str]:
        return [
            "class DomainPlanner(BasePlanner):",
            "    def __init__(self):",
            "        super().__init__()",
            *self._container("normal_fluents", self._fluents_of("normal")),
            *self._container("context_fluents", self._fluents_of("context")),
            *self._container("safety_fluents", [DANGER]),
            *self._container("objects", [self._names[thing.name] for thing in self._document.objects]),
            "",
            "    def create_base_actions(self):",
            *self._base_actions(),
            "",
            "    def create_danger_actions(self, base_actions):",
            *self._danger_actions(),
            "",
            "    def _set_initial_state(self, problem):",
            *(self._initial_state() or ["        pass"]),
            "",
            "    def _set_goals(self, problem):",
            *(self._goals() or ["        pass"]),
        ]

    # Parts of the class

    def _fluents_of(self, kind: str) -> list[str]:
        return [self._names[fluent.name] for fluent in self._document.fluents if fluent.kind == kind]

    def _container(self, attribute: str, items: Sequence[str]) -> list[str]:
        return _lay_out(f"self.{attribute} = ", _Call("", tuple(items), "[]"), 8)

    def _base_actions(self) -> list[str]:
        lines: list[str] = []
        for action in self._document.actions:
            lines += [*self._action(action), ""]
        items = tuple(self._names[action.name] for action in self._document.actions)
        return [*lines, *_lay_out("return ", _Call("", items, "()"), 8, as_tuple=True)]

    def _action(self, action: ActionDecl) -> list[str]:
        own = self._names[action.name]
        made = self._call("InstantaneousAction", _quote(action.name), *self._signature(action.parameters))
        lines = self._write_assignment(own, made, 8)
        parts = _conjuncts(action.precondition)
        exprs = [*parts]
        for effect in action.effects:
            exprs += [effect.target, effect.value, effect.condition]
        scope, locals_ = self._locals(exprs, action.parameters, own)
        lines += locals_
        for part in parts:
            lines += _lay_out("", self._call(f"{own}.add_precondition", self._expr(part, scope)), 8)
        for effect in action.effects:
            method = {"assign": "add_effect"}.get(effect.operation, f"add_{effect.operation}_effect")
            value = str(effect.value) if isinstance(effect.value, bool) else self._expr(effect.value, scope)
            items = [self._expr(effect.target, scope), value]
            if effect.condition is not True:
                items.append(self._expr(effect.condition, scope))
            lines += _lay_out("", self._call(f"{own}.{method}", *items), 8)
        return lines

    def _danger_actions(self) -> list[str]:
        document = self._document
        lines = ["        danger_conditions = {}"]
        parameters = {action.name: action.parameters for action in document.actions}
        reads = False
        for entry in document.dangers:
            action = f"actions[{_quote(entry.action)}]"
            scope, locals_ = self._locals([entry.condition], parameters[entry.action], action)
            reads = reads or any(isinstance(name, str) for name in scope)
            lines += ["", *locals_]
            condition = self._expr(entry.condition, scope)
            lines += self._write_assignment(f"danger_conditions[{_quote(entry.action)}]", condition, 8)
        if reads:
            lines.insert(0, "        actions = {action.name: action for action in base_actions}")
        if document.dangers:
            lines.append("")
        return [*lines, "        return self.apply_danger_effects(base_actions, danger_conditions)"]

    def _initial_state(self) -> list[str]:
        lines: list[str] = []
        for atom, value in self._document.initial:
            call = self._call("problem.set_initial_value", self._expr(("fluent", *atom), {}), str(value))
            lines += _lay_out("", call, 8)
        return lines

    def _goals(self) -> list[str]:
        parts = _conjuncts(self._document.goal)
        scope, lines = self._locals(parts, (), "")
        for part in parts:
            lines += _lay_out("", self._call("problem.add_goal", self._expr(part, scope)), 8)
        return lines

    # Names inside a method

    def _locals(
        self, exprs: Iterable[Expr], parameters: Iterable[Parameter], action: str
    ) -> tuple[dict[str | tuple[str, str], str], list[str]]:
        """Return Python names for the parameters and variables that the expressions read, and the lines that bind them.

        Parameters are found by name, variables by name and type: two quantifiers may use one name for two types.
        """
        nodes = [node for expr in exprs for node in walk(expr) if isinstance(node, tuple)]
        read = {arg for node in nodes if node[0] in ("fluent", "same") for arg in node[1:]}
        bound = dict.fromkeys(pair for node in nodes if node[0] in QUANTIFIERS for pair in node[1])
        # A parameter is not in scope under the name of a variable, so its name is read as a parameter or as none.
        wanted = [parameter.name for parameter in parameters if parameter.name in read]
        taken = {*_RESERVED, *self._names.values()}
        scope: dict[str | tuple[str, str], str] = {}
        lines: list[str] = []
        for name, written in _spell_names((name[1:] for name in wanted), taken).items():
            scope[f"?{name}"] = written
            taken.add(written)
            lines += self._write_assignment(written, self._call(f"{action}.parameter", _quote(name)), 8)
        for name, type_ in bound:
            (written,) = _spell_names([name[1:]], taken).values()
            scope[name, type_] = written
            taken.add(written)
            call = self._call("Variable", _quote(name[1:]), self._names[type_])
            lines += self._write_assignment(written, call, 8)
        return scope, lines

    # Expressions

    def _expr(self, expr: Expr, scope: Mapping[str | tuple[str, str], str]) -> Code:
        if isinstance(expr, bool):
            return self._call("TRUE" if expr else "FALSE")
        if isinstance(expr, int):
            return str(expr)
        head = expr[0]
        if head == "fluent":
            return _Call(self._names[expr[1]], tuple(self._argument(arg, scope) for arg in expr[2:]))
        if head == "same":
            return self._call("Equals", *(self._argument(arg, scope) for arg in expr[1:]))
        if head in QUANTIFIERS:
            pairs = [(name, type_) for name, type_ in expr[1]]
            inner = {**scope, **{name: scope[name, type_] for name, type_ in pairs}}
            variables = [scope[pair] for pair in pairs]
            return self._call(_SHORTCUTS[head], self._expr(expr[2], inner), *variables)
        if is_equivalence(expr):
            return self._call("Iff", *(self._expr(part, scope) for part in expr[1][1:]))
        return self._call(_SHORTCUTS[head], *(self._expr(part, scope) for part in expr[1:]))

    def _argument(self, arg: str, scope: Mapping[str | tuple[str, str], str]) -> str:
        return scope[arg] if arg.startswith("?") else self._names[arg]

    def _fluent(self, fluent: FluentDecl) -> _Call:
        if fluent.integer:
            bounds = {"lower_bound": fluent.lower, "upper_bound": fluent.upper}
            given = [f"{name}={bound}" for name, bound in bounds.items() if bound is not None]
            type_ = self._call("IntType", *(map(str, (fluent.lower, fluent.upper)) if len(given) == 2 else given))
        else:
            type_ = self._call("BoolType")
        return self._call("Fluent", _quote(fluent.name), type_, *self._signature(fluent.parameters))

    def _signature(self, parameters: Sequence[Parameter]) -> Iterator[Code]:
        names = [parameter.name[1:] for parameter in parameters]
        if all(name.isidentifier() and not keyword.iskeyword(name) and name not in _OWN_KEYWORDS for name in names):
            for parameter in parameters:
                yield f"{parameter.name[1:]}={self._names[parameter.type]}"
            return
        self._ordered = True
        pairs = [
            _Call("", (_quote(name), self._names[parameter.type]))
            for name, parameter in zip(names, parameters, strict=True)
        ]
        yield _Call("OrderedDict", (_Call("", tuple(pairs), "[]"),))

    def _call(self, function: str, *items: Code) -> _Call:
        if function in _RESERVED and function[0].isupper():
            self._imports.add(function)
        return _Call(function, items)

    def _write_assignment(self, target: str, value: Code, indent: int) -> list[str]:
        return _lay_out(f"{target} = ", value, indent)


def _conjuncts(expr: Expr) -> list[Expr]:
    """Return the parts of a conjunction, to be added separately; Unified Planning keeps one of several equal parts."""
    if expr is True:
        return []
    if not isinstance(expr, tuple) or expr[0] != "and" or is_equivalence(expr):
        return [expr]
    parts = list(expr[1:])
    distinct = all(part not in parts[:i] for i, part in enumerate(parts))
    return parts if len(parts) > 1 and distinct and not any(part is True for part in parts) else [expr]


def _quote(name: str) -> str:
    # Names hold ASCII letters, digits, "_" and "-" only.
    return f'"{name}"'


def _on_one_line(code: Code, as_tuple: bool = False) -> str:
    if isinstance(code, str):
        return code
    only = "," if as_tuple and len(code.items) == 1 else ""
    return f"{code.head}{code.ends[0]}{', '.join(map(_on_one_line, code.items))}{only}{code.ends[1]}"


def _lay_out(before: str, code: Code, indent: int, after: str = "", as_tuple: bool = False) -> list[str]:
    """Return the lines of ``before``, the code, ``after``: one line if it fits, else each item on lines of its own."""
    margin = " " * indent
    flat = f"{margin}{before}{_on_one_line(code, as_tuple)}{after}"
    if len(flat) <= _WIDTH or isinstance(code, str) or not code.items:
        return [flat]
    lines = [f"{margin}{before}{code.head}{code.ends[0]}"]
    for item in code.items:
        lines += _lay_out("", item, indent + 4, ",")
    return [*lines, f"{margin}{code.ends[1]}{after}"]
