"""Exports of a store, each read back by a library that knows nothing of hazardmill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hazardmill.errors import CorruptStore, UsageError
from hazardmill.store import Store
from hazardmill.store.files.parts import hash_file
from hazardmill.store.schemas import TABLES
from hazardmill.store.snapshot import Snapshot
from hazardmill.store_export import export_store
from store.factories import NOON, call, outcome, row

if TYPE_CHECKING:
    from store.conftest import Machine


def fill(store: Store, commits: int = 4) -> None:
    """Commits of two runs, in which later rows replace earlier ones of the same key."""
    for number in range(commits):
        with store.writer(f"r{number % 2}") as writer:
            writer.append_sync(
                {
                    "records": [row("records", record_id=f"n:{number % 3}", context=f"Tee, heiß: {number}")],
                    "outcomes": [outcome(f"n:{number % 2}", run_id=f"r{number % 2}", drafts=number)],
                    "llm_calls": [call(f"c{number}", at=NOON, usd=None)],
                }
            )


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "for others" / "export [1]"


def contents(store: Store) -> dict[str, pa.Table]:
    return {name: store.table(name) for name in TABLES}


def test_plain_parquet_has_the_last_row_of_each_key_and_a_description(store: Store, out: Path) -> None:
    fill(store)
    with store.writer("r0") as writer:
        writer.append_sync({"outcomes": [outcome("n:9", run_id="r0")]})
        made = export_store(store, "parquet", out)
        expected = contents(store)
    assert [expected[name].num_rows for name in ("outcomes", "records", "rejects")] == [3, 3, 0]
    described = json.loads((out / "export.json").read_text())
    assert described["store"] == str(store.path)
    assert (described["format"], described["commit"], described["journal_rows"]) == ("parquet", 4, 1)
    assert (store.path / "manifests" / described["manifest"]).exists()
    assert described["tables"].keys() == TABLES.keys()
    for name, table in described["tables"].items():
        assert pq.read_table(out / table["file"]).equals(expected[name], check_metadata=True)
        assert table == {
            "file": f"{name}/{name}.parquet",
            "key": list(TABLES[name].key),
            "rows": expected[name].num_rows,
            "bytes": (out / table["file"]).stat().st_size,
            "sha256": hash_file(out / table["file"]),
        }
    assert made.tables["outcomes"].rows == 3
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def test_an_empty_store_has_empty_tables(store: Store, out: Path) -> None:
    assert export_store(store, "parquet", out).manifest is None
    assert pq.read_table(out / "tasks").equals(TABLES["tasks"].no_rows)


@pytest.mark.full
def test_delta_tables_are_read_by_deltalake_and_may_be_moved(store: Store, out: Path) -> None:
    import deltalake

    fill(store)
    export_store(store, "delta", out)
    moved = out.rename(out.with_name("moved"))
    for name, expected in contents(store).items():
        table = deltalake.DeltaTable(moved / name)
        assert table.metadata().name == name and table.version() == 0
        assert table.to_pyarrow_dataset().to_table().equals(expected)


@pytest.mark.full
def test_a_ducklake_lists_the_files_of_each_table(store: Store, out: Path) -> None:
    import ducklake

    fill(store)
    export_store(store, "ducklake", out)
    with ducklake.connect(f"sqlite:///{out / 'catalog.sqlite'}", readonly=True) as lake:
        assert lake.get_latest_snapshot().id == 1  # all tables at once
        for name, expected in contents(store).items():
            table = lake.table(name)
            (file,) = table.scan().data_files
            assert file.statistics.num_rows == expected.num_rows
            declared = [(column.name, column.nullable) for column in table.schema.columns]
            assert declared == [(field.name, field.nullable) for field in expected.schema]
            assert pq.read_table(url2pathname(urlsplit(file.path).path)).equals(expected)


@pytest.mark.full
def test_a_store_in_a_bucket_is_exported_alike(machine: Machine, out: Path) -> None:
    store = machine("one")
    fill(store)
    made = export_store(machine("two"), "parquet", out)
    assert made.store == store.address
    assert pq.read_table(out / "outcomes").equals(store.table("outcomes"))


@pytest.mark.parametrize("taken", ["a file", "a folder"])
def test_nothing_is_written_over(store: Store, out: Path, taken: str) -> None:
    (out if taken == "a folder" else out.parent).mkdir(parents=True)
    place = out / "mine" if taken == "a folder" else out
    place.write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        export_store(store, "parquet", out)
    assert place.read_text() == "mine"


def test_of_a_damaged_store_nothing_is_exported(store: Store, out: Path) -> None:
    fill(store)
    part = next((store.path / "records").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-50])
    with pytest.raises(CorruptStore, match=part.name):
        export_store(store, "parquet", out)
    assert not list(out.parent.iterdir())


class CompactedMeanwhile(Store):
    """A store that another process compacts as soon as the first snapshot of it is taken."""

    snapshots = 0

    def snapshot(self) -> Snapshot:
        taken = super().snapshot()
        self.snapshots += 1
        if self.snapshots == 1:
            Store(self.path).compact()
        return taken


def test_a_compaction_meanwhile_is_noticed_and_the_export_begins_again(store: Store, out: Path) -> None:
    fill(store)
    expected, compacted = contents(store), CompactedMeanwhile(store.path)
    made = export_store(compacted, "parquet", out)
    assert compacted.snapshots > 1 and made.manifest and "compact" in made.manifest
    assert all(pq.read_table(out / name).equals(table) for name, table in expected.items())


def test_a_ducklake_needs_a_path_that_is_an_address_as_it_stands(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot contain"):
        export_store(store, "ducklake", tmp_path / "50%")
