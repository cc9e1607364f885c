from __future__ import annotations

import json
import zlib

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hazardmill.store import Store
from hazardmill.store.files.layout import Layout
from hazardmill.store.journal import read_segment
from hazardmill.store.maintenance import migrations
from hazardmill.store.maintenance.migrations import SQL_TYPES, STEPS, MigrationStep, rows_to_arrow, steps_from, upgrade
from hazardmill.store.schemas import DRAFTS, OUTCOMES, RUNS, SCHEMA_VERSION, TABLES
from store.factories import call, outcome, row
from store.version1 import COLUMNS, make_version_1, make_version_2, relist, versions

NEWEST = str(SCHEMA_VERSION)
NEW = {
    "dangers": ["decline_reason", "changing_cause", "fixed_circumstances", "round", "sent_back"],
    "runs": ["parent_run_id"],
    "drafts": ["round", "fallback", "feedback_version", "feedback_hash"],
    "tasks": ["structure_id"],
    "llm_calls": ["round", "repair", "written_tokens", "usd_overrun", "model_sent", "recording", "recorded_for"],
}


class Stop(Exception):
    """Stands for a crash."""


def group(number: int, run_id: str = "r1", **draft: object) -> dict[str, list[dict[str, object]]]:
    names = {"run_id": run_id, "record_id": f"n:{number}"}
    return {
        "runs": [row("runs", run_id=run_id, sequence=number, state="running", counts="{}")],
        "dangers": [row("dangers", **names)],
        "drafts": [row("drafts", **names, feedback=f"mend {number}", identities=f'["c{number}"]', **draft)],
        "tasks": [row("tasks", **names, task_id=f"t{number}")],
        "outcomes": [outcome(**names)],
        "llm_calls": [call(f"c{number}", run_id=run_id)],
    }


@pytest.fixture
def old(store: Store) -> Store:
    """A store of version 1: two commits, and a segment whose writer was killed."""
    with store.writer("r1") as writer:
        writer.append_sync(group(0))
        writer.roll()
        writer.append_sync(group(1))

    def fault(point: str) -> None:
        if point == "part.staged":
            raise Stop

    killed = Store(store.path, fault=fault).writer("r1")
    killed.append_sync(group(2))
    with pytest.raises(Stop):
        killed.roll()
    killed.close()
    make_version_1(store)
    return Store(store.path)


@pytest.fixture
def mixed(old: Store) -> Store:
    """The same, gone on with by this version: what was left is parts now, and there is one more commit."""
    with old.writer("r1") as writer:
        writer.append_sync(group(3, feedback_version="2", feedback_hash="ab"))
        writer.append_sync({"runs": [row("runs", sequence=9, parent_run_id="r0")]})
    return old


def test_the_store_of_the_test_is_one_of_version_1(old: Store) -> None:
    assert versions(old) == {name: {"1"} for name in (*NEW, "outcomes")}
    for name, columns in COLUMNS.items():
        path = next((old.path / name).glob("*.parquet"))
        assert (
            pq.read_schema(path).names == columns == [c.name for c in TABLES[name].columns if c.name not in NEW[name]]
        )
    (segment,) = Layout(old.path).segments()
    assert read_segment(segment).schema == 1


def test_an_old_store_is_read_with_null_where_it_says_nothing(old: Store) -> None:
    rows = old.rows("drafts")
    assert [(r["record_id"], r["feedback"]) for r in rows] == [(f"n:{n}", f"mend {n}") for n in range(3)]
    assert list(rows[0]) == [column.name for column in DRAFTS.columns]
    assert {r[name] for r in rows for name in NEW["drafts"]} == {None}
    assert old.rows("drafts", {"feedback_version": None, "record_id": "n:1"}, ["draft"]) == [{"draft": 1}]
    assert old.rows("drafts", {"feedback_version": "2"}) == []
    assert [r["parent_run_id"] for r in old.rows("runs")] == [None] * 3
    assert old.count("llm_calls") == 3


def test_an_old_store_is_whole_but_for_the_killed_writer_and_is_gone_on_with(old: Store) -> None:
    assert [finding.code for finding in old.verify_files()] == ["segment_left"]
    digest = old.digest()
    assert len(old.recover()) == 1
    assert old.verify_files() == []
    assert old.digest() == digest
    assert versions(old)["drafts"] == {"1", NEWEST}


def test_old_and_new_parts_are_read_together(mixed: Store) -> None:
    assert [r["feedback_version"] for r in mixed.rows("drafts")] == [None, None, None, "2"]
    assert [r["record_id"] for r in mixed.rows("drafts", {"feedback_version": "2"})] == ["n:3"]
    assert [r["sequence"] for r in mixed.rows("runs", {"parent_run_id": "r0"})] == [9]
    assert mixed.verify_files() == []


@pytest.fixture
def second(store: Store) -> Store:
    """A store of version 2, gone on with by this version."""
    with store.writer("r1") as writer:
        for number in range(3):
            writer.append_sync(group(number))
    make_version_2(store)
    with store.writer("r1") as writer:
        writer.append_sync({"tasks": [row("tasks", task_id="t9", structure_id="ab")]})
    return store


def test_a_store_of_version_2_is_read_and_migrated(second: Store) -> None:
    assert versions(second) == {n: {"2", NEWEST} if n == "tasks" else {"2"} for n in (*NEW, "outcomes")}
    rows = second.rows("tasks")
    assert [r["structure_id"] for r in rows] == [None, None, None, "ab"]
    assert second.verify_files() == []
    second.migrate()
    assert versions(second) == {name: {NEWEST} for name in (*NEW, "outcomes")}
    assert second.rows("tasks") == rows


