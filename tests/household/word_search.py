"""Plain breadth-first search over episodes: it knows words, and what rules and sub-goals mean for states of the world.

It knows nothing of documents, compiled or not, and shares no code with monitors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from hazardmill.formalism.semantics.transition_system import State
from hazardmill.household.actions import Hands, Observe
from hazardmill.household.document import SceneDocument
from hazardmill.household.episode import Episode
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.rules import (
    Condition,
    CookedBy,
    FlagIs,
    IsIn,
    NotOn,
    Rule,
    StateRule,
    StepRule,
    SubGoal,
    holders,
    meets_all,
)
from hazardmill.household.task import HouseholdTask
from hazardmill.household.world_state import WorldState


@dataclass(frozen=True)
class Lengths:
    """What search by words found.

    Attributes:
        compliant: Least number of actions of a plan that succeeds; None without one.
        goals: Least number of actions that meet the sub-goals; None if they cannot be met.
        careless: Whether the rule is violated or open after some plan of that length.
    """

    compliant: int | None
    goals: int | None
    careless: bool


@dataclass(frozen=True)
class _Past:
    """What matters of the states so far: ages by tracked object, and what appliances did."""

    tracked: frozenset[tuple[str, int]] = frozenset()
    violated: bool = False
    triggered: bool = False
    on: frozenset[str] = frozenset()
    inside: frozenset[tuple[str, str]] = frozenset()
    cooked: frozenset[tuple[str, str]] = frozenset()

    def after(self, rule: Rule, state: WorldState) -> _Past:
        """What matters once one more state was seen."""
        mine = {name: thing for name, thing in state.items() if thing.kind == rule.kind}
        ages = dict(self.tracked)
        begun = {name for name in mine if name not in ages and meets_all(rule.trigger, mine[name], state)}
        ages = {**{name: age + 1 for name, age in ages.items()}, **dict.fromkeys(begun, 0)}
        violated = self.violated
        if isinstance(rule, StateRule):
            violated |= any(_some(rule.avoid, mine[name].name, state) for name in ages)
        ages = {name: age for name, age in ages.items() if not meets_all(rule.resolution, mine[name], state)}
        if isinstance(rule, StepRule):
            violated |= any(age >= rule.steps for age in ages.values())
        # A violation is for good.
        tracked = frozenset() if violated else frozenset(ages.items())
        return replace(self, tracked=tracked, violated=violated, triggered=self.triggered or bool(begun))

    def heated(self, state: WorldState) -> _Past:
        """What matters of appliances once one more state was seen."""
        on = frozenset(name for name, thing in state.items() if thing.on)
        now = {(holder.name, name) for name, thing in state.items() for holder in holders(thing, state)}
        turned = on - self.on
        inside = {pair for pair in self.inside if pair[0] not in turned} | {pair for pair in now if pair[0] in turned}
        new = {(state[each].kind, name) for each, name in now & inside if state[name].cooked}
        return replace(self, on=on, inside=frozenset(inside), cooked=self.cooked | new)


def _some(conditions: tuple[Condition, ...], name: str, state: WorldState) -> bool:
    return any(condition.holds(state[name], state) for condition in conditions)


def _is_met(goal: SubGoal, past: _Past, state: WorldState) -> bool:
    things = [thing for thing in state.values() if thing.kind == goal.kind]
    cookers = [each.appliance for each in goal.conditions if isinstance(each, CookedBy)]
    not_on = [each.kinds for each in goal.conditions if isinstance(each, NotOn)]
    if any(IsIn(kinds).holds(thing, state) for kinds in not_on for thing in things):
        return False
    others = tuple(
        each
        for each in goal.conditions
        if not isinstance(each, CookedBy | NotOn) and not (cookers and each == FlagIs("cooked", True))
    )
    return any(
        all((cooker, thing.name) in past.cooked for cooker in cookers) and meets_all(others, thing, state)
        for thing in things
    )


def search_words(task: HouseholdTask, observe: Observe, hands: Hands, most: int) -> Lengths | None:
    """Return the least lengths, layer by layer; None where there are more states than ``most``."""
    interpreter = Interpreter(SceneDocument(task.scene, observe, hands))
    reader, rule, goals = interpreter.reader, task.assignment.rule, task.assignment.goals
    cooks = any(isinstance(each, CookedBy) for goal in goals for each in goal.conditions)
    is_item = task.assignment.rule_is_item and isinstance(rule, StepRule)

    def seen(past: _Past, state: State) -> _Past:
        world = reader.world_state(state)
        after = past.after(rule, world)
        return after.heated(world) if cooks else after

    @cache
    def successors(state: State) -> frozenset[State]:
        found = set()
        for skill in Episode(interpreter, state).skills()[:-2]:
            made = Episode(interpreter, state)
            if made.act(skill).accepted:
                found.add(made.state)
        return frozenset(found)

    start = interpreter.world.system.initial
    layer = {(start, seen(_Past(), start))}
    known = set(layer)
    depth, least, careless = 0, None, False
    while layer:
        met = [past for state, past in layer if all(_is_met(goal, past, reader.world_state(state)) for goal in goals)]
        if met and least is None:
            least, careless = depth, any(past.violated or past.tracked for past in met)
        if any(not past.violated and not past.tracked and (past.triggered or not is_item) for past in met):
            return Lengths(depth, least, careless)
        following = {
            (after, seen(past, after))
            for state, past in layer
            # Nothing that follows a violation is compliant.
            if least is None or not past.violated
            for after in successors(state)
        }
        layer = following - known
        known |= layer
        depth += 1
        if len(known) > most:
            return None
    return Lengths(None, least, careless)
