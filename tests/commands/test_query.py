from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Hazardmill


@pytest.fixture(autouse=True)
def ingested(hazardmill: Hazardmill, neiss: Path) -> None:
    assert hazardmill("ingest", "--source", "neiss", neiss, "--limit", 2, "--store", "generated/store").code == 0


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
        "copy (select 1) to 'out.csv'",
        "explain analyze copy (select 1) to 'out.csv'",
        "export database 'out.csv'",
        "attach 'out.csv' as other",
        "create table t as select 1",
        "select 1; copy (select 1) to 'out.csv'",
        "drop view records",
    ],
)
def test_nothing_but_reading_is_allowed(sql: str, hazardmill: Hazardmill, empty_folder: Path) -> None:
    ended = hazardmill("query", sql)
    assert ended.code == 3
    assert "something else than read" in ended.err
    assert not (empty_folder / "out.csv").exists()


@pytest.mark.parametrize(("sql", "count"), [("", "none"), (" ; -- nothing", "none"), ("select 1; select 2", "2")])
def test_one_query_at_a_time(sql: str, count: str, hazardmill: Hazardmill) -> None:
    ended = hazardmill("query", sql)
    assert ended.code == 3
    assert f"one query is wanted, and {count} given" in ended.err


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


@pytest.mark.parametrize("name", ["outside.txt", "generated/outside.txt", "generated/store/../outside.txt"])
def test_only_the_store_is_read(name: str, hazardmill: Hazardmill, empty_folder: Path) -> None:
    for place in (Path(name), empty_folder / name):
        (empty_folder / name).write_text("do not look")
        for sql in (f"select content from read_text('{place}')", f"from read_csv('{place}')", f"from '{place}'"):
            ended = hazardmill("query", sql, "--json")
            assert ended.code == 3
            assert "do not look" not in ended.out + ended.err


def test_a_store_with_a_quote_in_its_name_is_read(hazardmill: Hazardmill, neiss: Path) -> None:
    for store in ("it's here", "./a/../b [1]"):
        assert hazardmill("ingest", "--source", "neiss", neiss, "--limit", 2, "--store", store).code == 0
        assert hazardmill("query", "select count(*) n from records", "--store", store, "--json").json == [{"n": 2}]


@pytest.mark.parametrize("sql", ["selec 1", "select nothing from records", "from nowhere"])
def test_a_wrong_query_is_bad_input(sql: str, hazardmill: Hazardmill) -> None:
    ended = hazardmill("query", sql)
    assert ended.code == 3
    assert ended.err.startswith("error: the query failed: ") and "show tables" in ended.err
