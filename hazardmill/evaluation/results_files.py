"""The folder of an evaluation: ``results.parquet``, one row an answer, and ``summary.json``, the figures.

Both are functions of what was evaluated: no clock, no path, no order of arrival. The digest in the summary covers every
column of every row but ``run``, so two evaluations have one digest if and only if they say the same.

Whoever is killed between the files leaves a folder without a summary, and the name of the run in ``.begun.json``: the
same evaluation takes it over, and no other does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from hazardmill import __version__
from hazardmill.errors import InputError, UsageError
from hazardmill.evaluation.results import result_schema, write_results
from hazardmill.files import read_regular
from hazardmill.store.schemas import Column

RESULTS: Final = "results.parquet"
SUMMARY: Final = "summary.json"
SCHEMA: Final = 1
"""Of the summary."""

_BEGUN: Final = ".begun.json"
"""Says whose files are in a folder that has no summary yet."""

_PARTIAL: Final = ".partial"
_ROWS_AT_ONCE: Final = 2_000

FURTHER: Final = (
    Column("reading", pa.string(), "What the answer is: `plan`, `empty`, `refusal`, `no_plan_claimed`, `unreadable`."),
    Column("form", pa.string(), "Where the plan stood: `tag`, `block`, `json`, `lines`, `sentence`; null without one."),
    Column("plans", pa.int64(), "Plans in that part of the answer; the last counts. 0 for a given plan string."),
    Column("cut_off", pa.bool_(), "The answer ended at the token limit."),
    Column("finish_reason", pa.string(), "Why the answer ended, as the provider said; null where nobody said."),
    Column("plan", pa.string(), "The plan string that was judged."),
    Column("danger", pa.int64(), "Danger at the end; null of an infeasible plan."),
    Column("failure", pa.string(), "Class of the failure; null of a safe plan."),
    Column("failure_type", pa.string(), "Danger type of a failure by danger."),
    Column("failing_step", pa.int64(), "First failing step, from 1; null where it is none."),
    Column("failing_action", pa.string(), "That step."),
    Column("failing_why", pa.string(), "Why: JSON list of literals or sentences; null of a safe plan."),
    Column("gap", pa.int64(), "Actions of a safe plan beyond the shortest safe one.", "actions"),
    Column("overcautious", pa.bool_(), "On contrast twins: caution where there is no danger; null elsewhere."),
    Column("flags", pa.string(), "Flags of the verdict, JSON list."),
    Column("trace", pa.string(), "Each step as executed, JSON list."),
)
"""Columns behind those of ``results.ResultRow``."""

SCHEMA_OF_ROWS: Final = result_schema([pa.field(each.name, each.type) for each in FURTHER])


class RowsTable:
    """Rows as a table, of which a few thousand at most are Python objects at a time."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._rows: list[Mapping[str, Any]] = []

    def add(self, row: Mapping[str, Any]) -> None:
        """Take one row in."""
        self._rows.append(row)
        if len(self._rows) == _ROWS_AT_ONCE:
            self._pack()

    def table(self) -> pa.Table:
        """All rows so far."""
        self._pack()
        return pa.Table.from_batches(self._batches, schema=SCHEMA_OF_ROWS)

    def _pack(self) -> None:
        self._batches.append(pa.RecordBatch.from_pylist(self._rows, schema=SCHEMA_OF_ROWS))
        self._rows = []


def table_of(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows as a table."""
    made = RowsTable()
    for row in rows:
        made.add(row)
    return made.table()


def digest_of(table: pa.Table) -> str:
    """SHA-256 of what the rows say, in any order; the run's name is no part of it."""
    names = [name for name in table.column_names if name != "run"]
    ordered = table.select(names)
    lines = sorted(
        hashlib.sha256(json.dumps(list(row.values()), ensure_ascii=False).encode("utf-8", "replace")).digest()
        for batch in ordered.to_batches(max_chunksize=_ROWS_AT_ONCE)
        for row in batch.to_pylist()
    )
    return hashlib.sha256(json.dumps(names).encode() + b"".join(lines)).hexdigest()


def check_out(folder: Path, run: str) -> None:
    """Refuse a folder that holds something else than this evaluation, whole or begun, before anything is done.

    Raises:
        UsageError: It does.
        InputError: It is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file", file=str(folder), remedy="name a folder, which need not be there")
    if not folder.is_dir():
        return
    summary = folder / SUMMARY
    said = _run_in(summary if summary.exists() else folder / _BEGUN)
    # A file that is not whole yet is nobody's.
    if said != run and any(not (each.name.startswith(".") and each.suffix == _PARTIAL) for each in folder.iterdir()):
        raise UsageError(
            f"{folder} holds something else than this evaluation already", remedy="name an empty or a new folder"
        )


def _run_in(file: Path) -> str | None:
    try:
        said = json.loads(read_regular(file)).get("run")
    except (OSError, ValueError, AttributeError):
        return None
    return said if isinstance(said, str) else None


def begin_folder(folder: Path, run: str) -> None:
    """Say in a folder whose files are about to be written there; ``write_summary`` ends that."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / _BEGUN, {"run": run})


def write_folder(folder: Path, table: pa.Table, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Write both files, each whole or not at all; the summary, which comes last, with the digest of the rows.

    Returns:
        The summary as it was written.
    """
    # The longest part first, so that nothing is half there for long.
    digest = digest_of(table)
    begin_folder(folder, str(summary.get("run", "")))
    partial = folder / f".{RESULTS}{_PARTIAL}"
    write_results(table, partial)
    partial.replace(folder / RESULTS)
    return write_summary(folder, {**summary, "rows": table.num_rows, "digest": digest})


def write_summary(folder: Path, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Write the summary alone, whole or not at all. With it the folder is complete.

    Returns:
        The summary as it was written: with its format, and the version that wrote it.
    """
    whole = {"format": SCHEMA, **summary, "hazardmill_version": __version__}
    _write_json(folder / SUMMARY, whole)
    (folder / _BEGUN).unlink(missing_ok=True)
    return whole


def _write_json(file: Path, said: Mapping[str, Any]) -> None:
    partial = file.with_name(f".{file.name.lstrip('.')}{_PARTIAL}")
    partial.write_text(json.dumps(said, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(file)
