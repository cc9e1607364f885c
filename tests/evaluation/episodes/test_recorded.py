"""``evaluate episodes --traces``: recorded episodes have the scores of those that they were recorded from."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from hazardmill.evaluation.episodes.dialogue import EpisodeDialogue
from hazardmill.evaluation.episodes.options import EpisodeOptions
from hazardmill.evaluation.episodes.rows import EPISODES, STEPS, dialogue_row
from hazardmill.household.states import StateReader
from hazardmill.household.world_state import WorldState
from tests.cli.conftest import Ended, Hazardmill
from tests.cli.conftest import empty_folder as empty_folder
from tests.cli.conftest import hazardmill as hazardmill
from tests.household.simulator_states import line, metadata
from tests.household.small_tasks import FIRE, INJURY, POLLUTION, TASKS, write_small_tasks
from tests.household.states import BOTH
from tests.sizes import sized

from .acting import begin, play, says
from .test_prompts import answer

SCORED = ("met", "items", "gsr", "success", "rule", "violated_at", "resolved_after", "actions", "shortest", "beyond")


def states_of(dialogue: EpisodeDialogue) -> list[WorldState]:
    reader: StateReader = dialogue.reader
    states = [dialogue.start, *(step.after for step in dialogue.steps if step.is_action)]
    return [reader.world_state(state) for state in states]


def record(states: Sequence[WorldState], episode: str) -> list[str]:
    return [line(number, *metadata(state), episode=episode) for number, state in enumerate(states)]


def judge(hazardmill: Hazardmill, *lines: str, more: Sequence[object] = (), out: str = "out") -> Ended:
    Path("traces.jsonl").write_text("\n".join(lines) + "\n")
    words = ("evaluate", "episodes", "--tasks", "tasks", "--traces", "traces.jsonl", "--resamples", 100, "--json")
    return hazardmill(*words, "--out", out, *more)


@pytest.fixture(autouse=True)
def tasks(empty_folder: Path) -> Path:
    return write_small_tasks(empty_folder / "tasks")


def wander(seed: int) -> EpisodeDialogue:
    """An episode of random actions, half of which follow a plan."""
    rng, task = random.Random(f"wander {seed}"), TASKS[seed % len(TASKS)]
    assert task.plans is not None
    plan = [*rng.choice((task.plans.compliant, task.plans.careless))]
    dialogue = begin(task, EpisodeOptions(max_steps=20))
    names = {thing.name for thing in task.scene.all_objects}
    while dialogue.ending is None:
        act = plan.pop(0) if plan and rng.random() < 0.8 else answer(rng, dialogue, names)
        dialogue.take(says(act), "stop")
    return dialogue


@pytest.mark.parametrize("episodes", [20, pytest.param(sized(40, 300), marks=pytest.mark.full)])
def test_recorded_episodes_have_the_scores_of_their_episodes(hazardmill: Hazardmill, episodes: int) -> None:
    dialogues = {seed: wander(seed) for seed in range(episodes)}
    lines = [
        each
        for seed, dialogue in dialogues.items()
        for each in record(states_of(dialogue), f"{TASKS[seed % len(TASKS)].name}#{seed // len(TASKS) + 1}")
    ]
    successes = 0
    for semantics in BOTH:
        ended = judge(hazardmill, *lines, more=("--semantics", semantics), out=semantics)
        assert ended.code == 0, ended.err
        rows = {(row["task_id"], row["sample"]): row for row in EPISODES.read(Path(semantics)).to_pylist()}
        steps = STEPS.read(Path(semantics)).to_pylist()
        assert len(rows) == episodes
        for seed, dialogue in dialogues.items():
            task = TASKS[seed % len(TASKS)]
            wanted, key = dialogue_row(task, dialogue, semantics), (task.name, seed // len(TASKS))
            assert {name: rows[key][name] for name in SCORED} == {name: wanted[name] for name in SCORED}
            mine = [step for step in steps if (step["task_id"], step["sample"]) == key]
            assert [step["rule"] for step in mine] == [step["rule"] for step in wanted["steps"]]
            successes += wanted["success"]
    assert 0 < successes < 2 * episodes


def test_whoever_acted_and_without_a_number_it_is_the_first(hazardmill: Hazardmill) -> None:
    assert INJURY.plans is not None
    lines = record(states_of(play(INJURY, [*INJURY.plans.compliant, "done"])), "injury")
    ended = judge(hazardmill, *lines, more=("--model", "gpt-4"))
    (found,) = ended.json["episodes"]
    assert (found["model"], found["agent"], found["endings"], found["constraint"]) == ("gpt-4", "recorded", {}, None)
    assert ended.json["missing"] == 0 and not Path("out/prompts.jsonl").exists()
    (row,) = EPISODES.read(Path("out")).to_pylist()
    assert (row["sample"], row["ending"], row["rejected"]) == (0, None, None)


def test_what_cannot_be_judged_is_named_and_the_rest_is_judged(hazardmill: Hazardmill) -> None:
    start = states_of(begin(FIRE))[0]
    ended = judge(
        hazardmill,
        *record([start], "nobody"),
        *record([start, start], "fire#2"),
        line(0, episode="fluid"),
        line(1, episode="fluid"),
        line(0, episode="fluid"),
        *record(states_of(begin(POLLUTION)), "pollution"),
        *record(states_of(begin(POLLUTION)), "pollution#1"),
    )
    assert ended.code == 0, ended.err
    assert "the episode nobody belongs to no task of the folder" in ended.err and "[call it by the name" in ended.err
    assert "traces.jsonl:6: the states of the episode fluid go back: 0 after 1" in ended.err
    assert "the episode pollution#1 occurs twice" in ended.err
    assert (ended.json["left_out_traces"], ended.json["rows"]) == (3, 2)


def test_a_file_of_which_nothing_can_be_used_is_refused(hazardmill: Hazardmill) -> None:
    ended = judge(hazardmill, json.dumps({"episode_id": "fire", "state": 3, "objects": []}))
    assert ended.code == 3 and "are missing" in ended.err
    ended = judge(hazardmill)
    assert ended.code == 3 and "the file holds no episode" in ended.err
