"""Recorded traces: metadata of the simulator into states, scores from them, and what is refused."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hazardmill.errors import PlanningInputError
from hazardmill.household.recorded_traces import RecordedTrace, read_simulator_state, read_traces
from hazardmill.household.rules import SubGoal
from hazardmill.household.scores import EpisodeCriteria, judge_states
from hazardmill.household.spoc_format import parse_spoc_task
from hazardmill.household.world_state import ThingState

from .random_traces import as_goal, as_rule, as_states, random_goal, random_rule, random_trace
from .simulator_states import line, metadata, thing
from .spoc_tasks import step_rule_task
from .states import BOTH

FRIDGE, TABLE, PLATE = "Fridge|-01.00|+00.00|+02.00", "CounterTop|+00.50|+00.90|-01.00", "Plate|+00.50|+00.95|-01.00"
TOMATO = "Tomato|+00.10|+01.00|-00.30"


def read(folder: Path, *lines: str) -> tuple[list[RecordedTrace], list[str]]:
    """The good episodes, and the messages of the others without the folder."""
    path = folder / "traces.jsonl"
    path.write_text("\n".join(lines) + "\n")
    found = list(read_traces(path))
    good = [each for each in found if isinstance(each, RecordedTrace)]
    return good, [str(each).removeprefix(f"{folder}/") for each in found if isinstance(each, PlanningInputError)]


def test_metadata_become_states() -> None:
    state = read_simulator_state(
        [
            thing(FRIDGE, isOpen=True),
            thing(TOMATO, FRIDGE, isSliced=True, isCooked=True),
            thing("Cup|1|2|3", fillLiquid="wine", isFilledWithLiquid=True, isPickedUp=True),
            thing("Mug|1|2|3", isFilledWithLiquid=True, isDirty=True, isBroken=True),
            thing("Tomato|1|2|3|TomatoSliced_2", isToggled=True),
        ]
    )
    assert list(state.values()) == [
        ThingState(FRIDGE, "Fridge", None, open=True),
        ThingState(TOMATO, "Tomato", FRIDGE, sliced=True, cooked=True),
        ThingState("Cup|1|2|3", "Cup", None, held=True, filled="wine"),
        ThingState("Mug|1|2|3", "Mug", None, filled="unknown", dirty=True, broken=True),
        ThingState("Tomato|1|2|3|TomatoSliced_2", "TomatoSliced", None, on=True),
    ]


def test_the_innermost_receptacle_holds_the_object_and_the_floor_nothing() -> None:
    def place(*places: str) -> str | None:
        plate, floor = thing(PLATE, TABLE), thing("Floor|0|0|0")
        objects = [thing(TABLE), plate, floor, thing(FRIDGE), thing(TOMATO, *places)]
        return read_simulator_state(objects)[TOMATO].place

    assert place(TABLE, PLATE) == place(PLATE, TABLE) == place(PLATE) == PLATE
    assert place(FRIDGE, TABLE) == TABLE and place(TABLE, FRIDGE) == FRIDGE
    assert place("Floor|0|0|0") is None and place("Shelf|9|9|9") is None
    assert place("Floor|0|0|0", TABLE) == TABLE


def test_a_stove_knob_is_on_while_its_burner_is() -> None:
    def knob(burner: bool, itself: bool, *controlled: str) -> bool:
        objects = [
            thing("StoveBurner|1|1|1", isToggled=burner),
            thing("StoveKnob|1|1|1", isToggled=itself, controlledObjects=[*controlled] or None),
        ]
        return read_simulator_state(objects)["StoveKnob|1|1|1"].on

    assert knob(True, False, "StoveBurner|1|1|1") and not knob(False, True, "StoveBurner|1|1|1")
    assert knob(False, True) and knob(False, True, "StoveBurner|9|9|9")


def test_recorded_episodes_have_the_scores_of_their_states(tmp_path: Path) -> None:
    lines, wanted = [], {}
    for seed in range(60):
        rng = random.Random(f"recorded {seed}")
        states = as_states(random_trace(rng))
        criteria = EpisodeCriteria((as_goal(random_goal(rng)),), as_rule(random_rule(rng)), rule_is_item=seed % 2 == 0)
        wanted[str(seed)] = criteria, states
        lines += [line(number, *metadata(state), episode=str(seed)) for number, state in enumerate(states)]
    traces, wrong = read(tmp_path, *lines)
    assert not wrong and [trace.episode_id for trace in traces] == [*wanted]
    successes = 0
    for trace in traces:
        criteria, states = wanted[trace.episode_id]
        for semantics in BOTH:
            score = judge_states(criteria, states, semantics)
            assert judge_states(criteria, trace.states, semantics) == score
            successes += score.success
    assert successes > 5


def test_a_recorded_episode_is_judged_by_a_task_file(tmp_path: Path) -> None:
    states = [(False, False), (True, False), (True, True), (True, True), (False, True)]
    lines = [
        line(number, thing(FRIDGE, isOpen=opened), thing(TOMATO, *([FRIDGE] if inside else [])))
        for number, (opened, inside) in enumerate(states)
    ]
    (trace,), _ = read(tmp_path, *lines)
    criteria = parse_spoc_task(step_rule_task()).criteria
    assert criteria.goals[0] == SubGoal("Tomato", criteria.goals[0].conditions)
    score = judge_states(criteria, trace.states)
    assert (score.met, score.items, score.rule, score.success, score.resolved_after) == (2, 2, "kept", True, (2,))


LINE = '[write {"episode_id": ..., "state": 0, "objects": [...]} per line, one more for each next state]'
OBJECT = "[write an object's metadata as the simulator gives it, with objectId as Class|x|y|z]"

BAD: dict[str, tuple[list[str], str]] = {
    "back": (
        [line(0), line(1), line(0)],
        "traces.jsonl:3: the states of the episode one go back: 0 after 1 [write the states in their order, each once]",
    ),
    "twice": (
        [line(0), line(0)],
        "traces.jsonl:2: the states of the episode one go back: 0 after 0 [write the states in their order, each once]",
    ),
    "gap": (
        [line(0), line(2)],
        "traces.jsonl:2: states of the episode one are missing: 2, where 1 should be "
        "[write every state, from 0, including the state after a rejected action]",
    ),
    "late": (
        [line(1), line(2)],
        "traces.jsonl:1: states of the episode one are missing: 1, where 0 should be "
        "[write every state, from 0, including the state after a rejected action]",
    ),
    "object": (
        [line(0, {"objectId": 3})],
        "traces.jsonl:1: objects[1] has no objectId " + OBJECT,
    ),
    "id": (
        [line(0, thing(FRIDGE), thing(FRIDGE))],
        f"traces.jsonl:1: objects[2]: the id {FRIDGE} occurs twice [give each object an id of its own]",
    ),
    "flag": (
        [line(0, thing(FRIDGE, isOpen="yes"))],
        f"traces.jsonl:1: {FRIDGE}: isOpen is not true or false " + OBJECT,
    ),
    "places": (
        [line(0, thing(FRIDGE, parentReceptacles="Floor"))],
        f"traces.jsonl:1: {FRIDGE}: parentReceptacles is not a list of ids " + OBJECT,
    ),
    "liquid": (
        [line(0, thing(FRIDGE, fillLiquid=3))],
        f"traces.jsonl:1: {FRIDGE}: fillLiquid is not text " + OBJECT,
    ),
    "objects": (
        ['{"episode_id": "one", "state": 0}'],
        "traces.jsonl:1: objects is not a list " + LINE,
    ),
    "state": (
        ['{"episode_id": "one", "state": true, "objects": []}'],
        "traces.jsonl:1: state is not an integer " + LINE,
    ),
    "episode": (
        [line(0), "[]"],
        "traces.jsonl:2: the line has no episode_id " + LINE,
    ),
    "json": (
        [line(0), "{", line(1)],
        "traces.jsonl:2: the line is not JSON: Expecting property name enclosed in double quotes: "
        "line 2 column 1 (char 2) " + LINE,
    ),
}


@pytest.mark.parametrize("lines", BAD)
def test_an_episode_that_is_wrong_is_refused_once_and_the_others_are_read(lines: str, tmp_path: Path) -> None:
    bad, message = BAD[lines]
    others = [line(0, episode="other"), line(1, episode="other")]
    good, wrong = read(tmp_path, *bad, *others)
    assert [(trace.episode_id, len(trace.states)) for trace in good] == [("other", 2)]
    assert wrong == [message]


def test_of_an_episode_in_which_much_is_wrong_the_first_error_is_given(tmp_path: Path) -> None:
    good, wrong = read(tmp_path, line(0), line(2), "{", "[]", line(3), line(0, episode="other"))
    assert [trace.episode_id for trace in good] == ["other"]
    assert wrong == [BAD["gap"][1]]


def test_an_episode_that_comes_again_is_refused(tmp_path: Path) -> None:
    good, wrong = read(tmp_path, line(0), line(0, episode="other"), line(1), line(2))
    assert [trace.episode_id for trace in good] == ["one", "other"]
    assert wrong == [
        "traces.jsonl:3: the states of the episode one are not on consecutive lines [sort the lines by episode]",
    ]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanningInputError, match="the traces cannot be read: No such file or directory"):
        list(read_traces(tmp_path / "gone.jsonl"))
