from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hazardmill.errors import InputError, UsageError
from hazardmill.evaluation.results import read_results
from hazardmill.evaluation.results_files import SCHEMA_OF_ROWS, check_out, digest_of, table_of, write_folder
from hazardmill.evaluation.scoring import Scorer, row_of

from .soups import SAFE, UNSAFE, soup_task


def rows(run: str = "r") -> list[dict[str, object]]:
    task = soup_task()
    return [
        row_of(Scorer(task).answer(answer), task, run=run, model="m", sample=sample)
        for sample, answer in enumerate([SAFE, UNSAFE, "no"])
    ]


def test_a_folder_is_read_back_by_whoever_reads_results(tmp_path: Path) -> None:
    summary = write_folder(tmp_path / "new" / "out", table_of(rows()), {"run": "r"})
    out = tmp_path / "new" / "out"
    assert sorted(path.name for path in out.iterdir()) == ["results.parquet", "summary.json"]
    assert json.loads((out / "summary.json").read_text()) == summary
    assert read_results(out).num_rows == summary["rows"] == 3
    assert pq.read_schema(out / "results.parquet").names == SCHEMA_OF_ROWS.names


def test_equal_rows_are_equal_bytes_in_any_order(tmp_path: Path) -> None:
    first = write_folder(tmp_path / "a", table_of(rows()), {"run": "r"})
    second = write_folder(tmp_path / "b", table_of(rows()[::-1]), {"run": "r"})
    assert first == second
    for name in ("results.parquet", "summary.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_digest_covers_every_column_but_the_name_of_the_run() -> None:
    whole = digest_of(table_of(rows()))
    assert digest_of(table_of(rows("another"))) == whole
    for name in SCHEMA_OF_ROWS.names[1:]:
        changed = rows()
        value = changed[1][name]
        changed[1][name] = {bool: not value, int: 7, str: "x", float: 0.5}.get(type(value))
        if value is None:
            kind = str(SCHEMA_OF_ROWS.field(name).type)
            changed[1][name] = {"string": "x", "int64": 7, "bool": True, "double": 0.5}[kind]
        assert digest_of(table_of(changed)) != whole, name
    assert digest_of(table_of(rows()[:2])) != whole


def test_many_rows_are_one_table() -> None:
    row = rows()[0]
    table = table_of({**row, "sample": sample} for sample in range(4_500))
    assert table.num_rows == 4_500 and table["sample"].to_pylist() == list(range(4_500))
    assert table_of([]).num_rows == 0


def test_a_folder_of_something_else_is_not_touched(tmp_path: Path) -> None:
    write_folder(tmp_path / "a", table_of(rows()), {"run": "r"})
    check_out(tmp_path / "a", "r")
    check_out(tmp_path / "nothing", "r")
    (tmp_path / "empty").mkdir()
    check_out(tmp_path / "empty", "r")
    with pytest.raises(UsageError, match="something else"):
        check_out(tmp_path / "a", "other")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "summary.json").write_text("[")
    with pytest.raises(UsageError, match="something else"):
        check_out(tmp_path / "mine", "r")
    with pytest.raises(InputError, match="a file"):
        check_out(tmp_path / "a" / "summary.json", "r")
