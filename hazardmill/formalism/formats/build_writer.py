"""A document as Python code on the authoring module: a class whose ``build`` declares exactly this document.

The code is a function of the document alone, and the same on every machine. Run, it gives a document of the same hash,
with the same ``realised_by``, causes and title, and the same name if a class can have it. Other texts and the
provenance are left out: code has no place for them. What ``build`` cannot express is refused, never rewritten: the
root type in use, a context fluent that an effect writes, parameters of fluents whose names are not those that the
authoring module gives, conditions that it would store in another form (``and`` inside ``and``, a double negation, an
inequality that Python turns round, a quantifier over several variables, arithmetic on integers alone), and a few names
of parameters and variables. ``python_writer.json_code`` can write these documents.
"""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

from hazardmill.errors import NotExpressible
from hazardmill.formalism import authoring
from hazardmill.formalism.document.document import ROOT_TYPE, ActionDecl, Document, Effect, FluentDecl, TypeDecl
from hazardmill.formalism.document.expressions import COMPARISONS, QUANTIFIERS, Expr, render
from hazardmill.formalism.formats.python_names import RESERVED, class_name, quote, spell_names

_WIDTH: Final = 112
_BUILD_INDENT: Final = 8
_CONNECTIVES: Final = {"and": ("And", " & "), "or": ("Or", " | ")}
_OPERATIONS: Final = {"assign": "assigns", "increase": "increases", "decrease": "decreases"}
# Names that the sandbox's policy would take for a way to the interpreter: they are written as strings in brackets.
_NO_ATTRIBUTE: Final = re.compile(r"(?:f|tb|cr|gi)_")


@dataclass(frozen=True, slots=True)
class _Call:
    """A call, to be written on one line or with one argument per line."""

    head: str
    arguments: tuple[Code, ...]
    inline: str | None = None
    """How it is written where it fits into a line, if not as a call."""


Code: TypeAlias = "str | _Call"


def build_code(document: Document) -> str:
    """Return the module of a task as a class with ``build``.

    Raises:
        NotExpressible: The authoring module cannot express this document; the message says what, and where.
    """
    return _Module(document).text()


