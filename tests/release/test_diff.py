from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import InputError
from hazardmill.release.build.configs import CONFIGS, ID_OF, WITH_TASKS
from hazardmill.release.diff.compare import Diff, diff_folders
from hazardmill.release.diff.load import open_side
from hazardmill.release.diff.semver import SchemaChange, findings, step_between

from .miniature import Rows, made_up, miniature, of_tables, task

ONE = {("tasks", "train"): [task(1), task(2)], ("tasks", "test"): [task(3)]}


def compared(
    folder: Path, old: Rows, new: Rows, versions: tuple[str, str] = ("1.0.0", "2.0.0"), **new_says: Any
) -> Diff:
    miniature(folder / "old", versions[0], old)
    miniature(folder / "new", versions[1], new, **new_says)
    return diff_folders(folder / "old", folder / "new")


def with_other(number: int, **other: Any) -> Rows:
    """The rows, one task of which says something else."""
    return {
        place: [{**row, **other} if row["task_id"].endswith(f"{number:x}") else row for row in rows]
        for place, rows in ONE.items()
    }


# ── tasks ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_tasks_that_came_and_went_are_told_with_why(tmp_path: Path) -> None:
    new = {
        ("tasks", "train"): [task(1), task(7), task(8, record_id="bddl:1")],
        ("tasks", "validation"): [task(2)],
    }

    found = compared(tmp_path, {**ONE, ("tasks", "validation"): [task(4, record_id="bddl:1")]}, new)

    assert [(each.task_id, each.split, each.why) for each in found.added] == [
        ("bddl-000000000007", "train", "a record that had no task"),
    ]
    assert [(each.task_id, each.split, each.why) for each in found.removed] == [
        ("bddl-000000000003", "test", "no task of its record is left"),
    ]
    assert [(each.task_id, each.was) for each in found.changed] == [
        ("bddl-000000000002", None),
        ("bddl-000000000008", "bddl-000000000004"),
    ]
    assert found.unchanged == 1


def test_tasks_of_a_record_that_cannot_be_paired_came_and_went(tmp_path: Path) -> None:
    old = {("tasks", "train"): [task(1), task(2, record_id="bddl:1"), task(5)]}
    new = {("tasks", "train"): [task(3, record_id="bddl:1"), task(5)]}

    found = compared(tmp_path, old, new)

    assert [each.why for each in found.added] == ["another task of a record that had one"]
    assert [each.why for each in found.removed] == ["other tasks of its record are left"] * 2
    assert found.changed == ()


def test_a_task_is_not_changed_into_a_scenario_nor_one_kind_into_another(tmp_path: Path) -> None:
    def scenario(number: int, kind: str, record_id: str) -> dict[str, Any]:
        return {"scenario_id": f"bddl-{kind}-{number:012x}", "record_id": record_id, "source": "bddl", "kind": kind}

    old = {
        ("tasks", "train"): [task(1)],
        ("scenarios", "train"): [scenario(2, "mal", "bddl:2"), scenario(3, "sit", "bddl:3")],
    }
    new = {("scenarios", "train"): [scenario(n, "sit", f"bddl:{n - 3}") for n in (4, 5, 6)]}

    found = compared(tmp_path, old, new)

    assert [each.task_id for each in found.added] == ["bddl-sit-000000000004", "bddl-sit-000000000005"]
    assert [each.task_id for each in found.removed] == ["bddl-000000000001", "bddl-mal-000000000002"]
    assert [(each.task_id, each.was) for each in found.changed] == [("bddl-sit-000000000006", "bddl-sit-000000000003")]


@pytest.mark.parametrize(
    ("other", "reasons"),
    [
        ({"document_hash": "f" * 64, "document": "{}", "safe_plan": "(a)"}, ("document",)),
        ({"document": "{}"}, ("texts",)),
        ({"context": "said otherwise"}, ("texts",)),
        ({"danger_type": "thermal"}, ("danger",)),
        ({"safe_plan": "(other)", "safety_effort": 2}, ("plans",)),
        ({"certificate": "{}"}, ("proof",)),
        ({"problem_pddl": "()"}, ("PDDL",)),
        ({"licence": "Apache-2.0"}, ("licence",)),
        ({"attribution": "somebody else"}, ("licence",)),
        ({"approvals": 2, "reviewers": 3}, ("review",)),
        ({"run_id": "generate-2", "model_answered": "m/two"}, ("provenance",)),
        ({"run_id": "generate-2", "licence": "Apache-2.0", "context": "other"}, ("texts", "licence")),
    ],
)
def test_a_change_has_its_reasons(tmp_path: Path, other: dict[str, Any], reasons: tuple[str, ...]) -> None:
    (changed,) = compared(tmp_path, ONE, with_other(2, **other)).changed

    assert (changed.task_id, changed.reasons) == ("bddl-000000000002", reasons)
    assert set(changed.columns) == set(other)


