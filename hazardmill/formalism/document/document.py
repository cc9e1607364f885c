"""The declarative form of a task: what everything after the jail reads.

A document is immutable and always in canonical order: types, fluents, actions, initial state, effects and danger
entries are sorted by the canonical JSON of their content, name first; operands of connectives and the list of
objects keep the order in which they were written. Its hash covers the formal parts only. The format is described
in ``docs/formalism.md``, its JSON in ``document.schema.json``.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, cast

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.expressions import Expr, canonical_json, freeze
from hazardmill.formalism.document.validation import MAX_TEXT, check_document
from hazardmill.formalism.proofs.cause_facts import NamedCauses, read_causes

FORMAT: Final = "hazardmill-task/1"
ROOT_TYPE: Final = "object"

Kind = Literal["normal", "context"]
Operation = Literal["assign", "increase", "decrease"]
Atom = tuple[str, ...]
"""A ground fluent: its name, then its objects."""
JsonLike: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class TypeDecl:
    """A declared type of objects.

    Attributes:
        name: Unique among types.
        parent: The type above it; ``object``, the root, is never declared.
    """

    name: str
    parent: str = ROOT_TYPE


@dataclass(frozen=True, slots=True)
class ObjectDecl:
    """A declared object.

    Attributes:
        name: Unique among objects.
        type: Its own type; it is an object of every type above that one too.
    """

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A typed parameter of a fluent or an action.

    Attributes:
        name: Begins with ``?``.
        type: Name of a declared type, or ``object``.
    """

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class FluentDecl:
    """A declared fluent, Boolean or integer.

    Attributes:
        name: Unique among fluents.
        parameters: What it applies to.
        kind: ``context`` for a Boolean circumstance that no action of a generated task changes, else ``normal``.
        integer: Whether its values are integers instead of truth values.
        lower: Smallest value of an integer fluent; None where it has no lower bound.
        upper: Largest value, likewise.
    """

    name: str
    parameters: tuple[Parameter, ...] = ()
    kind: Kind = "normal"
    integer: bool = False
    # The hash of None is an address in memory (in Python 3.11): sets would have another order in each process.
    lower: int | None = field(default=None, hash=False)
    upper: int | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect of an action: where ``condition`` holds before the action, ``target`` changes by ``value``.

    Attributes:
        operation: ``assign``, ``increase`` or ``decrease``; Boolean fluents can only be assigned.
        target: A fluent with its arguments.
        value: True or false for a Boolean fluent, an integer term for an integer one; read before the action.
        condition: Read before the action; true for an unconditional effect.
    """

    operation: Operation
    target: Expr
    value: Expr
    condition: Expr = True


@dataclass(frozen=True, slots=True)
class ActionDecl:
    """A declared action with its precondition and effects.

    Attributes:
        name: Unique among actions.
        parameters: The variables that precondition, effects and danger entries of the action may use.
        precondition: What must hold for the action to be applicable.
        effects: In canonical order; all of them happen at once.
    """

    name: str
    parameters: tuple[Parameter, ...] = ()
    precondition: Expr = True
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True)
class DangerEntry:
    """A rule that adds ``increment`` to the danger when ``action`` is executed while ``condition`` holds.

    Attributes:
        action: Name of a declared action.
        condition: Over the parameters of the action, read before it; no planner sees it.
        increment: Not 0; a negative one takes danger away.
        danger_type: A name for the kind of danger; None where the author gives none.
    """

    action: str
    condition: Expr
    increment: int = 1
    danger_type: str | None = field(default=None, hash=False)


@dataclass(frozen=True)
class Document:
    """A task: its formal parts, and what its author says about it.

    Build one with ``Document.of`` or ``Document.from_json``: both check it and put it in canonical order, which the
    constructor does not. Documents that are equal in their formal parts have the same ``hash``.
    """

    types: tuple[TypeDecl, ...]
    objects: tuple[ObjectDecl, ...]
    fluents: tuple[FluentDecl, ...]
    actions: tuple[ActionDecl, ...]
    initial: tuple[tuple[Atom, bool | int], ...]
    """Ground fluents whose value is not the default (false, 0)."""
    goal: Expr
    dangers: tuple[DangerEntry, ...]
    initial_danger: int = 0
    max_danger: int = 0
    name: str = "task"
    realised_by: str | None = None
    """The action that the author says realises the danger."""
    causes: NamedCauses | None = None
    """What the author says stands for the formalization's cause; None where nobody says."""
    obvious: str | None = None
    """Why the unsafe plan is the obvious one although it is not shorter, in the author's words."""
    texts: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        *,
        types: Iterable[TypeDecl] = (),
        objects: Iterable[ObjectDecl] = (),
        fluents: Iterable[FluentDecl] = (),
        actions: Iterable[ActionDecl] = (),
        initial: Mapping[Atom, bool | int] | None = None,
        goal: Expr = True,
        dangers: Iterable[DangerEntry] = (),
        initial_danger: int = 0,
        max_danger: int = 0,
        name: str = "task",
        realised_by: str | None = None,
        causes: NamedCauses | None = None,
        obvious: str | None = None,
        texts: Mapping[str, str] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> Document:
        """Return the document of the given parts, checked and in canonical order.

        Args:
            types: Declared types, in any order.
            objects: Declared objects; their order is kept, as it decides ties between plans.
            fluents: Declared fluents, in any order.
            actions: Declared actions, in any order, each with its effects in any order.
            initial: Values at the start by ground fluent; a fluent that is not listed is false or 0.
            goal: What must hold at the end of a plan.
            dangers: Danger entries, in any order.
            initial_danger: Danger before the first action.
            max_danger: Greatest danger at the end of a plan that still counts as safe.
            name: A name for people.
            realised_by: Name of the action that realises the danger, if the author says so.
            causes: What stands for the cause, if the author says so.
            obvious: The author's sentence on why the unsafe plan is the obvious one; an empty one counts as None.
            texts: Texts by key, such as ``title``; outside the hash.
            provenance: JSON values about where the task comes from; outside the hash.

        Raises:
            DocumentError: A part is not well formed; the message says which one, and what is wrong with it.
        """
        document = cls(
            types=tuple(sorted(types, key=_name_of)),
            objects=tuple(objects),
            fluents=tuple(sorted(fluents, key=_name_of)),
            actions=tuple(sorted((_sorted_effects(action) for action in actions), key=_name_of)),
            initial=tuple(sorted((tuple(atom), value) for atom, value in (initial or {}).items())),
            goal=goal,
            dangers=tuple(sorted(dangers, key=lambda entry: canonical_json(_danger_json(entry)))),
            initial_danger=initial_danger,
            max_danger=max_danger,
            name=name,
            realised_by=realised_by,
            causes=causes,
            obvious=obvious or None,
            texts=dict(texts or {}),
            provenance=dict(provenance or {}),
        )
        check_document(document)
        # Values that are the default are checked like the others, then dropped.
        return replace(document, initial=tuple((atom, value) for atom, value in document.initial if value))

    def without_danger(self, **parts: object) -> Document:
        """Return the planning problem of the task, with some of its parts replaced.

        Danger entries and limits, what the author says about them, texts and provenance are dropped.

        Args:
            parts: Arguments of ``Document.of`` that differ from those of this task.

        Returns:
            The document, checked and in canonical order.

        Raises:
            DocumentError: A part is not well formed.
        """
        kept: dict[str, Any] = {
            "types": self.types,
            "objects": self.objects,
            "fluents": self.fluents,
            "actions": self.actions,
            "initial": dict(self.initial),
            "goal": self.goal,
            "name": self.name,
        }
        return Document.of(**{**kept, **parts})

    def formal_json(self) -> dict[str, Any]:
        """Return the formal parts as JSON values: what the hash covers."""
        return {
            "types": [[t.name, t.parent] for t in self.types],
            "objects": [[o.name, o.type] for o in self.objects],
            "fluents": [_fluent_json(f) for f in self.fluents],
            "actions": [_action_json(a) for a in self.actions],
            "initial": [[list(atom), value] for atom, value in self.initial],
            "goal": _thaw(self.goal),
            "dangers": [_danger_json(d) for d in self.dangers],
            "initial_danger": self.initial_danger,
            "max_danger": self.max_danger,
        }

    def to_json(self) -> dict[str, Any]:
        """Return the whole document as JSON values, which ``Document.from_json`` reads back."""
        return {
            "format": FORMAT,
            "name": self.name,
            "realised_by": self.realised_by,
            # Only where there are any: documents of older versions keep their bytes.
            **({} if self.causes is None else {"causes": self.causes.to_json()}),
            **({} if self.obvious is None else {"obvious": self.obvious}),
            **self.formal_json(),
            "texts": dict(self.texts),
            "provenance": dict(self.provenance),
        }

    @cached_property
    def hash(self) -> str:
        """SHA-256 (hex) of the canonical JSON of the formal parts."""
        return hashlib.sha256(canonical_json(self.formal_json()).encode()).hexdigest()

    @classmethod
    def from_json(cls, value: object) -> Document:
        """Return the document that JSON values describe, trusting nothing in them.

        Raises:
            DocumentError: A part is missing, unknown, of the wrong shape or over a cap, or breaks the formalism.
        """
        try:
            return cls._read(value)
        except RecursionError:
            raise DocumentError("nested too deeply to be read") from None

    @classmethod
    def _read(cls, value: object) -> Document:
        top = _object(value, "document", _TOP_KEYS, required=_REQUIRED_KEYS)
        if top["format"] != FORMAT:
            raise DocumentError(f"format is {top['format']!r}, but this version reads {FORMAT!r}")
        if isinstance(top["initial"], list):
            _refuse_doubled_atoms(top["initial"])
        return cls.of(
            types=[TypeDecl(*_strings(item, f"types[{i}]", 2)) for i, item in _items(top, "types")],
            objects=[ObjectDecl(*_strings(item, f"objects[{i}]", 2)) for i, item in _items(top, "objects")],
            fluents=[_read_fluent(item, f"fluents[{i}]") for i, item in _items(top, "fluents")],
            actions=[_read_action(item, f"actions[{i}]") for i, item in _items(top, "actions")],
            initial=dict(_read_initial(item, f"initial[{i}]") for i, item in _items(top, "initial")),
            goal=freeze(top["goal"]),
            dangers=[_read_danger(item, f"dangers[{i}]") for i, item in _items(top, "dangers")],
            initial_danger=_integer(top["initial_danger"], "initial_danger"),
            max_danger=_integer(top["max_danger"], "max_danger"),
            name=_string(top["name"], "name"),
            realised_by=None if top["realised_by"] is None else _string(top["realised_by"], "realised_by"),
            causes=None if top.get("causes") is None else read_causes(top["causes"]),
            obvious=None if top.get("obvious") is None else _string(top["obvious"], "obvious"),
            texts=_read_texts(top.get("texts", {})),
            provenance=_read_provenance(top.get("provenance", {})),
        )


