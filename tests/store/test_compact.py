from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import duckdb
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.cli import query
from hazardmill.conversion import despite_export
from hazardmill.errors import CorruptStore, PartGone, StoreError, StoreLocked
from hazardmill.ingest.intake import RecordReader
from hazardmill.quality import lint_items
from hazardmill.report import folders, html, summary
from hazardmill.store import Store, duckdb_views, read_only_sql
from hazardmill.store.files import manifests
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import Lock
from hazardmill.store.schemas import TABLES
from store.factories import NOON, call, outcome, row


class Stop(Exception):
    """Stands for a crash."""


def files(store: Store, pattern: str = "*/*.parquet") -> list[str]:
    return sorted(str(path.relative_to(store.path)) for path in store.path.glob(pattern))


def contents(store: Store) -> dict[str, list[dict]]:
    return {name: store.rows(name) for name in TABLES}


def fill(store: Store, commits: int = 6) -> None:
    """Two runs in turn over the same records: each writes some keys again, its own and the other's."""
    for number in range(commits):
        run_id = f"r{number % 2}"
        with store.writer(run_id) as writer:
            writer.append_sync(
                {
                    "records": [row("records", run_id=run_id, record_id=f"n:{number % 3}", context=f"{number}")],
                    "outcomes": [outcome(f"n:{number % 2}", run_id=run_id, drafts=number)],
                    "llm_calls": [call(f"c{number}", run_id=run_id, at=NOON)],
                }
            )


@pytest.fixture
def filled(store: Store) -> Store:
    fill(store)
    return store


def test_many_small_parts_become_one_a_table_and_nothing_that_is_read_changes(filled: Store) -> None:
    before, digests = contents(filled), [filled.digest(run_id) for run_id in (None, "r0", "r1")]
    done = filled.compact()
    assert (done.parts_before, done.parts_after, done.commits) == (18, 3, 6)
    assert [path.split("/")[0] for path in files(filled)] == ["llm_calls", "outcomes", "records"]
    assert len(files(filled, "manifests/*.json")) == 1
    for reader in (filled, Store(filled.path)):
        assert contents(reader) == before
        assert [reader.digest(run_id) for run_id in (None, "r0", "r1")] == digests
    assert filled.verify_files() == []


def test_only_rows_that_their_own_run_replaced_are_dropped(filled: Store) -> None:
    assert filled.compact().rows_dropped == 4, "outcomes: three rows of each run with one key"
    with filled.connect() as views:
        assert views.execute("SELECT sum(row_count) FROM parts WHERE table_name = 'records'").fetchone() == (6,)
        assert views.execute("SELECT sum(row_count) FROM parts WHERE table_name = 'outcomes'").fetchone() == (2,)


def test_a_second_compaction_has_nothing_to_do(filled: Store) -> None:
    filled.compact()
    before = files(filled, "**/*")
    assert filled.compact().commits == 0
    assert files(filled, "**/*") == before


def test_what_is_committed_later_comes_after_and_can_be_compacted_again(filled: Store) -> None:
    filled.compact()
    fill(filled, 3)
    before = contents(filled)
    assert [manifest.sequence for manifest in filled.snapshot().manifests] == [6, 7, 8, 9]
    assert filled.verify_files() == []
    filled.compact()
    assert contents(filled) == before
    assert len(files(filled, "manifests/*.json")) == len(files(filled, "manifests/copies/*.json")) == 1


def test_large_parts_stay_where_they_are_and_keep_their_place(store: Store) -> None:
    with store.writer("r1") as writer:
        for commit, size in enumerate((1, 400, 1, 1)):
            rows = [outcome(f"n:{commit}:{n}", message=f"{n * 7919 % 9973:x}" * 9) for n in range(size)]
            writer.append_sync({"outcomes": rows})
            writer.roll()
    before = store.rows("outcomes")
    size = max(path.stat().st_size for path in (store.path / "outcomes").iterdir())
    (large,) = [path for path in (store.path / "outcomes").iterdir() if path.stat().st_size == size]
    assert store.compact(target=2 * size).parts_after == 3
    assert large.exists()
    assert store.rows("outcomes") == before
    with store.connect() as views:
        shown = views.execute("SELECT record_id FROM _outcomes_in_order ORDER BY _order").fetchall()
    assert [record_id for (record_id,) in shown] == [r["record_id"] for r in before]
    assert store.compact(target=2 * size).commits == 0


