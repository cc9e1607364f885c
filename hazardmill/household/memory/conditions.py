"""Conditions of rules and sub-goals, written as conditions of a scene's document about one object.

What no action of the scene can change is folded away, so that a condition that always or never holds is a constant.
"""

from __future__ import annotations

from collections.abc import Iterable

from hazardmill.formalism.document.expressions import Expr, all_of, any_of, negate
from hazardmill.household.actions import fact
from hazardmill.household.document import SceneDocument
from hazardmill.household.object_kinds import LIQUIDS
from hazardmill.household.rules import Condition, Contains, FilledWith, FlagIs, IsIn
from hazardmill.household.scene import SceneObject


class ConditionWriter:
    """Writes conditions about the objects of one world.

    Args:
        world: The scene with its layer.

    Raises:
        SearchLimitReached: The world is too large to be ground.
    """

    def __init__(self, world: SceneDocument) -> None:
        self._scene = world.scene
        self._system = system = world.system
        self._written = 0
        for action in system.all_actions():
            self._written |= action.written

    def things(self, kind: str) -> list[SceneObject]:
        """Return the objects of a class, slices that may come to be among them."""
        return [thing for thing in self._scene.all_objects if thing.kind == kind]

    def fact(self, *atom: str) -> Expr:
        """Return a fluent of the world as a condition; its value as a constant if no action can change it."""
        bit = 1 << self._system.bit(atom)
        return fact(*atom) if self._written & bit else bool(self._system.initial.bits & bit)

    def exists(self, thing: SceneObject) -> Expr:
        """Return the condition that an object exists. What was cut still does; its slices do from then on."""
        return True if thing.slice_of is None else self.fact("sliced", self._scene.by_name[thing.slice_of].symbol)

    def meets_all(self, conditions: Iterable[Condition], thing: SceneObject) -> Expr:
        """Return the condition that an object exists and meets all conditions."""
        return all_of([self.exists(thing), *(self.holds(each, thing) for each in conditions)])

    def meets_any(self, conditions: Iterable[Condition], thing: SceneObject) -> Expr:
        """Return the condition that an object exists and meets one of the conditions."""
        return all_of([self.exists(thing), any_of(self.holds(each, thing) for each in conditions)])

    def holds(self, condition: Condition, thing: SceneObject) -> Expr:
        """Return a condition on an object that exists."""
        match condition:
            case FlagIs("filled", value):
                filled = any_of(self.fact("filled", thing.symbol, liquid) for liquid in LIQUIDS)
                return filled if value else all_of(negate(self.fact("filled", thing.symbol, each)) for each in LIQUIDS)
            case FlagIs(flag, value):
                return self.fact(flag, thing.symbol) if value else negate(self.fact(flag, thing.symbol))
            case FilledWith(liquid):
                return self.fact("filled", thing.symbol, liquid)
            case Contains(kinds):
                return any_of(self.is_under(other, thing) for kind in kinds for other in self.things(kind))
            case IsIn(kinds):
                return any_of(self.is_under(thing, holder) for kind in kinds for holder in self.things(kind))

    def is_under(self, thing: SceneObject, holder: SceneObject) -> Expr:
        """Return the condition that an object is in or on another, also by way of further receptacles."""
        # A fixed receptacle is its own base, and in nothing.
        if thing.is_site or thing == holder:
            return False
        if holder.is_site:
            return self.fact("base", thing.symbol, holder.symbol)
        return self.fact("inside", thing.symbol, holder.symbol) if holder.is_vessel else False
