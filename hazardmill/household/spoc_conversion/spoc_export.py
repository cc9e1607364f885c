"""Household tasks exported as task files of SPOC: the states of the scene become initial actions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hazardmill.household.object_kinds import KINDS, Property
from hazardmill.household.scene import STATES, Scene, SceneObject
from hazardmill.household.spoc_conversion.spoc_import import CONTROLS, STATE_ACTIONS, is_imported
from hazardmill.household.spoc_format import InitialAction, SpocTask
from hazardmill.household.task import HouseholdTask

_ACTIONS = {said: action for action, said in STATE_ACTIONS.items()}


@dataclass(frozen=True, slots=True)
class SpocExport:
    """A household task as a task of SPOC.

    Attributes:
        assignment: What the file says.
        untold: What the file does not say of the scene, a sentence each.
    """

    assignment: SpocTask
    untold: tuple[str, ...] = ()


def export_spoc_task(task: HouseholdTask) -> SpocExport:
    """Return a household task as SPOC has it.

    A task whose scene is what importing it gives is exported as it came. Otherwise the states of the scene become
    initial actions: whether things are open or on is always said, because floor plans differ in it; other states are
    said where they are true.

    Args:
        task: The task.

    Returns:
        The task of SPOC, and what it does not say. SPOC places objects by coordinates, which a scene does not have.
    """
    if is_imported(task):
        return SpocExport(task.assignment)
    actions = [action for thing in task.scene.objects for action in _actions(thing)]
    assignment = dataclasses.replace(task.assignment, initial_actions=(*actions,))
    return SpocExport(assignment, tuple(_untold(task.scene, actions)))


def _actions(thing: SceneObject) -> Iterator[InitialAction]:
    for state, needed in STATES.items():
        if needed not in thing.properties or thing.kind not in KINDS:
            continue
        value = state in thing.states
        if value or state in ("open", "on"):
            yield _action(thing, _ACTIONS[state, value])
    if thing.filled is not None:
        yield _action(thing, "FillObjectWithLiquid", fillLiquid=thing.filled)


def _action(thing: SceneObject, name: str, **more: Any) -> InitialAction:  # noqa: ANN401  # JSON
    number = thing.name.rpartition("(")[2].removesuffix(")")
    return InitialAction(name, {"objectId": f"{thing.kind}|{number}", **more, "forceAction": True})


def _untold(scene: Scene, actions: list[InitialAction]) -> Iterator[str]:
    if actions:
        yield "objectIds have the number of the object where the simulator has its coordinates"
    placed = [thing for thing in scene.objects if thing.place is not None and Property.PICKABLE in thing.properties]
    if placed:
        yield f"where {len(placed)} objects are: SPOC places objects by coordinates"
    for thing in scene.objects:
        known = KINDS.get(thing.kind)
        if known is None:
            yield f"{thing.name}: the class is not one of the simulator's"
        elif known.properties != thing.properties:
            yield f"{thing.name}: its properties are not those of its class"
        if thing.controls is not None and CONTROLS.get(thing.controls.partition(" ")[0]) != thing.kind:
            yield f"{thing.name}: that it controls {thing.controls}"
