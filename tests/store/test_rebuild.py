from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import CorruptStore, SchemaMismatch, StoreLocked
from hazardmill.records import content_hash
from hazardmill.store import Store
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.manifests import Part
from hazardmill.store.maintenance.completeness import MADE, standing
from hazardmill.store.maintenance.verify import check_part
from hazardmill.store.schemas import TABLES
from store.damaging import (
    Stop,
    calls,
    fill,
    journal_of,
    manifest,
    part,
    quarantined,
    rebuild,
    record_group,
    resume,
    spoil_line,
    start_row,
    stop_at,
    tree,
    truncate,
)
from store.factories import outcome, row

TASK_TABLES = tuple(table for table in MADE if table.name not in ("scenarios", "hazard_tasks"))
"""The tables that a run of tasks fills."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store that is as it should be. Nobody writes to it."""
    store = fill(Store(tmp_path_factory.mktemp("whole") / "store"))
    assert store.verify_files() == []
    assert standing(store.snapshot()).incomplete == frozenset()
    return store


@pytest.fixture(scope="module")
def digest(whole: Store) -> dict[str, str]:
    """The digest of ``whole``."""
    return whole.digest()


@pytest.fixture
def filled(store: Store, whole: Store) -> Store:
    shutil.copytree(whole.path, store.path)
    return store


