from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hazardmill.store import read_only_sql
from hazardmill.store.store import Store

from .conftest import Hazardmill, OnceASession, assert_damage_is_told

STORE = Path("generated", "store")


@pytest.fixture(autouse=True)
def ingested(hazardmill: Hazardmill, neiss: Path, once: OnceASession) -> None:
    words = ("ingest", "--source", "neiss", neiss, "--limit", 2, "--store", "generated/store")
    assert once("two records", lambda: hazardmill(*words)).code == 0


def test_rows_come_as_json(hazardmill: Hazardmill) -> None:
    sql = "select record_id, line, model_asked from records order by line"
    assert hazardmill("query", sql, "--json").json == [
        {"record_id": "neiss:249900101", "line": 2, "model_asked": None},
        {"record_id": "neiss:249900103", "line": 3, "model_asked": None},
    ]


def test_rows_come_as_a_table(hazardmill: Hazardmill) -> None:
    ended = hazardmill("query", "select count(*) as how_many from records")
    assert ended.code == 0
    assert "how_many" in ended.out and "2" in ended.out


@pytest.mark.parametrize("sql", ["show tables", "describe records", "from records", "with a as (select 1 x) from a"])
def test_every_way_of_reading_is_allowed(sql: str, hazardmill: Hazardmill) -> None:
    ended = hazardmill("query", sql, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.json


@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to 'generated/store/out.csv'",
        "explain analyze copy (select 1) to 'generated/store/out.csv'",
        "explain select 1",
        "export database 'generated/store/out'",
        "attach 'generated/store/out' as other",
        "attach 'generated/store/store.duckdb' as other",
        "create table t as select 1",
        "select 1; copy (select 1) to 'generated/store/out.csv'",
        "drop view records",
        "install httpfs",
        "load 'httpfs'",
        "pragma database_list",
        "pragma enable_profiling = 'json'",
        "set enable_external_access = true",
        "set variable x = 1",
        "call enable_logging()",
        "with x as (copy (select 1) to 'generated/store/out.csv') from x",
        "describe with x as (copy (from records) to 'generated/store/out.parquet') from x",
        "select exists(with x as (copy (select 1) to 'generated/store/out.csv') from x)",
        "with x as (insert into parts values ('a', 'b', 1, 2) returning *) from x",
        "with x as materialized (delete from parts returning *) select * from x",
        "with x as (update parts set sequence = 0 returning *) (from x union from x)",
    ],
)
def test_nothing_but_reading_is_allowed(sql: str, hazardmill: Hazardmill, empty_folder: Path) -> None:
    before = content(empty_folder)
    ended = hazardmill("query", sql)
    assert ended.code == 3
    assert "something other than read" in ended.err
    assert content(empty_folder) == before