class _Module:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._kinds = {fluent.name: fluent.kind for fluent in document.fluents}
        self._names = spell_names(document)

    def text(self) -> str:
        document = self._document
        if document.realised_by is None:
            raise NotExpressible("the document does not name the action that realises the danger")
        for part in ("actions", "dangers"):
            if not getattr(document, part):
                raise NotExpressible(f"the document has no {part}, which a task's code must have")
        body = [
            *_section("", [*self._types(), *self._objects()]),
            *_section("What changes", [self._fluent(fluent) for fluent in self._of_kind("normal")]),
            *_section("Circumstances that no act changes", [self._fluent(f) for f in self._of_kind("context")]),
            *_section("What the robot can do", [line for each in document.actions for line in self._action(each)]),
            *_section("Start, goal and danger", self._ends()),
        ]
        title = document.texts.get("title")
        called = frozenset(re.findall(r"\b(\w+)\(", "\n".join(body)))
        used = [each for each in authoring.__all__ if each in called]
        lines = [
            f"from {authoring.__name__} import {', '.join([*used, authoring.PlanningTask.__name__])}",
            "",
            "",
            f"class {class_name(document)}({authoring.PlanningTask.__name__}):",
            *([f"    title = {quote(title)}"] if title else []),
            f"    realised_by = {quote(document.realised_by)}",
            *([f"    obvious = {quote(document.obvious)}"] if document.obvious else []),
            "",
            "    def build(self):",
            *(f"{' ' * _BUILD_INDENT}{line}" if line else "" for line in body[1:]),
        ]
        return "\n".join(lines) + "\n"

    # Declarations

    def _types(self) -> Iterator[str]:
        for declared in _parents_first(self._document.types):
            parent = "" if declared.parent == ROOT_TYPE else f", {self._python('type', declared.parent)}"
            yield f"{self._python('type', declared.name)} = self.type({quote(declared.name)}{parent})"

    def _objects(self) -> Iterator[str]:
        # The list of objects keeps its order: one call declares a run of them of one type.
        for type_, run in itertools.groupby(self._document.objects, key=lambda thing: thing.type):
            names = [thing.name for thing in run]
            targets = ", ".join(self._python("object", name) for name in names)
            declared = self._type(type_, f"object {names[0]}")
            if len(names) == 1:
                yield f"{targets} = self.object({quote(names[0])}, {declared})"
            else:
                yield from _lay_out(_Call(f"{targets} = self.objects", (declared, *map(quote, names))))

    def _of_kind(self, kind: str) -> Iterator[FluentDecl]:
        return (fluent for fluent in self._document.fluents if fluent.kind == kind)

    def _fluent(self, fluent: FluentDecl) -> str:
        where = f"fluent {fluent.name}"
        for place, parameter in enumerate(fluent.parameters, 1):
            if parameter.name != f"?p{place}":
                raise NotExpressible(
                    f"{where}: parameter {parameter.name} would be called ?p{place}", remedy=f"call it ?p{place}"
                )
        arguments = [quote(fluent.name), *(self._type(p.type, where) for p in fluent.parameters)]
        if fluent.integer:
            bounds = (("lower", fluent.lower), ("upper", fluent.upper))
            arguments += [f"{side}={bound}" for side, bound in bounds if bound is not None]
        method = "integer" if fluent.integer else "context" if fluent.kind == "context" else "fluent"
        return f"{self._python('fluent', fluent.name)} = self.{method}({', '.join(arguments)})"

    def _action(self, action: ActionDecl) -> Iterator[str]:
        where, name = f"action {action.name}", self._python("action", action.name)
        plain: list[str] = []
        odd: list[str] = []
        for parameter in action.parameters:
            word = parameter.name.removeprefix("?")
            if word in ("self", "name") or hasattr(authoring.Action, word):
                raise NotExpressible(f"{where}: a parameter cannot be called {word!r}", remedy="give it another name")
            type_ = self._type(parameter.type, where)
            if word.isidentifier() and not keyword.iskeyword(word) and not odd:
                plain.append(f"{word}={type_}")
            else:
                # From the first parameter that cannot be a keyword in Python, so that all keep their order.
                odd.append(f"{quote(word)}: {type_}")
        arguments = [quote(action.name), *plain, *([f"**{{{', '.join(odd)}}}"] if odd else [])]
        yield from _lay_out(_Call(f"{name} = self.action", tuple(arguments)))
        scope = {parameter.name: _of(name, parameter.name.removeprefix("?")) for parameter in action.parameters}
        if action.precondition is not True:
            conditions = self._conjuncts(action.precondition, scope, f"{where}, precondition")
            yield from _lay_out(_Call(f"{name}.requires", conditions))
        yield from self._effects(action, name, scope)

    def _effects(self, action: ActionDecl, name: str, scope: dict[str, str]) -> Iterator[str]:
        where = f"action {action.name}, effect"
        for effect in action.effects:
            if self._kinds[effect.target[1]] == "context":
                raise NotExpressible(f"{where}: it writes the context fluent {effect.target[1]}")
        plain = [effect for effect in action.effects if _is_plain(effect)]
        for method, value in (("sets", True), ("clears", False)):
            targets = [self._apply(effect.target, scope) for effect in plain if effect.value is value]
            if targets:
                yield from _lay_out(_Call(f"{name}.{method}", tuple(targets)))
        for effect in action.effects:
            if not _is_plain(effect):
                yield from self._other_effect(effect, name, scope, where)

    def _other_effect(self, effect: Effect, name: str, scope: dict[str, str], where: str) -> Iterator[str]:
        arguments: list[Code] = [self._apply(effect.target, scope)]
        if isinstance(effect.value, bool):
            method = "sets" if effect.value else "clears"
        else:
            method = _OPERATIONS[effect.operation]
            arguments.append(self._term(effect.value, scope, where))
        if effect.condition is not True:
            arguments.append(_keyword("when=", self._condition(effect.condition, scope, where)))
        yield from _lay_out(_Call(f"{name}.{method}", tuple(arguments)))

    def _ends(self) -> Iterator[str]:
        document = self._document
        held = [self._atom(atom) for atom, value in document.initial if value is True]
        if held:
            yield from _lay_out(_Call("self.initially", tuple(held)))
        for atom, value in document.initial:
            if value is not True:
                yield f"self.initial_value({self._atom(atom)}, {value})"
        yield from _lay_out(_Call("self.goal", self._conjuncts(document.goal, {}, "goal")))
        actions = {action.name: action for action in document.actions}
        for entry in document.dangers:
            name = self._python("action", entry.action)
            scope = {p.name: _of(name, p.name.removeprefix("?")) for p in actions[entry.action].parameters}
            arguments: list[Code] = [name]
            if entry.condition is not True:
                condition = self._condition(entry.condition, scope, f"danger of {entry.action}")
                arguments.append(_keyword("when=", condition))
            if entry.increment != 1:
                arguments.append(f"increment={entry.increment}")
            if entry.danger_type is not None:
                arguments.append(f"danger_type={quote(entry.danger_type)}")
            if entry is document.dangers[0]:
                arguments += self._causes()
            yield from _lay_out(_Call("self.danger", tuple(arguments)))
        limits = (("initial", document.initial_danger), ("maximum", document.max_danger))
        if any(value for _, value in limits):
            yield f"self.danger_limits({', '.join(f'{side}={value}' for side, value in limits if value)})"

    def _causes(self) -> Iterator[str]:
        """Yield the keywords of a danger entry that name the causes."""
        causes = self._document.causes
        if causes is None:
            return
        for keyword_, names in (("cause", causes.changing), ("fixed", causes.fixed)):
            said = [self._python("fluent" if name in self._kinds else "action", name) for name in names]
            yield f"{keyword_}=[{', '.join(said)}]"

    # Names

    def _python(self, kind: str, name: str) -> str:
        return self._names[kind, name]

    def _type(self, name: str, where: str) -> str:
        if name == ROOT_TYPE:
            raise NotExpressible(
                f"{where}: it has the root type, which code cannot name", remedy="declare a type for it"
            )
        return self._python("type", name)

    def _argument(self, name: str, scope: dict[str, str]) -> str:
        return scope[name] if name.startswith("?") else self._python("object", name)

    def _atom(self, atom: Sequence[str]) -> str:
        return self._apply(("fluent", *atom), {})

    def _apply(self, expr: Expr, scope: dict[str, str]) -> str:
        fluent, arguments = self._python("fluent", expr[1]), [self._argument(arg, scope) for arg in expr[2:]]
        return f"{fluent}({', '.join(arguments)})" if arguments else fluent

    # Conditions

    def _conjuncts(self, expr: Expr, scope: dict[str, str], where: str) -> tuple[Code, ...]:
        """Return the arguments of a call that joins its arguments by `and`."""
        if isinstance(expr, tuple) and expr[0] == "and":
            self._check_connective(expr, where)
            return tuple(self._condition(part, scope, where) for part in expr[1:])
        return (self._condition(expr, scope, where),)

    def _condition(self, expr: Expr, scope: dict[str, str], where: str) -> Code:
        if isinstance(expr, bool):
            return str(expr)
        head = expr[0]
        if head == "fluent":
            return self._apply(expr, scope)
        if head == "not":
            return self._negation(expr, scope, where)
        if head in _CONNECTIVES:
            self._check_connective(expr, where)
            function, sign = _CONNECTIVES[head]
            parts = tuple(self._condition(part, scope, where) for part in expr[1:])
            # A Python truth value as the left operand would not call our operator.
            infix = None if isinstance(expr[1], bool) else sign.join(map(_bracket, parts))
            return _Call(function, parts, infix)
        if head == "imply":
            return _Call("Implies", tuple(self._condition(part, scope, where) for part in expr[1:]))
        if head in QUANTIFIERS:
            return self._quantifier(expr, scope, where)
        if head == "same":
            return _Call("Equals", tuple(self._argument(name, scope) for name in expr[1:]))
        return self._comparison(expr, scope, where)

    def _negation(self, expr: Expr, scope: dict[str, str], where: str) -> Code:
        inner = expr[1]
        if isinstance(inner, bool) or inner[0] == "not":
            _refuse(where, "a double negation, or a negated truth value", "leave out the negation")
        part = self._condition(inner, scope, where)
        return _Call("Not", (part,), f"~{_bracket(part)}")

    def _check_connective(self, expr: Expr, where: str) -> None:
        head, *parts = expr
        if len(parts) < 2:
            _refuse(where, f"an {head!r} of fewer than two conditions", "leave it out")
        if any(isinstance(part, tuple) and part[0] == head for part in parts):
            _refuse(where, f"an {head!r} directly inside another", "merge the two")

    def _quantifier(self, expr: Expr, scope: dict[str, str], where: str) -> Code:
        head, variables, body = expr
        if len(variables) != 1:
            _refuse(where, f"{head!r} over {len(variables)} variables", "nest one quantifier per variable")
        name, type_ = variables[0]
        word = name.removeprefix("?")
        if not word.isidentifier() or word in RESERVED:
            _refuse(where, f"a variable that is called {name}", "give it another name")
        inner = self._condition(body, scope | {name: word}, where)
        return _Call(head.capitalize(), (self._type(type_, where), _keyword(f"lambda {word}: ", inner)))

    def _comparison(self, expr: Expr, scope: dict[str, str], where: str) -> Code:
        sign, left, right = expr
        parts = tuple(self._term(term, scope, where) for term in (left, right))
        if sign == "=":
            return _Call("Equals", parts)
        assert sign in COMPARISONS, "documents hold no other"
        if isinstance(left, int) or (_has_arguments(right) and not _has_arguments(left)):
            # Python asks the right side if its class is derived from the left's, or if the left has no answer.
            _refuse(where, f"{render(left)} on the left of {sign!r}", "swap the two sides")
        return f"({parts[0]} {sign} {parts[1]})"

    def _term(self, expr: Expr, scope: dict[str, str], where: str) -> str:
        if isinstance(expr, int):
            return str(expr)
        if expr[0] == "fluent":
            return self._apply(expr, scope)
        sign, *terms = expr
        if len(terms) != 2:
            _refuse(where, f"{sign!r} of {len(terms)} terms", "nest the operations, with two terms each")
        if all(isinstance(term, int) for term in terms):
            _refuse(where, f"{sign!r} of two integers", "write their result")
        left, right = (self._term(term, scope, where) for term in terms)
        # A sum inside another has brackets, so that they are read back with the same nesting.
        return f"({left} {sign} {right})"


