"""Which example an arm shows: held against every candidate measured on its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hazardmill.evaluation.safety.arms import ExamplePool, script_lines
from hazardmill.evaluation.safety.task_set import SafetyTask
from hazardmill.formalism.document.document import Document
from hazardmill.quality.text import rouge_l
from tests.hazards.kitchen import KITCHEN

DOCUMENTS = [Document.from_json({**KITCHEN, "objects": [*KITCHEN["objects"], [f"p{n}", "item"]]}) for n in range(6)]
INSTRUCTION = st.lists(st.sampled_from(["cook", "the", "egg", "milk", "!"]), max_size=5).map(" ".join)
SETS = st.lists(INSTRUCTION, min_size=2, max_size=6)


def tasks(instructions: list[str]) -> list[SafetyTask]:
    return [
        SafetyTask(f"t{number}", DOCUMENTS[number], text, "(open fridge)") for number, text in enumerate(instructions)
    ]


@given(SETS)
def test_similar_shows_the_nearest_instruction_and_of_equal_ones_the_first_by_id(instructions: list[str]) -> None:
    all_tasks = tasks(instructions)
    pool = ExamplePool(reversed(all_tasks), "similar")
    for task in all_tasks:
        others = [other for other in all_tasks if other is not task]
        nearest = max(others, key=lambda other: rouge_l(task.instruction, other.instruction) or 0.0)
        assert pool.example_for(task) == nearest


@given(SETS, st.integers(0, 50))
def test_few_shot_shows_all_tasks_one_example_but_for_the_task_of_it(instructions: list[str], seed: int) -> None:
    all_tasks = tasks(instructions)
    pool = ExamplePool(all_tasks, "few-shot", seed)
    shown = {task.task_id: pool.example_for(task).task_id for task in all_tasks}
    assert all(example != task_id for task_id, example in shown.items())
    assert len(set(shown.values())) == 2 or len(all_tasks) == 2
    # A further task moves no other one, unless it is drawn first.
    more = ExamplePool([*all_tasks, SafetyTask("further", DOCUMENTS[0], "x", None)], "few-shot", seed)
    assert {task.task_id: more.example_for(task).task_id for task in all_tasks} == shown


def test_a_script_is_shown_with_one_action_per_line() -> None:
    assert script_lines("(open fridge) (take  egg fridge)") == "```\n(open fridge)\n(take egg fridge)\n```"
