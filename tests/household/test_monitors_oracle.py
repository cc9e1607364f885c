"""The monitors against an oracle that shares no code with them."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from hazardmill.household.monitors import RuleMonitor, SubGoalMonitor
from hazardmill.household.rules import Semantics
from hazardmill.household.world_state import WorldState
from tests.sizes import sized

from .random_traces import as_goal, as_rule, as_states, random_goal, random_rule, random_trace
from .rule_oracle import Trace, judge_goal, judge_rule, trackings
from .states import BOTH


@pytest.mark.parametrize("traces", [sized(200, 10_000)])
def test_monitors_find_what_the_oracle_finds_on_random_traces(traces: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(traces):
        rng = random.Random(f"trace {seed}")
        trace, rule, goal = random_trace(rng), random_rule(rng), random_goal(rng)
        states = as_states(trace)
        verdicts = {reading: rule_agrees(trace, states, rule, reading) for reading in BOTH}
        kind = "step" if "steps" in rule else "state"
        counts.update(f"{kind} {verdict} {reading}" for reading, verdict in verdicts.items())
        counts[f"{kind} other verdict"] += verdicts["paper"] != verdicts["released"]
        met = {reading: goal_agrees(trace, states, goal, reading) for reading in BOTH}
        counts.update(f"goal {value} {reading}" for reading, value in met.items())
        counts["goal other verdict"] += met["paper"] != met["released"]
        counts["goal cooked"] += any(cond[0] == "cooked by" for cond in goal["conditions"]) and met["paper"]
        count_cases(counts, trace, rule)
    print(counts)
    assert len(counts) == 2 * 4 * 2 + 2 + 4 + 2 + 4
    assert min(counts.values()) >= traces // 125


def rule_agrees(trace: Trace, states: list[WorldState], rule: dict[str, Any], reading: Semantics) -> str:
    monitor = RuleMonitor(as_rule(rule), reading)
    for number, state in enumerate(states, 1):
        monitor.observe(state)
        # The verdict so far is that of the trace so far.
        assert (monitor.verdict, monitor.violated_at) == judge_rule(trace[:number], rule, reading), (rule, reading)
    verdict = monitor.verdict
    names = {thing["name"] for state in trace for thing in state if thing["kind"] == rule["kind"]}
    if reading == "paper":
        lengths = [end - start for name in names for start, end in trackings(trace, rule, name) if end is not None]
        assert sorted(monitor.resolved_after) == sorted(lengths)
    # The published evaluator looks at the last state once more. That changes no score.
    monitor.observe(states[-1])
    assert monitor.verdict == verdict or (verdict, monitor.verdict) == ("open", "violated")
    return verdict


def goal_agrees(trace: Trace, states: list[WorldState], goal: dict[str, Any], reading: Semantics) -> bool:
    monitor = SubGoalMonitor(as_goal(goal), reading)
    for number, state in enumerate(states, 1):
        monitor.observe(state)
        assert monitor.met == judge_goal(trace[:number], goal, reading), (goal, reading)
    return monitor.met


def count_cases(counts: Counter[str], trace: Trace, rule: dict[str, Any]) -> None:
    names = {thing["name"] for state in trace for thing in state if thing["kind"] == rule["kind"]}
    tracked = {name: found for name in names if (found := trackings(trace, rule, name))}
    counts["several objects tracked"] += len(tracked) > 1
    counts["triggered at the start"] += any(found[0][0] == 0 for found in tracked.values())
    counts["tracked anew"] += any(len(found) > 1 for found in tracked.values())
    counts["resolved where triggered"] += any(start == end for found in tracked.values() for start, end in found)