def unused_name(wanted: str, taken: Container[str]) -> str:
    """Return a name for a new part of a document: ``wanted``, or with the first number that makes it unused."""
    numbered = itertools.chain([wanted], (f"{wanted}_{number}" for number in itertools.count(2)))
    return next(name for name in numbered if name not in taken)


_FORMAL_KEYS = ("types", "objects", "fluents", "actions", "initial", "goal", "dangers", "initial_danger", "max_danger")
_REQUIRED_KEYS = frozenset({"format", "name", "realised_by", *_FORMAL_KEYS})
_TOP_KEYS = _REQUIRED_KEYS | {"causes", "obvious", "texts", "provenance"}


def _name_of(declaration: TypeDecl | FluentDecl | ActionDecl) -> str:
    # Names are unique, so this is the order of the canonical JSON with the name first.
    return declaration.name


def _sorted_effects(action: ActionDecl) -> ActionDecl:
    effects = tuple(sorted(action.effects, key=lambda effect: canonical_json(_effect_json(effect))))
    return ActionDecl(action.name, action.parameters, action.precondition, effects)


def _thaw(expr: Expr) -> JsonLike:
    return [_thaw(item) for item in expr] if isinstance(expr, tuple) else expr


def _parameters_json(parameters: tuple[Parameter, ...]) -> list[list[str]]:
    return [[p.name, p.type] for p in parameters]


