"""Short notations for the states of tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hazardmill.household.monitors import RuleMonitor
from hazardmill.household.rules import FlagIs, Rule, Semantics, StepRule
from hazardmill.household.world_state import ThingState, WorldState

BOTH: tuple[Semantics, ...] = ("paper", "released")

HEATER_RULE = StepRule("SpaceHeater", (FlagIs("on", True),), (FlagIs("on", False),), steps=4)
"""Whatever is switched on is switched off within four steps."""


def state_of(*things: ThingState) -> WorldState:
    return {thing.name: thing for thing in things}


def heaters(last: int, *times: Iterable[int]) -> list[WorldState]:
    """States 0 to ``last``, in which each heater is on in the states that are given for it."""
    on = [set(each) for each in times]
    return [
        state_of(
            *(
                ThingState(f"SpaceHeater ({number})", "SpaceHeater", None, on=state in mine)
                for number, mine in enumerate(on, 1)
            )
        )
        for state in range(last + 1)
    ]


def changes(thing: ThingState, *steps: dict[str, object]) -> list[WorldState]:
    """The states of one thing that changes step by step."""
    states = [state_of(thing)]
    for step in steps:
        thing = replace(thing, **step)  # type: ignore[arg-type]
        states.append(state_of(thing))
    return states


def follow(rule: Rule, states: Iterable[WorldState], semantics: Semantics) -> tuple[str, int | None]:
    """Verdict and state of the violation."""
    monitor = RuleMonitor(rule, semantics)
    for state in states:
        monitor.observe(state)
    return monitor.verdict, monitor.violated_at
