"""docs/data-flow.md: its lines that read a store without hazardmill find what hazardmill finds."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from store.factories import NOON, call, outcome, row

from hazardmill.store import Store
from hazardmill.store.rows import to_rows
from hazardmill.store.schemas import TABLES

BLOCKS = re.findall(
    r"^```(python|sql)\n(.*?)^```", (Path(__file__).parents[2] / "docs" / "data-flow.md").read_text(), re.DOTALL | re.M
)
PYARROW, DATASETS = (text for language, text in BLOCKS if language == "python")
(SQL,) = (text for language, text in BLOCKS if language == "sql")

Rows = list[dict[str, Any]]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store whose compaction was killed before it had removed all manifests, and to which more was committed."""
    monkeypatch.chdir(tmp_path)
    store = Store.open("generated/store", create=True)
    commit(store, 0, 1, 2)
    replaced = {path: path.read_bytes() for path in store.path.glob("manifests/*.json")}
    store.compact()
    for path, data in replaced.items():
        path.write_bytes(data)
    commit(store, 3, 4)
    return store


def commit(store: Store, *numbers: int) -> None:
    """A commit per number, in which a row of each table replaces an earlier one."""
    for number in numbers:
        rows = {name: row(name) for name in TABLES}
        rows |= {"outcomes": outcome(f"n:{number % 2}", drafts=number), "llm_calls": call(f"c{number % 3}", at=NOON)}
        with store.writer("r1") as writer:
            writer.append_sync({name: [one] for name, one in rows.items()})


def check(store: Store, read: Callable[[str, list[str]], Rows]) -> None:
    """Compare all tables."""
    for name, table in TABLES.items():
        assert read(name, list(table.key)) == store.rows(name)
    assert [one["drafts"] for one in read("outcomes", ["run_id", "record_id"])] == [3, 4]


def test_with_pyarrow(store: Store) -> None:
    space: dict[str, Any] = {}
    exec(PYARROW, space)
    assert to_rows(space["outcomes"]) == store.rows("outcomes")
    check(store, lambda table, key: to_rows(space["read"](table, key)))


@pytest.mark.full
def test_with_datasets(store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    space: dict[str, Any] = {}
    exec(PYARROW + DATASETS, space)
    assert space["outcomes"].to_list() == store.rows("outcomes")
    check(store, lambda table, key: space["load"](table, key).to_list())


def test_with_duckdb(store: Store) -> None:
    with duckdb.connect() as connection:
        connection.execute(SQL)
        assert to_rows(connection.sql("FROM outcomes").to_arrow_table()) == store.rows("outcomes")
