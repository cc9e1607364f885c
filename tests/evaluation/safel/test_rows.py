from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hazardmill.errors import InputError
from hazardmill.evaluation.safel.rows import FILE, SCHEMA, read_safel_rows, table_of, write_safel_rows

from .safel_results import of_every_test, safel_row


def refused(folder: Path, wrong: str) -> None:
    """Reading the rows is refused by the name of their file, with a remedy."""
    with pytest.raises(InputError, match=re.escape(wrong)) as error:
        read_safel_rows(folder)
    assert error.value.file == str(folder / FILE)
    assert "hazardmill evaluate safel" in (error.value.remedy or "")


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    table = table_of([*of_every_test(["ant"]), safel_row("ant", "goal", "x", excluded="or", unary_hits=None)])
    write_safel_rows(table, tmp_path)
    assert read_safel_rows(tmp_path).equals(table)


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"test": "luck"}, "column test has the value 'luck'"),
        ({"kind": "good"}, "column kind has the value 'good'"),
        ({"label": "success!"}, "column label has the value 'success!'"),
        ({"label": None}, "a row of the test sequence has nothing in column label"),
        ({"test": "goal"}, "a row of the test goal has nothing in column unary_hits"),
        ({"test": "refusal"}, "a row of the test refusal has nothing in column correct"),
        ({"test": "transition"}, "a row of the test transition has nothing in column new"),
    ],
)
def test_values_that_are_not_allowed_are_refused(tmp_path: Path, values: dict[str, Any], wrong: str) -> None:
    write_safel_rows(table_of([{**safel_row("ant", "sequence", "s1"), **values}]), tmp_path)
    refused(tmp_path, wrong)


def test_a_row_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    write_safel_rows(table_of([safel_row("ant", "goal", "s1")] * 2), tmp_path)
    refused(tmp_path, "more than one row has the key run ant-goal, model ant, test goal, scenario_id s1, sample 0")


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    table = table_of([safel_row("ant", "goal", "s1")])
    place = SCHEMA.names.index("unary_hits")
    pq.write_table(table.set_column(place, "unary_hits", table["unary_hits"].cast("string")), tmp_path / FILE)
    refused(tmp_path, "a schema that this version of hazardmill cannot read")


def test_half_a_file_and_none_are_refused(tmp_path: Path) -> None:
    refused(tmp_path, "the rows cannot be read")
    write_safel_rows(table_of([safel_row("ant", "goal", "s1")]), tmp_path)
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:-9])
    refused(tmp_path, "the rows cannot be read")
