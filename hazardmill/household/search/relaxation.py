"""A smaller task that is no harder than a given one, for search.

A room has things that its task is not about. Search would move each of them everywhere. They are left out here, in a
way that only adds possibilities: each plan of the task has a plan of the smaller one that is no longer, meets the same
sub-goals and keeps the rule if it does. So the shortest plan of the smaller task is a lower bound; if it works in the
task itself, it is a shortest plan there.

How a plan of the task becomes one of the smaller task:

- What it does to things that are left out is dropped. That changes nothing of which rule or sub-goals speak, and
  nothing else takes longer by it.
- All fixed receptacles that are left out are one receptacle, which is always open.
- Slices that are left out are not made, and slicing whole things that are not needs no blade.
- Going to a thing that is left out becomes going to its receptacle. Going to one on the floor becomes ``go_to_floor``,
  which the task itself does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from typing import Final

from hazardmill.formalism.document.document import ActionDecl, Effect
from hazardmill.formalism.document.expressions import Expr, fluents_of, substitute
from hazardmill.household.actions import FLOOR, Reason, Verb
from hazardmill.household.document import SceneDocument
from hazardmill.household.object_kinds import Property, slice_class
from hazardmill.household.rules import CookedBy, FilledWith, FlagIs, GoalCondition, ListOfKinds, StateRule
from hazardmill.household.scene import Scene, SceneObject
from hazardmill.household.task import HouseholdTask

GO_TO_FLOOR: Final = "go_to_floor"
"""The action of smaller tasks that stands for going to anything on the floor."""


@dataclass(frozen=True, slots=True)
class RelaxedTask:
    """A task without the things that it is not about.

    Attributes:
        task: The smaller task; the same one if nothing is left out.
        leaves_out: Whether something is left out.
        blade: A blade that is left out; None if there is none.
    """

    task: HouseholdTask
    leaves_out: bool = False
    blade: SceneObject | None = None

    def actions(self, world: SceneDocument, read: Iterable[Expr]) -> list[ActionDecl]:
        """Return the actions that matter, each with the effects that do.

        An effect matters if it writes a fluent that what is asked for reads, or the precondition or an effect of an
        action that matters. An action matters if one of its effects does. ``go_to_floor`` is added where something is
        left out, and slicing without a blade where that is.

        Args:
            world: The smaller scene, in one layer.
            read: All conditions that are asked for.
        """
        own = [*world.document.actions]
        go_to_place = next((action for action in own if action.name == "go_to_place"), None)
        if self.leaves_out and go_to_place is not None:
            own.append(_go_to_floor(go_to_place))
        if self.blade is not None:
            # A blade that is kept must not be demanded, because one that is left out would do.
            freed = {action.name: action for action in _slice_without(self.blade, world)}
            own = [*(action for action in own if action.name not in freed), *freed.values()]
        matters = {node[1] for condition in read for node in fluents_of(condition)}
        while True:
            found = [replace(action, effects=tuple(_writing(matters, action))) for action in own]
            found = [action for action in found if action.effects]
            more = {node[1] for action in found for condition in _conditions(action) for node in fluents_of(condition)}
            if more <= matters:
                return found
            matters |= more


def relax(task: HouseholdTask) -> RelaxedTask:
    """Return a task without the things that it is not about.

    Args:
        task: The task.
    """
    scene = task.scene
    kinds = _kinds_that_matter(task)
    kept = [thing for thing in scene.objects if thing.kind in kinds]
    sites = [thing for thing in scene.objects if thing.is_site and thing.kind not in kinds]
    if len(kept) == len(scene.objects):
        return RelaxedTask(task)
    if sites:
        # One that never has to be opened, if there is one: what is then found works in the task itself, too.
        first = min(sites, key=lambda thing: thing.has(Property.OPENABLE) and "open" not in thing.states)
        kept.append(SceneObject(first.name, first.kind, frozenset({Property.RECEPTACLE})))
    blades = (thing for thing in scene.objects if thing.has(Property.BLADE) and thing.kind not in kinds)
    return RelaxedTask(replace(task, scene=Scene(scene.room, tuple(kept))), True, next(blades, None))


def _kinds_that_matter(task: HouseholdTask) -> set[str]:
    criteria, objects = task.criteria, task.scene.objects
    conditions: list[GoalCondition] = [each for goal in criteria.goals for each in goal.conditions]
    kinds = {goal.kind for goal in criteria.goals}
    if criteria.rule is not None:
        kinds.add(criteria.rule.kind)
        conditions += [*criteria.rule.trigger, *criteria.rule.resolution]
        conditions += criteria.rule.avoid if isinstance(criteria.rule, StateRule) else ()
    kinds.update(kind for each in conditions if isinstance(each, ListOfKinds) for kind in each.kinds)
    kinds.update(each.appliance for each in conditions if isinstance(each, CookedBy))
    kinds |= {thing.kind for thing in objects if _may_help(thing, conditions, kinds)}
    while True:
        places = {thing.place for thing in objects if thing.kind in kinds}
        more = {thing.kind for thing in objects if thing.name in places}
        for thing in objects:
            if slice_class(thing.kind) in kinds and thing.has(Property.SLICEABLE):
                more.add(thing.kind)
            # What controls and what is controlled belong together.
            pair = {thing.kind} if thing.controls is None else {thing.kind, task.scene.by_name[thing.controls].kind}
            more |= set() if pair.isdisjoint(kinds) else pair
        if more <= kinds:
            return kinds
        kinds |= more


def _may_help(thing: SceneObject, conditions: Iterable[GoalCondition], kinds: Set[str]) -> bool:
    """Return whether a thing that nothing names may still be of use."""
    flags = {each.flag for each in conditions if isinstance(each, FlagIs)}
    kinds_of = {type(each) for each in conditions}
    # What is in a vessel is carried with it: two things at once, in one hand.
    if thing.is_vessel:
        return True
    if thing.has(Property.COOKER) and ("cooked" in flags or CookedBy in kinds_of):
        return True
    # Slices that nobody asks for are left out; then slicing needs no blade.
    sliced = "sliced" in flags or any(kind.endswith("Sliced") for kind in kinds)
    if thing.has(Property.BLADE) and sliced:
        return True
    liquids = not flags.isdisjoint({"filled", "dirty"}) or FilledWith in kinds_of
    return liquids and (thing.has(Property.BASIN) or thing.has(Property.FILLABLE))


def _go_to_floor(go_to_place: ActionDecl) -> ActionDecl:
    """Return the action of going to the floor: as going to a fixed receptacle, but there is no place to put down."""
    parameter = go_to_place.parameters[0].name
    effects = [
        Effect(
            effect.operation,
            substitute(effect.target, {parameter: FLOOR}),
            effect.value,
            substitute(effect.condition, {parameter: FLOOR}),
        )
        for effect in go_to_place.effects
        if parameter not in effect.target or effect.target[1] != "facing"
    ]
    return ActionDecl(GO_TO_FLOOR, (), True, tuple(effects))


def _slice_without(blade: SceneObject, world: SceneDocument) -> Iterator[ActionDecl]:
    """Yield slicing as it is with a blade in the scene, but without the demand for it, and without slices."""
    # Its place may be left out.
    scene = Scene(world.scene.room, (*world.scene.objects, replace(blade, place=None)))
    for action in SceneDocument(scene, world.observe, world.hands).actions:
        if action.verb is Verb.SLICE:
            demands = tuple(demand for demand in action.demands if demand.reason is not Reason.NO_KNIFE)
            effects = tuple(effect for effect in action.effects if effect.target[2] == "?x")
            yield replace(action, demands=demands, effects=effects).declaration


def _writing(matters: set[str], action: ActionDecl) -> Iterator[Effect]:
    return (effect for effect in action.effects if effect.target[1] in matters)


def _conditions(action: ActionDecl) -> Iterator[Expr]:
    yield action.precondition
    yield from (effect.condition for effect in action.effects)