def test_a_rebuilt_store_stays_where_it_is_when_the_working_folder_changes(
    filled: Store, digest: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(filled.path.parent)
    store = Store(filled.path.name)
    assert store.digest() == digest
    truncate(part(filled, "tasks", 1))
    assert store.rebuild().whole
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    assert store.count("records") == filled.count("records") > 0
    assert store.digest() == filled.digest()
    assert store.verify_files() == []


@pytest.mark.parametrize("table", [table.name for table in TASK_TABLES])
@pytest.mark.parametrize("damage", [truncate, Path.unlink])
def test_a_damaged_part_of_what_can_be_made_again(
    filled: Store, digest: dict[str, str], table: str, damage: Callable[[Path], None]
) -> None:
    spoilt = part(filled, table, 1)
    damage(spoilt)
    content = spoilt.read_bytes() if spoilt.exists() else None
    done = rebuild(filled)
    assert done.whole
    assert [(d.code, d.file) for d in done.damages] == [
        ("part_changed" if content else "part_missing", f"{table}/{spoilt.name}")
    ]
    assert (done.retracted, done.pending) == ({"r1": 2}, {"r1": 2})
    assert done.rows_lost == {table: {"drafts": 4, "checks": 12}.get(table, 2)}
    assert quarantined(filled) == ([(f"{table}/{spoilt.name}", content)] if content else [])
    store = Store(filled.path)
    for name in TASK_TABLES:
        assert {r["record_id"] for r in store.rows(name.name)} == {"n:0", "n:1", "n:4", "n:5"}
    assert resume(store) == ["n:2", "n:3"]
    assert store.digest() == digest
    assert store.count("llm_calls") == 18
    assert store.verify_files() == []


@pytest.mark.parametrize("number", range(4))
def test_a_lost_manifest_is_made_again_of_its_parts(filled: Store, digest: dict[str, str], number: int) -> None:
    rows = {name: filled.rows(name) for name in TABLES}
    manifest(filled, number).unlink()
    done = rebuild(filled)
    assert done.whole and not done.retracted and not done.quarantined
    assert {damage.code for damage in done.damages} == {"part_unlisted"}
    store = Store(filled.path)
    assert {name: store.rows(name) for name in TABLES} == rows
    assert store.digest() == digest


def test_several_lost_manifests_keep_the_order_of_their_segments(filled: Store) -> None:
    rows = {name: filled.rows(name) for name in TABLES}
    for number in (3, 1):
        manifest(filled, number).unlink()
    assert rebuild(filled).whole
    assert {name: Store(filled.path).rows(name) for name in TABLES} == rows


@pytest.mark.parametrize("content", ["", "[]", '{"body": {}, "sha256": 2}'])
def test_a_changed_manifest_is_quarantined_and_made_again(filled: Store, digest: dict[str, str], content: str) -> None:
    path = manifest(filled, 2)
    path.write_text(content)
    done = rebuild(filled)
    assert done.whole
    assert quarantined(filled) == [(f"manifests/{path.name}", content.encode())]
    assert Store(filled.path).digest() == digest


def test_a_lost_manifest_and_a_lost_part_of_its_commit(filled: Store, digest: dict[str, str]) -> None:
    part(filled, "checks", 2).unlink()
    manifest(filled, 3).unlink()
    assert rebuild(filled).retracted == {"r1": 2}
    store = Store(filled.path)
    assert resume(store) == ["n:4", "n:5"]
    assert store.digest() == digest


def test_a_commit_of_which_nothing_is_left(filled: Store) -> None:
    name = manifest(filled, 2).stem.partition("-")[2]
    manifest(filled, 2).unlink()
    for path in filled.path.glob(f"*/{name}.parquet"):
        path.unlink()
    done = rebuild(filled)
    assert not done.whole
    assert any("commit 3 is lost with all its parts" in sentence for sentence in done.lost)
    assert done.pending == {"r1": 2}
    assert Store(filled.path).rebuild().whole, "it is given up once"


def test_lost_ledger_rows_are_counted_and_take_nothing_else_with_them(filled: Store) -> None:
    truncate(part(filled, "llm_calls", 0))
    done = rebuild(filled)
    assert not done.whole
    assert (done.rows_lost, done.retracted) == ({"llm_calls": 6}, {})
    (sentence,) = done.lost
    assert "6 row(s) of the ledger (table llm_calls): 6 answer(s)" in sentence
    assert "paid for again only if a run asks for it again" in sentence
    assert Store(filled.path).count("outcomes") == 6


def test_a_lost_beginning_of_a_run_is_said_and_its_work_stays(filled: Store) -> None:
    truncate(part(filled, "runs", 0))
    truncate(part(filled, "checks", 1))
    done = rebuild(filled)
    assert any("the beginning of run r1 (table runs) is lost: it cannot be resumed" in s for s in done.lost)
    assert any("12 row(s) of table checks" in sentence for sentence in done.lost)
    assert done.retracted == {}
    assert Store(filled.path).count("outcomes") == 6


def test_lost_records_are_named_by_what_to_ingest_again(filled: Store) -> None:
    truncate(part(filled, "records", 0))
    done = rebuild(filled)
    assert not done.whole
    store = f"--store '{filled.path}'"
    again = f"ingest n again: hazardmill ingest --source n PATH {store}"
    assert f"6 record(s) of n that runs were started on; from the same input, {again}" in done.lost
    again = f"ingest neiss again: hazardmill ingest --source neiss /in/neiss.tsv {store}"
    assert f"6 row(s) of table records: {again}" in done.lost


def test_lost_states_of_a_run_are_said_and_it_can_be_resumed(filled: Store) -> None:
    with filled.writer("r1") as writer:
        writer.append_sync({"runs": [row("runs", sequence=1, state="completed")]})
    part(filled, "runs", 1).unlink()
    done = rebuild(filled)
    assert [sentence.split(":")[0] for sentence in done.lost] == ["1 row(s) of table runs"]
    assert resume(Store(filled.path)) == []


def test_a_rehearsal_looks_again_if_a_compaction_took_parts_away(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [1]

    def compacted(layout: Layout, listed: Part):
        if left:
            left.pop()
            Store(filled.path).compact()
        return check_part(layout, listed)

    monkeypatch.setattr("hazardmill.store.maintenance.damage_survey.check_part", compacted)
    rehearsed = filled.rebuild(dry_run=True)
    assert not left and rehearsed.damages == () and rehearsed.whole


def test_lost_rejects_are_said(filled: Store) -> None:
    with filled.writer("r2") as writer:
        writer.append_sync({"rejects": [row("rejects", run_id="r2")]})
    truncate(part(filled, "rejects", 0))
    (sentence,) = rebuild(filled).lost
    assert sentence.startswith("1 row(s) of table rejects")


def test_what_does_not_belong_here_is_quarantined(filled: Store) -> None:
    (filled.path / "drafts" / "stray.parquet").write_bytes(b"no part")
    done = rebuild(filled)
    assert done.whole
    assert quarantined(filled) == [("drafts/stray.parquet", b"no part")]


@pytest.mark.parametrize("damage", [Path.unlink, truncate])
def test_a_lost_manifest_of_a_compaction_is_taken_from_its_copy(filled: Store, damage: Callable[[Path], None]) -> None:
    filled.compact()
    rows = {name: filled.rows(name) for name in TABLES}
    damage(manifest(filled, 0))
    assert rebuild(filled).whole
    assert {name: Store(filled.path).rows(name) for name in TABLES} == rows


def test_a_compaction_whose_manifest_and_copy_are_lost_is_told_by_its_parts(filled: Store) -> None:
    filled.compact()
    with filled.writer("r1") as writer:
        writer.append_sync(calls(9))
    rows = {name: filled.rows(name) for name in TABLES}
    for path in filled.path.glob("manifests/**/*compact*.json"):
        path.unlink()
    assert rebuild(filled).whole
    assert {name: Store(filled.path).rows(name) for name in TABLES} == rows


@pytest.mark.parametrize("pattern", ["manifests/*compact*.json", "manifests/**/*compact*.json"])
def test_what_is_committed_after_a_compaction_was_lost_is_not_hidden_by_it(filled: Store, pattern: str) -> None:
    filled.compact()
    before = filled.count("llm_calls"), filled.count("outcomes")
    # If nothing records the compaction any more, its number would be given out again: nothing is committed.
    refused = pytest.raises(CorruptStore, match="existed but is gone") if "**" in pattern else nullcontext()
    with refused, Store(filled.path).writer("r1") as writer:
        for path in filled.path.glob(pattern):
            path.unlink()
        writer.append_sync(calls(9))
    assert rebuild(filled).whole
    store = Store(filled.path)
    assert (store.count("llm_calls"), store.count("outcomes")) == (before[0] + 3, before[1])
    assert [r["identity"] for r in store.rows("llm_calls")][-3:] == ["extract 9", "author 9 1", "author 9 2"]


def test_a_damaged_part_of_a_compacted_store(filled: Store, digest: dict[str, str]) -> None:
    filled.compact()
    truncate(part(filled, "checks", 0))
    assert rebuild(filled).retracted == {"r1": 6}
    store = Store(filled.path)
    assert len(resume(store)) == 6
    assert store.digest() == digest


def test_a_store_without_damage_is_left_as_it_is(filled: Store) -> None:
    filled.write_lens()
    before = tree(filled)
    done = filled.rebuild()
    assert (done.damages, done.lost, done.retracted, done.pending) == ((), (), {}, {})
    after = tree(filled)
    assert {name for name in after if before.get(name) != after[name]} <= {"store.duckdb", "maintenance.lock"}


def test_nothing_is_rebuilt_under_a_run_that_is_worked_on(filled: Store) -> None:
    with filled.writer("r7"), pytest.raises(StoreLocked, match="run r7"):
        filled.rebuild()


def test_a_newer_store_is_refused(filled: Store) -> None:
    path = manifest(filled, 1)
    body = json.loads(path.read_bytes())["body"] | {"schema": 99}
    path.write_text(json.dumps({"body": body, "sha256": content_hash(body)}))
    before = tree(filled)
    for dry_run in (True, False):
        with pytest.raises(SchemaMismatch, match="schema 99"):
            Store(filled.path).rebuild(dry_run=dry_run)
    assert {name: data for name, data in tree(filled).items() if name != "maintenance.lock"} == before


POINTS = [
    "kept",
    "segment.mended",
    "manifest.staged",
    "manifest.renamed",
    "copy.renamed",
    "original.removed",
    "part.removed",
    "manifest.removed",
    "part.staged",
    "part.renamed",
]


@pytest.mark.parametrize("point", POINTS)
def test_a_rebuild_cut_short_is_done_again_and_comes_to_the_same_end(
    filled: Store, digest: dict[str, str], point: str
) -> None:
    half = {"outcomes": [outcome("n:1", run_id="r2", drafts=2)]}
    groups = [calls(0, "r2"), {"runs": [start_row(2, "r2")]}, record_group(0, "r2"), half]
    segment = journal_of(filled, groups, "r2")
    spoil_line(segment, 2, b"author", b"auth0r")
    truncate(part(filled, "drafts", 1))
    manifest(filled, 1).write_text("{}")
    with pytest.raises(Stop, match=point):
        Store(filled.path, fault=stop_at(f"rebuild.{point}")).rebuild()
    done = Store(filled.path).rebuild()
    store = Store(filled.path)
    assert store.verify_files() == []
    assert store.count("outcomes") == 5
    assert done.pending == {"r1": 2, "r2": 1}
    resume(store)
    assert store.digest("r1") == digest | {"total": store.digest("r1")["total"]}
    assert {file for file, _ in quarantined(store)} >= {f"journal/{segment.name}"}


@pytest.mark.full
@settings(max_examples=12)
@given(
    spoilt=st.sets(st.tuples(st.sampled_from([table.name for table in TASK_TABLES]), st.integers(0, 2)), max_size=4),
    manifests=st.dictionaries(st.integers(0, 3), st.sampled_from([truncate, Path.unlink]), max_size=3),
    damage=st.sampled_from([truncate, Path.unlink]),
    compacted=st.sampled_from([0, 2, 4]),
)
def test_what_the_ledger_can_make_again_is_made_again(
    whole: Store,
    digest: dict[str, str],
    spoilt: set[tuple[str, int]],
    manifests: dict[int, Callable[[Path], None]],
    damage: Callable[[Path], None],
    compacted: int,
) -> None:
    """``compacted``: how many of the commits were made one before."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder, "store"))
        shutil.copytree(whole.path, store.path)
        if compacted:
            later = sorted((store.path / "manifests").glob("*.json"))[compacted:]
            kept = [path.rename(Path(folder, path.name)) for path in later]
            Store(store.path).compact()
            for path in kept:
                path.rename(store.path / "manifests" / path.name)
            assert Store(store.path).digest() == digest
        for table, number in sorted(spoilt):
            files = sorted((store.path / table).glob("*.parquet"))
            if number < len(files):
                damage(files[number])
        for number, spoil in manifests.items():
            files = sorted((store.path / "manifests").glob("*.json"))
            if number < len(files):
                spoil(files[number])
        assert rebuild(Store(store.path)).whole
        again = Store(store.path)
        resume(again)
        assert again.digest() == digest
        assert again.count("llm_calls") == 18
        assert again.verify_files() == []
