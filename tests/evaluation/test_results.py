"""Result rows on disk: what is written comes back, and nothing else is taken for them."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from hazardmill.errors import InputError
from hazardmill.evaluation.results import ResultRow, read_results, write_results

from .stats.rows import panel, row, table


def test_what_is_written_comes_back_in_the_order_of_the_key(tmp_path):
    rows = table([row("b", "t2"), row("a", "t2", sample=1), row("a", "t2"), row("a", "t1", variant="twin"), row("a")])
    write_results(rows, tmp_path / "results.parquet")
    back = read_results(tmp_path)
    assert back.schema.equals(ResultRow)
    order = [tuple(each.values()) for each in back.select(["model", "task_id", "variant", "sample"]).to_pylist()]
    assert order == [
        ("a", "t1", "twin", 0),
        ("a", "t1", None, 0),
        ("a", "t2", None, 0),
        ("a", "t2", None, 1),
        ("b", "t2", None, 0),
    ]
    assert sorted(map(str, back.to_pylist())) == sorted(map(str, rows.to_pylist()))


def test_equal_rows_give_equal_bytes_whatever_their_order(tmp_path):
    rows = panel(tasks=30, models=2)
    write_results(table(rows), tmp_path / "one.parquet")
    write_results(table(rows[::-1]), tmp_path / "other.parquet")
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()


def test_further_columns_are_kept_in_the_file_and_left_out_when_read(tmp_path):
    rows = table([row(task="t2"), row(task="t1")]).append_column("plan", pa.array(["(b)", "(a)"]))
    write_results(rows, tmp_path / "results-1.parquet")
    assert pq.read_table(tmp_path / "results-1.parquet").column("plan").to_pylist() == ["(a)", "(b)"]
    assert read_results(tmp_path).column_names == ResultRow.names


def test_a_folder_holds_several_files_and_others_beside_them(tmp_path):
    write_results(table([row("a")]), tmp_path / "results-a.parquet")
    write_results(table([row("b")]), tmp_path / "results-b.parquet")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "difficulty.parquet")
    assert read_results(tmp_path).column("model").to_pylist() == ["a", "b"]
    assert read_results(tmp_path / "results-b.parquet").column("model").to_pylist() == ["b"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (lambda rows: rows.drop_columns(["safe", "run"]), "missing columns: run, safe"),
        (lambda rows: pa.concat_tables([rows, rows]), "run r1, model one, task_id t1, sample 0: more than one row"),
        (lambda rows: _with(rows, "score", [3]), "column score holds 3 to 3"),
        (lambda rows: _with(rows, "difficulty", [-0.1]), "column difficulty holds -0.1"),
        (lambda rows: _with(rows, "difficulty", [math.nan]), "column difficulty holds NaN"),
        (lambda rows: _with(rows, "sample", [-1]), "column sample holds -1"),
        (lambda rows: _with(rows, "safe", ["perhaps"]), "column safe should be bool but is string"),
        (lambda rows: _with(rows, "model", pa.nulls(1, pa.string())), "column model has nulls"),
    ],
)
def test_what_is_no_result_row_is_neither_written_nor_read(changed, message, tmp_path):
    rows = changed(table([row()]))
    with pytest.raises(InputError) as refused:
        write_results(rows, tmp_path / "results.parquet")
    assert message in str(refused.value) and refused.value.remedy
    assert not (tmp_path / "results.parquet").exists()
    pq.write_table(rows, tmp_path / "results.parquet")
    with pytest.raises(InputError) as refused:
        read_results(tmp_path)
    assert message in str(refused.value) and refused.value.file == str(tmp_path / "results.parquet")


def _with(rows, name, values):
    return rows.set_column(rows.column_names.index(name), name, pa.array(values))


def test_one_row_in_two_files_is_refused(tmp_path):
    for name in ("results-1.parquet", "results-2.parquet"):
        write_results(table([row()]), tmp_path / name)
    with pytest.raises(InputError, match="more than one row"):
        read_results(tmp_path)


def test_a_variant_is_another_row_than_the_task(tmp_path):
    write_results(table([row(), row(variant="twin")]), tmp_path / "results.parquet")
    assert pc.sum(pc.is_null(read_results(tmp_path).column("variant"))).as_py() == 1


def test_rows_of_another_version_are_refused(tmp_path):
    rows = table([row()]).replace_schema_metadata({"hazardmill_results": "9"})
    pq.write_table(rows, tmp_path / "results.parquet")
    with pytest.raises(InputError, match="result rows of version 9"):
        read_results(tmp_path)


def test_a_folder_without_results_and_a_file_of_something_else_are_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file or folder"):
        read_results(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"the folder has no results\*\.parquet files"):
        read_results(tmp_path)
    (tmp_path / "results.parquet").write_text("model,safe\n")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        read_results(tmp_path)
