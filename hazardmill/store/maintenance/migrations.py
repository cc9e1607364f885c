"""Old rows in the newest schema: a chain of steps, each from one version to the next.

Files are never changed for it: old parts and journal segments are read through the chain, in Arrow as in DuckDB, and
``hazardmill store migrate`` or ``compact`` writes new parts. A change of a table adds one entry to ``STEPS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from hazardmill.store.rows import TIME, Packed, to_arrow
from hazardmill.store.schemas import BOOL, INT, REAL, SCHEMA_VERSION, STR, TABLES, Table

SQL_TYPES: Final = {STR: "VARCHAR", INT: "BIGINT", REAL: "DOUBLE", BOOL: "BOOLEAN", TIME: "TIMESTAMPTZ"}
"""DuckDB's name of each column type."""


@dataclass(frozen=True)
class MigrationStep:
    """What became of one table from one version to the next, told twice: to Arrow and to DuckDB."""

    apply: Callable[[pa.Table], pa.Table]
    """Pure. Is given any part of the old columns that holds ``reads``, and leaves alone what it does not concern."""
    sql: Callable[[str], str]
    """From what can stand behind FROM to the same in the next version; other columns pass through."""
    makes: tuple[str, ...]
    """The columns that are new."""
    reads: tuple[str, ...] = ()
    """Old columns that the new ones are made of."""


def adds(table: str, *names: str) -> MigrationStep:
    """The step that brought columns of which older rows know nothing: they are null."""
    types = {column.name: column.type for column in TABLES[table].columns}

    def apply(data: pa.Table) -> pa.Table:
        for name in names:
            data = data.append_column(name, pa.nulls(data.num_rows, types[name]))
        return data

    def sql(source: str) -> str:
        new = ", ".join(f'CAST(NULL AS {SQL_TYPES[types[name]]}) AS "{name}"' for name in names)
        return f"(SELECT *, {new} FROM {source})"

    return MigrationStep(apply, sql, makes=names)


STEPS: Final[Mapping[int, Mapping[str, MigrationStep]]] = {
    1: {
        "runs": adds("runs", "parent_run_id"),
        "drafts": adds("drafts", "feedback_version", "feedback_hash", "fallback"),
        "llm_calls": adds("llm_calls", "repair", "written_tokens", "usd_overrun", "model_sent"),
    },
    2: {
        "tasks": adds("tasks", "structure_id"),
    },
    # Only so that other tables can be read: what the new columns say cannot be told of an older danger.
    3: {
        "dangers": adds("dangers", "decline_reason", "changing_cause", "fixed_circumstances", "round", "sent_back"),
        "drafts": adds("drafts", "round"),
        "llm_calls": adds("llm_calls", "round", "recording", "recorded_for"),
    },
}
"""Version to the steps that lead on from it, by table. A table that is not named did not change."""


def steps_from(table: Table, version: int | None) -> list[MigrationStep]:
    """The steps from ``version`` to the newest; none where the table did not change, or the version is not known."""
    if version is None:
        return []
    return [STEPS[old][table.name] for old in range(version, SCHEMA_VERSION) if table.name in STEPS.get(old, {})]


def columns_read(
    table: Table, steps: Sequence[MigrationStep], present: Sequence[str], wanted: Sequence[str]
) -> list[str]:
    """The columns of an old file to read for ``wanted`` ones: these, what steps read, and what there is no more."""
    current = {column.name for column in table.columns}
    needed = {*wanted, *(name for step in steps for name in step.reads)}
    return [name for name in present if name in needed or name not in current]


def upgrade(table: Table, steps: Sequence[MigrationStep], data: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Old rows taken through ``steps``: the ``columns`` of the newest schema, null where they say nothing."""
    for step in steps:
        data = step.apply(data)
    fields = [table.schema.field(name) for name in columns]
    arrays = [
        data[field.name].cast(field.type) if field.name in data.schema.names else pa.nulls(data.num_rows, field.type)
        for field in fields
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=table.schema.metadata))


def rows_to_arrow(table: Table, rows: Sequence[Packed], version: int) -> pa.Table:
    """Packed rows of a journal of some version as an Arrow table of the newest schema."""
    steps = steps_from(table, version)
    data = to_arrow(table, rows)
    if not steps:
        return data
    data = data.drop_columns([name for step in steps for name in step.makes if name in data.schema.names])
    # What there is no more has its place in no schema: its values are JSON, of which Arrow tells the type.
    for name in sorted({name for row in rows for name in row} - {column.name for column in table.columns}):
        data = data.append_column(name, pa.array([row.get(name) for row in rows]))
    return upgrade(table, steps, data, [column.name for column in table.columns])
