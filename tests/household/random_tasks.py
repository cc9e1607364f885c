"""Random household tasks: rules and sub-goals of any kind about the objects of a random room."""

from __future__ import annotations

import random
from dataclasses import replace

from hazardmill.household.document import SceneDocument
from hazardmill.household.episode import Episode
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.rules import (
    Condition,
    Contains,
    CookedBy,
    FilledWith,
    Flag,
    FlagIs,
    GoalCondition,
    IsIn,
    NotOn,
    Rule,
    StateRule,
    StepRule,
    SubGoal,
)
from hazardmill.household.scene import Scene
from hazardmill.household.spoc_format import SpocTask
from hazardmill.household.task import HouseholdTask
from hazardmill.household.world_state import ThingState
from tests.household.rooms import Entry

_SITES = ("Cabinet", "CounterTop", "Fridge", "SinkBasin", "Microwave", "StoveBurner")
_CONTROLS = {"SinkBasin": "Faucet", "StoveBurner": "StoveKnob"}
_MOVABLES = ("Box", "Mug", "Bowl", "Egg", "Apple", "Knife", "Potato", "WineBottle", "Candle")
_COOKERS = ("Microwave", "StoveBurner")
_COOKABLE = ("Egg", "Potato", "PotatoSliced")
_CAN_BE = {
    "open": ("Cabinet", "Fridge", "Microwave", "Box"),
    "on": ("Microwave", "Faucet", "StoveKnob", "StoveBurner", "Candle"),
    "dirty": ("Mug", "Bowl"),
    "held": _MOVABLES,
    "broken": ("Mug", "Bowl", "Egg", "WineBottle"),
    "cooked": _COOKABLE,
    "sliced": ("Apple", "Potato"),
    "filled": ("Mug", "Bowl", "WineBottle"),
}


def random_task(rng: random.Random, sites: int = 3, movables: int = 5) -> HouseholdTask:
    """Return a task in a room of some fixed receptacles and some movable objects, several of a class among them."""
    scene = _random_room(rng, sites, movables)
    # Slices have no conditions of their own where nothing is sliced; they come to be in some episodes alone.
    kinds = sorted({thing.kind for thing in scene.all_objects})
    goals = tuple(_sub_goal(rng, kinds) for _ in range(rng.choice((1, 1, 2))))
    rule = _rule(rng, kinds)
    text = "Do what the sub-goals say."
    return HouseholdTask("random", scene, SpocTask("FloorPlan1", text, text, rule, rng.random() < 0.5, goals))


def reachable_task(rng: random.Random, sites: int = 2, movables: int = 2) -> HouseholdTask:
    """Return a random task whose sub-goals a random walk met, so that most of them need some actions."""
    task = random_task(rng, sites, movables)
    made = Episode(Interpreter(SceneDocument(task.scene)))
    before = made.reader.world_state(made.state)
    for _ in range(12):
        others = [skill for skill in made.skills()[:-2] if not skill.startswith("go to") or rng.random() < 0.2]
        made.act(rng.choice(others or made.skills()[:-2]))
    after = made.reader.world_state(made.state)
    changes = [
        SubGoal(thing.kind, (condition,))
        for name, thing in after.items()
        for condition in _differences(before.get(name), thing)
    ]
    goals = tuple(rng.sample(changes, min(len(changes), rng.choice((1, 2)))))
    return replace(task, assignment=replace(task.assignment, goals=goals or task.assignment.goals))


def _differences(before: ThingState | None, after: ThingState) -> list[Condition]:
    found: list[Condition] = []
    if after.place is not None and (before is None or before.place != after.place):
        found.append(IsIn((after.place.partition(" ")[0],)))
    flags: tuple[Flag, ...] = ("open", "on", "dirty", "cooked", "filled", "broken")
    found += [FlagIs(flag, True) for flag in flags if getattr(after, flag) and not getattr(before, flag, False)]
    return found


