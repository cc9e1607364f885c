from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hazardmill.errors import InputError
from hazardmill.evaluation.abilities.abilities import questions
from hazardmill.evaluation.abilities.rows import COLUMNS, FILE, LINES, read_ability_rows, row_of, table_of
from hazardmill.evaluation.abilities.rows import write_ability_rows as write
from hazardmill.evaluation.report.abilities import AXES, ability_line, read_abilities

from .ability_answers import right, wrong
from .soups import SAFE, UNSAFE, soup_task

TASK = soup_task()
SORRY = "I'm sorry, but I can't help with that."


def scored() -> list[tuple[Any, Any]]:
    """Questions and scores: right, wrong and refused answers."""
    return [
        (question, question.score(text(question.messages[-1].content), "stop"))
        for question in questions(TASK.document, UNSAFE, SAFE)
        for text in (right, wrong, lambda question: SORRY)
    ]


def table() -> pa.Table:
    rows = [
        {"run": "r", **row_of(score, question, TASK, model="m", sample=place)}
        for place, (question, score) in enumerate(scored())
    ]
    return table_of(rows[::-1])


def test_every_column_is_said_and_filled() -> None:
    found = table()
    assert found.schema.names == [column.name for column in COLUMNS] and all(column.doc for column in COLUMNS)
    for name in set(found.schema.names) - {"finish_reason"}:
        assert found[name].null_count < found.num_rows, name
    assert found["status"].to_pylist().count("refused") == 3


def test_rows_come_back_and_equal_rows_are_equal_bytes(tmp_path: Path) -> None:
    write(table(), tmp_path)
    first = {name: (tmp_path / name).read_bytes() for name in (FILE, LINES)}
    write(table(), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first
    assert read_ability_rows(tmp_path).equals(table())


def test_the_report_reads_what_is_beside_them(tmp_path: Path) -> None:
    write(table(), tmp_path)
    wanted = [ability_line("r", "m", TASK.task_id, score, place) for place, (_, score) in enumerate(scored())]
    found = read_abilities([tmp_path])
    assert sorted(found, key=lambda line: line.sample) == wanted
    assert {name for line in found for name in line.parts} == set(AXES)


def test_a_condition_past_the_limit_says_nothing_of_its_ratios(tmp_path: Path) -> None:
    row = {name: None for name in table().schema.names} | {
        **{name: "x" for name in ("run", "model", "task_id", "about")},
        **{"ability": "condition", "status": "answered", "sample": 0},
    }
    write(table_of([row]), tmp_path)
    (line,) = read_abilities([tmp_path])
    assert line.parts == {}


@pytest.mark.parametrize("change", ["none", "foreign", "column"])
def test_other_files_are_refused(tmp_path: Path, change: str) -> None:
    if change == "foreign":
        (tmp_path / FILE).write_text("nothing")
    if change == "column":
        pq.write_table(table().drop_columns(["hits"]), tmp_path / FILE)
    with pytest.raises(InputError, match="abilities"):
        read_ability_rows(tmp_path)


def test_every_column_is_in_the_documentation(project: Path) -> None:
    told = (project / "docs" / "evaluation-abilities.md").read_text(encoding="utf-8")
    assert [column.name for column in COLUMNS if f"`{column.name}`" not in told] == []