def test_every_column_of_a_task_has_a_reason_of_a_name_that_people_know() -> None:
    from hazardmill.release.diff.compare import _REASONS

    columns = {column.name for name in WITH_TASKS for column in CONFIGS[name].columns}
    assert columns - {"task_id", *ID_OF.values()} <= _REASONS.keys()


def test_a_task_that_moved_has_changed_its_split_or_its_config(tmp_path: Path) -> None:
    new = {("tasks", "train"): [task(1)], ("tasks", "test"): [task(2)], ("tasks_by_sa", "test"): [task(3)]}

    found = compared(tmp_path, ONE, new)

    assert [(each.task_id, each.reasons) for each in found.changed] == [
        ("bddl-000000000002", ("split",)),
        ("bddl-000000000003", ("config",)),
    ]
    assert found.reasons == {"config": 1, "split": 1}


def test_a_release_is_as_itself(tmp_path: Path) -> None:
    miniature(tmp_path / "one", "1.0.0", ONE)

    found = diff_folders(tmp_path / "one", tmp_path / "one")

    assert (found.added, found.removed, found.changed, found.schema_changes, found.findings) == ((), (), (), (), ())
    assert (found.unchanged, found.step) == (3, "none")


def test_a_built_release_is_compared_with_all_its_configs(built: Path) -> None:
    found = diff_folders(built, built)

    assert found.unchanged == found.old.tasks == 17
    assert sum(each.new for each in found.distributions["source"]) == found.unchanged
    assert {each.config for each in found.rows} >= {"tasks", "tasks_by_sa", "plans", "contrast_twins"}


NUMBERS = st.dictionaries(st.integers(0, 12), st.tuples(st.sampled_from(["train", "test"]), st.sampled_from("ab")))


@pytest.mark.full
@settings(max_examples=12)
@given(NUMBERS.filter(bool), NUMBERS.filter(bool))
def test_what_came_one_way_went_the_other_way(
    old: Mapping[int, tuple[str, str]], new: Mapping[int, tuple[str, str]]
) -> None:
    def rows(held: Mapping[int, tuple[str, str]]) -> Rows:
        splits = {split for split, _ in held.values()}
        return {
            ("tasks", split): [task(number, context=text) for number, (own, text) in held.items() if own == split]
            for split in splits
        }

    with tempfile.TemporaryDirectory() as place:
        there = compared(Path(place), rows(old), rows(new))
        back = diff_folders(Path(place) / "new", Path(place) / "old")

    assert [each.task_id for each in there.added] == [each.task_id for each in back.removed]
    assert [each.task_id for each in there.removed] == [each.task_id for each in back.added]
    assert [(each.task_id, each.reasons) for each in there.changed] == [
        (each.task_id, each.reasons) for each in back.changed
    ]
    assert len(there.added) + len(there.changed) + there.unchanged == len(new)
    assert {f"bddl-{number:012x}" for number in old.keys() & new.keys() if old[number] != new[number]} == {
        each.task_id for each in there.changed
    }


# ── distributions ────────────────────────────────────────────────────────────────────────────────────────────


def test_distributions_stand_side_by_side(tmp_path: Path) -> None:
    new = {
        ("tasks", "train"): [task(1, plan_length=11), task(4, source="neiss")],
        ("unavoidable", "test"): [task(5, avoidability="unavoidable")],
    }

    told = compared(tmp_path, ONE, new).distributions

    assert [(each.value, each.old, each.new) for each in told["source"]] == [("bddl", 3, 2), ("neiss", 0, 1)]
    assert [(each.value, each.old, each.new) for each in told["split"]] == [("test", 1, 1), ("train", 2, 2)]
    assert [(each.value, each.old, each.new) for each in told["plan_length"]] == [(2, 3, 1), (11, 0, 1), (None, 0, 1)]
    assert set(told) >= {"danger_group", "danger_type", "safety_effort", "licence", "avoidability"}


