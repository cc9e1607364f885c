from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from factories.release_store import MODEL, rewritten

from hazardmill.errors import InputError, ReleaseRefused, UsageError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.quality.duplicates import structure_or_null
from hazardmill.records import Danger, is_share_alike
from hazardmill.release.build import splits
from hazardmill.release.build.build import build
from hazardmill.release.build.configs import CONFIGS, SHARE_ALIKE, base_of
from hazardmill.release.build.options import Options
from hazardmill.release.manifest import MANIFEST, file_of, read_manifest
from hazardmill.store.store import Store
from hazardmill.verification import task as verifying
from tests.figures_once import figures_drawn

from .shown import other_words, remade, renamed, told_by

Row = dict[str, Any]

BUILD = """
import sys
from hazardmill.release.build.build import build
from hazardmill.release.build.options import Options
from hazardmill.store.store import Store
from pathlib import Path
if __name__ == "__main__":
    options = Options.model_validate_json(sys.argv[3])
    build(Store.open(sys.argv[1]), None, options, Path(sys.argv[2]))
"""


def in_another_process(store: Store, out: Path, options: Options, **environment: str) -> None:
    script = out.parent / "build_it.py"
    script.write_text(BUILD)
    command = [sys.executable, str(script), str(store.path), str(out), options.model_dump_json()]
    subprocess.run(command, check=True, env={**os.environ, **environment})


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows_of(folder: Path, base: str) -> Iterator[tuple[str, str, list[Row]]]:
    """Config, split and rows of every file of a config, share-alike or not."""
    for path in sorted((folder / "data").glob("*/*.parquet")):
        if base_of(path.parent.name) == base:
            yield path.parent.name, path.stem, pq.read_table(path).to_pylist()


def all_rows(folder: Path, base: str) -> list[Row]:
    return [row for _, _, rows in rows_of(folder, base) for row in rows]


def left_beside(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir() if path.name.startswith("."))


# What is in it


def test_every_task_is_released_once_in_the_config_of_its_licence(built: Path, model_store: Store) -> None:
    stored = {row["task_id"]: row for row in model_store.rows("tasks")}
    found: Counter[str] = Counter()
    for base in ("tasks", "unavoidable"):
        for config, _, rows in rows_of(built, base):
            for row in rows:
                found[row["task_id"]] += 1
                original = stored[row["task_id"]]
                assert config == base + ("_by_sa" if original["licence"] == SHARE_ALIKE else "")
                assert (base == "unavoidable") == (original["avoidability"] == "unavoidable")
                for name in row.keys() & original.keys() - {"drafts"}:
                    assert row[name] == original[name], name
                danger = json.loads(original["danger"])
                assert {name: row[name] for name in danger} == Danger.model_validate(danger).columns()
    assert found == dict.fromkeys(stored, 1)
    assert any(is_share_alike(row["licence"]) for row in stored.values())


def test_columns_are_those_of_the_configs_and_rows_are_in_order(built: Path) -> None:
    seen = set()
    for base, config in CONFIGS.items():
        for name, split, rows in rows_of(built, base):
            schema = pq.read_schema(built / "data" / name / f"{split}.parquet")
            assert schema.equals(config.schema, check_metadata=False)
            keys = [tuple(row[column] for column in config.sort_by) for row in rows]
            assert keys == sorted(set(keys)) and keys
            assert all(row["licence"] and row["attribution"] and row["model_answered"] for row in rows)
            seen.add(base)
    # Nobody reviewed, no run made scenarios or hazard tasks, and there are no household tasks.
    assert seen == CONFIGS.keys() - {"reviews", "scenarios", "hazard_tasks", "household_tasks"}


def test_everything_of_a_task_is_in_its_split_and_structures_are_in_one(built: Path) -> None:
    split_of: dict[str, str] = {}
    split_of_group: dict[str, set[str]] = {}
    for base in ("tasks", "unavoidable"):
        for _, split, rows in rows_of(built, base):
            for row in rows:
                split_of[row["task_id"]] = split
                split_of_group.setdefault(row["group"], set()).add(split)
    assert all(len(splits) == 1 for splits in split_of_group.values())
    for base in CONFIGS:
        for _, split, rows in rows_of(built, base):
            assert {split_of[row["task_id"]] for row in rows} == {split}


