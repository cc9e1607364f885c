"""Scripts of released tasks in a file, for pairs of ``release export``."""

from __future__ import annotations

import json

import pytest
from release.small_release import soups

from hazardmill.errors import InputError
from hazardmill.evaluation.answers.scripts import read_scripts
from hazardmill.release.read.release import load_release

PROGRAM = "Cook\n\n[GRAB] <cup> (1)\n[PUTBACK] <cup> (1) <table> (2.1000)"


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return load_release(soups(tmp_path_factory.mktemp("soups") / "release"))


def written(path, release, *lines):
    task_id = next(iter(release.tasks())).task_id
    path.write_text("".join(f"{json.dumps({'task_id': task_id, **line})}\n" for line in lines))
    return task_id


def test_scripts_are_plan_strings_or_programs(release, tmp_path):
    lines = {"plan": "(a) (b c)"}, {"plan": PROGRAM.partition("\n\n")[2], "sample": 1}
    task_id = written(tmp_path / "own.jsonl", release, *lines)
    assert read_scripts(tmp_path / "own.jsonl", release) == {
        task_id: ["(a) (b c)", "(GRAB cup_1) (PUTBACK cup_1 table_2-1000)"]
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"task_id": "elsewhere", "plan": "(a)"}, r":1: task elsewhere is not among the tasks of the release"),
        ({"plan": "(a)", "variant": "twin"}, r":1: the twin of task neiss-\w+ is not among the tasks of the release"),
        ({"answer": "(a)"}, r":1: the line has an answer, which is not a script"),
        ({"plan": "[GRAB] <cup> (1)\n[GRAB] <cup>"}, r":1: step .* cannot be said as an action: no_action \[write"),
        ({"plan": "[GRAB] cup"}, r":1: no line is an action"),
    ],
)
def test_what_is_no_script_of_the_release_is_named(line, message, release, tmp_path):
    written(tmp_path / "own.jsonl", release, line)
    with pytest.raises(InputError, match=message):
        read_scripts(tmp_path / "own.jsonl", release)
