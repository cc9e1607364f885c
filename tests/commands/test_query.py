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


@pytest.mark.parametrize("sql", ["selec 1", "select nothing from records", "from nowhere"])
def test_a_wrong_query_is_bad_input(sql: str, hazardmill: Hazardmill) -> None:
    ended = hazardmill("query", sql)
    assert ended.code == 3
    assert ended.err.startswith("error: the query failed: ") and "show tables" in ended.err
