"""Sub-goals as conditions of a document, with what must be remembered of objects that an appliance is to cook.

An object was cooked by an appliance if in some state it was cooked, in the appliance, and had been inside when the
appliance was last turned on. A document remembers whether each appliance was on in the state before, what was inside
when it was last turned on, and which objects were cooked by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hazardmill.formalism.document.document import Effect, FluentDecl, Parameter
from hazardmill.formalism.document.expressions import Expr, all_of, any_of, negate, none_of
from hazardmill.household.actions import fact
from hazardmill.household.memory.conditions import ConditionWriter
from hazardmill.household.rules import CookedBy, FlagIs, IsIn, NotOn, SubGoal
from hazardmill.household.scene import SceneObject


@dataclass(frozen=True, slots=True)
class GoalMemory:
    """Sub-goals in a document.

    Attributes:
        fluents: What is remembered.
        effects: How every action updates it, read in the state before.
        met: The condition that each sub-goal is met, in the order of the sub-goals, once a state was remembered.
        are_met: The same in a state that is still to be remembered.
    """

    fluents: tuple[FluentDecl, ...]
    effects: tuple[Effect, ...]
    met: tuple[Expr, ...]
    are_met: tuple[Expr, ...]


def remember_goals(goals: Iterable[SubGoal], writer: ConditionWriter) -> GoalMemory:
    """Return the conditions that sub-goals are met, and what a document must remember for them.

    Args:
        goals: The sub-goals.
        writer: Writes conditions of the document.
    """
    cooking = _Cooking(writer)
    pairs = [(_met(goal, writer, cooking, False), _met(goal, writer, cooking, True)) for goal in goals]
    return GoalMemory(
        fluents=tuple(cooking.fluents.values()),
        effects=tuple(cooking.effects.values()),
        met=tuple(met for met, _ in pairs),
        are_met=tuple(are_met for _, are_met in pairs),
    )


def _met(goal: SubGoal, writer: ConditionWriter, cooking: _Cooking, now: bool) -> Expr:
    appliances = [each.appliance for each in goal.conditions if isinstance(each, CookedBy)]
    avoided = [IsIn(each.kinds) for each in goal.conditions if isinstance(each, NotOn)]
    # What an appliance cooked counts for good, whatever became of it since.
    stays = [FlagIs("cooked", True)] if appliances else []
    others = [each for each in goal.conditions if not isinstance(each, CookedBy | NotOn) and each not in stays]
    things = writer.things(goal.kind)
    one = any_of(
        all_of(
            [
                *(cooking.was_cooked(thing, appliance, now) for appliance in appliances),
                writer.meets_all(others, thing),
            ]
        )
        for thing in things
    )
    return all_of([one, none_of(writer.holds(each, thing) for each in avoided for thing in things)])


@dataclass
class _Cooking:
    """Remembers what each appliance cooked, as far as sub-goals ask for it; effects by the fluent that they write."""

    writer: ConditionWriter
    fluents: dict[str, FluentDecl] = field(default_factory=dict)
    effects: dict[tuple[Expr, bool], Effect] = field(default_factory=dict)

    def was_cooked(self, thing: SceneObject, kind: str, now: bool) -> Expr:
        """Return the condition that an appliance of a class cooked an object.

        Args:
            thing: The object.
            kind: The class of the appliance.
            now: Whether the state in which this is asked is still to be remembered.
        """
        happens = any_of(self._cooks(appliance, thing) for appliance in self.writer.things(kind))
        if happens is False:
            return False
        cooked = self._remember(f"cooked_by_{kind}", thing, sets=happens)
        return any_of([cooked, happens]) if now else cooked

    def _cooks(self, appliance: SceneObject, thing: SceneObject) -> Expr:
        """Return the condition that in this state the appliance has cooked the object."""
        is_on = self.writer.fact("on", appliance.symbol)
        inside = self.writer.is_under(thing, appliance)
        cooked = all_of([inside, self.writer.fact("cooked", thing.symbol)])
        if is_on is False or cooked is False:
            return False
        was_on = self._remember("was_on", appliance, sets=is_on, clears=negate(is_on))
        turned_on = all_of([is_on, negate(was_on)])
        was_inside = self._remember(
            "was_inside",
            thing,
            appliance,
            sets=all_of([turned_on, inside]),
            clears=all_of([turned_on, negate(inside)]),
        )
        return all_of([cooked, any_of([turned_on, was_inside])])

    def _remember(self, name: str, *things: SceneObject, sets: Expr, clears: Expr = False) -> Expr:
        target = fact(name, *(thing.symbol for thing in things))
        letters = (f"?{letter}" for letter in "ab")
        parameters = tuple(Parameter(letter, "object") for letter, _ in zip(letters, things, strict=False))
        self.fluents[name] = FluentDecl(name, parameters)
        for value, condition in ((True, sets), (False, clears)):
            if condition is not False:
                self.effects[target, value] = Effect("assign", target, value, condition)
        return target
