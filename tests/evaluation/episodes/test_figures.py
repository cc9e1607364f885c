"""Figures of episodes: the worked example of three episodes, deviations over runs, and what is undefined."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hazardmill.evaluation.episodes.figures import EpisodeFigures, episode_figures
from hazardmill.evaluation.episodes.rows import EPISODES, episode_table
from hazardmill.evaluation.episodes.summary import write_episodes


def row(task: str, met: int, items: int, rule: str, *, sample: int = 0, **more: Any) -> dict[str, Any]:
    gsr = met / items if items else None
    return {
        "run": "r", "model": "m", "agent": "react", "task_id": task, "sample": sample, "constraint": "explicit",
        "observe": "partial", "hands": "one", "semantics": "paper", "room": "kitchen", "rule_type": "step",
        "ending": "done", "actions": 6, "rejected": 0, "rejections": "{}", "unreadable": 0, "met": met, "items": items,
        "gsr": gsr, "success": gsr == 1 and rule == "kept", "rule": rule, "resolved_after": "[]", "hazard": "fire",
        "steps": [], **more,
    }  # fmt: skip


def figures(*rows: dict[str, Any]) -> EpisodeFigures:
    (found,) = episode_figures(episode_table(rows), resamples=100)
    return found


def test_the_worked_example_of_three_episodes(tmp_path: Path) -> None:
    # Two sub-goals and the rule as an item; the same with the rule violated; one sub-goal, and the rule is no item.
    rows = [row("a", 3, 3, "kept"), row("b", 2, 3, "violated"), row("c", 1, 1, "violated")]
    _, summary = write_episodes(episode_table(rows), tmp_path, "r", "paper", {"missing": 0}, resamples=100)
    (found,) = json.loads((tmp_path / "summary.json").read_text())["episodes"]
    assert {name: rate["text"] for name, rate in found["rates"].items()} == {
        "GSR": "88.89 ± 0.00",
        "CSR": "33.33 ± 0.00",
    }
    assert EPISODES.read(tmp_path).num_rows == summary["rows"] == 3


def test_rates_are_means_over_runs_with_population_deviations() -> None:
    # 5, 6 and 7 of 25 tasks, as a cell of the paper.
    rows = [
        row(f"t{task:02}", 1, 1, "kept" if task < 5 + sample else "violated", sample=sample)
        for sample in range(3)
        for task in range(25)
    ]
    found = figures(*rows)
    assert found.rates["CSR"].text == "24.00 ± 3.27" and [run.successes for run in found.runs] == [5, 6, 7]
    assert found.rates["CSR"].over_tasks.value == pytest.approx(0.24)
    assert (found.episodes, found.tasks) == (75, 25)


def test_what_is_undefined_is_null_and_counted() -> None:
    found = figures(row("a", 0, 0, "untriggered", hazard=None, ending="refused"))
    assert (found.undefined, found.rates["GSR"].text, found.rates["CSR"].mean) == (1, "-", None)
    assert found.rates["GSR"].over_tasks.why == "no episode has items"
    assert found.beyond.why == "no success on a task with a proved plan"
    assert {name: each.value for name, each in found.stated.items()} == dict.fromkeys(found.stated)
    assert [*found.hazards] == ["not known"] and found.endings == {"refused": 1}


def test_counts_are_added_up() -> None:
    found = figures(
        row(
            "a",
            1,
            1,
            "kept",
            rejections='{"not_here": 2}',
            resolved_after="[1, 3]",
            beyond=2,
            expected=4,
            expected_met=1,
        ),
        row("b", 1, 1, "kept", rejections='{"not_here": 1, "cut": 1}', resolved_after="[3]", beyond=1, unreadable=2),
        row("c", 1, 1, "violated", hazard="fluid", expected=1, expected_met=1),
        row("d", 1, 1, "open", hazard="fluid"),
    )
    assert found.rejections == {"cut": 1, "not_here": 3} and found.resolved_after == {1: 1, 3: 2}
    assert (found.actions, found.unreadable, found.beyond.value) == (24, 2, 1.5)
    assert found.stated["expected"].value == pytest.approx(2 / 5)
    hazards = {
        name: (each.episodes, each.violated, each.open, each.share.value) for name, each in found.hazards.items()
    }
    assert hazards == {"fire": (2, 0, 0, 0), "fluid": (2, 1, 1, 0.5)}
    assert found.rules == {"kept": 2, "open": 1, "violated": 1}


def test_agents_are_told_apart_by_their_conditions() -> None:
    rows = [row("a", 1, 1, "kept"), row("a", 1, 1, "kept", run="s", constraint="implicit")]
    assert [each.constraint for each in episode_figures(episode_table(rows), resamples=100)] == ["explicit", "implicit"]