@pytest.mark.full
@settings(max_examples=15)
@given(
    commits=st.lists(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), max_size=4), max_size=6),
    target=st.sampled_from([1, 12_000, 10**9]),
)
def test_rows_digests_and_views_do_not_change(commits: list[list[tuple[int, int]]], target: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        for number, rows in enumerate(commits):
            for run_id in sorted({f"r{run}" for run, _ in rows}):
                with store.writer(run_id) as writer:
                    for run, record in rows:
                        values = {"run_id": run_id, "record_id": f"n:{record}"}
                        if f"r{run}" == run_id:
                            group = {"records": [row("records", **values, context=f"{number}")]}
                            writer.append_sync(group | {"tasks": [row("tasks", **values, task_id=f"t{record}")]})
        before = contents(store), [store.digest(run_id) for run_id in (None, "r0", "r1")], latest_tasks(store)
        store.compact(target=target)
        assert before == (contents(store), [store.digest(run_id) for run_id in (None, "r0", "r1")], latest_tasks(store))
        assert store.verify_files() == []


def latest_tasks(store: Store) -> list[tuple]:
    with store.connect() as views:
        return sorted(views.execute("SELECT task_id, run_id, record_id FROM tasks_latest").fetchall())


def test_an_open_writer_and_its_journal_are_left_alone(filled: Store) -> None:
    with filled.writer("r9") as writer:
        writer.append_sync({"outcomes": [outcome("n:9", run_id="r9")]})
        before = filled.rows("outcomes")
        filled.compact()
        assert filled.rows("outcomes") == before
        writer.append_sync({"outcomes": [outcome("n:8", run_id="r9")]})
    assert [r["record_id"] for r in filled.rows("outcomes")][-2:] == ["n:9", "n:8"]
    assert filled.verify_files() == []


def test_a_segment_that_a_crash_left_in_the_journal_is_still_known_as_converted(store: Store) -> None:
    def fault(point: str) -> None:
        if point == "manifest.renamed":
            raise Stop

    writer = Store(store.path, fault=fault).writer("r5")
    writer.append_sync({"outcomes": [outcome("n:1", run_id="r5")]})
    with pytest.raises(Stop):
        writer.roll()
    writer.close()
    fill(store, 2)
    before = store.rows("outcomes")
    store.compact()
    assert store.rows("outcomes") == before
    assert store.recover() != []
    assert store.rows("outcomes") == before
    assert store.verify_files() == []


def test_who_follows_a_table_misses_nothing(filled: Store) -> None:
    rows, seen = filled.rows_since("llm_calls", 0, ["identity"])
    assert (len(rows), seen) == (6, 6)
    filled.compact()
    assert filled.rows_since("llm_calls", seen) == ([], 6)
    assert len(filled.rows_since("llm_calls", 3)[0]) == 6, "those of a replacement come again"
    fill(filled, 1)
    rows, seen = filled.rows_since("llm_calls", seen, ["identity"])
    assert ([r["identity"] for r in rows], seen) == (["c0"], 7)


def compacted_in_between(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each of the next two looks at the store out of date before it is read."""
    real, left = Store.snapshot, [1, 2]

    def snapshot(self: Store):
        taken = real(self)
        if left:
            left.pop()
            fill(Store(store.path), 2)
            Store(store.path).compact()
        return taken

    monkeypatch.setattr(Store, "snapshot", snapshot)


@pytest.mark.parametrize(
    "read",
    [
        lambda store: store.rows("outcomes"),
        lambda store: store.count("outcomes"),
        lambda store: store.digest(),
        lambda store: store.rows_since("outcomes", 0),
        lambda store: RecordReader(store).take({"n:0": None, "n:1": None}),
        lambda store: sorted(store.connect().execute("SELECT run_id, record_id, drafts FROM outcomes").fetchall()),
    ],
)
def test_a_reader_whose_parts_were_compacted_away_looks_again(
    filled: Store, read: Callable[[Store], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        compacted_in_between(filled, patch)
        found = read(Store(filled.path))
    assert found == read(filled)


@pytest.fixture
def read_by_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table is read as a large one: by each query, and not before the first."""
    monkeypatch.setattr(duckdb_views, "_SMALL", -1)


def test_a_small_table_is_read_before_it_is_asked_for(filled: Store) -> None:
    def ask(views: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
        asked.append(Store(filled.path).compact())
        return views.execute("SELECT record_id, drafts FROM outcomes ORDER BY ALL").fetchall()

    asked: list[object] = []
    assert filled.query(ask) == [("n:0", 4), ("n:1", 5)]
    assert len(asked) == 1


@pytest.mark.usefixtures("read_by_queries")
@pytest.mark.parametrize("by_cursor", [False, True])
def test_a_query_whose_parts_are_compacted_away_is_asked_again(filled: Store, by_cursor: bool) -> None:
    """Between connecting and asking; of a cursor that has given its first rows, also between these and the rest."""
    asked, sql = [], "SELECT record_id, drafts FROM outcomes ORDER BY ALL"

    def ask(views: duckdb.DuckDBPyConnection):
        asked.append(views)
        if len(asked) == 1:
            Store(filled.path).compact()
        cursor = views.execute(sql)
        return (cursor, cursor.fetchmany(1)) if by_cursor else (None, cursor.fetchall())

    cursor, rows = filled.query(ask)
    assert len(asked) == 2
    with pytest.raises(duckdb.ConnectionException, match="closed"):
        asked[0].execute("SELECT 1")
    if cursor is not None:
        fill(filled, 2)
        filled.compact()
        rows += cursor.fetchall()
    assert rows == [("n:0", 4), ("n:1", 5)]


@pytest.mark.usefixtures("read_by_queries")
def test_commands_that_query_ask_again_too(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled.writer("r0") as writer:
        writer.append_sync({"tasks": [row("tasks", run_id="r0", task_id=name) for name in ("t:1", "t:2", "t:3")]})
    monkeypatch.setattr(despite_export, "_BATCH", 1)
    for module, name in ((read_only_sql, "_check_only_reads"), (despite_export, "_first_of_all")):
        fill(filled, 2)
        monkeypatch.setattr(module, name, after_a_compaction(filled, getattr(module, name)))
    sql = "SELECT max(drafts) AS most FROM outcomes"
    ended = CliRunner().invoke(query.query, [sql, "--json", "--store", str(filled.path)], catch_exceptions=False)
    assert json.loads(ended.output) == [{"most": 1}]
    assert len(filled.snapshot().manifests) == 1
    fill(filled, 2)
    tasks = despite_export._all_stored(filled)
    names = [next(tasks).name]
    assert len(filled.snapshot().manifests) == 1
    fill(filled, 2)
    filled.compact()
    assert [*names, *(task.name for task in tasks)] == ["t:1", "t:2", "t:3"]


@pytest.mark.usefixtures("read_by_queries")
@pytest.mark.parametrize(
    ("module", "name", "use"),
    [
        (lint_items, "_first_of_all", lambda store, _: [item.name for item in lint_items.lint_items(store.path)]),
        (summary, "funnel", lambda store, _: summary.funnel_and_cost(store, ["r1"])),
        (folders, "_tasks", lambda store, out: folders.write_task_folders(store, ["none"], out)),
        (html, "render_report", lambda store, out: html.write_report(store, ["r1"], out / "page.html").read_text()),
    ],
)
def test_reports_ask_again_too(
    filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, use: Callable
) -> None:
    with filled.writer("r0") as writer:
        for task_id in ("t:1", "t:2"):
            writer.append_sync({"tasks": [row("tasks", run_id="r0", task_id=task_id)]})
            writer.roll()
    expected = use(filled, tmp_path)
    fill(filled, 2)
    calls = []
    again = after_a_compaction(filled, getattr(module, name))
    monkeypatch.setattr(module, name, lambda *given, **named: calls.append(given) or again(*given, **named))
    assert use(filled, tmp_path) == expected
    assert len(calls) == 2, "the views of the first are gone"


def after_a_compaction(store: Store, real: Callable) -> Callable:
    """``real``, before whose first call the store is compacted."""
    compacted = []

    def called(*given: object, **named: object) -> object:
        if not compacted:
            compacted.append(Store(store.path).compact())
        return real(*given, **named)

    return called


@pytest.mark.usefixtures("read_by_queries")
def test_a_query_of_a_lost_part_or_with_a_fault_of_its_own_is_an_error_at_once(filled: Store) -> None:
    with pytest.raises(duckdb.BinderException, match="nothing"):
        filled.query(lambda views: views.execute("SELECT nothing FROM outcomes"))
    with pytest.raises(duckdb.IOException, match="nowhere"):
        filled.query(lambda views: views.execute("FROM 'nowhere.parquet'"))
    lost = filled.path / files(filled, "outcomes/*")[0]
    asked = []

    def ask(views: duckdb.DuckDBPyConnection) -> None:
        asked.append(lost.unlink())
        views.execute("FROM outcomes").fetchall()

    with pytest.raises(PartGone, match="the part is gone"):
        filled.query(ask)
    assert len(asked) == 1


def test_a_part_that_is_lost_is_an_error_at_once(filled: Store) -> None:
    (filled.path / files(filled, "outcomes/*")[0]).unlink()
    with pytest.raises(PartGone, match="the part is gone"):
        filled.rows("outcomes")
    with pytest.raises(PartGone, match="the part is gone"):
        filled.connect()


def test_the_duckdb_file_is_written_again_if_there_is_one(filled: Store) -> None:
    filled.compact()
    assert not (filled.path / "store.duckdb").exists()
    filled.write_lens()
    fill(filled, 2)
    filled.compact()
    with duckdb.connect(str(filled.path / "store.duckdb"), read_only=True) as lens:
        assert lens.execute("SELECT count(*) FROM outcomes").fetchone() == (filled.count("outcomes"),)


def damage_part(store: Store) -> None:
    path = store.path / files(store, "records/*")[0]
    path.write_bytes(path.read_bytes()[:-1] + b"x")


def lose_manifest(store: Store) -> None:
    (store.path / files(store, "manifests/*.json")[2]).unlink()


@pytest.mark.parametrize("damage", [damage_part, lose_manifest])
def test_a_damaged_store_is_not_compacted(filled: Store, damage: Callable[[Store], None]) -> None:
    damage(filled)
    before = files(filled)
    with pytest.raises(CorruptStore, match="store rebuild"):
        filled.compact()
    assert files(filled) == before


def test_a_full_disk_leaves_the_store_as_it_was_and_takes_no_space(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(filled, "**/*")

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("hazardmill.store.maintenance.manifest_swap.sync_file", full)
    with pytest.raises(
        StoreError, match=r"No space left on device \[free some space.*: hazardmill store compact --store"
    ):
        filled.compact()
    assert set(files(filled, "**/*")) - set(before) == {"maintenance.lock"}
    assert filled.verify_files() == []


def test_there_is_one_maintenance_at_a_time(filled: Store) -> None:
    lock = Lock.acquire(Layout(filled.path).maintenance_lock)
    assert lock is not None
    with pytest.raises(StoreLocked, match="another process is compacting"):
        filled.compact()
    assert filled.recover() == []
    lock.release()
    assert filled.compact().commits == 6


def test_parts_of_a_compaction_whose_manifest_is_lost_are_not_swept(filled: Store) -> None:
    filled.compact()
    (manifest,) = (filled.path / "manifests").glob("*.json")
    manifest.unlink()
    before = files(filled)
    with pytest.raises(CorruptStore, match="only its copy"):
        filled.recover()
    assert filled.compact().swept == 0
    assert files(filled) == before
    assert {finding.code for finding in filled.verify_files()} == {
        "part_unlisted",
        "manifest_missing",
        "last_missing",
    }


def test_a_listing_that_changes_under_the_reader_is_done_again(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first listing sees neither the old manifests, which are gone, nor the new one, which came too late."""
    filled.compact()
    real, calls = manifests._names, []

    def names(folder: Path) -> list[str]:
        calls.append(folder)
        return [] if len(calls) == 1 else real(folder)

    monkeypatch.setattr(manifests, "_names", names)
    assert Store(filled.path).count("outcomes") == 2


def test_a_compaction_counts_what_it_did(filled: Store) -> None:
    done = filled.compact()
    assert done.bytes_before > done.bytes_after > 0
    wrapped = json.loads((filled.path / files(filled, "manifests/*.json")[0]).read_bytes())
    assert len(wrapped["body"]["absorbed"]) == 6
    assert (wrapped["body"]["first"], wrapped["body"]["sequence"], wrapped["body"]["generation"]) == (1, 6, 1)
