from __future__ import annotations

import asyncio
import json
import math
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import CorruptStore, StoreError, StoreLocked
from hazardmill.store import Store
from hazardmill.store.files.chain import seal
from hazardmill.store.files.parts import hash_file
from hazardmill.store.rows import TIME
from hazardmill.store.schemas import BOOL, INT, REAL, STR, TABLES
from store.damaging import relink
from store.factories import NOON, call, outcome, row


def part_files(store: Store, table: str) -> list[Path]:
    return sorted((store.path / table).glob("*.parquet"))


def test_an_appended_row_is_seen_before_and_after_the_roll(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.append_sync({"llm_calls": [call("i", usd=0.25, answer="é ☃ \x00")]})
        before = store.rows("llm_calls")
        writer.roll()
        after = store.rows("llm_calls")
    assert before == after
    assert [(r["identity"], r["usd"], r["answer"], r["error"], r["at"]) for r in after] == [
        ("i", 0.25, "é ☃ \x00", None, NOON)
    ]


def test_an_awaited_append_is_seen_by_another_store_object(store: Store) -> None:
    async def appends() -> list[str]:
        with store.writer("r1") as writer:
            await asyncio.gather(*(writer.append({"llm_calls": [call(str(n))]}) for n in range(20)))
            return [r["identity"] for r in Store(store.path).rows("llm_calls")]

    assert asyncio.run(appends()) == [str(n) for n in range(20)]


def test_a_cancelled_append_is_kept(store: Store) -> None:
    async def cancelled() -> None:
        with store.writer("r1") as writer:
            task = asyncio.create_task(writer.append({"llm_calls": [call("paid")]}))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancelled())
    assert [r["identity"] for r in store.rows("llm_calls")] == ["paid"]


