"""`hazardmill release export`, as people call it."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from release.small_release import SHARE_ALIKE, mended, pair_rows, soups, task_row, write_release

from hazardmill.release.read.exports import training_rows
from hazardmill.release.read.release import load_release


@pytest.fixture
def folder(tmp_path):
    return soups(tmp_path / "release")


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_rows_go_into_the_file_and_what_is_left_out_is_told(hazardmill, folder, tmp_path):
    out = tmp_path / "pairs.jsonl"
    ended = hazardmill("release", "export", folder, "--format", "dpo", "--out", out)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        f"{out}: 2 rows of train: 2 under CC-BY-4.0",
        "left out: 1 written by our rules, not a language model (include them with --allow-offline)",
        "left out: 1 under a share-alike licence (include them with --by-sa)",
    ]
    assert rows_of(out) == list(training_rows(load_release(folder), "dpo"))


def test_everything_that_may_be_allowed(hazardmill, folder, tmp_path):
    out = tmp_path / "steps.parquet"
    words = ("--format", "stepwise", "--by-sa", "--allow-offline", "--out", out)
    ended = hazardmill("release", "export", folder, *words)
    assert ended.out.splitlines() == [
        f"{out}: 8 rows of train: 6 under CC-BY-4.0, 2 under {SHARE_ALIKE}",
        "2 of them were written by our rules, not by a language model",
    ]
    rows = pq.read_table(out).to_pylist()
    assert rows == list(training_rows(load_release(folder), "stepwise", by_sa=True, allow_offline=True))


def test_the_result_as_json(hazardmill, folder, tmp_path):
    out = tmp_path / "sft.jsonl"
    words = ("--format", "sft", "--split", "test", "--by-sa", "--out", out, "--json")
    assert hazardmill("release", "export", folder, *words).json == {
        "out": str(out),
        "format": "sft",
        "split": "test",
        "rows": 1,
        "offline_authored": 0,
        "licences": {"CC-BY-4.0": 1},
        "left_out": {},
    }


def test_plans_whose_steps_cannot_be_labelled_are_told(hazardmill, tmp_path):
    rows = [task_row(mended("table"))]
    folder = write_release(
        tmp_path / "release", {"tasks": {"train": rows}, "preference_pairs": {"train": pair_rows(rows)}}
    )
    ended = hazardmill("release", "export", folder, "--format", "stepwise", "--out", tmp_path / "steps.jsonl")
    assert ended.out.splitlines()[1] == ("left out: 1 whose unsafe plan has no known point of no return")


def test_pairs_for_safe_align_say_where_alpha_has_no_effect(hazardmill, folder, tmp_path):
    words = ("release", "export", folder, "--format", "safe-align", "--least-steps", "1")
    ended = hazardmill(*words, "--error-at", "causal", "--out", tmp_path / "pairs.jsonl")
    assert ended.out.splitlines()[:2] == [
        f"{tmp_path / 'pairs.jsonl'}: 2 rows of train: 2 under CC-BY-4.0",
        "alpha has no effect on 0 pairs with equally many actions, and on 2 others that share no action",
    ]
    assert {row["error_at"] for row in rows_of(tmp_path / "pairs.jsonl")} == {"causal"}
    shown = hazardmill(*words, "--out", tmp_path / "pairs.parquet", "--json").json
    assert (shown["equal_length"], shown["no_shared_action"]) == (0, 2)


def test_scripts_of_tasks_are_in_pairs_and_others_are_told(hazardmill, folder, tmp_path):
    given, out = tmp_path / "own.jsonl", tmp_path / "pairs.jsonl"
    task = next(iter(load_release(folder).tasks("train")))
    plans = (task.row["safe_plan"], task.row["unsafe_plan"], "[GRAB] <cup> (1)")
    lines = [{"task_id": task.task_id, "plan": plan, "sample": sample} for sample, plan in enumerate(plans)]
    given.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    words = ("--format", "safe-align", "--least-steps", 1, "--scripts", given, "--out", out)
    said = hazardmill("release", "export", folder, *words, "--allow-offline", "--by-sa").out
    assert [line for line in said.splitlines() if "--scripts" in line] == [
        "left out of --scripts: 1 with harm",
        "left out of --scripts: 1 that a pair has already",
        "left out of --scripts: 1 with an action that cannot be done",
    ]


def test_short_plans_are_told(hazardmill, folder, tmp_path):
    ended = hazardmill("release", "export", folder, "--format", "safe-align", "--out", tmp_path / "pairs.jsonl")
    assert ended.code == 3
    assert "a lower --least-steps (of 2 tasks)" in ended.err


def test_a_file_that_is_there_stays_as_it_is(hazardmill, folder, tmp_path):
    out = tmp_path / "pairs.jsonl"
    out.write_text("mine")
    ended = hazardmill("release", "export", folder, "--format", "dpo", "--out", out)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"error: {out} already exists [name another file, or remove it]\n"
    assert out.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--format", "sft", "--out", "out.csv"), 2, "out.csv ends in neither .jsonl nor .parquet"),
        (("--format", "chat", "--out", "out.jsonl"), 2, "'chat' is not one of 'sft', 'dpo', 'stepwise'"),
        (
            ("--format", "dpo", "--least-steps", "3", "--out", "out.jsonl"),
            2,
            "--format dpo has no --least-steps [leave",
        ),
        (("--format", "sft", "--error-at", "causal", "--out", "out.jsonl"), 2, "--format sft has no --error-at [leave"),
        (("--format", "safe-align", "--least-steps", "0", "--out", "out.jsonl"), 2, "0 is not in the range x>=1"),
        (
            ("--format", "safe-align", "--error-at", "end", "--out", "out.jsonl"),
            2,
            "'end' is not one of 'shared', 'cau",
        ),
        (("--format", "sft", "--split", "dev", "--out", "out.jsonl"), 2, "'dev' is not one of 'train', 'validation'"),
        (("--format", "sft", "--split", "validation", "--out", "out.jsonl"), 3, "there are no rows of valid"),
        (("--format", "sft", "--revision", "v1", "--out", "out.jsonl"), 2, "which has no revisions"),
    ],
)
def test_what_cannot_be_done_is_said_with_its_code(hazardmill, folder, words, code, said, empty_folder):
    ended = hazardmill("release", "export", folder, *words)
    assert ended.code == code
    assert said in ended.err
    assert not list(empty_folder.iterdir())


def test_a_folder_that_is_no_release_is_bad_input(hazardmill, tmp_path):
    (tmp_path / "other").mkdir()
    ended = hazardmill("release", "export", tmp_path / "other", "--format", "sft", "--out", tmp_path / "out.jsonl")
    assert ended.code == 3
    assert "there is no manifest of a release" in ended.err


def test_a_damaged_release_is_bad_input_and_leaves_nothing(hazardmill, folder, tmp_path):
    (folder / "data/preference_pairs/train.parquet").write_bytes(b"PAR1")
    ended = hazardmill("release", "export", folder, "--format", "dpo", "--out", tmp_path / "out.jsonl")
    assert ended.code == 3
    assert "train.parquet: the file has other bytes than the manifest lists" in ended.err
    assert not (tmp_path / "out.jsonl").exists()