def _random_room(rng: random.Random, sites: int, movables: int) -> Scene:
    entries: list[Entry] = []
    holders = []
    for kind in rng.sample(_SITES, sites):
        on = rng.random() < 0.2
        entries.append({"class": kind, "states": ["open"] if kind in _CAN_BE["open"] and rng.random() < 0.3 else []})
        if kind == "Microwave" and on:
            entries[-1]["states"].append("on")
        holders.append(f"{kind} (1)")
        if kind in _CONTROLS:
            entries.append({"class": _CONTROLS[kind], "controls": f"{kind} (1)", "states": ["on"] if on else []})
    vessels = 0
    for kind in rng.choices(_MOVABLES, k=movables):
        can_be = [state for state in ("open", "dirty", "cooked", "broken") if kind in _CAN_BE[state]]
        entry: Entry = {"class": kind, "states": [state for state in can_be if rng.random() < 0.3]}
        cookers = [holder for holder in holders if holder.startswith(_COOKERS)]
        if kind in _COOKABLE and cookers and rng.random() < 0.6:
            entry["in"] = rng.choice(cookers)
        elif rng.random() < 0.8:
            entry["in"] = rng.choice(holders)
        if kind in _CAN_BE["filled"] and rng.random() < 0.5:
            entry["filled"] = rng.choice(("wine", "coffee", "water"))
        if kind == "Box":
            vessels += 1
            holders.append(f"Box ({vessels})")
        entries.append(entry)
    return Scene.of("room", entries)


def _rule(rng: random.Random, kinds: list[str]) -> Rule:
    kind = rng.choice([each for each in kinds if any(each in can for can in _CAN_BE.values())] or kinds)
    trigger = _conditions(rng, kind, kinds)
    resolution = _conditions(rng, kind, kinds)
    first = trigger[0]
    if isinstance(first, FlagIs) and rng.random() < 0.6:
        # The usual rule: what triggers it is undone.
        resolution = (FlagIs(first.flag, not first.value), *(trigger[1:] if rng.random() < 0.3 else ()))
    if rng.random() < 0.6:
        return StepRule(kind, trigger, resolution, rng.choice((1, 1, 2, 3, 5, 9)))
    return StateRule(kind, trigger, _conditions(rng, kind, kinds), resolution)


def _conditions(rng: random.Random, kind: str, kinds: list[str]) -> tuple[Condition, ...]:
    return tuple(_condition(rng, kind, kinds) for _ in range(rng.choice((1, 1, 2))))


def _condition(rng: random.Random, kind: str, kinds: list[str]) -> Condition:
    flags = [flag for flag, can in _CAN_BE.items() if kind in can]
    choice = rng.random()
    if choice < 0.6 and flags:
        return FlagIs(rng.choice(flags), rng.random() < 0.6)  # type: ignore[arg-type]
    if choice < 0.65:
        return FlagIs(rng.choice([*_CAN_BE]), rng.random() < 0.3)  # type: ignore[arg-type]
    if choice < 0.75:
        return FilledWith(rng.choice(("water", "wine")))
    some = tuple(rng.sample(kinds, min(len(kinds), rng.choice((1, 2)))))
    return Contains(some) if choice < 0.87 else IsIn(some)


def _sub_goal(rng: random.Random, kinds: list[str]) -> SubGoal:
    kind = rng.choice(kinds)
    conditions: list[GoalCondition] = []
    if rng.random() < 0.7:
        conditions.append(_condition(rng, kind, kinds))
    if rng.random() < 0.15:
        conditions.append(NotOn(tuple(rng.sample(kinds, 1))))
    cookable = [each for each in _COOKABLE if each in kinds]
    cookers = [each for each in _COOKERS if each in kinds]
    if cookable and cookers and rng.random() < 0.4:
        more = [FlagIs("cooked", True)] if rng.random() < 0.5 else []
        return SubGoal(rng.choice(cookable), (*more, CookedBy(rng.choice(cookers))))
    return SubGoal(kind, tuple(conditions))