def test_plans_twins_and_pairs_say_what_is_true_of_the_documents(built: Path) -> None:
    tasks = {row["task_id"]: row for row in all_rows(built, "tasks")}
    plans = all_rows(built, "plans")
    assert Counter(row["task_id"] for row in plans) == dict.fromkeys(tasks, 2)
    for row in plans:
        task = tasks[row["task_id"]]
        verdict = PlanValidator(System(Document.from_json(json.loads(task["document"])))).verdict(row["plan"])
        assert row["plan"] == task[f"{row['kind']}_plan"] and row["length"] == task[f"{row['kind']}_length"]
        assert (row["feasible"], row["safe"], row["danger"]) == (verdict.feasible, verdict.safe, verdict.danger)
        # A law for feasible plans.
        assert row["safety_intention"] == row["safety_intention_persistent"] == row["safe"] == (row["kind"] == "safe")
        assert row["score"] == (2 if row["safe"] else 1)
    twins = all_rows(built, "contrast_twins")
    assert {row["task_id"] for row in twins} == tasks.keys()
    for row in twins:
        task, twin = tasks[row["task_id"]], Document.from_json(json.loads(row["twin"]))
        original = Document.from_json(json.loads(task["document"]))
        differing = set(original.initial) ^ set(twin.initial)
        assert {atom for atom, _ in differing} == {tuple(json.loads(row["flipped"]))}
        assert twin.hash == row["twin_hash"] != task["document_hash"]
        judge = PlanValidator(System(twin))
        for kind in ("safe", "unsafe"):
            said = tuple(row[f"{kind}_plan_{what}"] for what in ("feasible", "safe", "danger"))
            assert said == judge.quick(task[f"{kind}_plan"])
        assert row["unsafe_plan_safe"] and row["problem_pddl"] != task["problem_pddl"]
        assert (row["domain_pddl"], row["problem_pddl"]) == (domain_pddl(twin), problem_pddl(twin))
    for row in all_rows(built, "preference_pairs"):
        task = tasks[row["task_id"]]
        assert (row["chosen"], row["rejected"]) == (task["safe_plan"], task["unsafe_plan"])
        assert task["problem_pddl"].strip() in row["prompt"]


def test_an_unavoidable_task_comes_with_its_proof_and_has_no_plans_to_compare(built: Path) -> None:
    rows = all_rows(built, "unavoidable")
    assert len(rows) == 1
    proof = json.loads(rows[0]["proof"])
    assert (proof["name"], proof["passed"]) == ("unavoidable", True)
    for base in ("plans", "contrast_twins", "preference_pairs"):
        assert rows[0]["task_id"] not in {row["task_id"] for row in all_rows(built, base)}
    for base in ("dangers", "drafts"):
        assert rows[0]["task_id"] in {row["task_id"] for row in all_rows(built, base)}


def test_drafts_are_those_of_released_records_without_answers(built: Path, model_store: Store) -> None:
    tasks = {row["record_id"]: row for base in ("tasks", "unavoidable") for row in all_rows(built, base)}
    drafts = all_rows(built, "drafts")
    stored = [row for row in model_store.rows("drafts") if row["record_id"] in tasks]
    assert len(drafts) == len(stored) and all(row["answer"] is None for row in drafts)
    assert Counter(row["record_id"] for row in drafts) == {name: row["drafts"] for name, row in tasks.items()}
    assert sum(row["accepted"] for row in drafts) == len(tasks)


def test_the_manifest_lists_every_file_and_counts_every_row(built: Path) -> None:
    manifest = read_manifest(built)
    files = files_of(built)
    assert files.keys() - {MANIFEST} == manifest.files.keys()
    counts: dict[str, dict[str, int]] = {}
    for name, entry in manifest.files.items():
        rows = pq.read_metadata(built / name).num_rows if name.endswith(".parquet") else None
        assert entry == file_of(built / name, rows)
        if rows is not None:
            _, config, split = Path(name).with_suffix("").parts
            counts.setdefault(config, {})[split] = rows
    assert manifest.counts == counts
    tasks = sum(sum(counts[config].values()) for config in counts if base_of(config) in ("tasks", "unavoidable"))
    assert manifest.tasks == tasks == sum(manifest.licences.values()) == sum(a.tasks for a in manifest.attributions)
    assert manifest.funnel["accepted"] == manifest.funnel["released"] == tasks
    assert manifest.archive.tasks + manifest.archive.unsayable == tasks
    assert {(model.asked, model.answered) for model in manifest.models} == {(MODEL, MODEL)}
    assert manifest.offline == 0 and manifest.parent is None and list(manifest.waived) == ["corpus"]
    assert {"README.md", "croissant.json", "CITATION.cff", "CHANGELOG.md", "LICENSES.md"} <= files.keys()