def test_rows_of_every_config_stand_side_by_side(tmp_path: Path) -> None:
    found = compared(tmp_path, ONE, {**ONE, ("plans", "test"): [{"task_id": "a"}]})

    assert [(each.config, each.split, each.old, each.new) for each in found.rows] == [
        ("plans", "test", 0, 1),
        ("tasks", "test", 1, 1),
        ("tasks", "train", 2, 2),
    ]


# ── columns and versions ─────────────────────────────────────────────────────────────────────────────────────


def tables(change: Any = lambda table: table) -> dict[tuple[str, str], pa.Table]:
    rows = [made_up("tasks", row) for row in (task(1), task(2))]
    return {("tasks", "train"): change(pa.Table.from_pylist(rows, CONFIGS["tasks"].schema))}


def retyped(table: pa.Table) -> pa.Table:
    place = table.schema.get_field_index("plan_length")
    return table.set_column(place, "plan_length", table["plan_length"].cast(pa.string()))


@pytest.mark.parametrize(
    ("change", "told", "enough", "short"),
    [
        (lambda it: it.drop_columns(["code"]), "column removed: tasks.code (string)", "2.0.0", "1.3.0"),
        (
            lambda it: it.append_column("hint", pa.array(["a", "b"])),
            "column added: tasks.hint (string)",
            "1.3.0",
            "1.2.4",
        ),
        (retyped, "column retyped: tasks.plan_length (int64 -> string)", "2.0.0", "1.3.0"),
    ],
)
def test_a_change_of_columns_asks_for_a_step_of_the_version(
    tmp_path: Path, change: Any, told: str, enough: str, short: str
) -> None:
    of_tables(tmp_path / "old", "1.2.3", tables())
    for version in (enough, short):
        of_tables(tmp_path / version, version, tables(change))

    good, bad = (diff_folders(tmp_path / "old", tmp_path / version) for version in (enough, short))

    assert [str(each) for each in good.schema_changes] == [told] == [str(each) for each in bad.schema_changes]
    assert good.findings == ()
    (finding,) = bad.findings
    assert finding.message == told
    assert finding.remedy == f"give the later release version {enough} or higher"
    # The column alone is different, not every task.
    assert good.changed == ()


@pytest.mark.parametrize(
    ("old", "new", "enough"),
    [(ONE, {**ONE, ("plans", "test"): [{}]}, "minor"), ({**ONE, ("plans", "test"): [{}]}, ONE, "major")],
)
def test_a_config_that_came_or_went_asks_for_a_step(tmp_path: Path, old: Rows, new: Rows, enough: str) -> None:
    versions = {"minor": "1.1.0", "major": "2.0.0"}
    less = {"minor": "1.0.1", "major": "1.1.0"}

    assert compared(tmp_path / "enough", old, new, ("1.0.0", versions[enough])).findings == ()
    (finding,) = compared(tmp_path / "less", old, new, ("1.0.0", less[enough])).findings
    assert (finding.asks, "plans" in finding.message) == (enough, True)


def test_tasks_that_are_not_the_same_ask_for_a_minor_step(tmp_path: Path) -> None:
    new = {("tasks", "train"): [task(1, context="other"), task(4)]}

    assert compared(tmp_path / "minor", ONE, new, ("1.0.0", "1.1.0")).findings == ()
    (finding,) = compared(tmp_path / "patch", ONE, new, ("1.0.0", "1.0.1")).findings
    assert finding.message == "tasks differ: 1 added, 2 removed, 1 changed"


def test_another_provenance_is_enough_for_a_patch(tmp_path: Path) -> None:
    found = compared(tmp_path, ONE, with_other(2, run_id="generate-2"), ("1.0.0", "1.0.1"))

    assert found.changed[0].only_provenance
    assert found.findings == ()


def test_two_releases_of_one_version_are_a_finding(tmp_path: Path) -> None:
    (finding,) = compared(tmp_path, ONE, with_other(1, context="other"), ("1.0.0", "1.0.0")).findings

    assert "two different releases have the same version 1.0.0" in finding.message


