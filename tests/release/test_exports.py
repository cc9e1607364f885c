"""Training data out of a release: columns, labels, and what is left out and why."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow.parquet as pq
import pytest
from formalism.oracle import Oracle
from formalism.soup import danger, soup_document

from hazardmill.errors import InputError, UsageError
from hazardmill.release.read.exports import ABOUT, COLUMNS, FORMATS, export, training_rows
from hazardmill.release.read.pairs import planning_prompt
from hazardmill.release.read.release import load_release
from hazardmill.release.read.safe_align_pairs import PairOptions

from .small_release import PLACES, SHARE_ALIKE, bowl, mended, pair_rows, soups, task_row, write_release

# What TRL's guide to dataset formats names for each type, in its standard format.
TRL = {
    "sft": {"prompt": str, "completion": str},
    "dpo": {"prompt": str, "chosen": str, "rejected": str},
    "stepwise": {"prompt": str, "completions": list, "labels": list},
    "safe-align": {"prompt": str, "chosen": str, "rejected": str},
}
OWN = {
    "sft": (),
    "dpo": ("shared_prefix", "danger_step", "causal_step"),
    "stepwise": ("plan",),
    "safe-align": (
        *("chosen_actions", "rejected_actions", "k", "causal_step", "rejected_k", "error_at", "categories", "how"),
        *("review", "chosen_from"),
    ),
}
SHORT = PairOptions(least_steps=1)
ABOUT_NAMES = [name for name, _ in ABOUT]


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return load_release(soups(tmp_path_factory.mktemp("soups") / "release"))


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def id_of(place, source="neiss"):
    return f"{source}-{bowl(place).hash[:12]}"


@pytest.mark.parametrize("format_", FORMATS)
def test_the_columns_are_those_of_trl_then_ours(release, format_):
    rows = list(training_rows(release, format_, pairs=SHORT))
    assert rows
    for row in rows:
        assert list(row) == [*TRL[format_], *OWN[format_], *ABOUT_NAMES]
        assert list(row) == [name for name, _ in (*COLUMNS[format_], *ABOUT)]
        for name, kind in TRL[format_].items():
            assert type(row[name]) is kind


def test_the_page_names_every_column(project):
    page = (project / "docs" / "training-data.md").read_text()
    for names in (*COLUMNS.values(), ABOUT):
        assert not [name for name, _ in names if f"`{name}`" not in page]


def test_sft_is_the_safe_plan_after_the_basic_problem(release):
    rows = list(training_rows(release, "sft"))
    assert [row["task_id"] for row in rows] == sorted(map(id_of, PLACES[:2]))
    for row in rows:
        task = release.task(row["task_id"])
        assert row["prompt"] == planning_prompt(task.domain_pddl, task.problem_pddl)
        assert row["completion"] == task.safe_plan
        assert task.verdict(row["completion"]).safe


def test_dpo_is_the_pair(release):
    for row in training_rows(release, "dpo"):
        task = release.task(row["task_id"])
        assert {name: row[name] for name, _ in COLUMNS["dpo"]} == task.preference_pair()


def test_what_every_row_says_of_its_task(release):
    (row,) = (row for row in training_rows(release, "dpo", by_sa=True) if row["source"] == "normbank")
    assert {name: row[name] for name in ABOUT_NAMES} == {
        "split": "train",
        "task_id": id_of(PLACES[4], "normbank"),
        "source": "normbank",
        "danger_group": "physical",
        "danger_type": "thermal",
        "licence": SHARE_ALIKE,
        "attribution": "A Credit Line",
        "model_answered": "test/model-1",
        "offline_authored": False,
    }


@pytest.mark.parametrize("format_", FORMATS)
def test_offline_authored_tasks_need_to_be_allowed_and_are_labelled(release, format_):
    why = Counter()
    wanted = {id_of(place) for place in PLACES[:3]}
    assert {row["task_id"] for row in training_rows(release, format_, pairs=SHORT, left_out=why)} == wanted - {
        id_of(PLACES[2])
    }
    assert why == {"offline_authored": 1, "share_alike": 1}
    why.clear()
    rows = list(training_rows(release, format_, allow_offline=True, by_sa=True, pairs=SHORT, left_out=why))
    assert {row["task_id"] for row in rows} == wanted | {id_of(PLACES[4], "normbank")}
    assert {row["task_id"] for row in rows if row["offline_authored"]} == {id_of(PLACES[2])}
    assert not why


def test_another_split(release):
    assert [row["task_id"] for row in training_rows(release, "sft", "test")] == [id_of(PLACES[3])]


# Steps


def release_of(tmp_path, *documents):
    rows = [task_row(document) for document in documents]
    return load_release(
        write_release(tmp_path / "release", {"tasks": {"train": rows}, "preference_pairs": {"train": pair_rows(rows)}})
    )


def doors(room="kitchen"):
    """Soup that is spilt at the second door; slowing down is possible in one room alone."""
    here = ["fluent", "bowl_at", "?from"]
    return soup_document(
        objects=[["kitchen", "room"], ["hall", "room"], ["table", "place"]],
        actions__0__precondition=[
            "or",
            ["and", here, ["same", "?from", "kitchen"], ["same", "?to", "hall"]],
            ["and", here, ["same", "?from", "hall"], ["same", "?to", "table"]],
        ],
        actions__1__precondition=["fluent", "bowl_at", room],
        dangers__0__condition=[
            "and",
            ["fluent", "soup_is_hot"],
            ["not", ["fluent", "moving_slowly"]],
            ["not", ["fluent", "bowl_at", "kitchen"]],
        ],
    )


def test_steps_are_labelled_from_the_causal_one_on_not_from_where_the_danger_shows(tmp_path):
    safe, unsafe = training_rows(release_of(tmp_path, doors()), "stepwise")
    assert (safe["plan"], safe["completions"], safe["labels"]) == (
        "safe",
        ["(slow_down)", "(carry kitchen hall)", "(carry hall table)"],
        [True, True, True],
    )
    assert (unsafe["plan"], unsafe["completions"], unsafe["labels"]) == (
        "unsafe",
        ["(carry kitchen hall)", "(carry hall table)"],
        [False, False],
    )


def test_a_label_says_whether_a_safe_plan_is_left(tmp_path):
    documents = [doors(), doors("hall"), *map(bowl, PLACES[:2])]
    seen = set()
    release = release_of(tmp_path, *documents)
    for row in training_rows(release, "stepwise"):
        task = json.loads(release.task(row["task_id"]).row["document"])
        oracle = Oracle(task)
        state, total = oracle.start, 0
        for action, label in zip(row["completions"], row["labels"], strict=True):
            state, added = oracle.step(*oracle.read(action)[0], state)
            total += added
            now = {**task, "initial": [[list(atom), value] for atom, value in state.items()], "initial_danger": total}
            assert label is (Oracle(now).best(True, 5_000) is not None), (row["task_id"], action)
        seen.add((row["plan"], tuple(row["labels"])))
    assert {labels for plan, labels in seen if plan == "unsafe"} == {(False, False), (True, False), (False,)}


def test_an_unsafe_plan_without_a_causal_step_is_left_out_and_counted(tmp_path):
    why = Counter()
    release = release_of(tmp_path, mended("table"))
    assert [row["plan"] for row in training_rows(release, "stepwise", left_out=why)] == ["safe"]
    assert why == {"no_causal_step": 1}
    (pair,) = training_rows(release, "dpo")
    assert pair["causal_step"] is None


def test_an_empty_plan_has_no_steps_to_label(tmp_path):
    why = Counter()
    release = release_of(tmp_path, soup_document(goal=True, dangers=[danger("slow_down")]))
    assert [row["plan"] for row in training_rows(release, "stepwise", left_out=why)] == ["unsafe"]
    assert why == {"no_action": 1}


# Files


@pytest.mark.parametrize("format_", FORMATS)
def test_both_kinds_of_file_hold_the_rows(release, tmp_path, format_):
    rows = list(training_rows(release, format_, by_sa=True, allow_offline=True, pairs=SHORT))
    for name in ("out.jsonl", "out.parquet"):
        exported = export(release, tmp_path / name, format_, by_sa=True, allow_offline=True, pairs=SHORT)
        assert (exported.rows, exported.left_out) == (len(rows), {})
        assert exported.offline_authored == sum(row["offline_authored"] for row in rows)
        assert exported.licences == dict(Counter(row["licence"] for row in rows))
    assert lines_of(tmp_path / "out.jsonl") == rows
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == rows
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "out.parquet"]


def test_a_null_causal_step_is_null_in_the_file(tmp_path):
    release = release_of(tmp_path, mended("table"))
    for name in ("out.jsonl", "out.parquet"):
        export(release, tmp_path / name, "dpo")
    assert lines_of(tmp_path / "out.jsonl")[0]["causal_step"] is None
    assert pq.read_table(tmp_path / "out.parquet")["causal_step"].null_count == 1


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_the_same_release_gives_the_same_bytes(release, tmp_path, name, monkeypatch):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        export(release, tmp_path / folder / name, "stepwise", by_sa=True)
    assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_groups_of_rows_come_in_order(release, tmp_path, monkeypatch):
    monkeypatch.setattr("hazardmill.release.read.exports._GROUP", 2)
    export(release, tmp_path / "out.parquet", "stepwise", by_sa=True)
    assert pq.ParquetFile(tmp_path / "out.parquet").num_row_groups == 3
    rows = list(training_rows(release, "stepwise", by_sa=True))
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == rows


def test_a_file_that_is_there_is_not_overwritten(release, tmp_path):
    out = tmp_path / "out.jsonl"
    out.write_text("mine")
    with pytest.raises(UsageError, match=r"out\.jsonl already exists \[name another file, or remove it\]"):
        export(release, out, "sft")
    assert out.read_text() == "mine"


def test_another_ending_is_refused(release, tmp_path):
    with pytest.raises(UsageError, match=r"ends in neither \.jsonl nor \.parquet"):
        export(release, tmp_path / "out.csv", "sft")


def test_nothing_to_write_is_said_and_nothing_is_written(release, tmp_path):
    with pytest.raises(InputError, match=r"there are no rows of validation to export \[name another split\]"):
        export(release, tmp_path / "out.jsonl", "sft", split="validation")
    assert not list(tmp_path.iterdir())


def test_nothing_to_write_names_what_would_allow_it(tmp_path):
    rows = {
        "tasks": {"train": [task_row(bowl("table"), answered_by=("offline-author",))]},
        "tasks_by_sa": {"train": [task_row(bowl("desk"), licence=SHARE_ALIKE)]},
    }
    release = load_release(write_release(tmp_path / "release", rows))
    with pytest.raises(InputError, match=r"allow what was left out: --by-sa \(of 1 tasks\), --allow-offline \(of 1 t"):
        export(release, tmp_path / "out.jsonl", "sft")


@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_where_the_release_turns_out_damaged_nothing_is_left(tmp_path, name):
    release = load_release(soups(tmp_path / "release"))
    (release.folder / "data/tasks_by_sa/train.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="other bytes"):
        export(release, tmp_path / name, "sft", by_sa=True)
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


def test_a_folder_that_is_not_there_is_said(release, tmp_path):
    with pytest.raises(InputError, match=r"out\.jsonl: the file cannot be written: No such file or directory"):
        export(release, tmp_path / "nowhere" / "out.jsonl", "sft")
