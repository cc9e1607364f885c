"""Random traces, rules and sub-goals: as the oracle has them, and as the monitors do."""

from __future__ import annotations

import copy
import random
from typing import Any

from hazardmill.household import rules
from hazardmill.household.world_state import ThingState, WorldState

from .rule_oracle import Cond, State, Trace

KINDS = ("Mug", "Potato", "Microwave", "Table")
FLAGS = ("held", "open", "on", "dirty", "sliced", "cooked", "broken")


def random_trace(rng: random.Random) -> Trace:
    """States in which a few objects change little by little, and some come and go."""
    state: State = [
        {
            "name": f"{kind} ({number})",
            "kind": kind,
            "place": None,
            "filled": None,
            **{flag: rng.random() < 0.3 for flag in FLAGS},
        }
        for kind in KINDS
        for number in range(1, rng.randint(1, 3) + 1)
    ]
    for thing in state:
        _move(rng, state, thing)
    trace = []
    gone: State = []
    for _ in range(rng.randint(1, 14)):
        trace.append(copy.deepcopy(state))
        for _ in range(rng.randint(0, 4)):
            thing = rng.choice(state)
            choice = rng.random()
            if choice < 0.25:
                _move(rng, state, thing)
            elif choice < 0.35:
                thing["filled"] = rng.choice([None, "water", "wine"])
            else:
                flag = rng.choice(FLAGS)
                thing[flag] = not thing[flag]
        if rng.random() < 0.1 and len(state) > 2:
            gone.append(state.pop(rng.randrange(len(state))))
        elif rng.random() < 0.2 and gone:
            state.append(gone.pop(0))
        elif rng.random() < 0.15:
            state.append({**rng.choice(state), "name": f"Mug ({len(trace) + 10})", "kind": "Mug"})
    return trace


def _move(rng: random.Random, state: State, thing: dict[str, Any]) -> None:
    # The receptacles of a recorded trace may hold each other, and they may be gone.
    thing["place"] = rng.choice([None, *(each["name"] for each in state if each is not thing), "Table (1)"])


def random_condition(rng: random.Random) -> Cond:
    choice = rng.random()
    if choice < 0.65:
        return ["flag", rng.choice(["open", "on", "dirty", "cooked", "filled"]), rng.random() < 0.6]
    if choice < 0.75:
        return ["liquid", rng.choice(["water", "wine"])]
    return [rng.choice(["contains", "in"]), rng.sample(KINDS, rng.randint(1, 2))]


def random_rule(rng: random.Random) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "kind": rng.choice([*KINDS, "Mug"]),
        "trigger": [random_condition(rng) for _ in range(rng.randint(1, 2))],
        "resolution": [random_condition(rng) for _ in range(rng.randint(1, 2))],
    }
    if rng.random() < 0.3:
        # The usual rule: what triggers it is undone.
        rule["trigger"] = [["flag", "on", True]]
        rule["resolution"] = [["flag", "on", False]]
    if rng.random() < 0.6:
        return {**rule, "steps": rng.randint(1, 5)}
    return {**rule, "avoid": [random_condition(rng) for _ in range(1 + (rng.random() < 0.2))]}


def random_goal(rng: random.Random) -> dict[str, Any]:
    conditions = [random_condition(rng) for _ in range(rng.randint(0, 2))]
    if rng.random() < 0.2:
        conditions.append(["not on", rng.sample(KINDS, 1)])
    if rng.random() < 0.3:
        conditions += [["flag", "cooked", True], ["cooked by", "Microwave"]]
    return {"kind": rng.choice(["Mug", "Potato"]), "conditions": conditions}


def as_states(trace: Trace) -> list[WorldState]:
    return [{thing["name"]: ThingState(**thing) for thing in state} for state in trace]


def as_rule(rule: dict[str, Any]) -> rules.Rule:
    trigger, resolution = _conditions(rule["trigger"]), _conditions(rule["resolution"])
    if "steps" in rule:
        return rules.StepRule(rule["kind"], trigger, resolution, rule["steps"])
    return rules.StateRule(rule["kind"], trigger, _conditions(rule["avoid"]), resolution)


def as_goal(goal: dict[str, Any]) -> rules.SubGoal:
    return rules.SubGoal(goal["kind"], tuple(_goal_condition(cond) for cond in goal["conditions"]))


def _conditions(conds: list[Cond]) -> tuple[rules.Condition, ...]:
    return tuple(_condition(cond) for cond in conds)


def _goal_condition(cond: Cond) -> rules.GoalCondition:
    if cond[0] == "not on":
        return rules.NotOn(tuple(cond[1]))
    return rules.CookedBy(cond[1]) if cond[0] == "cooked by" else _condition(cond)


def _condition(cond: Cond) -> rules.Condition:
    match cond:
        case ["flag", flag, value]:
            return rules.FlagIs(flag, value)
        case ["liquid", liquid]:
            return rules.FilledWith(liquid)
        case ["contains", kinds]:
            return rules.Contains(tuple(kinds))
    return rules.IsIn(tuple(cond[1]))
