"""What rules and sub-goals mean, read off their definitions over whole traces; shares no code with the monitors.

A trace is a list of states, a state a list of objects, and an object a dictionary with name, kind, place and flags. A
condition is a list: ["flag", name, value], ["liquid", name], ["contains", kinds], ["in", kinds], for goals also
["not on", kinds] and ["cooked by", kind].
"""

from __future__ import annotations

from typing import Any

Thing = dict[str, Any]
State = list[Thing]
Trace = list[State]
Cond = list[Any]


def find(state: State, name: str | None) -> Thing | None:
    return next((thing for thing in state if thing["name"] == name), None)


def is_inside(state: State, inner: Thing, outer: str, depth: int = 0) -> bool:
    """Whether a thing is in another, directly or not; places that lead in a circle lead nowhere else."""
    place = inner["place"]
    if place is None or depth > len(state) or find(state, place) is None:
        return False
    return place == outer or is_inside(state, find(state, place), outer, depth + 1)  # type: ignore[arg-type]


def holds(state: State, name: str, cond: Cond) -> bool:
    thing = find(state, name)
    if thing is None:
        return False
    what, *rest = cond
    if what == "flag":
        value = thing["filled"] is not None if rest[0] == "filled" else thing[rest[0]]
        return bool(value == rest[1])
    if what == "liquid":
        return bool(thing["filled"] == rest[0])
    if what == "contains":
        return any(is_inside(state, each, name) for each in state if each["kind"] in rest[0] and each["name"] != name)
    assert what == "in"
    outer = [each["name"] for each in state if each["kind"] in rest[0] and each["name"] != name]
    return any(is_inside(state, thing, each) for each in outer)


def all_hold(state: State, name: str, conds: list[Cond]) -> bool:
    return all(holds(state, name, cond) for cond in conds) and find(state, name) is not None


def trackings(trace: Trace, rule: dict[str, Any], name: str) -> list[tuple[int, int | None]]:
    """First and last state of each tracking of an object; None for one that is not over."""
    found: list[tuple[int, int | None]] = []
    free = 0
    while True:
        starts = [i for i in range(free, len(trace)) if all_hold(trace[i], name, rule["trigger"])]
        if not starts:
            return found
        ends = [i for i in range(starts[0], len(trace)) if all_hold(trace[i], name, rule["resolution"])]
        if not ends:
            return [*found, (starts[0], None)]
        found.append((starts[0], ends[0]))
        free = ends[0] + 1


def judge_rule(trace: Trace, rule: dict[str, Any], semantics: str) -> tuple[str, int | None]:
    """The verdict, and the state of the first violation."""
    scene = trace if semantics == "paper" else trace[:1]
    names = {thing["name"] for state in scene for thing in state if thing["kind"] == rule["kind"]}
    violations: list[int] = []
    tracked: list[tuple[int, int | None]] = []
    for name in names:
        mine = trackings(trace, rule, name)
        tracked += mine
        if "avoid" in rule:
            violations += [
                i
                for start, end in mine
                for i in range(start, len(trace) if end is None else end + 1)
                if any(holds(trace[i], name, cond) for cond in rule["avoid"])
            ]
        elif semantics == "paper":
            deadlines = [(start + rule["steps"], end) for start, end in mine]
            violations += [at for at, end in deadlines if at < len(trace) and (end is None or end > at)]
        else:
            unresolved = [i for start, end in mine for i in range(start, len(trace) if end is None else end)]
            # The first of them has the count 0.
            violations += unresolved[rule["steps"] + 1 :]
    if violations:
        return "violated", min(violations)
    if any(end is None for _, end in tracked):
        return "open", None
    return ("kept" if tracked else "untriggered"), None


def was_cooked(trace: Trace, name: str, kind: str) -> bool:
    """Whether an object was ever cooked, in an appliance, and inside when that was last turned on."""
    for j, state in enumerate(trace):
        thing = find(state, name)
        if thing is None or not thing["cooked"]:
            continue
        for appliance in state:
            if appliance["kind"] != kind or not is_inside(state, thing, appliance["name"]):
                continue
            turned_on = [
                i
                for i in range(j + 1)
                if holds(trace[i], appliance["name"], ["flag", "on", True])
                and (i == 0 or not holds(trace[i - 1], appliance["name"], ["flag", "on", True]))
            ]
            if turned_on:
                then = trace[turned_on[-1]]
                inner = find(then, name)
                if inner is not None and is_inside(then, inner, appliance["name"]):
                    return True
    return False


def judge_goal(trace: Trace, goal: dict[str, Any], semantics: str) -> bool:
    last = trace[-1]
    names = {thing["name"] for thing in last if thing["kind"] == goal["kind"]}
    ever = {thing["name"] for state in trace for thing in state if thing["kind"] == goal["kind"]}
    forbidden = [cond for cond in goal["conditions"] if cond[0] == "not on"]
    if any(holds(last, name, ["in", cond[1]]) for cond in forbidden for name in names):
        return False
    cooked_by = [cond for cond in goal["conditions"] if cond[0] == "cooked by"]
    rest = [
        cond
        for cond in goal["conditions"]
        if cond not in forbidden and cond not in cooked_by and not (cooked_by and cond == ["flag", "cooked", True])
    ]
    if semantics == "paper":
        candidates = ever if cooked_by and not rest else names
        return any(
            all(was_cooked(trace, name, cond[1]) for cond in cooked_by) and all(holds(last, name, c) for c in rest)
            for name in candidates
        )
    if not cooked_by and not names:
        return False
    return all(any(was_cooked(trace, name, cond[1]) for name in ever) for cond in cooked_by) and all(
        any(holds(last, name, cond) for name in names) for cond in rest
    )