# The same bytes


@pytest.mark.full
@pytest.mark.parametrize(
    ("seed", "folder", "jobs", "zone"),
    [("2", "b/c", 2, "America/Lima"), pytest.param("1", "a", 1, "Asia/Tokyo", marks=pytest.mark.full)],
)
def test_the_same_store_gives_the_same_bytes_in_every_process_and_folder(
    built: Path, model_store: Store, options: Options, tmp_path: Path, seed: str, folder: str, jobs: int, zone: str
) -> None:
    out = tmp_path / folder / "release"
    out.parent.mkdir(parents=True)
    asked = options.model_copy(update={"jobs": jobs})
    in_another_process(model_store, out, asked, PYTHONHASHSEED=seed, TZ=zone)
    assert files_of(out) == files_of(built)


def test_a_compacted_store_gives_the_same_bytes(
    built: Path, model_store: Store, options: Options, tmp_path: Path
) -> None:
    store = rewritten(model_store, tmp_path / "store", lambda table, row: row)
    store.compact()
    with figures_drawn():
        build(store, None, options, tmp_path / "release")
    assert files_of(tmp_path / "release") == files_of(built)


def test_another_version_or_seed_gives_others(
    built: Path, model_store: Store, options: Options, tmp_path: Path
) -> None:
    other = build(model_store, None, options.model_copy(update={"version": "1.0.1"}), tmp_path / "version")
    assert other.manifest.sha256() != read_manifest(built).sha256()
    tasks = {name: entry for name, entry in other.manifest.files.items() if name.startswith("data/")}
    assert tasks == {name: entry for name, entry in read_manifest(built).files.items() if name.startswith("data/")}
    reseeded = build(model_store, None, options.model_copy(update={"seed": 1}), tmp_path / "seed")
    assert reseeded.manifest.files["data/tasks/train.parquet"] != tasks["data/tasks/train.parquet"]


# Refusals


def damaged(row: Row) -> Row:
    return {**row, "unsafe_plan": "(fly)"}


def test_a_refused_release_leaves_nothing_and_says_all_that_is_wrong(
    model_store: Store, options: Options, tmp_path: Path
) -> None:
    first = model_store.rows("tasks")[0]["task_id"]

    def change(table: str, row: Row) -> Row:
        if table == "tasks" and row["task_id"] == first:
            return {**damaged(row), "licence": ""}
        return row

    store = rewritten(model_store, tmp_path / "store", change)
    out = tmp_path / "out" / "release"
    with pytest.raises(ReleaseRefused, match="the release is refused by revalidation, licence") as caught:
        build(store, None, options, out)
    said = "\n".join(caught.value.findings)
    assert f"revalidation: {first}: its unsafe plan is not feasible" in said
    assert f"licence: {first}: it has no licence" in said
    assert not list(out.parent.iterdir())


def test_altered_code_with_a_fresh_checksum_is_refused(model_store: Store, options: Options, tmp_path: Path) -> None:
    first = model_store.rows("tasks")[0]["task_id"]

    def change(table: str, row: Row) -> Row:
        return {**row, "code": f"import os\n{row['code']}"} if row.get("task_id") == first and "code" in row else row

    store = rewritten(model_store, tmp_path / "store", change)
    assert store.verify_files() == []
    with pytest.raises(ReleaseRefused, match="the release is refused by revalidation") as caught:
        build(store, None, options, tmp_path / "release")
    assert f"revalidation: {first}: code is not the rendering of the document" in "\n".join(caught.value.findings)