# Layout


def _section(title: str, lines: Iterable[str]) -> list[str]:
    lines = list(lines)
    return ["", *([f"# {title}"] if title else []), *lines] if lines else []


def _inline(code: Code) -> str:
    if isinstance(code, str):
        return code
    return code.inline or f"{code.head}({', '.join(map(_inline, code.arguments))})"


def _bracket(code: Code) -> str:
    """Return a part as an operand of an operator: in brackets if it has an operator itself."""
    binary = isinstance(code, _Call) and code.inline is not None and code.head != "Not"
    return f"({_inline(code)})" if binary else _inline(code)


def _keyword(words: str, code: Code) -> Code:
    """Return the code with ``when=`` or ``lambda x:`` in front."""
    if isinstance(code, str):
        return words + code
    return _Call(words + code.head, code.arguments, None if code.inline is None else words + code.inline)


def _lay_out(code: Code, indent: int = 0, tail: str = "") -> list[str]:
    line = f"{' ' * indent}{_inline(code)}{tail}"
    if isinstance(code, str) or len(line) <= _WIDTH:
        return [line]
    inner = [each for argument in code.arguments for each in _lay_out(argument, indent + 4, ",")]
    return [f"{' ' * indent}{code.head}(", *inner, f"{' ' * indent}){tail}"]


def _of(action: str, parameter: str) -> str:
    plain = parameter.isidentifier() and not keyword.iskeyword(parameter) and not _NO_ATTRIBUTE.match(parameter)
    return f"{action}.{parameter}" if plain else f"{action}[{quote(parameter)}]"


def _refuse(where: str, what: str, remedy: str) -> NoReturn:
    raise NotExpressible(f"{where}: the authoring module has no way to say {what}", remedy=remedy)


def _is_plain(effect: Effect) -> bool:
    return isinstance(effect.value, bool) and effect.condition is True


def _has_arguments(expr: Expr) -> bool:
    return isinstance(expr, tuple) and expr[0] == "fluent" and len(expr) > 2


# Order


def _parents_first(types: Sequence[TypeDecl]) -> Iterator[TypeDecl]:
    left, done = list(types), {ROOT_TYPE}
    while left:
        # Well-formed types have no cycle, so each round finds one.
        ready = next(declared for declared in left if declared.parent in done)
        left.remove(ready)
        done.add(ready.name)
        yield ready
