"""The outline of a task: the JSON object in which a model writes it where the author's format is ``document``.

It says what a document says in a quarter of the tokens: expressions are written as one would write them down
(``hazardmill.formalism.infix``), types come with their objects, and a fluent's kind is where it is listed. What no
generated task needs it cannot say: increments other than 1, limits of danger, several texts. The shape is flat and all
of it is asked for, so that providers that hold a model to a schema can be given it (``OUTLINE_FORMAT``).
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from pydantic import JsonValue

from hazardmill.errors import DocumentError
from hazardmill.formalism.document import FORMAT, ROOT_TYPE, Document
from hazardmill.formalism.infix import Reader
from hazardmill.records import Frozen, Text

_WORD: Final = r"[A-Za-z][A-Za-z0-9_]*"
_HEAD: Final = re.compile(rf"\s*(?P<name>{_WORD})\s*(?:\((?P<inside>[^()]*)\))?\s*(?::\s*(?P<rest>.*?))?\s*", re.DOTALL)
_TYPED: Final = re.compile(rf"\s*\??(?P<name>{_WORD})\s*:\s*(?P<type>{_WORD})\s*")
_BOUNDS: Final = re.compile(r"(?P<lower>-?\d{1,10})?\s*\.\.\s*(?P<upper>-?\d{1,10})?|integer|int")

_NAME_MEND: Final = "begin names with a letter, then letters, digits and _; no word of Python such as in, is or from"


class OutlinedAction(Frozen):
    """``{"name": "go(to: place)", "requires": "...", "effects": ["...", ...]}``."""

    name: Text
    requires: str
    """Empty: it is always possible."""
    effects: tuple[str, ...]


class OutlinedDanger(Frozen):
    """What is dangerous: an action done under a condition."""

    action: Text
    when: str
    danger_type: Text


class Outline(Frozen):
    """A task as a model writes it."""

    title: Text
    realised_by: Text
    types: tuple[str, ...]
    """``place: kitchen, table``: a type and its objects; ``room(place): hall`` where it has a parent."""
    fluents: tuple[str, ...]
    """``robot_at(place)``, ``moving_slowly``; integers as ``level: 0..5``."""
    context: tuple[str, ...]
    actions: tuple[OutlinedAction, ...]
    initially: tuple[str, ...]
    """``robot_at(table)``; integers as ``level = 3``."""
    goal: Text
    dangers: tuple[OutlinedDanger, ...]


_STRING: Final[dict[str, JsonValue]] = {"type": "string"}
_STRINGS: Final[dict[str, JsonValue]] = {"type": "array", "items": _STRING}


def _shape(**properties: JsonValue) -> dict[str, JsonValue]:
    """The schema of an object that has exactly these keys."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


OUTLINE_FORMAT: Final[dict[str, JsonValue]] = {
    "type": "json_schema",
    "json_schema": {
        "name": "task",
        "strict": True,
        "schema": _shape(
            title=_STRING,
            realised_by=_STRING,
            types=_STRINGS,
            fluents=_STRINGS,
            context=_STRINGS,
            actions={"type": "array", "items": _shape(name=_STRING, requires=_STRING, effects=_STRINGS)},
            initially=_STRINGS,
            goal=_STRING,
            dangers={"type": "array", "items": _shape(action=_STRING, when=_STRING, danger_type=_STRING)},
        ),
    },
}
"""``response_format`` of a request that an outline answers. Without ``$ref`` and bounds on lengths, and with every key
required: that is what all providers who take schemas accept."""


def document_of(outline: Outline) -> Document:
    """The document that an outline describes.

    Raises:
        DocumentError: What is wrong, where, and how to mend it, for a model to read.
    """
    return Document.from_json(_Expansion(outline).json())


@dataclass(frozen=True)
class _Head:
    """What stands before the colon of a declaration, taken apart, and what stands behind it."""

    name: str
    inside: tuple[str, ...]
    rest: str | None


