from __future__ import annotations

from pathlib import Path

import pytest
from release.miniature import miniature, task

from .conftest import Hazardmill

ONE = {("tasks", "train"): [task(1), task(2)], ("tasks", "test"): [task(3)]}
TWO = {("tasks", "train"): [task(1, context="other"), task(2)], ("tasks", "test"): [task(4), task(5)]}


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    miniature(tmp_path / "1.0.0", "1.0.0", ONE)
    miniature(tmp_path / "1.1.0", "1.1.0", TWO)
    miniature(tmp_path / "1.0.1", "1.0.1", TWO)
    return tmp_path


def test_differences_are_told_in_words(hazardmill: Hazardmill, folders: Path) -> None:
    ended = hazardmill("release", "diff", folders / "1.0.0", folders / "1.1.0")

    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0] == (
        "hall-tasks 1.0.0 (3 tasks, 2026-01-10) -> hall-tasks 1.1.0 (4 tasks, 2026-01-10): a minor step"
    )
    assert lines[1] == "tasks: 2 added, 1 removed, 1 changed, 1 as they were"
    assert "  bddl-000000000004 (test): bddl:4, a record that had no task" in lines
    assert "  bddl-000000000001: texts (context)" in lines
    assert lines[-1] == "the version number covers these changes"
    splits = lines[lines.index(next(line for line in lines if line.startswith("tasks by split"))) :]
    assert ["tasks", "3", "4", "+1"] in [line.split() for line in lines]
    assert [line.split() for line in splits[1:3]] == [["train", "2", "2", "="], ["test", "1", "2", "+1"]]


def test_a_version_that_is_too_small_ends_in_1_with_what_to_do(hazardmill: Hazardmill, folders: Path) -> None:
    ended = hazardmill("release", "diff", folders / "1.0.0", folders / "1.0.1")

    assert ended.code == 1
    assert ended.out.splitlines()[-2:] == [
        "the version number is too small for this: 1",
        "  tasks differ: 2 added, 1 removed, 1 changed [give the later release version 1.1.0 or higher]",
    ]


def test_few_tasks_are_named_where_few_are_asked_for(hazardmill: Hazardmill, folders: Path) -> None:
    ended = hazardmill("release", "diff", folders / "1.0.0", folders / "1.1.0", "--examples", 1)

    assert "bddl-000000000005" not in ended.out
    assert "  and 1 more (all of them: --json)" in ended.out


def test_json_has_everything_and_the_version_of_its_form(hazardmill: Hazardmill, folders: Path) -> None:
    ended = hazardmill("release", "diff", folders / "1.0.0", folders / "1.0.1", "--json", "--examples", 0)

    assert ended.code == 1
    assert ended.json["format"] == "hazardmill-release-diff/1"
    assert [each["task_id"] for each in ended.json["added"]] == ["bddl-000000000004", "bddl-000000000005"]
    assert ended.json["changed"] == [
        {"task_id": "bddl-000000000001", "was": None, "reasons": ["texts"], "columns": ["context"]}
    ]
    assert (ended.json["step"], ended.json["findings"][0]["asks"]) == ("patch", "minor")


def test_a_damaged_release_ends_in_3_with_the_name_of_the_file(hazardmill: Hazardmill, folders: Path) -> None:
    with (folders / "1.1.0" / "data" / "tasks" / "train.parquet").open("ab") as file:
        file.write(b" ")

    ended = hazardmill("release", "diff", folders / "1.0.0", folders / "1.1.0")

    assert ended.code == 3
    assert "damaged: data/tasks/train.parquet has other bytes" in ended.err
    assert ended.out == ""


def test_names_of_others_do_not_steer_the_terminal(hazardmill: Hazardmill, folders: Path) -> None:
    miniature(folders / "2.0.0", "2.0.0", {**ONE, ("tasks", "validation"): [task(6, task_id="\x1b[31m\u202e")]})

    ended = hazardmill("release", "diff", folders / "1.0.0", folders / "2.0.0")

    assert ended.code == 0
    assert "\\x1b[31m\\u202e (validation)" in ended.out
    assert "\x1b" not in ended.out and "\u202e" not in ended.out