@pytest.mark.parametrize("name", ["old", "mixed", "second"])
def test_the_views_show_what_the_store_shows(name: str, request: pytest.FixtureRequest) -> None:
    store: Store = request.getfixturevalue(name)
    with store.connect() as views:
        for table in TABLES.values():
            shown = views.sql(f"SELECT * FROM {table.name}").to_arrow_table()
            assert [(f.name, f.type) for f in shown.schema] == [(c.name, c.type) for c in table.columns]
            assert sorted(shown.to_pylist(), key=repr) == sorted(store.table(table.name).to_pylist(), key=repr)
    store.recover()
    with duckdb.connect(str(store.write_lens()), read_only=True) as lens:
        assert lens.execute("SELECT count(*) FROM drafts WHERE feedback_version IS NULL").fetchone() == (3,)


@pytest.mark.parametrize("verb", ["migrate", "compact"])
def test_maintenance_writes_the_newest_schema_and_changes_nothing_that_is_read(mixed: Store, verb: str) -> None:
    before = {name: mixed.rows(name) for name in TABLES}, mixed.digest(), mixed.digest("r1")
    done = getattr(mixed, verb)()
    assert (done.parts_before, done.parts_after) == (24, 24 if verb == "migrate" else 6)
    assert versions(mixed) == {name: {NEWEST} for name in (*NEW, "outcomes")}
    again = Store(mixed.path)
    assert ({name: again.rows(name) for name in TABLES}, again.digest(), again.digest("r1")) == before
    assert again.verify_files() == []
    assert getattr(again, verb)().commits == 0


def test_a_newest_store_has_nothing_to_migrate(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.append_sync(group(0))
    assert store.migrate().commits == 0


def test_the_newest_rows_need_no_step() -> None:
    for table in TABLES.values():
        assert steps_from(table, SCHEMA_VERSION) == []
    assert max(STEPS) == SCHEMA_VERSION - 1
    assert steps_from(OUTCOMES, 1) == []


def test_rows_may_leave_new_columns_out(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.append_sync({"drafts": [row("drafts")], "runs": [row("runs")]})
    assert store.rows("drafts")[0]["feedback_hash"] is None
    assert store.rows("runs")[0]["parent_run_id"] is None


def renaming() -> MigrationStep:
    """A step of the more difficult kind: what was ``told`` became ``feedback``, in capitals."""

    def apply(data: pa.Table) -> pa.Table:
        if "told" not in data.schema.names:
            return data
        values = [None if text is None else text.upper() for text in data["told"].to_pylist()]
        return data.drop_columns(["told"]).append_column("feedback", pa.array(values, pa.string()))

    return MigrationStep(
        apply, lambda source: f"(SELECT * EXCLUDE (told), upper(told) AS feedback FROM {source})", ("feedback",)
    )


def test_a_column_that_was_made_of_another_is_read_in_arrow_duckdb_and_journal(
    old: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if version 0 had been written, with two steps to the newest."""
    monkeypatch.setattr(migrations, "STEPS", {0: {"drafts": renaming()}, **STEPS})
    for path in (old.path / "drafts").glob("*.parquet"):
        data = pq.read_table(path)
        names = ["told" if name == "feedback" else name for name in data.schema.names]
        metadata = {"hazardmill_table": "drafts", "hazardmill_schema": "0"}
        pq.write_table(data.rename_columns(names).replace_schema_metadata(metadata), path)
    for path in (old.path / "manifests").glob("*.json"):
        relist(path, schema=0)
    (segment,) = Layout(old.path).segments()
    segment.write_bytes(b"".join(map(older, segment.read_bytes().splitlines())))
    store = Store(old.path)
    expected = [(f"n:{n}", f"MEND {n}", None) for n in range(3)]
    columns = ["record_id", "feedback", "feedback_version"]
    assert [tuple(r.values()) for r in store.rows("drafts", None, columns)] == expected
    assert store.rows("drafts", {"feedback": "MEND 1"}, ["record_id"]) == [{"record_id": "n:1"}]
    with store.connect() as views:
        assert views.execute(f"SELECT {', '.join(columns)} FROM drafts ORDER BY 1").fetchall() == expected


def older(line: bytes) -> bytes:
    payload = json.loads(line.partition(b" ")[2])
    if "schema" in payload:
        payload["schema"] = 0
    for name, packed in payload.get("rows", []):
        if name == "drafts":
            packed["told"] = packed.pop("feedback")
    text = json.dumps(payload).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def test_a_step_is_pure_and_types_are_those_of_the_schema() -> None:
    data = pa.table({"run_id": ["r1"], "sequence": pa.array([3], pa.int64())})
    made = upgrade(RUNS, steps_from(RUNS, 1), data, ["parent_run_id", "run_id", "counts"])
    assert made.to_pylist() == [{"parent_run_id": None, "run_id": "r1", "counts": None}]
    assert made.schema.types == [pa.string()] * 3
    assert data.schema.names == ["run_id", "sequence"]
    assert rows_to_arrow(RUNS, [], 1).schema.equals(RUNS.schema)


def test_every_type_has_a_name_in_duckdb() -> None:
    assert {column.type for table in TABLES.values() for column in table.columns} <= set(SQL_TYPES)
