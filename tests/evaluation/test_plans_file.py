from __future__ import annotations

import json
from pathlib import Path

import pytest

from hazardmill.errors import InputError
from hazardmill.evaluation.answers.file import PlansFile


def written(path: Path, *lines: object) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def line(task: str = "t-1", **more: object) -> dict[str, object]:
    return {"task_id": task, "model": "m", "plan": "(a)", **more}


def test_lines_are_found_again_by_task_in_order_of_model_and_sample(tmp_path: Path) -> None:
    path = written(
        tmp_path / "plans.jsonl",
        line("t-2", plan="(é)"),
        line(model="z", answer="no", plan=None, finish_reason="length"),
        "",
        line(sample=1, note="passed over"),
        line(variant="twin"),
        line(),
    )
    plans = PlansFile.read(path)
    found = [(model, given.sample, given.plan, given.answer) for model, given in plans.of("t-1", None)]
    assert found == [("m", 0, "(a)", None), ("m", 1, "(a)", None), ("z", 0, None, "no")]
    assert [given.plan for _, given in plans.of("t-2", None)] == ["(é)"]
    assert [given.variant for _, given in plans.of("t-1", "twin")] == ["twin"]
    assert list(plans.of("t-3", None)) == []


def test_a_name_for_the_whole_file_goes_for_lines_without_one(tmp_path: Path) -> None:
    path = written(tmp_path / "p", line(model=None), line("t-2", model="own"))
    plans = PlansFile.read(path, "all")
    assert [model for model, _ in plans.of("t-1", None)] == ["all"]
    assert [model for model, _ in plans.of("t-2", None)] == ["own"]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("{", "JSON"),
        ("[]", "object"),
        (line(plan=None), "write either plan or answer"),
        (line(answer="x"), "write either plan or answer"),
        (line(model=None), "the line does not say which model made the plan"),
        (line(sample=-1), "sample"),
        (line(variant="other"), "variant"),
        (line(task_id=""), "task_id"),
        ({"model": "m", "plan": ""}, "task_id"),
        (line(), "sample 0 of t-1 by m is already in line 1"),
    ],
)
def test_a_wrong_line_is_named_with_what_to_do(tmp_path: Path, wrong: object, says: str) -> None:
    path = written(tmp_path / "plans.jsonl", line(), wrong)
    with pytest.raises(InputError, match=says) as caught:
        PlansFile.read(path)
    assert (caught.value.file, caught.value.line) == (str(path), 2)
    assert caught.value.remedy


def test_a_file_without_lines_or_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the file holds no plan"):
        PlansFile.read(written(tmp_path / "p", "", " "))
    with pytest.raises(InputError, match="cannot be read"):
        PlansFile.read(tmp_path / "nowhere")


def test_a_mark_of_the_encoding_at_the_beginning_is_no_part_of_the_line(tmp_path: Path) -> None:
    path = written(tmp_path / "p", line(), line("t-2"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    plans = PlansFile.read(path)
    assert [given.task_id for task in ("t-1", "t-2") for _, given in plans.of(task, None)] == ["t-1", "t-2"]


def test_plans_for_what_is_not_there_are_named(tmp_path: Path) -> None:
    plans = PlansFile.read(written(tmp_path / "p", line(), line("t-9"), line("t-8"), line(variant="twin")))
    plans.check_known({("t-1", ""), ("t-1", "twin"), ("t-8", ""), ("t-9", "")})
    with pytest.raises(InputError, match=r"task t-9 .* nor are 1 more") as caught:
        plans.check_known({("t-1", ""), ("t-1", "twin")})
    assert caught.value.line == 2
    with pytest.raises(InputError, match="the twin of task t-1"):
        plans.check_known({("t-1", ""), ("t-8", ""), ("t-9", "")})
