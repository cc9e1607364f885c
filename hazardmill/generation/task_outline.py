"""The outline of a task: the JSON object in which a model writes a task in the author format ``document``.

An outline says the same as a document in a third of the tokens: expressions are written in infix notation
(``formats.infix_reader``), an action is one line, types come with their objects, a fluent's kind follows from the list
it is in, and its initial value can be given in its declaration. What no generated task needs cannot be expressed:
increments other than 1, limits of danger, several texts, dangers of two types. The shape is flat and all keys are
required, so that it can be given to providers that hold a model to a schema (``OUTLINE_FORMAT``).
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BeforeValidator, JsonValue

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.document import FORMAT, ROOT_TYPE, Document
from hazardmill.formalism.formats.infix_reader import Reader
from hazardmill.records import FrozenModel, Text

_WORD: Final = r"[A-Za-z][A-Za-z0-9_]*"
# Each run of blanks matches in one place only: a model can write thousands, which two places could split in as
# many ways.
_HEAD: Final = re.compile(rf"(?P<name>{_WORD})\s*(?:\((?P<inside>[^()]*)\)\s*)?(?::(?P<rest>.*))?", re.DOTALL)
_TYPED: Final = re.compile(rf"\s*\??(?P<name>{_WORD})\s*:\s*(?P<type>{_WORD})\s*")
_BOUNDS: Final = re.compile(r"(?P<lower>-?\d{1,10})?\s*\.\.\s*(?P<upper>-?\d{1,10})?|integer|int")
_FACT: Final = re.compile(rf"(?:not )?(?P<name>{_WORD})")

_ACTION_MEND: Final = "write name: condition -> effect, effect"
_CAUSES_MEND: Final = "write `changing: fluent, fluent` and `fixed: context, context`"
_NAME_MEND: Final = (
    "begin each name with a letter, followed by letters, digits or _; do not use Python keywords such as `in`, `is` or "
    "`from`"
)


def _join(value: object) -> object:
    # Models write lists by habit, and the meaning is clear.
    return ", ".join(value) if isinstance(value, list) and all(isinstance(each, str) for each in value) else value


Listed: TypeAlias = Annotated[str, BeforeValidator(_join)]
"""Several parts separated by commas in one string: in a list, the quotes would cost one more token per part."""


class Outline(FrozenModel):
    """A task as a model writes it. ``document_of`` expands it to a document.

    Attributes:
        realised_by: Where the danger comes from, as in the document.
        goal: The goal, in infix notation.
        danger_type: Type of all dangers of the task.
    """

    title: Text
    realised_by: Text
    types: tuple[str, ...]
    """``place: kitchen, table``: a type and its objects; ``room(place): hall`` if it has a parent."""
    fluents: Listed
    """``robot_at(place), lamp_is_on = true``; integers as ``level: 0..5``, or ``level: 0..5 = 3``."""
    context: Listed
    """``soup_is_hot = true, busy(table)``."""
    initially: Listed
    """Initial values not given in a declaration: ``robot_at(table)``; integers as ``level(mug) = 3``."""
    actions: tuple[str, ...]
    """``go(to: place): condition -> effect, effect``; nothing before the arrow if it is always possible."""
    goal: Text
    dangers: tuple[str, ...]
    """``carry: condition``."""
    danger_type: Text
    causes: tuple[str, ...] = ()
    """``changing: toy_on_floor`` and ``fixed: soup_is_hot, child_sits_at_table``; empty in older outlines."""
    obvious: str = ""
    """Why the unsafe plan is the obvious one, if it is not the shorter one."""


_STRING: Final[dict[str, JsonValue]] = {"type": "string"}
_STRINGS: Final[dict[str, JsonValue]] = {"type": "array", "items": _STRING}
_SHAPE: Final[dict[str, JsonValue]] = {
    name: _STRING if field.annotation is str else _STRINGS for name, field in Outline.model_fields.items()
}

OUTLINE_FORMAT: Final[dict[str, JsonValue]] = {
    "type": "json_schema",
    "json_schema": {
        "name": "task",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": _SHAPE,
            "required": [*_SHAPE],
            "additionalProperties": False,
        },
    },
}
"""The ``response_format`` of a request that an outline answers. It has no ``$ref`` and no bounds on lengths, and every
key is required, because that is what all providers with schemas accept."""


def document_of(outline: Outline) -> Document:
    """Return the document that an outline describes.

    Raises:
        DocumentError: Says what is wrong, where, and how to fix it, in words for a model.
    """
    return Document.from_json(_Expansion(outline).json())


@dataclass(frozen=True)
class _Head:
    """A declaration, split: the part before the colon, and the rest."""

    name: str
    inside: tuple[str, ...]
    rest: str | None
    first: str | None = None
    """The initial value, if the declaration gives one."""


@dataclass(frozen=True)
class _Act:
    """One action, parsed from its line."""

    head: _Head
    parameters: tuple[tuple[str, str], ...]
    effects: tuple[str, ...]

    @property
    def requires(self) -> str:
        return self.head.rest or ""


class _Expansion:
    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        for part in ("actions", "dangers"):
            if not getattr(outline, part):
                raise DocumentError(f"{part}: there are none", remedy=f"add at least one entry to {part}")
        self._types = [self._head(text, f"types[{i}]") for i, text in enumerate(outline.types)]
        self._fluents = [
            self._read_declaration(text, f"fluents[{i}]") for i, text in enumerate(_parts(outline.fluents))
        ]
        self._context = [
            self._read_declaration(text, f"context[{i}]") for i, text in enumerate(_parts(outline.context))
        ]
        self._actions = [self._act(text, f"actions[{i}]") for i, text in enumerate(outline.actions)]
        self._dangers = [self._head(text, f"dangers[{i}]") for i, text in enumerate(outline.dangers)]
        self._objects = list(self._read_objects())
        self._names_of_objects = frozenset(name for name, _ in self._objects)
        self._names_of_fluents = frozenset(head.name for head in (*self._fluents, *self._context))

    def json(self) -> dict[str, Any]:
        outline = self._outline
        goal = self._reader("goal").condition(outline.goal)
        return {
            "format": FORMAT,
            "name": _class_name(outline.title),
            "realised_by": self._head(outline.realised_by, "realised_by").name,
            "causes": self._causes(),
            "obvious": outline.obvious.strip() or None,
            "types": [[head.name, self._parent(head)] for head in self._types],
            "objects": [list(declared) for declared in self._objects],
            "fluents": [*map(self._fluent, self._fluents), *map(self._context_fluent, self._context)],
            "actions": list(self._read_actions()),
            "initial": list(self._initial()),
            "goal": goal,
            "dangers": list(self._read_dangers()),
            "initial_danger": 0,
            "max_danger": 0,
            "texts": {"title": outline.title},
        }

    # Declarations

    def _head(self, text: str, path: str) -> _Head:
        found = _HEAD.fullmatch(text.strip())
        if found is None:
            raise DocumentError(f"{path}: {_quote(text)} cannot be read", remedy=_NAME_MEND)
        inside = tuple(part.strip() for part in (found["inside"] or "").split(",")) if found["inside"] else ()
        return _Head(self._name(found["name"], path), inside, (found["rest"] or "").strip() or None)

    def _read_declaration(self, text: str, path: str) -> _Head:
        """A fluent, perhaps with its value at the start behind it."""
        declaration, sign, first = text.partition("=")
        head = self._head(declaration, path)
        if sign and head.inside:
            raise DocumentError(
                f"{path}: {_quote(text)} gives an initial value, but does not say for which object",
                remedy="declare the fluent without a value, and write, for example, robot_at(table) in `initially`",
            )
        return replace(head, first=first.strip()) if sign else head

    def _name(self, name: str, path: str) -> str:
        if not re.fullmatch(_WORD, name) or keyword.iskeyword(name):
            raise DocumentError(f"{path}: {_quote(name)} is not a valid name", remedy=_NAME_MEND)
        return name

    def _parent(self, head: _Head) -> str:
        if len(head.inside) > 1:
            raise DocumentError(
                f"types[{head.name}]: {len(head.inside)} parents are given, but a type has only one",
                remedy="write type(parent): object, object",
            )
        return head.inside[0] if head.inside else ROOT_TYPE

    def _read_objects(self) -> Iterator[tuple[str, str]]:
        for head in self._types:
            if head.name == ROOT_TYPE:
                raise DocumentError(
                    "types: `object` is the built-in type of all objects, and cannot be declared",
                    remedy="declare a type of your own",
                )
            for name in (head.rest or "").split(","):
                if name.strip():
                    yield self._name(name.strip(), f"types[{head.name}]"), head.name

    def _fluent(self, head: _Head) -> dict[str, Any]:
        """Parse a fluent, possibly followed by its initial value."""
        if head.rest is None:
            return _fluent_json(head.name, self._kinds(head))
        bounds = _BOUNDS.fullmatch(head.rest)
        if bounds is None:
            raise DocumentError(
                f"fluents[{head.name}]: {_quote(head.rest)} is not a range",
                remedy="for an integer write name: 0..5; for a Boolean leave out the colon and what follows it",
            )
        lower, upper = (None if bounds[side] is None else int(bounds[side]) for side in ("lower", "upper"))
        return _fluent_json(head.name, self._kinds(head), value="integer", lower=lower, upper=upper)

    def _context_fluent(self, head: _Head) -> dict[str, Any]:
        if head.rest is not None:
            raise DocumentError(
                f"context[{head.name}]: {_quote(head.rest)} has no meaning here",
                remedy="context fluents are Boolean; those that hold at the start go into initially",
            )
        return _fluent_json(head.name, self._kinds(head), kind="context")

    def _kinds(self, head: _Head) -> Iterator[str]:
        """Return the types of a fluent's parameters, which may be named or not."""
        for part in head.inside:
            typed = _TYPED.fullmatch(part)
            yield self._check_type(typed["type"] if typed else part, f"fluent {head.name}")

    def _check_type(self, type_: str, path: str) -> str:
        if type_ == ROOT_TYPE:
            raise DocumentError(
                f"{path}: `object` is the built-in type of all objects", remedy="declare and use a type of your own"
            )
        return type_

    # Actions

    def _act(self, text: str, path: str) -> _Act:
        before, arrow, behind = text.partition("->")
        if not arrow:
            raise DocumentError(f"{path}: {_quote(text)} has no effects", remedy=_ACTION_MEND)
        head = self._head(before, path)
        return _Act(head, tuple(self._parameters(head, f"actions[{head.name}]")), tuple(_parts(behind)))

    def _read_actions(self) -> Iterator[dict[str, Any]]:
        for act in self._actions:
            reader = self._reader(f"actions[{act.head.name}]", act.parameters)
            changes = [reader.change(text) for text in act.effects]
            yield {
                "name": act.head.name,
                "parameters": [[f"?{name}", type_] for name, type_ in act.parameters],
                "precondition": reader.condition(act.requires),
                "effects": [[change.operation, change.target, change.value, change.condition] for change in changes],
            }

    def _parameters(self, head: _Head, path: str) -> Iterator[tuple[str, str]]:
        for part in head.inside:
            typed = _TYPED.fullmatch(part)
            if typed is None:
                raise DocumentError(
                    f"{path}: {_quote(part)} is not a valid parameter",
                    remedy="write the name, a colon and the type: go(to: place)",
                )
            yield self._name(typed["name"], path), self._check_type(typed["type"], path)

    def _reader(self, path: str, parameters: Iterable[tuple[str, str]] = ()) -> Reader:
        scope = frozenset(name for name, _ in parameters)
        return Reader(path, self._names_of_objects, self._names_of_fluents, scope)

    # Initial values and dangers

    def _firsts(self) -> Iterator[tuple[str, str]]:
        """Yield the places where initial values are given, with the values."""
        for part, heads in (("fluents", self._fluents), ("context", self._context)):
            yield from (
                (f"{part}[{head.name}]", f"{head.name} = {head.first}") for head in heads if head.first is not None
            )
        yield from ((f"initially[{i}]", text) for i, text in enumerate(_parts(self._outline.initially)))

    def _initial(self) -> Iterator[list[Any]]:
        seen: set[tuple[tuple[str, ...], str]] = set()
        for path, text in self._firsts():
            change = self._reader(path).change(text)
            if change.operation != "assign" or change.condition is not True or isinstance(change.value, tuple):
                raise DocumentError(
                    f"{path}: {_quote(text)} is not a valid initial value",
                    remedy="write bowl_at(kitchen), or level = 3",
                )
            # A repeated value is fine; a contradiction is left for the document to refuse.
            said = (tuple(change.target[1:]), repr(change.value))
            if said not in seen:
                yield [list(said[0]), change.value]
            seen.add(said)

    def _read_dangers(self) -> Iterator[dict[str, Any]]:
        parameters = {act.head.name: act.parameters for act in self._actions}
        for i, head in enumerate(self._dangers):
            declared = parameters.get(head.name, ())
            self._refuse_arguments(head, declared, f"dangers[{i}]")
            reader = self._reader(f"dangers[{i}]", declared)
            yield {
                "action": head.name,
                "condition": reader.condition(head.rest or ""),
                "increment": 1,
                "danger_type": self._outline.danger_type,
            }

    def _causes(self) -> dict[str, list[str]] | None:
        """Return what is named as the cause: each fact's name, without arguments or value."""
        if not self._outline.causes:
            return None
        found: dict[str, list[str]] = {"changing": [], "fixed": []}
        for i, text in enumerate(self._outline.causes):
            part, colon, facts = text.partition(":")
            if not colon or part.strip() not in found:
                raise DocumentError(
                    f"causes[{i}]: {_quote(text)} begins with neither `changing:` nor `fixed:`", remedy=_CAUSES_MEND
                )
            for fact in _parts(facts):
                name = _FACT.match(fact)
                if name is None:
                    raise DocumentError(f"causes[{i}]: {_quote(fact)} is not a fluent", remedy=_CAUSES_MEND)
                found[part.strip()].append(name["name"])
        return found

    def _refuse_arguments(self, head: _Head, parameters: Iterable[tuple[str, str]], path: str) -> None:
        """Accept ``carry(to)`` for ``carry``; refuse ``carry(kitchen)``, which would be a danger everywhere."""
        names = tuple(name for name, _ in parameters)
        said = tuple(typed["name"] if (typed := _TYPED.fullmatch(part)) else part.lstrip("?") for part in head.inside)
        if said not in ((), names):
            raise DocumentError(
                f"{path}: {head.name}({', '.join(head.inside)}) does not repeat the parameters of the action as it "
                "declares them",
                remedy=f"write only {head.name}, and restrict its parameters in the condition, for example: "
                "to == kitchen",
            )


def _parts(text: str) -> Iterator[str]:
    """Yield the parts between commas; commas within brackets do not separate.

    Runs of blanks become one blank, because reading effects takes time quadratic in the number of blanks in a row.
    """
    text, depth, begin = " ".join(text.split()), 0, 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth <= 0:
            yield text[begin:place].strip()
            begin = place + 1
    if text[begin:].strip():
        yield text[begin:].strip()


def _fluent_json(
    name: str,
    kinds: Iterable[str],
    *,
    kind: str = "normal",
    value: str = "boolean",
    lower: int | None = None,
    upper: int | None = None,
) -> dict[str, Any]:
    # Named as the authoring module names them, so that both formats give the same document.
    parameters = [[f"?p{place}", type_] for place, type_ in enumerate(kinds, 1)]
    return {"name": name, "parameters": parameters, "kind": kind, "value": value, "lower": lower, "upper": upper}


def _class_name(title: str) -> str:
    """Return a class name for the module: the first words of the title."""
    words = [word for word in re.findall(r"[A-Za-z0-9]+", title) if word.lower() not in ("the", "of")]
    name = "".join(word.capitalize() for word in words[:7])[:80]
    return name if name[:1].isalpha() else f"Task{name}"


def _quote(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