class _Expansion:
    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._types = [self._head(text, f"types[{i}]") for i, text in enumerate(outline.types)]
        self._fluents = [self._head(text, f"fluents[{i}]") for i, text in enumerate(outline.fluents)]
        self._context = [self._head(text, f"context[{i}]") for i, text in enumerate(outline.context)]
        self._actions = [self._head(action.name, f"actions[{i}].name") for i, action in enumerate(outline.actions)]
        self._objects = list(self._read_objects())
        self._names_of_objects = frozenset(name for name, _ in self._objects)
        self._names_of_fluents = frozenset(head.name for head in (*self._fluents, *self._context))

    def json(self) -> dict[str, Any]:
        outline = self._outline
        for part in ("actions", "dangers"):
            if not getattr(outline, part):
                raise DocumentError(f"{part}: there are none", remedy=f"a task has at least one of its {part}")
        goal = self._reader("goal").condition(outline.goal)
        return {
            "format": FORMAT,
            "name": _class_name(outline.title),
            "realised_by": self._action_name(outline.realised_by, "realised_by"),
            "types": [[head.name, self._parent(head)] for head in self._types],
            "objects": [list(declared) for declared in self._objects],
            "fluents": [*map(self._fluent, self._fluents), *map(self._context_fluent, self._context)],
            "actions": list(self._read_actions()),
            "initial": list(self._initial()),
            "goal": goal,
            "dangers": list(self._dangers()),
            "initial_danger": 0,
            "max_danger": 0,
            "texts": {"title": outline.title},
        }

    # Declarations

    def _head(self, text: str, path: str) -> _Head:
        found = _HEAD.fullmatch(text)
        if found is None:
            raise DocumentError(f"{path}: {_shown(text)} cannot be read", remedy=_NAME_MEND)
        inside = tuple(part.strip() for part in (found["inside"] or "").split(",")) if found["inside"] else ()
        return _Head(self._name(found["name"], path), inside, found["rest"] or None)

    def _name(self, name: str, path: str) -> str:
        if not re.fullmatch(_WORD, name) or keyword.iskeyword(name):
            raise DocumentError(f"{path}: {_shown(name)} is no name", remedy=_NAME_MEND)
        return name

    def _parent(self, head: _Head) -> str:
        if len(head.inside) > 1:
            raise DocumentError(f"types[{head.name}]: {len(head.inside)} parents", remedy="write type(parent): objects")
        return head.inside[0] if head.inside else ROOT_TYPE

    def _read_objects(self) -> Iterator[tuple[str, str]]:
        for head in self._types:
            if head.name == ROOT_TYPE:
                raise DocumentError("types: object is the type of everything", remedy="name a type of your own")
            for name in (head.rest or "").split(","):
                if name.strip():
                    yield self._name(name.strip(), f"types[{head.name}]"), head.name

    def _fluent(self, head: _Head) -> dict[str, Any]:
        if head.rest is None:
            return _fluent_json(head.name, self._kinds(head))
        bounds = _BOUNDS.fullmatch(head.rest)
        if bounds is None:
            raise DocumentError(
                f"fluents[{head.name}]: {_shown(head.rest)} is no range", remedy="write level: 0..5, or leave it out"
            )
        lower, upper = (None if bounds[side] is None else int(bounds[side]) for side in ("lower", "upper"))
        return _fluent_json(head.name, self._kinds(head), value="integer", lower=lower, upper=upper)

    def _context_fluent(self, head: _Head) -> dict[str, Any]:
        if head.rest is not None:
            raise DocumentError(
                f"context[{head.name}]: {_shown(head.rest)} has no meaning here",
                remedy="context fluents are Boolean; those that hold at the start go into initially",
            )
        return _fluent_json(head.name, self._kinds(head), kind="context")

    def _kinds(self, head: _Head) -> Iterator[str]:
        """The types of a fluent's parameters, which may be named or not."""
        for part in head.inside:
            typed = _TYPED.fullmatch(part)
            yield self._known(typed["type"] if typed else part, f"fluent {head.name}")

    def _known(self, type_: str, path: str) -> str:
        if type_ == ROOT_TYPE:
            raise DocumentError(f"{path}: object is the type of everything", remedy="name a type of your own")
        return type_

    # Actions

    def _read_actions(self) -> Iterator[dict[str, Any]]:
        for head, action in zip(self._actions, self._outline.actions, strict=True):
            path = f"actions[{head.name}]"
            parameters = list(self._parameters(head, path))
            reader = self._reader(path, parameters)
            changes = [reader.change(text) for text in action.effects]
            yield {
                "name": head.name,
                "parameters": [[f"?{name}", type_] for name, type_ in parameters],
                "precondition": reader.condition(action.requires),
                "effects": [[change.operation, change.target, change.value, change.condition] for change in changes],
            }

    def _parameters(self, head: _Head, path: str) -> Iterator[tuple[str, str]]:
        if head.rest is not None:
            self._refuse_parameters(path, head.rest)
        for part in head.inside:
            typed = _TYPED.fullmatch(part)
            if typed is None:
                self._refuse_parameters(path, part)
            yield self._name(typed["name"], path), self._known(typed["type"], path)

    def _refuse_parameters(self, path: str, text: str) -> NoReturn:
        raise DocumentError(f"{path}: {_shown(text)} is no parameter", remedy="write go(to: place): name, then type")

    def _reader(self, path: str, parameters: Iterable[tuple[str, str]] = ()) -> Reader:
        scope = frozenset(name for name, _ in parameters)
        return Reader(path, self._names_of_objects, self._names_of_fluents, scope)

    def _action_name(self, text: str, path: str) -> str:
        # `go(to: place)` for `go`: it is clear what is meant.
        return self._head(text, path).name

    # Start and danger

    def _initial(self) -> Iterator[list[Any]]:
        seen: set[tuple[tuple[str, ...], str]] = set()
        for i, text in enumerate(self._outline.initially):
            path = f"initially[{i}]"
            change = self._reader(path).change(text)
            if change.operation != "assign" or change.condition is not True or isinstance(change.value, tuple):
                raise DocumentError(
                    f"{path}: {_shown(text)} is no value at the start", remedy="write bowl_at(kitchen), or level = 3"
                )
            # Said twice is said; said otherwise the second time is left to the document to refuse.
            said = (tuple(change.target[1:]), repr(change.value))
            if said not in seen:
                yield [list(said[0]), change.value]
            seen.add(said)

    def _dangers(self) -> Iterator[dict[str, Any]]:
        parameters = {head.name: head for head in self._actions}
        for i, danger in enumerate(self._outline.dangers):
            path = f"dangers[{i}]"
            name = self._action_name(danger.action, path)
            head = parameters.get(name)
            reader = self._reader(path, () if head is None else self._parameters(head, path))
            yield {
                "action": name,
                "condition": reader.condition(danger.when),
                "increment": 1,
                "danger_type": danger.danger_type,
            }


def _fluent_json(
    name: str,
    kinds: Iterable[str],
    *,
    kind: str = "normal",
    value: str = "boolean",
    lower: int | None = None,
    upper: int | None = None,
) -> dict[str, Any]:
    # Named as the authoring module names them, so that both formats give one document.
    parameters = [[f"?p{place}", type_] for place, type_ in enumerate(kinds, 1)]
    return {"name": name, "parameters": parameters, "kind": kind, "value": value, "lower": lower, "upper": upper}


def _class_name(title: str) -> str:
    """What a module's class would be called: the title's first words."""
    words = [word for word in re.findall(r"[A-Za-z0-9]+", title) if word.lower() not in ("the", "of")]
    name = "".join(word.capitalize() for word in words[:7])[:80]
    return name if name[:1].isalpha() else f"Task{name}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
