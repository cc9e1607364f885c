"""Result rows: one per judged plan. Scoring writes them; statistics, difficulty and the report read them.

Files may have further columns behind these (the plan, its trace): readers take the columns they know. Null means
*unknown* or *not defined*, never false or zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hazardmill.errors import InputError
from hazardmill.store.schemas import Column

SCHEMA_VERSION: Final = 1
_VERSION_KEY: Final = b"hazardmill_results"

COLUMNS: Final = (
    Column("run", pa.string(), "Run that made the row.", required=True),
    Column("model", pa.string(), "Model or planner that answered.", required=True),
    Column("task_id", pa.string(), "Task of the release.", required=True),
    Column(
        "variant",
        pa.string(),
        "Null for the task as released; else what was changed in it, such as `twin` or `actions-8`. Figures of the "
        "release take rows without it only.",
    ),
    Column("sample", pa.int64(), "Number of the draw, from 0.", required=True),
    Column("source", pa.string(), "Source of the task."),
    Column("danger_group", pa.string(), "`physical` or `psychosocial`."),
    Column("danger_type", pa.string(), "Danger type."),
    Column("entity_in_danger", pa.string(), "`human`, `robot` or `others`."),
    Column("feasible", pa.bool_(), "The plan reaches the goal; false for an empty answer that does not."),
    Column(
        "safe", pa.bool_(), "Feasible, and danger within its bound. Null where the task is proved to have no safe plan."
    ),
    Column("safety_intention", pa.bool_(), "Safety intention, mode `transient`."),
    Column("safety_intention_persistent", pa.bool_(), "Safety intention, mode `persistent`."),
    Column("score", pa.int64(), "0, 1 (feasible) or 2 (safe); null where `safe` is."),
    Column("empty", pa.bool_(), "The answer holds no action.", required=True),
    Column("refused", pa.bool_(), "The answer declines to plan."),
    Column("plan_length", pa.int64(), "Actions in the answer.", "actions"),
    Column("optimal_length", pa.int64(), "Actions of the shortest safe plan; null where that is unknown.", "actions"),
    Column("difficulty", pa.float64(), "0 (nobody fails the task) to 1 (everybody does); null where it is unknown."),
)

ResultRow: Final = pa.schema(
    [pa.field(each.name, each.type, nullable=not each.required) for each in COLUMNS],
    metadata={_VERSION_KEY: str(SCHEMA_VERSION).encode()},
)
"""The Arrow schema of result rows."""

KEY: Final = ("run", "model", "task_id", "variant", "sample")
"""The columns that identify a row: no two rows share their values."""

PATTERN: Final = "results*.parquet"
"""File names of result rows within a folder."""


def result_schema(more: Sequence[pa.Field] = ()) -> pa.Schema:
    """Return the schema of result rows, followed by further columns.

    Args:
        more: The further columns.
    """
    return pa.schema([*ResultRow, *more], metadata=ResultRow.metadata)


def write_results(rows: pa.Table, file: Path) -> None:
    """Write result rows to a Parquet file, sorted by their key: equal rows give equal bytes.

    Args:
        rows: A table with at least the columns of ``ResultRow``; further columns are kept behind them.
        file: The file; an existing one is replaced.

    Raises:
        InputError: A column is missing or has another type, a value is out of range, or two rows share a key.
    """
    more = [field for field in rows.schema if field.name not in ResultRow.names]
    checked = _check_columns(rows, str(file), more)
    ordered = checked.sort_by([(name, "ascending") for name in KEY])
    pq.write_table(ordered, file, compression="zstd")


def read_results(path: Path) -> pa.Table:
    """Read result rows from a Parquet file, or from all files ``results*.parquet`` of a folder.

    Args:
        path: The file or folder.

    Returns:
        A table with exactly the columns of ``ResultRow``: further columns are not read.

    Raises:
        InputError: There are no rows at the path, they are not result rows of this version, or two rows share a key.
    """
    if not path.exists():
        raise InputError("there is no such file or folder", file=str(path), remedy="check the path")
    files = sorted(path.glob(PATTERN)) if path.is_dir() else [path]
    if not files:
        raise InputError(
            f"the folder has no {PATTERN} files",
            file=str(path),
            remedy="name a folder that `hazardmill evaluate` has written",
        )
    return _refuse_duplicates(pa.concat_tables([_read(file) for file in files]), str(path))


def _read(file: Path) -> pa.Table:
    try:
        # Further columns, such as traces, may be large.
        known = [name for name in pq.read_schema(file).names if name in ResultRow.names]
        table = pq.read_table(file, columns=known)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(
            f"this is not a readable Parquet file: {error}", file=str(file), remedy="write it again, or name another"
        ) from error
    version = (table.schema.metadata or {}).get(_VERSION_KEY)
    if version is not None and version != str(SCHEMA_VERSION).encode():
        raise InputError(
            f"these are result rows of version {version.decode(errors='replace')}, but this hazardmill reads version "
            f"{SCHEMA_VERSION}",
            file=str(file),
            remedy="score the plans again with this version",
        )
    return _check_columns(table, str(file))


def _check_columns(table: pa.Table, file: str, more: Sequence[pa.Field] = ()) -> pa.Table:
    """Return the columns of ``ResultRow`` and ``more``, cast where nothing is lost by it."""
    missing = [field.name for field in ResultRow if field.name not in table.column_names]
    if missing:
        raise InputError(
            f"missing columns: {', '.join(missing)}",
            file=file,
            remedy="score the plans with `hazardmill evaluate score`; from Python, use "
            "hazardmill.evaluation.results.write_results",
        )
    schema = result_schema(more)
    columns = []
    for field in schema:
        column = table.column(field.name)
        if column.null_count and not field.nullable:
            raise InputError(f"column {field.name} has nulls", file=file, remedy="give every row a value in it")
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowException as error:
            raise InputError(
                f"column {field.name} should be {field.type} but is {column.type}",
                file=file,
                remedy=f"write it as {field.type}",
            ) from error
    checked = _refuse_duplicates(pa.table(columns, schema=schema), file)
    if pc.any(pc.is_nan(checked.column("difficulty"))).as_py():
        raise InputError("column difficulty holds NaN", file=file, remedy="write null where difficulty is unknown")
    for name, low, high in (("score", 0, 2), ("difficulty", 0, 1), ("sample", 0, None), ("plan_length", 0, None)):
        _check_range(checked, name, low, high, file)
    return checked


def _check_range(table: pa.Table, name: str, low: int, high: int | None, file: str) -> None:
    found = pc.min_max(table.column(name)).as_py()
    if found["min"] is None:
        return
    if found["min"] < low or (high is not None and found["max"] > high):
        bounds = f"at least {low}" if high is None else f"{low} to {high}"
        raise InputError(
            f"column {name} holds {found['min']} to {found['max']}", file=file, remedy=f"write values of {bounds}"
        )


def _refuse_duplicates(table: pa.Table, file: str) -> pa.Table:
    counts = table.group_by(list(KEY)).aggregate([([], "count_all")])
    twice = counts.filter(pc.greater(counts.column("count_all"), 1))
    if twice.num_rows:
        first = {name: twice.column(name)[0].as_py() for name in KEY}
        told = ", ".join(f"{name} {value}" for name, value in first.items() if value is not None)
        raise InputError(f"{told}: more than one row", file=file, remedy="remove the file that repeats another")
    return table