def test_a_version_that_goes_back_is_a_finding(tmp_path: Path) -> None:
    (finding,) = compared(tmp_path, ONE, ONE, ("1.10.0", "1.9.0")).findings

    assert finding.message == "the version goes back, from 1.10.0 to 1.9.0"


@given(old=st.tuples(*[st.integers(0, 30)] * 3), new=st.tuples(*[st.integers(0, 30)] * 3))
def test_the_step_is_that_of_the_first_number_that_differs(
    old: tuple[int, int, int], new: tuple[int, int, int]
) -> None:
    step = step_between(".".join(map(str, old)), ".".join(map(str, new)))

    if new < old:
        assert step == "back"
    else:
        differing = [place for place in range(3) if old[place] != new[place]]
        assert step == (["major", "minor", "patch"][differing[0]] if differing else "none")


def test_a_major_step_covers_everything() -> None:
    gone = SchemaChange(kind="config removed", config="plans")

    assert findings("0.9.9", "1.0.0", [gone], {"added": 3, "removed": 1}, same=False) == ()


# ── what is no release ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def one(tmp_path: Path) -> Path:
    miniature(tmp_path / "one", "1.0.0", ONE)
    return tmp_path / "one"


def test_a_damaged_file_is_refused_by_its_name(one: Path) -> None:
    path = one / "data" / "tasks" / "test.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"?")

    with pytest.raises(InputError, match=r"damaged: data/tasks/test\.parquet has other bytes than the manifest lists"):
        diff_folders(one, one)


def test_a_missing_file_is_refused_by_its_name(one: Path) -> None:
    (one / "data" / "tasks" / "train.parquet").unlink()

    with pytest.raises(InputError, match=r"damaged: data/tasks/train\.parquet is missing"):
        diff_folders(one, one)


def test_a_manifest_that_leads_outside_is_refused(one: Path) -> None:
    path = one / "manifest.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    value["files"]["../secret"] = value["files"]["data/tasks/test.parquet"]
    path.write_text(json.dumps(value), encoding="utf-8")

    with pytest.raises(InputError, match=r"manifest\.json: .*'\.\./secret'"):
        open_side(one)


def test_a_folder_that_is_no_release_is_refused(one: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no manifest of a release"):
        diff_folders(one, tmp_path)


def test_a_version_that_is_none_is_refused(tmp_path: Path) -> None:
    miniature(tmp_path, "one", ONE)

    with pytest.raises(InputError, match=r"the version 'one' is not of the form X\.Y\.Z"):
        diff_folders(tmp_path, tmp_path)


def test_a_task_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the later release contains the task bddl-000000000001 twice"):
        compared(tmp_path, ONE, {("tasks", "train"): [task(1)], ("tasks", "test"): [task(1)]})


def test_a_release_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the release holds no task"):
        compared(tmp_path, ONE, {("plans", "train"): [{"task_id": "a"}]})


def test_splits_of_different_columns_are_refused(tmp_path: Path) -> None:
    tasks = tables()[("tasks", "train")]
    of_tables(tmp_path, "1.0.0", {("tasks", "train"): tasks, ("tasks", "test"): tasks.drop_columns(["code"])})

    with pytest.raises(InputError, match=r"its columns differ from those of the config's other splits"):
        diff_folders(tmp_path, tmp_path)


def test_a_file_that_is_no_parquet_is_refused(one: Path) -> None:
    path = one / "data" / "tasks" / "test.parquet"
    path.write_text("not so")
    manifest = one / "manifest.json"
    value = json.loads(manifest.read_text(encoding="utf-8"))
    from hazardmill.release.manifest import file_of

    value["files"]["data/tasks/test.parquet"] = file_of(path).model_dump()
    manifest.write_text(json.dumps(value), encoding="utf-8")

    with pytest.raises(InputError, match=r"test\.parquet: not a Parquet file"):
        diff_folders(one, one)


@pytest.mark.parametrize("name", ["a [b]", "*", "split=x", "it's", 'the "one"'])
def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    miniature(tmp_path / name, "1.0.0", ONE)
    miniature(tmp_path / "new", "1.0.0", ONE)

    assert diff_folders(tmp_path / name, tmp_path / "new").unchanged == 3
