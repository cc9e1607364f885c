"""A planning problem that may not be well formed yet: what files and language models give.

A draft has the parts of a document, unchecked and in the order in which they were written: names may be undeclared,
declarations and facts repeated, facts contradictory. Effects are kept as they were written, with what a ``forall``
binds. ``Draft.document`` makes a document of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast, get_args

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.document import (
    ROOT_TYPE,
    ActionDecl,
    Atom,
    Document,
    Effect,
    FluentDecl,
    Kind,
    ObjectDecl,
    Operation,
    Parameter,
    TypeDecl,
)
from hazardmill.formalism.document.expressions import Expr, freeze
from hazardmill.formalism.document.lifted_effects import MAX_UNFOLDED, LiftedEffect, are_too_many
from hazardmill.scenarios.shapes import check_condition_shape, check_target_shape

JsonLike: TypeAlias = Any

Fact = tuple[Atom, bool | int]
"""A ground fluent with its value at the start; False is a fact that is stated not to hold."""


@dataclass(frozen=True, slots=True)
class DraftAction:
    """An action as it was written.

    Attributes:
        name: Its name.
        parameters: Its typed parameters.
        precondition: What must hold before it.
        effects: What it changes, with the variables of each effect.
    """

    name: str
    parameters: tuple[Parameter, ...] = ()
    precondition: Expr = True
    effects: tuple[LiftedEffect, ...] = ()


@dataclass(frozen=True)
class ProblemDraft:
    """A planning problem whose parts are not checked.

    Attributes:
        name: A name for people.
        types: Declared types.
        objects: Declared objects.
        fluents: Declared fluents.
        actions: Declared actions.
        initial: What is stated of the start, in the order in which it was stated.
        goal: What must hold at the end.
    """

    name: str
    types: tuple[TypeDecl, ...] = ()
    objects: tuple[ObjectDecl, ...] = ()
    fluents: tuple[FluentDecl, ...] = ()
    actions: tuple[DraftAction, ...] = ()
    initial: tuple[Fact, ...] = ()
    goal: Expr = True

    @classmethod
    def of(cls, document: Document) -> ProblemDraft:
        """Return the draft of a document; its danger entries are left out."""
        return cls(
            name=document.name,
            types=document.types,
            objects=document.objects,
            fluents=document.fluents,
            actions=tuple(
                DraftAction(
                    action.name,
                    action.parameters,
                    action.precondition,
                    tuple(map(LiftedEffect.of, action.effects)),
                )
                for action in document.actions
            ),
            initial=document.initial,
            goal=document.goal,
        )

    def document(self) -> Document:
        """Return it as a document, with effects unfolded over its objects.

        Raises:
            DocumentError: It is not well formed.
        """
        initial: dict[Atom, bool | int] = {}
        for atom, value in self.initial:
            if initial.setdefault(atom, value) != value:
                raise DocumentError(f"initial[{' '.join(atom)}]: has another value already")
        objects_of = self.objects_of()
        return Document.of(
            types=self.types,
            objects=self.objects,
            fluents=self.fluents,
            actions=[
                ActionDecl(action.name, action.parameters, action.precondition, _unfolded(action, objects_of))
                for action in self.actions
            ],
            initial=initial,
            goal=self.goal,
            name=self.name,
        )

    def lifted(self) -> dict[str, tuple[LiftedEffect, ...]]:
        """Return the effects, as written, of the actions that have a ``forall`` effect, by action."""
        return {
            action.name: action.effects for action in self.actions if any(effect.variables for effect in action.effects)
        }

    def objects_of(self) -> Callable[[str], Sequence[str]]:
        """Return a function that gives the objects of a type and its subtypes, in order."""
        above = TypesAbove(self.types)
        return lambda type_: [thing.name for thing in self.objects if type_ in above(thing.type)]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, in the form that ``from_json`` reads."""
        return {
            "name": self.name,
            "types": [[declared.name, declared.parent] for declared in self.types],
            "objects": [[thing.name, thing.type] for thing in self.objects],
            "fluents": [
                {
                    "name": fluent.name,
                    "parameters": _pairs(fluent.parameters),
                    **({"kind": fluent.kind} if fluent.kind != "normal" else {}),
                    **({"bounds": [fluent.lower, fluent.upper]} if fluent.integer else {}),
                }
                for fluent in self.fluents
            ],
            "actions": [
                {
                    "name": action.name,
                    "parameters": _pairs(action.parameters),
                    "precondition": action.precondition,
                    "effects": [
                        [effect.operation, effect.target, effect.value, effect.condition, _pairs(effect.variables)]
                        for effect in action.effects
                    ],
                }
                for action in self.actions
            ],
            "initial": [[list(atom), value] for atom, value in self.initial],
            "goal": self.goal,
        }

    @classmethod
    def from_json(cls, value: JsonLike) -> ProblemDraft:
        """Return the draft that JSON values describe.

        Raises:
            DocumentError: Their shape is wrong. What the names mean is not checked.
        """
        try:
            made = cls(
                name=_text(value["name"]),
                types=tuple(TypeDecl(_text(name), _text(parent)) for name, parent in value["types"]),
                objects=tuple(ObjectDecl(_text(name), _text(type_)) for name, type_ in value["objects"]),
                fluents=tuple(map(_fluent, value["fluents"])),
                actions=tuple(map(_action, value["actions"])),
                initial=tuple((_atom(atom), _value(given)) for atom, given in value["initial"]),
                goal=freeze(value["goal"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DocumentError(
                f"draft: its shape is wrong ({type(error).__name__}: {error})",
                remedy="write it in the form that hazardmill scenario import writes (docs/safel.md)",
            ) from error
        made._check_shapes()
        return made

    def _check_shapes(self) -> None:
        for action in self.actions:
            path = f"actions[{action.name}]"
            check_condition_shape(action.precondition, f"{path}.precondition")
            for i, effect in enumerate(action.effects):
                check_target_shape(effect.target, f"{path}.effects[{i}]")
                check_condition_shape(effect.value, f"{path}.effects[{i}]")
                check_condition_shape(effect.condition, f"{path}.effects[{i}]")
        check_condition_shape(self.goal, "goal")


class TypesAbove:
    """The types of which every object of a type is one; tolerates undeclared types and circles.

    Args:
        types: Declared types.
    """

    def __init__(self, types: Sequence[TypeDecl]) -> None:
        self._parents = {declared.name: declared.parent for declared in types}
        self._known: dict[str, tuple[str, ...]] = {}

    def __call__(self, type_: str) -> tuple[str, ...]:
        """Return the type itself and those above it, the nearest first, ``object`` last."""
        found = self._known.get(type_)
        if found is None:
            above = [type_]
            while above[-1] != ROOT_TYPE:
                parent = self._parents.get(above[-1], ROOT_TYPE)
                above.append(ROOT_TYPE if parent in above else parent)
            found = self._known[type_] = tuple(above)
        return found


def _unfolded(action: DraftAction, objects_of: Callable[[str], Sequence[str]]) -> tuple[Effect, ...]:
    if are_too_many(action.effects, objects_of):
        raise DocumentError(
            f"actions[{action.name}]: its forall effects unfold into more than {MAX_UNFOLDED} effects",
            remedy="use fewer objects or variables",
        )
    return tuple(effect for lifted in action.effects for effect in lifted.unfold(objects_of))


def _pairs(parameters: Sequence[Parameter]) -> list[list[str]]:
    return [[parameter.name, parameter.type] for parameter in parameters]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _atom(value: Any) -> Atom:  # noqa: ANN401  # any JSON
    atom = tuple(map(_text, value))
    if not atom or isinstance(value, str):
        raise ValueError("a fact needs a name")
    return atom


def _value(value: object) -> bool | int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is neither a truth value nor an integer")
    return value


def _parameters(value: JsonLike) -> tuple[Parameter, ...]:
    return tuple(Parameter(_text(name), _text(type_)) for name, type_ in value)


def _fluent(value: JsonLike) -> FluentDecl:
    lower, upper = value.get("bounds", (None, None))
    kind: Kind = "context" if value.get("kind", "normal") == "context" else "normal"
    return FluentDecl(_text(value["name"]), _parameters(value["parameters"]), kind, "bounds" in value, lower, upper)


def _action(value: JsonLike) -> DraftAction:
    return DraftAction(
        _text(value["name"]),
        _parameters(value["parameters"]),
        freeze(value["precondition"]),
        tuple(
            LiftedEffect(
                _operation(name),
                freeze(target),
                given if isinstance(given, int) else freeze(given),
                freeze(condition),
                _parameters(variables),
            )
            for name, target, given, condition, variables in value["effects"]
        ),
    )


def _operation(value: object) -> Operation:
    if value not in get_args(Operation):
        raise ValueError(f"{value!r} is not an operation of an effect")
    return cast("Operation", value)
