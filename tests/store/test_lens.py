from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from hazardmill.errors import StoreError
from hazardmill.store import Store
from hazardmill.store.files.locks import exclusive
from hazardmill.store.schemas import TABLES
from store.factories import NOON, call, outcome, row


@pytest.fixture
def filled(store: Store) -> Store:
    """Two runs, a key written twice, a task of both runs."""
    with store.writer("r1") as writer:
        writer.append_sync({"outcomes": [outcome("n:1", drafts=1), outcome("n:2", drafts=1)]})
        writer.append_sync({"tasks": [row("tasks", task_id="t", code="old")]})
        writer.roll()
        writer.append_sync({"outcomes": [outcome("n:1", drafts=2)]})
    with store.writer("r2") as writer:
        writer.append_sync({"tasks": [row("tasks", run_id="r2", task_id="t", code="new")]})
        writer.append_sync({"runs": [row("runs", run_id="r2")]})
    return store


def test_the_views_show_the_latest_row_of_each_key(filled: Store) -> None:
    with filled.connect() as views:
        assert views.execute("SELECT record_id, drafts FROM outcomes ORDER BY 1").fetchall() == [("n:1", 2), ("n:2", 1)]
        assert views.execute("SELECT count(*) FROM tasks").fetchall() == [(2,)]
        assert views.execute("SELECT run_id, code FROM tasks_latest").fetchall() == [("r2", "new")]
        assert views.execute("SELECT sum(row_count) FROM parts WHERE table_name = 'outcomes'").fetchall() == [(3,)]


def test_rows_in_the_journal_are_in_the_views_and_win(filled: Store) -> None:
    with filled.writer("r3") as writer:
        writer.append_sync({"tasks": [row("tasks", run_id="r3", task_id="t", code="newest")]})
        writer.append_sync({"llm_calls": [call("i")]})
        with filled.connect() as views:
            assert views.execute("SELECT code FROM tasks_latest").fetchall() == [("newest",)]
            assert views.execute("SELECT identity FROM llm_calls").fetchall() == [("i",)]


def test_of_tables_that_nobody_reads_no_part_is_opened(filled: Store) -> None:
    for part in (filled.path / "outcomes").iterdir():
        part.unlink()
    sql = "SELECT count(*), (SELECT count(*) FROM tasks_latest), (SELECT count(*) FROM runs) FROM tasks"
    assert filled.query(lambda views: views.execute(sql).fetchall(), ["tasks", "runs"]) == [(2, 1, 1)]
    with pytest.raises(StoreError, match="the part is gone"):
        filled.query(lambda views: views.execute(sql).fetchall())


@pytest.mark.parametrize("full", [False, True])
def test_views_and_tables_agree_in_rows_columns_and_types(filled: Store, full: bool) -> None:
    if full:
        with filled.writer("r1") as writer:
            writer.append_sync({name: [row(name)] for name in TABLES})
    with filled.connect() as views:
        for name, table in TABLES.items():
            shown = views.sql(f"SELECT * FROM {name}").to_arrow_table()
            assert [(f.name, f.type) for f in shown.schema] == [(c.name, c.type) for c in table.columns]
            expected = filled.table(name).to_pylist()
            assert sorted(shown.to_pylist(), key=repr) == sorted(expected, key=repr)


def test_times_are_shown_in_utc(filled: Store) -> None:
    with filled.connect() as views:
        assert views.execute('SELECT "at"::VARCHAR FROM runs').fetchall() == [("2026-11-21 12:00:00+00",)]
        assert views.sql('SELECT "at" FROM runs').to_arrow_table().to_pylist() == [{"at": NOON}]


def test_the_lens_file_works_alone_from_anywhere(
    filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled.write_lens()
    assert path == filled.path / "store.duckdb"
    filled.write_lens(path)  # again, over the old one
    monkeypatch.chdir(tmp_path)
    with duckdb.connect(str(path), read_only=True) as lens:
        assert lens.execute("SELECT run_id, code FROM tasks_latest").fetchall() == [("r2", "new")]
        assert lens.execute("SELECT count(*) FROM llm_calls").fetchall() == [(0,)]
    left = sorted(p.name for p in filled.path.iterdir() if "duckdb" in p.name)
    assert left == [".store.duckdb.lock", "store.duckdb"]


def test_several_may_write_the_lens_at_once(filled: Store) -> None:
    def write(_: int) -> Path:
        return Store(filled.path).write_lens()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(write, range(12))) == {filled.path / "store.duckdb"}
    with duckdb.connect(str(filled.path / "store.duckdb"), read_only=True) as lens:
        assert lens.execute("SELECT run_id FROM tasks_latest").fetchall() == [("r2",)]


def test_who_waited_for_the_lens_writes_what_was_committed_meanwhile(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def waited(path: Path) -> Iterator[None]:
        with exclusive(path):
            with filled.writer("r3") as writer:
                writer.append_sync({"tasks": [row("tasks", run_id="r3", task_id="t", code="newest")]})
            yield

    monkeypatch.setattr("hazardmill.store.store.exclusive", waited)
    with duckdb.connect(str(filled.write_lens()), read_only=True) as lens:
        assert lens.execute("SELECT code FROM tasks_latest").fetchall() == [("newest",)]


def test_a_moved_lens_is_told_where_its_store_is(filled: Store, tmp_path: Path) -> None:
    filled.write_lens()
    moved = tmp_path / "moved*'[x]"
    filled.path.rename(moved)
    with duckdb.connect(str(moved / "store.duckdb"), read_only=True) as lens:
        with pytest.raises(duckdb.IOException, match="No files found"):
            lens.execute("SELECT count(*) FROM tasks")
        lens.execute("SET VARIABLE hazardmill_store = ?", [str(moved)])
        assert lens.execute("SELECT count(*) FROM tasks").fetchall() == [(2,)]


def test_a_lens_of_an_empty_store_has_empty_views(store: Store, tmp_path: Path) -> None:
    path = store.write_lens(tmp_path / "out" / "lens.duckdb")
    with duckdb.connect(str(path), read_only=True) as lens:
        for name in TABLES:
            assert lens.execute(f"SELECT count(*) FROM {name}").fetchall() == [(0,)]


def test_a_lens_that_cannot_be_written_is_named(filled: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        filled.write_lens(tmp_path / "file" / "lens.duckdb")