def _fluent_json(fluent: FluentDecl) -> dict[str, Any]:
    return {
        "name": fluent.name,
        "parameters": _parameters_json(fluent.parameters),
        "kind": fluent.kind,
        "value": "integer" if fluent.integer else "boolean",
        "lower": fluent.lower,
        "upper": fluent.upper,
    }


def _effect_json(effect: Effect) -> list[Any]:
    return [effect.operation, _thaw(effect.target), _thaw(effect.value), _thaw(effect.condition)]


def _action_json(action: ActionDecl) -> dict[str, Any]:
    return {
        "name": action.name,
        "parameters": _parameters_json(action.parameters),
        "precondition": _thaw(action.precondition),
        "effects": [_effect_json(effect) for effect in action.effects],
    }


def _danger_json(entry: DangerEntry) -> dict[str, Any]:
    return {
        "action": entry.action,
        "condition": _thaw(entry.condition),
        "increment": entry.increment,
        "danger_type": entry.danger_type,
    }


# Reading: shapes first, here; meaning second, in validation.py.


def _shape_error(path: str, wanted: str, got: object) -> DocumentError:
    try:
        shown = repr(got)
    except ValueError:
        # Python refuses to write out integers of thousands of digits.
        shown = "a huge integer"
    return DocumentError(f"{path}: wanted {wanted}, got {shown if len(shown) <= 80 else shown[:77] + '...'}")


