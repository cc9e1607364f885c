"""ALFRED on the reference trials, and on trials laid out in every way."""

from __future__ import annotations

import importlib
import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.ingest.ingest import ingest
from hazardmill.ingest.sources import InputFile, load_source
from hazardmill.records import Record, Reject
from hazardmill.testing.cases import lay_out

ALFRED = load_source("alfred")
LABELS = ["Task type", "Instructions", "Steps", "Room", "Objects", "Target", "Plan"]
OF_PLANS = ("task_type", "target", "moved_in", "put_at", "toggled", "sliced", "plan")
TRIAL_A = "trial_T20260101_000000_000001"
TRIAL_B = "trial_T20260101_000000_000002"
TRIAL_C = "trial_T20260101_000000_000003"


def trial_of(task_id: str, task_desc: str = "Lift the cup.") -> bytes:
    anns = [{"task_desc": task_desc, "high_descs": ["Walk.", "Lift it."]}]
    return json.dumps(
        {"task_id": task_id, "turk_annotations": {"anns": anns}, "scene": {"floor_plan": "FloorPlan1"}}
    ).encode()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Both layouts, written in no order."""
    files = {
        f"json_2.1.0/valid_seen/look_at-Cup-1/{TRIAL_C}/traj_data.json": trial_of(TRIAL_C),
        f"json_2.1.0/tests_unseen/{TRIAL_B}/traj_data.json": trial_of(TRIAL_B),
        f"json_2.1.0/train/pick-Cup-1/{TRIAL_A}/traj_data.json": trial_of(TRIAL_A),
        "splits/oct21.json": b'{"train": [{"repeat_idx": 0, "task": "pick"}]}',
    }
    return lay_out(tmp_path / "data", files)


def records_of(path: Path, **where: str) -> list[Record]:
    items = list(ingest(ALFRED, path, where=where))
    assert all(isinstance(item, Record) for item in items), items
    return [item for item in items if isinstance(item, Record)]


@pytest.fixture(scope="module")
def real(reference: Path) -> dict[str, Record]:
    return {item.native_id: item for item in ingest(ALFRED, reference / "data" / "alfred") if isinstance(item, Record)}


def native(reference: Path, record: Record) -> Any:
    return json.loads((reference / "data" / "alfred" / record.file).read_text(encoding="utf-8"))


# ── the reference trials ─────────────────────────────────────────────────────────────────────────────────────


def test_all_reference_trials_are_read_but_the_truncated(reference: Path) -> None:
    run = ingest(ALFRED, reference / "data" / "alfred")
    items = list(run)
    assert (run.counts.files, run.counts.records, run.counts.warned) == (40, 38, 0)
    assert run.counts.reasons == {"truncated_task_desc": 2}
    records = [item for item in items if isinstance(item, Record)]
    assert Counter(record.facts["split"] for record in records) == {
        "train": 23,
        "valid_seen": 2,
        "valid_unseen": 6,
        "tests_seen": 5,
        "tests_unseen": 2,
    }
    assert Counter(record.facts["room"] for record in records) == {
        "kitchen": 25,
        "living room": 6,
        "bedroom": 4,
        "bathroom": 3,
    }
    refused = {item.native_id: item for item in items if isinstance(item, Reject)}
    assert set(refused) == {"trial_T20190907_015904_010057", "trial_T20190907_030106_770418"}
    assert "annotation 1" in refused["trial_T20190907_015904_010057"].message
    assert "annotation 2" in refused["trial_T20190907_030106_770418"].message


def test_test_splits_know_no_plan(real: dict[str, Record]) -> None:
    tests = [record for record in real.values() if str(record.facts["split"]).startswith("tests_")]
    assert len(tests) == 7
    for record in tests:
        assert [record.facts[key] for key in OF_PLANS] == [None] * len(OF_PLANS)
        assert record.facts["instructions"] and record.facts["steps"] and record.facts["objects"]
        lines = record.context.splitlines()
        assert (lines[0], lines[5:]) == ("Task type: not given", ["Target: not given", "Plan: not given"])


def test_every_other_trial_has_its_plan(real: dict[str, Record]) -> None:
    planned = [record for record in real.values() if not str(record.facts["split"]).startswith("tests_")]
    assert len({record.facts["task_type"] for record in planned}) == 7
    for record in planned:
        plan = record.facts["plan"]
        assert isinstance(plan, list) and str(plan[0]).startswith("go to ")
        assert record.facts["target"] and record.facts["sliced"] in (True, False)
        assert (record.facts["toggled"] is None) == (record.facts["task_type"] != "look_at_obj_in_light")
        assert (record.facts["moved_in"] is None) == (record.facts["task_type"] != "pick_and_place_with_movable_recep")


def test_one_trial_in_words(real: dict[str, Record]) -> None:
    record = real["trial_T20190907_075036_568140"]
    lines = dict(line.split(": ", 1) for line in record.context.splitlines())
    assert list(lines) == LABELS
    assert lines["Task type"] == "pick and place with movable receptacle"
    assert lines["Room"] == "kitchen"
    assert lines["Target"] == "butter knife; into: cup; at: sink basin; sliced: no"
    assert lines["Plan"].endswith("put butter knife in cup; pick up cup; go to sink basin; put cup in sink basin")
    assert "butter knife; " in lines["Objects"]
    assert real["trial_T20190909_144907_367045"].facts["sliced"] is True
    assert real["trial_T20190907_014417_271891"].facts["toggled"] == "desk lamp"


def test_what_people_said_is_shown_once_and_whole(real: dict[str, Record], reference: Path) -> None:
    for record in real.values():
        anns = native(reference, record)["turk_annotations"]["anns"]
        said = [" ".join(ann["task_desc"].split()) for ann in anns]
        assert record.facts["instructions"] == list(dict.fromkeys(said))
        steps = [" ".join(step.split()) for ann in anns for step in ann["high_descs"]]
        assert record.facts["steps"] == list(dict.fromkeys(steps))


def test_objects_are_kinds_each_once(real: dict[str, Record], reference: Path) -> None:
    for record in real.values():
        poses = native(reference, record)["scene"]["object_poses"]
        kinds = {pose["objectName"].split("_")[0].lower() for pose in poses}
        objects = record.facts["objects"]
        assert isinstance(objects, list)
        assert sorted(str(kind).replace(" ", "") for kind in objects) == sorted(kinds)


def test_nothing_of_the_simulator_is_shown(real: dict[str, Record], reference: Path) -> None:
    for record in real.values():
        said = record.context + json.dumps(record.facts)
        for pose in native(reference, record)["scene"]["object_poses"]:
            assert pose["objectName"] not in said
        assert not re.search(r"loc\||\.png|LookDown|RotateLeft|MoveAhead|NoOp", said)


# ── input in every form ──────────────────────────────────────────────────────────────────────────────────────


def test_both_layouts_in_a_stable_order_and_no_other_file(tree: Path) -> None:
    assert [file.name for file in ALFRED.discover(tree)] == [
        f"json_2.1.0/tests_unseen/{TRIAL_B}/traj_data.json",
        f"json_2.1.0/train/pick-Cup-1/{TRIAL_A}/traj_data.json",
        f"json_2.1.0/valid_seen/look_at-Cup-1/{TRIAL_C}/traj_data.json",
    ]
    assert [record.facts["split"] for record in records_of(tree)] == ["tests_unseen", "train", "valid_seen"]


def test_finding_opens_no_file(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("io.open", refuse)
    monkeypatch.setattr("builtins.open", refuse)
    assert len(ALFRED.discover(tree)) == 3


@pytest.mark.parametrize(
    ("inside", "name"),
    [
        ("", f"json_2.1.0/train/pick-Cup-1/{TRIAL_A}/traj_data.json"),
        ("json_2.1.0", f"train/pick-Cup-1/{TRIAL_A}/traj_data.json"),
        ("json_2.1.0/train", f"pick-Cup-1/{TRIAL_A}/traj_data.json"),
        ("json_2.1.0/train/pick-Cup-1", f"{TRIAL_A}/traj_data.json"),
        (f"json_2.1.0/train/pick-Cup-1/{TRIAL_A}", f"{TRIAL_A}/traj_data.json"),
        (f"json_2.1.0/train/pick-Cup-1/{TRIAL_A}/traj_data.json", f"{TRIAL_A}/traj_data.json"),
    ],
    ids=["repository", "json_2.1.0", "split", "task", "trial", "file"],
)
def test_a_trial_is_the_same_from_wherever_it_is_given(tree: Path, inside: str, name: str) -> None:
    (alone,) = records_of(tree / "json_2.1.0" / "train")
    (record,) = records_of(tree / inside, split="train")
    assert (record.native_id, record.file) == (TRIAL_A, name)
    assert record.content_hash == alone.content_hash


def test_a_trial_is_the_same_from_inside_its_folder(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (outside,) = records_of(tree / "json_2.1.0" / "train")
    monkeypatch.chdir(tree / "json_2.1.0" / "train" / "pick-Cup-1" / TRIAL_A)
    for path in (Path(), Path("traj_data.json"), Path("..")):
        (record,) = records_of(path)
        assert record.content_hash == outside.content_hash
        assert record.file == f"{TRIAL_A}/traj_data.json"


def test_a_link_to_a_stored_file_keeps_its_trial(tree: Path) -> None:
    file = tree / "json_2.1.0" / "tests_unseen" / TRIAL_B / "traj_data.json"
    (tree / "objects").mkdir()
    file.rename(tree / "objects" / "5f3a")
    file.symlink_to(tree / "objects" / "5f3a")
    (record,) = records_of(tree / "json_2.1.0" / "tests_unseen")
    assert (record.native_id, record.facts["split"]) == (TRIAL_B, "tests_unseen")


def test_outside_the_layout_the_split_is_unknown(tmp_path: Path) -> None:
    lay_out(tmp_path, {f"mine/{TRIAL_A}/traj_data.json": trial_of(TRIAL_A)})
    (record,) = records_of(tmp_path / "mine")
    assert record.facts["split"] is None


def test_a_foreign_json_given_by_name_is_refused(tree: Path) -> None:
    (item,) = ingest(ALFRED, tree / "splits" / "oct21.json")
    assert isinstance(item, Reject)
    assert (item.reason, item.file, item.line, item.native_id) == ("foreign_json", "splits/oct21.json", None, None)
    assert "splits/" in item.remedy


def test_a_reject_names_the_trial(tmp_path: Path) -> None:
    name = f"tests_seen/{TRIAL_A}/traj_data.json"
    lay_out(tmp_path, {name: trial_of(TRIAL_A, "Lift")})
    (item,) = ALFRED.read(InputFile(tmp_path / name, name))
    assert isinstance(item, Reject)
    assert (item.reason, item.native_id, item.file) == ("truncated_task_desc", TRIAL_A, name)


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────


@given(text=st.text(st.characters(codec=None) | st.sampled_from(" \n\t\r\v\f\x1c\x85\u2028\0\ud83d"), max_size=40))
def test_any_instruction_is_one_line_or_a_reject(text: str) -> None:
    """Whatever is in it: shown on one line of its own, or refused for the reason that holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = lay_out(Path(folder), {f"{TRIAL_A}/traj_data.json": trial_of(TRIAL_A, text)})
        (item,) = ingest(ALFRED, path)
    line = " ".join(text.split())
    if isinstance(item, Record):
        assert item.facts["instructions"] == [line]
        assert f"\nInstructions: {line}\n" in item.context
        assert [part.split(":")[0] for part in item.context.splitlines()] == LABELS
    elif re.search("[\0\ud800-\udfff]", line):
        assert isinstance(item, Reject) and item.reason == "no_character"
    else:
        assert isinstance(item, Reject) and len(line) < 8
        assert item.reason == ("truncated_task_desc" if line else "blank_task_desc")


WORDING = importlib.import_module(f"{type(ALFRED).__module__.rpartition('.')[0]}.wording")


@given(words=st.lists(st.from_regex(r"[A-Z][a-z]{1,8}", fullmatch=True), min_size=1, max_size=4))
def test_a_name_in_capitals_comes_apart(words: list[str]) -> None:
    said = WORDING.readable("".join(words))
    assert said.replace(" ", "") == "".join(words).lower()
    assert WORDING.readable(said) == said, "words stay as they are"


@pytest.mark.parametrize(
    ("native_name", "words"),
    [
        ("countertop", "counter top"),
        ("CounterTop", "counter top"),
        ("CD", "cd"),
        ("TVStand", "tv stand"),
        ("Glassbottle", "glass bottle"),
        ("BasketBall", "basketball"),
        ("mug", "mug"),
        ("HomeOffice", "home office"),
    ],
)
def test_plans_and_scenes_name_things_alike(native_name: str, words: str) -> None:
    assert WORDING.readable(native_name) == words