def content(folder: Path) -> dict[Path, bytes]:
    """Every file of a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "call",
    [
        "enable_profiling(save_location = 'generated/store/out.txt')",
        "Main.Enable_Logging(storage_path = 'generated/store/logs', storage = 'file')",
        "query('with x as (copy (select 1) to ''generated/store/out.csv'') from x')",
        "json_execute_serialized_sql(json_serialize_sql('select 1'))",
        "read_duckdb('generated/store/store.duckdb')",
        "arrow_scan(1, 2, 3)",
        "records, lateral (from checkpoint())",
        "records where exists(from force_checkpoint())",
    ],
)
def test_no_function_does_more_than_reading(call: str, hazardmill: Hazardmill, empty_folder: Path) -> None:
    before = content(empty_folder)
    ended = hazardmill("query", f"from {call}")
    assert ended.code == 3
    assert "not among the functions that only read" in ended.err and "read_parquet" in ended.err
    assert content(empty_folder) == before


@pytest.mark.parametrize(("sql", "count"), [("", "none"), (" ; -- nothing", "none"), ("select 1; select 2", "2")])
def test_one_query_at_a_time(sql: str, count: str, hazardmill: Hazardmill) -> None:
    ended = hazardmill("query", sql)
    assert ended.code == 3
    assert f"one query is expected, but {count} given" in ended.err


def test_numbers_that_json_does_not_have_are_null(hazardmill: Hazardmill) -> None:
    sql = "select 'nan'::double a, 'inf'::float b, sum(line) c, count(*) d from records"
    assert hazardmill("query", sql, "--json").json == [{"a": None, "b": None, "c": 5, "d": 2}]


@pytest.mark.parametrize(
    "sql",
    [
        "select * from range(1000)",
        "select 'x' || range, " + ", ".join(f"{n} as column_{n}" for n in range(60)) + " from range(2)",
    ],
    ids=["rows", "columns"],
)
def test_a_table_that_is_cut_says_so(sql: str, hazardmill: Hazardmill) -> None:
    ended = hazardmill("query", sql)
    assert (ended.code, ended.err) == (0, "the table is cut to fit; --json prints all of it\n")
    assert hazardmill("query", "select 1").err == ""


@pytest.mark.parametrize(
    "sql",
    [
        "select sum(range) total, max(generate_series) most from range(4), generate_series(0, 3)",
        "select key, value from records, json_each(facts)",
        "pivot records on source in ('neiss') using count(*)",
        "summarize records",
        "select column_name from duckdb_columns() where table_name = 'tasks'",
        "select file_name from parquet_metadata('generated/store/records/*.parquet')",
        "from 'generated/store/records/*.parquet'",
        "with recursive n as (select 1 as i union all select i + 1 from n where i < 3) from n",
        "values (1), (2)",
    ],
)
def test_functions_that_read_can_be_called(sql: str, hazardmill: Hazardmill) -> None:
    ended = hazardmill("query", sql, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert ended.json


# A query opens only the tables that it names, unless it may depend on others.
@pytest.mark.parametrize(
    "sql",
    [
        "select name from (show tables) order by name",
        "select * exclude (database) from (describe) order by name",
        "select table_name from information_schema.tables order by table_name",
        "select name from sqlite_master order by name",
        "select view_name from duckdb_views() where not internal order by view_name",
        'with tasks as (select 1 as one) select one, source from tasks, Records, main."PARTS" order by all',
        "select count(*) as n from query_table('rec' || 'ords')",
        "select (select count(*) from tasks_latest) as n, exists(from 'parts') as are_any",
        "with a as (from records) select count(*) as n from a where record_id not in (select record_id from drafts)",
        "select column_name from (describe from records join rejects using (run_id)) order by column_name",
    ],
)
def test_a_query_sees_all_views_on_which_its_answer_depends(sql: str, hazardmill: Hazardmill) -> None:
    with Store.open(STORE).connect() as all_views:
        columns = all_views.sql(sql).columns
        rows = [dict(zip(columns, row, strict=True)) for row in all_views.sql(sql).fetchall()]
    assert hazardmill("query", sql, "--json").json == rows


def test_a_wrong_name_brings_the_views_to_mind(hazardmill: Hazardmill) -> None:
    assert 'Did you mean "records"?' in hazardmill("query", "from record").err


def test_a_pivot_is_told_to_name_its_values(hazardmill: Hazardmill) -> None:
    ended = hazardmill("query", "pivot records on source using count(*)")
    assert ended.code == 3
    assert "the pivot does not list its values [write pivot ... on column in (" in ended.err


def test_the_environment_is_not_read(hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "do not look")
    for sql in ("select getenv('A_KEY')", "from read_text('/proc/self/environ')", "from duckdb_secrets()"):
        ended = hazardmill("query", sql, "--json")
        assert ended.code == 3
        assert "do not look" not in ended.out + ended.err


@pytest.mark.parametrize("name", ["sql", "connection", "store", "sys"])
def test_variables_of_the_program_are_no_tables(name: str, hazardmill: Hazardmill) -> None:
    ended = hazardmill("query", f"from {name}")
    assert ended.code == 3
    assert f"Table with name {name} does not exist" in ended.err


@pytest.mark.parametrize("name", ["outside.txt", "generated/outside.txt", "generated/store/../outside.txt"])
def test_only_the_store_is_read(name: str, hazardmill: Hazardmill, empty_folder: Path) -> None:
    for place in (Path(name), empty_folder / name):
        (empty_folder / name).write_text("do not look")
        for sql in (f"select content from read_text('{place}')", f"from read_csv('{place}')", f"from '{place}'"):
            ended = hazardmill("query", sql, "--json")
            assert ended.code == 3
            assert "do not look" not in ended.out + ended.err


@pytest.mark.parametrize(
    "store",
    ["it's here", "./a/../b [1]", "*", "what?", 'a "b"', "a\\b", "{a,b}", "$HOME", "a%20b", "two\nlines"],
)
def test_a_store_with_any_name_is_read_and_nothing_beside_it(
    store: str, hazardmill: Hazardmill, neiss: Path, empty_folder: Path
) -> None:
    assert hazardmill("ingest", "--source", "neiss", neiss, "--limit", 2, "--store", store).code == 0
    assert hazardmill("query", "select count(*) n from records", "--store", store, "--json").json == [{"n": 2}]
    Path("secret.txt").write_text("do not look")
    for way in (store, Path(store).name):
        place = f"{empty_folder}/{way}/../secret.txt".replace("'", "''")
        ended = hazardmill("query", f"from read_text('{place}')", "--store", store, "--json")
        assert ended.code == 3
        assert "do not look" not in ended.out + ended.err
        assert "can read only the store" in ended.err


def test_rows_still_in_the_journal_are_seen(hazardmill: Hazardmill) -> None:
    store = Store.open(STORE)
    row = {"run_id": "r", "source": "neiss", "file": "f", "line": 7, "native_id": "", "reason": "x"}
    with store.writer("r") as writer:
        writer.append_sync({"rejects": [{**row, "message": "m", "remedy": "r", "hazardmill_version": "0"}]})
        sql = "select line from rejects where reason = 'x'"
        assert hazardmill("query", sql, "--json").json == [{"line": 7}]
        assert hazardmill("query", "select parts.part from parts where table_name = 'rejects'", "--json").json == []
    assert hazardmill("query", sql, "--json").json == [{"line": 7}]


def test_a_query_leaves_the_store_as_it_was(hazardmill: Hazardmill, empty_folder: Path) -> None:
    before = content(empty_folder)
    assert hazardmill("query", "from records order by context").code == 0
    assert content(empty_folder) == before


def test_a_damaged_part_is_no_fault_of_the_query(hazardmill: Hazardmill) -> None:
    (part,) = (STORE / "records").glob("*.parquet")
    whole = part.read_bytes()
    for damaged in (b"", whole[:-100], None):
        part.unlink() if damaged is None else part.write_bytes(damaged)
        assert_damage_is_told(hazardmill("query", "select max(context) from records"), part)
    part.write_bytes(whole[:10] + bytes(byte ^ 90 for byte in whole[10:300]) + whole[300:])
    assert_damage_is_told(hazardmill("query", "select max(run_id), max(record_id) from records"), part)
    # What a query does wrong itself is still told as such, and with it where no damage is found.
    ended = hazardmill("query", "select error('mine') from range(2)")
    assert ended.code == 3 and ended.err.startswith("error: the query failed: ") and part.name not in ended.err


def test_a_cast_that_fails_does_not_have_all_parts_hashed(
    hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[object] = []
    monkeypatch.setattr(read_only_sql, "damage_behind", lambda *of: hashed.append(of))
    ended = hazardmill("query", "select cast(context as int) from records")
    assert ended.code == 3 and ended.err.startswith("error: the query failed: ") and "Could not convert" in ended.err
    assert "hazardmill store verify" in ended.err and not hashed


def test_every_kind_of_value_comes_as_json(hazardmill: Hazardmill) -> None:
    values = {
        "date '2020-02-29'": "2020-02-29",
        "date 'infinity'": "infinity",
        "date '290000-01-01'": "290000-01-01",
        "timestamp '2020-01-01 10:00:00'": "2020-01-01 10:00:00",
        "timestamptz '2020-01-01 10:00:00+02'": "2020-01-01 08:00:00+00",
        "timestamp_ns '2020-01-01 00:00:00.123456789'": "2020-01-01 00:00:00.123456789",
        "interval '3 months 2 days'": "3 months 2 days",
        "1.25::decimal(9, 2)": 1.25,
        "170141183460469231731687303715884105727::hugeint": 170141183460469231731687303715884105727,
        "'\\x00\\xff'::blob": "\\x00\\xFF",
        "'1b4e28ba-2fa1-11d2-883f-0016d3cca427'::uuid": "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
        "{'a': [1, null], 'b': {'c': date '2020-01-01'}}": {"a": [1, None], "b": {"c": "2020-01-01"}},
        "map {'k': 'nan'::double}": {"k": None},
        "[1.5, 'inf'::double]": [1.5, None],
        """'{"a": [true]}'::json""": {"a": [True]},
        "chr(27) || 'ü' || chr(0)": "\x1bü\x00",
        "null": None,
    }
    columns = ", ".join(f"{sql} as v{n}" for n, sql in enumerate(values))
    (row,) = hazardmill("query", f"select {columns}", "--json").json
    assert list(row.values()) == list(values.values())


def test_columns_of_one_name_are_all_told(hazardmill: Hazardmill) -> None:
    assert hazardmill("query", "select 1 as a, 2 as a", "--json").json == [{"a": 1, "a_1": 2}]


def test_rows_come_in_the_order_asked_for(hazardmill: Hazardmill) -> None:
    sql = "select hash(range) as h from range(200000) order by h"
    found = [row["h"] for row in hazardmill("query", sql, "--json").json]
    assert len(found) == 200_000 and found == sorted(found)


def test_a_query_that_is_not_utf8_is_bad_input(hazardmill: Hazardmill) -> None:
    ended = hazardmill("query", f"select '{os.fsdecode(bytes([0xE9]))}'")
    assert ended.code == 3
    assert "the query is not valid UTF-8" in ended.err


def test_a_query_that_is_nested_too_deeply_is_bad_input(hazardmill: Hazardmill) -> None:
    depth = sys.getrecursionlimit() * 2 // 5
    ended = hazardmill("query", f"select {'(1 + ' * depth}1{')' * depth}")
    assert ended.code == 3
    assert "the query is nested too deeply" in ended.err


@pytest.mark.parametrize("sql", ["selec 1", "select nothing from records", "from nowhere"])
def test_a_wrong_query_is_bad_input(sql: str, hazardmill: Hazardmill) -> None:
    ended = hazardmill("query", sql)
    assert ended.code == 3
    assert ended.err.startswith("error: the query failed: ") and "show tables" in ended.err


@pytest.mark.parametrize("sql", ["select {} as x", "select cast({} as int)", "select error({})"])
def test_a_value_can_do_nothing_to_a_terminal(sql: str, hazardmill: Hazardmill) -> None:
    # A sequence of eight bits, text from right to left, and the usual escape.
    ended = hazardmill("query", sql.format("chr(155) || '31m' || chr(8238) || chr(27) || '[31m'"))
    shown = ended.out + ended.err
    assert r"\x9b31m\u202e" in shown
    assert all(sign.isprintable() or sign == "\n" for sign in shown)