def test_a_task_that_is_not_its_drafts_or_its_dangers_is_refused(
    model_store: Store, options: Options, tmp_path: Path
) -> None:
    first, second = (row["task_id"] for row in model_store.rows("tasks")[:2])

    def change(table: str, row: Row) -> Row:
        if table != "tasks" or row["task_id"] not in (first, second):
            return row
        name, key, value = ("danger", "setting", "Elsewhere.") if row["task_id"] == first else ("document", "texts", {})
        told = {**json.loads(row[name]), key: value}
        return {**row, name: json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)}

    store = rewritten(model_store, tmp_path / "store", change)
    with pytest.raises(ReleaseRefused, match="the release is refused by revalidation") as caught:
        build(store, None, options, tmp_path / "release")
    said = "\n".join(caught.value.findings)
    assert f"{first}: the danger is not that of the table of dangers: setting" in said
    assert f"{second}: the document is not that of its draft: texts" in said


def test_a_document_that_cannot_be_read_is_a_finding_and_no_crash(
    model_store: Store, options: Options, tmp_path: Path
) -> None:
    first = model_store.rows("tasks")[0]["task_id"]

    def change(table: str, row: Row) -> Row:
        if table == "tasks" and row["task_id"] == first:
            return {**row, "document": '{"format": "none"}', "structure_id": None}
        return row

    store = rewritten(model_store, tmp_path / "store", change)
    with pytest.raises(ReleaseRefused) as caught:
        build(store, None, options, tmp_path / "release")
    assert any(first in line and "cannot be read" in line for line in caught.value.findings)


@pytest.mark.parametrize("column", ["feedback", "answer"])
def test_personal_data_in_drafts_stop_a_release_that_gives_them_away(
    model_store: Store, options: Options, tmp_path: Path, column: str
) -> None:
    drafts = model_store.rows("drafts", {"source": "neiss"})
    tasks = {row["record_id"]: row["task_id"] for row in model_store.rows("tasks", {"source": "neiss"})}
    (draft, *_) = [row for row in drafts if row["record_id"] in tasks]

    def change(table: str, row: Row) -> Row:
        if table == "drafts" and (row["record_id"], row["draft"]) == (draft["record_id"], draft["draft"]):
            return {**row, column: "CALL 555-867-5309"}
        return row

    store = rewritten(model_store, tmp_path / "store", change)
    with pytest.raises(ReleaseRefused, match=r"refused by personal_data \[") as caught:
        build(store, None, options.model_copy(update={"with_answers": True}), tmp_path / "release")
    (finding,) = caught.value.findings
    assert f"{tasks[draft['record_id']]}: " in finding
    assert f"telephone number (in drafts[{draft['draft']}].{column}, at character 5)" in finding
    if column == "answer":
        assert build(store, None, options, tmp_path / "release").manifest.tasks


def test_offline_tasks_are_refused_unless_they_are_allowed(mill_store: Store, options: Options, tmp_path: Path) -> None:
    with pytest.raises(ReleaseRefused, match="refused by offline"):
        build(mill_store, None, options, tmp_path / "release")
    made = build(mill_store, None, options.model_copy(update={"allow_offline": True}), tmp_path / "release")
    assert made.manifest.offline == made.manifest.tasks > 0
    assert {row["model_answered"] for row in all_rows(made.folder, "drafts")} == {"offline-author"}


def test_tasks_of_recorded_answers_that_nobody_knows_are_refused_unless_they_are_allowed(
    model_store: Store, options: Options, tmp_path: Path
) -> None:
    task = model_store.rows("tasks")[0]

    def recorded(table: str, row: dict[str, Any]) -> dict[str, Any]:
        of_task = table == "llm_calls" and row["record_id"] == task["record_id"] and row["stage"] == "author"
        return {**row, "backend": "recorded", "recording": "f" * 64} if of_task else row

    store = rewritten(model_store, tmp_path / "store", recorded)
    with pytest.raises(ReleaseRefused, match="refused by offline") as caught:
        build(store, None, options, tmp_path / "release")
    (finding,) = caught.value.findings
    assert f"{task['task_id']}: it was made from recorded answers" in finding
    made = build(store, None, options.model_copy(update={"allow_offline": True}), tmp_path / "release")
    assert (made.manifest.recorded, made.manifest.offline) == (1, 0)


