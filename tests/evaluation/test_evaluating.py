from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from hazardmill.errors import InputError
from hazardmill.evaluation.answers.file import PlansFile
from hazardmill.evaluation.score_file import count_missing, count_turned_away, score_plans, score_run
from hazardmill.evaluation.tasks import EvaluationTask, ListedTasks

from .soups import SAFE, UNSAFE, soups, twin


def plans(path: Path, tasks: list[EvaluationTask], models: tuple[str, ...] = ("a", "b"), **more: object) -> PlansFile:
    lines = [
        {"task_id": task.task_id, "model": model, "plan": SAFE if model == "a" else UNSAFE, **more}
        for model in models
        for task in tasks
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return PlansFile.read(path)


def test_every_line_is_a_row_whatever_their_order(tmp_path: Path) -> None:
    tasks = soups(4)
    forward = score_plans(ListedTasks(tasks), plans(tmp_path / "a", tasks), run="r")
    backward = score_plans(ListedTasks(tasks), plans(tmp_path / "b", tasks[::-1], ("b", "a")), run="r")
    assert forward.equals(backward) and forward.num_rows == 8
    assert {(row["model"], row["safe"]) for row in forward.to_pylist()} == {("a", True), ("b", False)}


def test_each_task_is_told_of_once(tmp_path: Path) -> None:
    tasks, told = soups(3), []
    score_plans(ListedTasks(tasks), plans(tmp_path / "p", tasks), run="r", on_task=told.append)
    assert told == tasks


def test_a_twin_is_scored_on_the_twin(tmp_path: Path) -> None:
    tasks = soups(2)
    both = [each for task in tasks for each in (task, twin(task))]
    table = score_plans(ListedTasks(both), plans(tmp_path / "p", tasks, ("b",), variant="twin"), run="r")
    assert [(row["variant"], row["safe"], row["overcautious"]) for row in table.to_pylist()] == [
        ("twin", True, False)
    ] * 2
    assert count_missing(table, 2) == {"b": 2}


def test_plans_for_other_tasks_are_refused_or_left_out(tmp_path: Path) -> None:
    tasks = soups(4)
    file = plans(tmp_path / "p", tasks)
    some = ListedTasks(tasks[:3])
    with pytest.raises(InputError, match="neiss-0003"):
        score_plans(some, file, run="r")
    assert score_plans(some, file, run="r", only_known=True).num_rows == 6
    # Nothing at all is surely the wrong release.
    with pytest.raises(InputError, match="nor are 3 more"):
        score_plans(ListedTasks([]), file, run="r", only_known=True)


def test_what_a_model_lacks_is_counted_by_task(tmp_path: Path) -> None:
    tasks = soups(4)
    table = score_plans(ListedTasks(tasks), plans(tmp_path / "p", tasks[:3], ("b",)), run="r")
    assert count_missing(table, 4) == {"b": 1} and count_missing(table, 3) == {}
    # An answer on the twin of the fourth is none on the fourth.
    of_twin = score_plans(
        ListedTasks([twin(tasks[3])]), plans(tmp_path / "q", tasks[3:], ("b",), variant="twin"), run="r"
    )
    assert count_missing(pa.concat_tables([table, of_twin]), 4) == {"b": 1}


def test_a_task_without_a_safe_plan_is_none_that_can_be_lacked(tmp_path: Path) -> None:
    tasks = soups(4)
    lost = replace(tasks[3], unavoidable=True)
    both = ListedTasks([*tasks[:3], lost])
    every = score_plans(both, plans(tmp_path / "p", tasks, ("b",)), run="r")
    assert count_missing(every, 3) == {}
    # An answer on it does not stand for one on another.
    some = score_plans(both, plans(tmp_path / "q", tasks[1:], ("b",)), run="r")
    assert count_missing(some, 3) == {"b": 1}


def test_who_answered_on_twins_alone_lacks_every_task(tmp_path: Path) -> None:
    tasks = soups(2)
    of_twins = ListedTasks([twin(task) for task in tasks])
    table = score_plans(of_twins, plans(tmp_path / "p", tasks, variant="twin"), run="r")
    assert count_missing(table, 2) == {"a": 2, "b": 2}


def test_requests_that_nobody_read_are_counted(tmp_path: Path) -> None:
    tasks = soups(3)
    finished = [("a", "request_refused"), ("b", "content_filter"), ("b", "request_refused"), ("c", None)]
    lines = [
        {"task_id": task.task_id, "model": model, "answer": "", "sample": sample, "finish_reason": reason}
        for task in tasks
        for sample, (model, reason) in enumerate(finished)
    ]
    (tmp_path / "p").write_text("\n".join(map(json.dumps, lines)))
    table = score_plans(ListedTasks(tasks), PlansFile.read(tmp_path / "p"), run="r")
    assert count_turned_away(table) == {"a": 3, "b": 3}
    assert count_turned_away(table.slice(0, 0)) == {}


def test_a_scoring_is_named_after_what_is_scored(tmp_path: Path) -> None:
    tasks = soups(2)
    one = plans(tmp_path / "p", tasks)
    again = plans(tmp_path / "q", tasks)
    other = plans(tmp_path / "r", tasks, ("a",))
    listed = ListedTasks(tasks, digest="x")
    assert score_run(listed, one) == score_run(listed, again)
    names = [score_run(listed, one), score_run(listed, other), score_run(ListedTasks(tasks, digest="y"), one)]
    assert len(set(names)) == 3