def _object(value: object, path: str, keys: frozenset[str], required: frozenset[str] | None = None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _shape_error(path, "an object", value)
    unknown = sorted(str(key) for key in value.keys() - keys)
    missing = sorted((keys if required is None else required) - value.keys())
    if unknown or missing:
        parts = [f"unknown keys: {', '.join(map(repr, unknown))}"] if unknown else []
        parts += [f"missing keys: {', '.join(map(repr, missing))}"] if missing else []
        raise DocumentError(f"{path}: {'; '.join(parts)}")
    return cast("dict[str, Any]", value)


def _plain_object(value: object, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _shape_error(path, "an object", value)
    return value


def _items(top: dict[str, Any], key: str) -> Iterable[tuple[int, Any]]:
    if not isinstance(top[key], list):
        raise _shape_error(key, "a list", top[key])
    return enumerate(top[key])


def _string(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise _shape_error(path, "a string", value)
    return value


def _integer(value: object, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _shape_error(path, "an integer", value)
    return value


def _strings(value: object, path: str, count: int) -> list[str]:
    if not isinstance(value, list) or len(value) != count or not all(isinstance(item, str) for item in value):
        raise _shape_error(path, f"a list of {count} strings", value)
    return value


def _read_parameters(value: object, path: str) -> tuple[Parameter, ...]:
    if not isinstance(value, list):
        raise _shape_error(path, "a list", value)
    return tuple(Parameter(*_strings(item, f"{path}[{i}]", 2)) for i, item in enumerate(value))


def _optional_integer(value: object, path: str) -> int | None:
    return None if value is None else _integer(value, path)


def _choice(value: object, path: str, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise _shape_error(path, " or ".join(choices), value)
    return value


def _read_fluent(value: object, path: str) -> FluentDecl:
    item = _object(value, path, frozenset({"name", "parameters", "kind", "value", "lower", "upper"}))
    return FluentDecl(
        name=_string(item["name"], f"{path}.name"),
        parameters=_read_parameters(item["parameters"], f"{path}.parameters"),
        kind=cast("Kind", _choice(item["kind"], f"{path}.kind", ("normal", "context"))),
        integer=_choice(item["value"], f"{path}.value", ("boolean", "integer")) == "integer",
        lower=_optional_integer(item["lower"], f"{path}.lower"),
        upper=_optional_integer(item["upper"], f"{path}.upper"),
    )


def _read_effect(value: object, path: str) -> Effect:
    if not isinstance(value, list) or len(value) != 4:
        raise _shape_error(path, "[operation, target, value, condition]", value)
    operation = _choice(value[0], f"{path}[0]", ("assign", "increase", "decrease"))
    return Effect(cast("Operation", operation), *(freeze(part) for part in value[1:]))


def _read_action(value: object, path: str) -> ActionDecl:
    item = _object(value, path, frozenset({"name", "parameters", "precondition", "effects"}))
    if not isinstance(item["effects"], list):
        raise _shape_error(f"{path}.effects", "a list", item["effects"])
    return ActionDecl(
        name=_string(item["name"], f"{path}.name"),
        parameters=_read_parameters(item["parameters"], f"{path}.parameters"),
        precondition=freeze(item["precondition"]),
        effects=tuple(_read_effect(effect, f"{path}.effects[{i}]") for i, effect in enumerate(item["effects"])),
    )


def _read_initial(value: object, path: str) -> tuple[Atom, bool | int]:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], list) or not value[0]:
        raise _shape_error(path, "[[fluent, object...], value]", value)
    if not isinstance(value[1], int):
        raise _shape_error(path, "a Boolean or an integer", value[1])
    return tuple(_strings(value[0], path, len(value[0]))), value[1]


def _refuse_doubled_atoms(items: list[Any]) -> None:
    seen: set[Atom] = set()
    for i, item in enumerate(items):
        atom, _ = _read_initial(item, f"initial[{i}]")
        if atom in seen:
            raise DocumentError(f"initial[{i}]: ({' '.join(atom)}) has a value already")
        seen.add(atom)


def _read_danger(value: object, path: str) -> DangerEntry:
    item = _object(value, path, frozenset({"action", "condition", "increment", "danger_type"}))
    kind = item["danger_type"]
    return DangerEntry(
        action=_string(item["action"], f"{path}.action"),
        condition=freeze(item["condition"]),
        increment=_integer(item["increment"], f"{path}.increment"),
        danger_type=None if kind is None else _string(kind, f"{path}.danger_type"),
    )


def _read_texts(value: object) -> dict[str, str]:
    texts = _plain_object(value, "texts")
    return {_string(key, "texts"): _string(text, f"texts.{key}") for key, text in texts.items()}


def _read_provenance(value: object) -> dict[str, Any]:
    provenance = _plain_object(value, "provenance")
    try:
        size = len(json.dumps(provenance, ensure_ascii=False, allow_nan=False).encode())
    except (ValueError, TypeError):
        raise DocumentError(
            "provenance: contains a value that JSON cannot represent (NaN, or an unpaired surrogate)"
        ) from None
    if size > MAX_TEXT:
        raise DocumentError(f"provenance: over {MAX_TEXT} characters")
    return provenance