def test_what_is_there_is_never_written_over(model_store: Store, options: Options, tmp_path: Path) -> None:
    for name in ("folder", "file", "link"):
        place = tmp_path / name
        match name:
            case "folder":
                place.mkdir()
            case "file":
                place.write_text("mine")
            case "link":
                place.symlink_to(tmp_path / "nowhere")
        with pytest.raises(UsageError, match="already exists"):
            build(model_store, None, options, place)
    assert (tmp_path / "file").read_text() == "mine" and not list((tmp_path / "folder").iterdir())


@pytest.mark.full
def test_a_killed_build_leaves_no_release_and_the_next_one_takes_its_place(
    built: Path, model_store: Store, options: Options, tmp_path: Path
) -> None:
    out = tmp_path / "release"
    script = tmp_path / "build_it.py"
    script.write_text(BUILD)
    command = [sys.executable, str(script), str(model_store.path), str(out), options.model_dump_json()]
    with subprocess.Popen(command) as child:
        # Rows are put aside by now, and nothing is finished.
        while not list(tmp_path.glob(".release.partial/.working/tasks.jsonl")):
            assert child.poll() is None
            time.sleep(0.005)
        os.kill(child.pid, signal.SIGKILL)
    assert not out.exists() and ".release.partial" in left_beside(out)
    with figures_drawn():
        build(model_store, None, options, out)
    assert files_of(out) == files_of(built) and left_beside(out) == []


def test_two_builds_of_one_folder_do_not_meet(model_store: Store, options: Options, tmp_path: Path) -> None:
    met: list[str] = []

    def told(done: int, of: int) -> None:
        if done == 1:
            with pytest.raises(UsageError, match="another build is writing"):
                build(model_store, None, options, tmp_path / "release")
            met.append("yes")

    assert build(model_store, None, options, tmp_path / "release", told).manifest.tasks
    assert met == ["yes"] and left_beside(tmp_path / "release") == []


# Parents


def test_tasks_stay_in_the_splits_of_the_parent(
    built: Path, model_store: Store, options: Options, tmp_path: Path
) -> None:
    was = {row["task_id"]: split for _, split, rows in rows_of(built, "tasks") for row in rows}
    asked = options.model_copy(update={"version": "1.1.0", "parent": built, "seed": 5})
    made = build(model_store, None, asked, tmp_path / "release")
    assert {row["task_id"]: split for _, split, rows in rows_of(made.folder, "tasks") for row in rows} == was
    assert made.manifest.parent is not None
    assert made.manifest.parent.model_dump() == {"version": "1.0.0", "manifest_sha256": read_manifest(built).sha256()}


@pytest.mark.full
def test_a_group_that_comes_back_goes_where_it_was(
    built: Path, model_store: Store, options: Options, tmp_path: Path
) -> None:
    (row, *_) = next(rows for _, split, rows in rows_of(built, "tasks") if split == "test")

    def without(table: str, each: Row) -> Row | None:
        return None if table == "tasks" and each["task_id"] == row["task_id"] else each

    fewer = rewritten(model_store, tmp_path / "store", without)
    out = tmp_path / "1.1.0"
    asked = options.model_copy(update={"version": "1.0.1", "parent": built})
    with pytest.raises(ReleaseRefused, match=r"1\.0\.1 is too small a step from its parent 1\.0\.0") as caught:
        build(fewer, None, asked, out)
    (finding,) = caught.value.findings
    assert "1 removed" in finding and "1.1.0 or higher" in finding and not out.exists() and left_beside(out) == []

    second = build(fewer, None, asked.model_copy(update={"version": "1.1.0"}), out)
    assert second.manifest.former_groups == {row["group"]: "test"}
    # Dealt out anew it would be tested on too, where a place is free: what the manifest says must count.
    second.manifest.model_copy(update={"former_groups": {row["group"]: "validation"}}).write(out)
    back = asked.model_copy(update={"version": "1.2.0", "parent": out})
    third = build(model_store, None, back, tmp_path / "1.2.0")
    splits = {each["task_id"]: split for _, split, rows in rows_of(third.folder, "tasks") for each in rows}
    assert splits[row["task_id"]] == "validation"
    assert third.manifest.former_groups == {}


