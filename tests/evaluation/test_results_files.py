from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hazardmill.errors import InputError, StoreError, UsageError
from hazardmill.evaluation import results_files
from hazardmill.evaluation.results import read_results
from hazardmill.evaluation.results_files import (
    SCHEMA_OF_ROWS,
    begin_folder,
    check_out,
    digest_of,
    table_of,
    write_folder,
)
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
    with pytest.raises(InputError, match="a regular file"):
        check_out(tmp_path / "a" / "summary.json", "r")
    for place in ("a/summary.json/out", "a/summary.json/more/out"):
        with pytest.raises(StoreError, match="results cannot be written here: Not a directory"):
            check_out(tmp_path / place, "r")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "empty", "mine"]


@pytest.mark.parametrize("last", ["write_results", "write_summary"])
def test_what_was_killed_while_writing_is_taken_over_by_the_same_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "out"
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(results_files, last, killed)
        write_folder(out, table_of(rows()), {"run": "r"})
    assert list(out.iterdir()) and not (out / "summary.json").exists()
    check_out(out, "r")
    with pytest.raises(UsageError, match="something else"):
        check_out(out, "other")
    write_folder(out, table_of(rows()), {"run": "r"})
    assert sorted(path.name for path in out.iterdir()) == ["results.parquet", "summary.json"]


def test_a_digest_that_is_never_reached_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(results_files, "digest_of", killed)
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "out", table_of(rows()), {"run": "r"})
    assert not (tmp_path / "out").exists()


def test_files_that_are_not_whole_are_nobodys(tmp_path: Path) -> None:
    (tmp_path / ".begun.json.partial").write_text("{")
    (tmp_path / ".results.parquet.partial").write_text("PAR1")
    check_out(tmp_path, "r")
    (tmp_path / "mine.partial").write_text("mine")
    with pytest.raises(UsageError, match="something else"):
        check_out(tmp_path, "r")


def test_a_whole_folder_is_that_of_its_summary(tmp_path: Path) -> None:
    write_folder(tmp_path, table_of(rows()), {"run": "r"})
    begin_folder(tmp_path, "r")
    check_out(tmp_path, "r")
    with pytest.raises(UsageError, match="something else"):
        check_out(tmp_path, "other")
