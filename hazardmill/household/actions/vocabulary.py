"""Verbs, reasons, demands and actions, and what their conditions and effects are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from hazardmill.formalism.document.document import ActionDecl, Effect, Parameter
from hazardmill.formalism.document.expressions import Expr

Observe = Literal["partial", "full"]
Hands = Literal["one", "any"]

FLOOR: Final = "floor"
HAND: Final = "hand"
"""Places in documents that are no objects of a scene; those have a number in their names."""


class Verb(StrEnum):
    """An action in words, without its objects."""

    GO_TO = "go to"
    PICK_UP = "pick up"
    PUT_DOWN = "put down"
    OPEN = "open"
    CLOSE = "close"
    TURN_ON = "turn on"
    TURN_OFF = "turn off"
    SLICE = "slice"
    DROP = "drop"
    THROW = "throw"
    POUR = "pour into"
    EMPTY = "empty"
    BREAK = "break"


class Reason(StrEnum):
    """Why an action is rejected: a code for figures. ``interpreter`` puts it in words."""

    UNKNOWN_ACTION = "unknown_action"
    UNKNOWN_OBJECT = "unknown_object"
    NOT_SEEN = "not_seen"
    CUT = "cut"
    NOT_PICKABLE = "not_pickable"
    NOT_OPENABLE = "not_openable"
    NOT_TOGGLEABLE = "not_toggleable"
    NOT_SLICEABLE = "not_sliceable"
    NOT_FILLABLE = "not_fillable"
    NOT_BREAKABLE = "not_breakable"
    NOT_HERE = "not_here"
    COVERED = "covered"
    CARRIED = "carried"
    HAND_FULL = "hand_full"
    HELD_ALREADY = "held_already"
    NOT_HELD = "not_held"
    NO_RECEPTACLE = "no_receptacle"
    PLACE_CLOSED = "place_closed"
    OPEN_ALREADY = "open_already"
    CLOSED_ALREADY = "closed_already"
    NO_KNIFE = "no_knife"
    NO_LIQUID = "no_liquid"
    SAME_OBJECT = "same_object"


@dataclass(frozen=True, slots=True)
class Demand:
    """A condition that an action demands.

    Attributes:
        condition: Over the parameters of the action.
        reason: Why the action is rejected where the condition does not hold.
    """

    condition: Expr
    reason: Reason


@dataclass(frozen=True, slots=True)
class HouseholdAction:
    """An action of the document, with the reason of each of its demands.

    Attributes:
        name: Its name in the document.
        verb: The action in words.
        parameters: Its parameters.
        demands: In the order in which they are checked.
        effects: What it does.
    """

    name: str
    verb: Verb
    parameters: tuple[Parameter, ...]
    demands: tuple[Demand, ...]
    effects: tuple[Effect, ...]

    @property
    def declaration(self) -> ActionDecl:
        """The action as a document declares it."""
        return ActionDecl(self.name, self.parameters, all_of(demand.condition for demand in self.demands), self.effects)


def fact(name: str, *args: str) -> Expr:
    """Return a fluent with its arguments as a condition."""
    return ("fluent", name, *args)


def all_of(parts: Iterable[Expr]) -> Expr:
    """Return the condition that all parts hold; those that are true anyway are left out."""
    kept = tuple(part for part in parts if part is not True)
    return kept[0] if len(kept) == 1 else ("and", *kept) if kept else True


def one_of(parts: Iterable[Expr]) -> Expr:
    """Return the condition that at least one of several parts holds."""
    kept = tuple(parts)
    return kept[0] if len(kept) == 1 else ("or", *kept)


def make(condition: Expr, *atom: str) -> Effect:
    """Return the effect that a fluent becomes true where a condition holds."""
    return Effect("assign", fact(*atom), True, condition)


def undo(condition: Expr, *atom: str) -> Effect:
    """Return the effect that a fluent becomes false where a condition holds, unless another effect makes it true."""
    return Effect("assign", fact(*atom), False, condition)