def test_a_roll_makes_one_part_a_table_and_one_manifest_and_removes_the_segment(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.append_sync({"llm_calls": [call("a"), call("b")], "outcomes": [outcome("n:1")]})
        writer.append_sync({"outcomes": [outcome("n:2")]})
        writer.roll()
        assert [len(part_files(store, name)) for name in ("llm_calls", "outcomes", "tasks")] == [1, 1, 0]
        assert len(list((store.path / "manifests").iterdir())) == 1
        assert list((store.path / "journal").glob("*.jsonl")) == []
        assert list((store.path / ".staging").iterdir()) == []


def test_a_part_has_the_schema_and_its_version_and_is_zstd_but_for_small_columns(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.append_sync({"outcomes": [outcome("n:1", message="long " * 1000)]})
    (path,) = part_files(store, "outcomes")
    with pq.ParquetFile(path) as part:
        assert part.schema_arrow.equals(TABLES["outcomes"].schema, check_metadata=True)
        columns = [part.metadata.row_group(0).column(number) for number in range(part.metadata.num_columns)]
        compressed = {column.path_in_schema: column.compression for column in columns}
    assert compressed == dict.fromkeys(compressed, "UNCOMPRESSED") | {"message": "ZSTD"}


def test_an_empty_writer_leaves_nothing_to_read(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.append_sync({"tasks": []})
    assert store.rows("tasks") == []
    assert not (store.path / "manifests").exists()


def test_the_latest_row_of_a_key_wins_in_journal_part_and_across_parts(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.append_sync({"outcomes": [outcome("n:1", drafts=1), outcome("n:2", drafts=1)]})
        writer.append_sync({"outcomes": [outcome("n:1", drafts=2)]})
        assert [(r["record_id"], r["drafts"]) for r in store.rows("outcomes")] == [("n:2", 1), ("n:1", 2)]
        writer.roll()
        assert [(r["record_id"], r["drafts"]) for r in store.rows("outcomes")] == [("n:2", 1), ("n:1", 2)]
        writer.append_sync({"outcomes": [outcome("n:2", drafts=3)]})
        writer.roll()
    assert [(r["record_id"], r["drafts"]) for r in store.rows("outcomes")] == [("n:1", 2), ("n:2", 3)]
    assert store.count("outcomes") == 2


def test_a_condition_beside_the_key_looks_at_latest_rows_only(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.append_sync({"outcomes": [outcome("n:1", outcome="duplicate")]})
        writer.roll()
        writer.append_sync({"outcomes": [outcome("n:1", outcome="accepted", task_id="t")]})
        assert store.rows("outcomes", {"outcome": "duplicate"}) == []
        assert store.rows("outcomes", {"task_id": None}) == []
        assert store.rows("outcomes", {"task_id": "t", "run_id": "r1"}, ["drafts", "record_id"]) == [
            {"drafts": 1, "record_id": "n:1"}
        ]
        assert store.count("outcomes", {"outcome": "accepted"}) == 1
        assert store.count("outcomes", {"run_id": "r2"}) == 0


def test_a_store_whose_relative_path_looks_like_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store("s3:")
    for number in range(2):
        with store.writer("r1") as writer:
            writer.append_sync({"outcomes": [outcome(f"n:{number}")]})
    assert store.compact().parts_after == 1
    assert [r["record_id"] for r in store.rows("outcomes")] == ["n:0", "n:1"]
    assert store.query(lambda views: views.execute("SELECT count(*) FROM outcomes").fetchall()) == [(2,)]
    assert store.verify_files() == []
    store.rebuild()
    assert store.write_lens() == Path("s3:/store.duckdb")
    monkeypatch.chdir("/")
    assert store.count("outcomes") == 2


def test_the_columns_come_in_the_order_asked(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.append_sync({"llm_calls": [call("i")]})
    assert store.table("llm_calls", columns=["answered", "identity"]).column_names == ["answered", "identity"]


def test_unknown_names_and_unfit_conditions_are_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="no table"):
        store.rows("task")
    with pytest.raises(StoreError, match="no column 'task'"):
        store.rows("tasks", columns=["task"])
    with pytest.raises(StoreError, match="no column 'task'"):
        store.rows("tasks", {"task": 1})
    with pytest.raises(StoreError, match=r"tasks\.draft takes an integer"):
        store.rows("tasks", {"draft": "one"})


def test_a_refused_row_writes_nothing_of_its_group(store: Store) -> None:
    with store.writer("r1") as writer:
        with pytest.raises(StoreError, match="is required"):
            writer.append_sync({"llm_calls": [call("a")], "outcomes": [outcome("n:1", outcome=None)]})
        writer.append_sync({"llm_calls": [call("b")]})
    assert [r["identity"] for r in store.rows("llm_calls")] == ["b"]


def test_a_run_has_one_writer(store: Store) -> None:
    with store.writer("r1"):
        with pytest.raises(StoreLocked, match="another process is writing run r1"):
            store.writer("r1")
        with store.writer("r2") as other:
            other.append_sync({"outcomes": [outcome("n:1", run_id="r2")]})
    with store.writer("r1") as again:
        again.append_sync({"outcomes": [outcome("n:1")]})
    assert store.count("outcomes") == 2


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", ".hidden", "x" * 101, "a b"])
def test_a_run_id_must_be_able_to_name_a_file(store: Store, run_id: str) -> None:
    with pytest.raises(StoreError, match="cannot name a file"):
        store.writer(run_id)
    assert not store.path.exists()


def test_run_ids_may_begin_alike(store: Store) -> None:
    with store.writer("r-1") as long, store.writer("r") as short:
        long.append_sync({"outcomes": [outcome("n:1", run_id="r-1")]})
        short.append_sync({"outcomes": [outcome("n:1", run_id="r")]})
    assert store.count("outcomes") == 2


def test_a_closed_writer_takes_no_more(store: Store) -> None:
    with store.writer("r1") as writer:
        pass
    with pytest.raises(StoreError, match="closed"):
        writer.append_sync({"llm_calls": [call("a")]})
    writer.close()


def test_an_error_inside_keeps_what_was_appended(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.writer("r1") as writer:
        writer.append_sync({"llm_calls": [call("a")]})
        raise ZeroDivisionError
    assert len(part_files(store, "llm_calls")) == 1


def test_reading_a_store_that_is_not_there_creates_nothing(store: Store) -> None:
    assert store.rows("tasks") == []
    assert store.verify_files() == []
    assert store.recover() == []
    assert not store.path.exists()


def test_open_tells_a_store_from_any_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store here"):
        Store.open(tmp_path)
    Store.open(tmp_path / "new", create=True)
    assert Store.open(tmp_path / "new").rows("tasks") == []


def test_a_place_that_cannot_be_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file.*cannot create the folder.*not a file"):
        Store(tmp_path / "file" / "store").writer("r1")


@pytest.mark.parametrize("keep", [None, 0, 100])
def test_a_damaged_part_is_named(store: Store, keep: int | None) -> None:
    for _ in range(2):
        with store.writer("r1") as writer:
            writer.append_sync({"outcomes": [outcome("n:1")]})
    bad = part_files(store, "outcomes")[1]
    if keep is None:
        bad.unlink()
    else:
        bad.write_bytes(bad.read_bytes()[:keep])
    with pytest.raises(CorruptStore) as caught:
        store.rows("outcomes")
    assert caught.value.file == str(bad)


def test_a_damaged_page_is_named(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.append_sync({"outcomes": [outcome(f"n:{n}") for n in range(500)]})
    (path,) = part_files(store, "outcomes")
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(data)
    with pytest.raises(CorruptStore) as caught:
        store.rows("outcomes")
    assert caught.value.file == str(path)


VALUES = {
    STR: st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    INT: st.integers(-(2**63), 2**63 - 1),
    REAL: st.floats(allow_nan=False, allow_infinity=False),
    BOOL: st.booleans(),
    TIME: st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
}


@st.composite
def groups(draw: st.DrawFn) -> Mapping[str, list[dict[str, object]]]:
    group: dict[str, list[dict[str, object]]] = {}
    for name in draw(st.lists(st.sampled_from(sorted(TABLES)), min_size=1, max_size=2)):
        table = TABLES[name]
        values = {
            column.name: VALUES[column.type]
            if column.required or column.name in table.key
            else st.none() | VALUES[column.type]
            for column in table.columns
        }
        group.setdefault(name, []).append(draw(st.fixed_dictionaries(values)))
    return group


@settings(max_examples=40)
@given(st.lists(st.one_of(groups(), st.none()), max_size=6))
def test_rows_come_back_as_they_went_in_through_journal_and_parts(steps: list[Mapping | None]) -> None:
    """None stands for a roll."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        expected: dict[str, dict[tuple, dict]] = {name: {} for name in TABLES}

        def check() -> None:
            for name, rows in expected.items():
                assert store.rows(name) == list(rows.values())

        with store.writer("r1") as writer:
            for group in steps:
                if group is None:
                    writer.roll()
                    continue
                writer.append_sync(group)
                for name, rows in group.items():
                    for new in rows:
                        key = tuple(new[column] for column in TABLES[name].key)
                        expected[name].pop(key, None)  # the latest row also takes the latest place
                        expected[name][key] = new
            check()
        check()
        assert store.verify_files() == []


def test_reals_keep_their_last_bit(store: Store) -> None:
    value = math.nextafter(0.1, 1)
    with store.writer("r1") as writer:
        writer.append_sync({"llm_calls": [call("i", usd=value)]})
        assert store.rows("llm_calls")[0]["usd"] == value
    assert store.rows("llm_calls")[0]["usd"] == value


def test_an_old_part_without_a_later_column_reads_null(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.append_sync({"runs": [row("runs", counts="{}")]})
    (path,) = part_files(store, "runs")
    old: pa.Table = pq.read_table(path).drop_columns(["counts", "parent_run_id"])
    pq.write_table(old.replace_schema_metadata({"hazardmill_schema": "1"}), path)
    (manifest,) = (store.path / "manifests").glob("*.json")
    body = json.loads(manifest.read_bytes())["body"]
    (listed,) = (part for part in body["parts"] if part["table"] == "runs")
    listed |= {"sha256": hash_file(path), "size": path.stat().st_size}
    manifest.write_bytes(seal(body))
    relink(store)
    assert [(r["counts"], r["parent_run_id"]) for r in store.rows("runs")] == [(None, None)]


def test_what_came_since_is_read_once_from_parts_and_as_long_as_it_is_in_the_journal(store: Store) -> None:
    def since(commit: int) -> tuple[list[str], int]:
        rows, last = store.rows_since("llm_calls", commit, ["identity"])
        return [row["identity"] for row in rows], last

    assert since(0) == ([], 0)
    with store.writer("r1") as one, store.writer("r2") as two:
        one.append_sync({"llm_calls": [call("a")]})
        assert since(0) == (["a"], 0)
        one.roll()
        two.append_sync({"llm_calls": [call("a", run_id="r2"), call("b", run_id="r2")]})
        assert since(0) == (["a", "a", "b"], 1)
        assert since(1) == (["a", "b"], 1)
    assert since(1) == (["a", "b"], 2)
    assert since(2) == ([], 2)


def test_a_commit_that_a_listing_missed_is_read_later(store: Store) -> None:
    with store.writer("r1") as writer:
        for name in ("a", "b", "c"):
            writer.append_sync({"llm_calls": [call(name)]})
            writer.roll()
    _, second, _ = sorted((store.path / "manifests").iterdir())
    hidden = second.rename(store.path / "hidden")
    rows, last = store.rows_since("llm_calls", 0, ["identity"])
    assert ([row["identity"] for row in rows], last) == (["a", "c"], 1)
    hidden.rename(second)
    rows, last = store.rows_since("llm_calls", last, ["identity"])
    assert ([row["identity"] for row in rows], last) == (["b", "c"], 3)