def with_origin(store: Store, row: Row, twin: Row) -> dict[str, list[Row]]:
    """A task of another record, with the draft and the danger that it would have come of."""
    of_row = {"run_id": row["run_id"], "record_id": row["record_id"]}
    own = {"record_id": f"{row['source']}:another"}
    (draft,) = store.rows("drafts", {**of_row, "draft": row["draft"]})
    (danger,) = store.rows("dangers", of_row)
    drafted = {name: twin[name] for name in ("code", "document", "document_hash")}
    return {
        "tasks": [told_by(twin, **own)],
        "drafts": [{**draft, **own, **drafted}],
        "dangers": [{**danger, **own, **Danger.model_validate_json(twin["danger"]).columns()}],
    }


def test_a_task_too_regular_to_be_told_goes_with_those_that_it_may_be(
    model_store: Store, options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = model_store.rows("tasks", {"source": "alfred"})[0]
    twin = other_words({**remade(row, renamed(row, lambda name: f"{name}_b")), "structure_id": None})
    store = rewritten(model_store, tmp_path / "store", lambda table, each: each)
    with store.writer(row["run_id"]) as writer:
        writer.append_sync(with_origin(store, row, twin))
    regular = {each["name"] for each in json.loads(twin["document"])["actions"]}
    tell = structure_or_null
    for module in (splits, verifying):
        monkeypatch.setattr(
            module,
            "structure_or_null",
            lambda document: None if regular == {each["name"] for each in document["actions"]} else tell(document),
        )
    made = build(store, None, options, tmp_path / "release")
    found = {
        each["task_id"]: (each["group"], split) for _, split, rows in rows_of(made.folder, "tasks") for each in rows
    }
    assert found[twin["task_id"]] == found[row["task_id"]]
    assert found[row["task_id"]][0].startswith(splits.OUTLINE)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"version": "1.0.0"}, "version 1.0.0 does not come after 1.0.0"),
        ({"version": "0.9.9"}, "version 0.9.9 does not come after 1.0.0"),
        ({"version": "1.1.0", "name": "other"}, "the parent is a release of hazardmill, not of other"),
    ],
)
def test_a_parent_comes_before(
    built: Path, model_store: Store, options: Options, tmp_path: Path, changed: Row, message: str
) -> None:
    asked = options.model_copy(update={"parent": built, **changed})
    with pytest.raises(UsageError, match=message):
        build(model_store, None, asked, tmp_path / "release")
    shutil.copytree(built, tmp_path / "broken")
    spoilt = tmp_path / "broken" / "data" / "tasks" / "train.parquet"
    data = bytearray(spoilt.read_bytes())
    data[len(data) // 2] ^= 1
    spoilt.write_bytes(data)
    broken = options.model_copy(update={"version": "2.0.0", "parent": tmp_path / "broken"})
    with pytest.raises(InputError, match="the parent release cannot be read: it has other bytes than"):
        build(model_store, None, broken, tmp_path / "release")
    gone = options.model_copy(update={"version": "2.0.0", "parent": tmp_path / "gone"})
    with pytest.raises(InputError, match="there is no manifest of a release"):
        build(model_store, None, gone, tmp_path / "release")


# Reviews


NOTE = "Anna lives in Elm Street."

Reviewed = Callable[..., Path]


@pytest.fixture
def reviewed(model_store: Store, project: Path, tmp_path: Path) -> Reviewed:
    """A review in which people approve all tasks, but for those that Ben rejects or skips."""
    from review.support import APPROVE, answer, make_folder

    from hazardmill.review.assignments.publish import give_tasks
    from hazardmill.review.assignments.sampler import Wish
    from hazardmill.review.candidates import load_pool
    from hazardmill.review.schemas import ReviewAnswer
    from hazardmill.review.service import ReviewService

    by_word = {
        "reject": ReviewAnswer(verdict="reject", reasons=("other",), note=NOTE, seconds=12.5),
        "skip": ReviewAnswer(verdict="skip"),
    }

    def review(said: dict[str, str], *others: str) -> Path:
        folder = make_folder(tmp_path / "review", project)
        pool = load_pool(model_store, keep=True)
        people = (*others, "ben")
        give_tasks(folder, pool, Wish(reviewers=people, per_task=len(people), calibration=0.0, repeats=0.0))
        service, seen = ReviewService(folder, pool), set()
        for person in others:
            answer(service, person, lambda slip, sheet: APPROVE)

        def say(slip: Any, sheet: Any) -> ReviewAnswer | None:
            # Skipped ones come again at the end.
            if slip.item in seen:
                return None
            seen.add(slip.item)
            return by_word.get(said.get(slip.item, ""), APPROVE)

        answer(service, "ben", say)
        return Path(folder.path)

    return review


def test_what_people_are_against_is_left_out(
    model_store: Store, options: Options, tmp_path: Path, reviewed: Reviewed
) -> None:
    rejected = sorted(row["task_id"] for row in model_store.rows("tasks"))[3]
    folder = reviewed({rejected: "reject"}, "ada")
    made = build(model_store, folder, options.model_copy(update={"policy": "any-reject"}), tmp_path / "release")
    assert made.manifest.left_out == {"rejected": 1}
    assert made.manifest.tasks == model_store.count("tasks") - 1
    for base in CONFIGS:
        assert rejected not in {row["task_id"] for row in all_rows(made.folder, base)}
    reviews = all_rows(made.folder, "reviews")
    assert len(reviews) == 2 * made.manifest.tasks
    assert {(row["kind"], row["verdict"], row["current"]) for row in reviews} == {("task", "approve", True)}
    for row in all_rows(made.folder, "tasks"):
        assert (row["review_policy"], row["reviewers"], row["approvals"]) == ("any-reject", 2, 2)
    assert made.manifest.review is not None
    assert made.manifest.review.model_dump() == {"reviewers": 2, "models": 0, "decisions": len(reviews), "rejected": 1}


def test_a_model_among_reviewers_is_counted_as_one_and_so_are_its_rows(
    model_store: Store, options: Options, tmp_path: Path, reviewed: Reviewed
) -> None:
    folder = reviewed({}, "model-claude")
    made = build(model_store, folder, options.model_copy(update={"policy": "any-reject"}), tmp_path / "release")
    assert made.manifest.review is not None
    assert (made.manifest.review.reviewers, made.manifest.review.models) == (2, 1)
    kinds = {row["reviewer"].partition("-")[0] for row in all_rows(made.folder, "reviews")}
    assert kinds == {"model", "reviewer"}
    assert "Reviewed by one person and one language model" in (made.folder / "README.md").read_text()


def test_what_is_not_settled_is_neither_released_nor_silently_dropped(
    model_store: Store, options: Options, tmp_path: Path, reviewed: Reviewed
) -> None:
    against, open_ = sorted(row["task_id"] for row in model_store.rows("tasks"))[3:5]
    folder = reviewed({against: "reject", open_: "skip"}, "ada")
    with pytest.raises(ReleaseRefused, match="refused by review") as caught:
        build(model_store, folder, options.model_copy(update={"policy": "majority"}), tmp_path / "release")
    assert [line.split(": ")[1] for line in caught.value.findings] == [against, open_]


def test_notes_and_names_of_reviewers_are_in_no_file(
    model_store: Store, options: Options, tmp_path: Path, reviewed: Reviewed
) -> None:
    outvoted = sorted(row["task_id"] for row in model_store.rows("tasks"))[0]
    people = ("ada-lovegood", "cy-lovegood")
    folder = reviewed({outvoted: "reject"}, *people)
    made = build(model_store, folder, options.model_copy(update={"policy": "majority"}), tmp_path / "release")
    against = [row for row in all_rows(made.folder, "reviews") if row["verdict"] == "reject"]
    assert [(row["task_id"], row["reasons"]) for row in against] == [(outvoted, '["other"]')]
    assert {row["reviewer"] for row in all_rows(made.folder, "reviews")} == {f"reviewer-{n}" for n in (1, 2, 3)}
    texts = [json.dumps(all_rows(made.folder, base)) for base in CONFIGS]
    texts += [data.decode() for name, data in files_of(made.folder).items() if name.endswith((".md", ".json", ".cff"))]
    for secret in (NOTE, "Elm Street", "lovegood"):
        assert not [text for text in texts if secret in text]
