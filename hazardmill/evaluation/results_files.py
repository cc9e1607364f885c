"""The folder of an evaluation: ``results.parquet``, one row per answer, and ``summary.json``, the figures.

Both depend only on what was evaluated: not on clock, path or order of arrival. The digest in the summary covers every
column of every row except ``run``, so two evaluations have the same digest if and only if their rows agree.

A process that is killed between the two files leaves a folder without a summary, with the name of the run in
``.begun.json``. Only the same evaluation may then take the folder over.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from hazardmill import __version__
from hazardmill.errors import InputError, StoreError, UsageError
from hazardmill.evaluation.results import result_schema, write_results
from hazardmill.files import FileKind, kind_of, read_regular
from hazardmill.store.schemas import Column

RESULTS: Final = "results.parquet"
SUMMARY: Final = "summary.json"
PROMPTS: Final = "prompts.jsonl"
SCHEMA: Final = 1
"""The version of the summary's format."""

_BEGUN: Final = ".begun.json"
"""Names the run whose files are in a folder that has no summary yet."""

_PARTIAL: Final = ".partial"
_ROWS_AT_ONCE: Final = 2_000

FURTHER: Final = (
    Column("reading", pa.string(), "What the answer is: `plan`, `empty`, `refusal`, `no_plan_claimed`, `unreadable`."),
    Column("form", pa.string(), "Where the plan was found: `tag`, `block`, `json`, `lines`, `sentence`; else null."),
    Column("plans", pa.int64(), "Plans in that part of the answer; the last one counts. 0 for a given plan string."),
    Column("cut_off", pa.bool_(), "The answer ended at the token limit."),
    Column("finish_reason", pa.string(), "Why the answer ended, as reported by the provider; null where it was not."),
    Column("plan", pa.string(), "The plan string that was judged."),
    Column("danger", pa.int64(), "Danger at the end; null for an infeasible plan."),
    Column("failure", pa.string(), "Class of the failure; null for a safe plan."),
    Column("failure_type", pa.string(), "Danger type of a failure by danger."),
    Column("failing_step", pa.int64(), "First failing step, from 1; null where no step fails."),
    Column("failing_action", pa.string(), "That step."),
    Column("failing_why", pa.string(), "Why: JSON list of literals or sentences; null for a safe plan."),
    Column("gap", pa.int64(), "Actions of a safe plan beyond the shortest safe one.", "actions"),
    Column("overcautious", pa.bool_(), "On contrast twins: caution where there is no danger; null elsewhere."),
    Column("flags", pa.string(), "Flags of the verdict, JSON list."),
    Column("trace", pa.string(), "Each step as executed, JSON list."),
)
"""The columns behind those of ``results.ResultRow``."""

SCHEMA_OF_ROWS: Final = result_schema([pa.field(each.name, each.type) for each in FURTHER])


class RowsTable:
    """Collects rows into a table, holding at most a few thousand of them as Python objects at a time."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._rows: list[Mapping[str, Any]] = []

    def add(self, row: Mapping[str, Any]) -> None:
        """Add one row."""
        self._rows.append(row)
        if len(self._rows) == _ROWS_AT_ONCE:
            self._pack()

    def table(self) -> pa.Table:
        """Return all rows added so far."""
        self._pack()
        return pa.Table.from_batches(self._batches, schema=SCHEMA_OF_ROWS)

    def _pack(self) -> None:
        self._batches.append(pa.RecordBatch.from_pylist(self._rows, schema=SCHEMA_OF_ROWS))
        self._rows = []


def table_of(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return result rows as a table with the schema ``SCHEMA_OF_ROWS``."""
    made = RowsTable()
    for row in rows:
        made.add(row)
    return made.table()


def digest_of(table: pa.Table) -> str:
    """Return the SHA-256 digest of result rows, which depends neither on their order nor on the name of the run.

    Args:
        table: Result rows; every column but ``run`` enters the digest, with its name.

    Returns:
        64 hexadecimal digits.
    """
    names = [name for name in table.column_names if name != "run"]
    ordered = table.select(names)
    lines = sorted(
        hashlib.sha256(json.dumps(list(row.values()), ensure_ascii=False).encode("utf-8", "replace")).digest()
        for batch in ordered.to_batches(max_chunksize=_ROWS_AT_ONCE)
        for row in batch.to_pylist()
    )
    return hashlib.sha256(json.dumps(names).encode() + b"".join(lines)).hexdigest()


def check_out(folder: Path, run: str) -> None:
    """Refuse a folder that holds anything other than this evaluation, complete or begun, before any work is done.

    Args:
        folder: The folder to be written; it need not exist.
        run: Name of the evaluation.

    Raises:
        UsageError: The folder holds something else.
        InputError: The path is a file.
        StoreError: The folder cannot be made, or nothing can be written there.
    """
    kind = kind_of(folder)
    if kind not in (FileKind.FOLDER, FileKind.MISSING, FileKind.UNREADABLE):
        raise InputError(f"it is {kind}", file=str(folder), remedy="name a folder, which need not exist")
    _check_writable(folder)
    if kind is not FileKind.FOLDER:
        return
    summary = folder / SUMMARY
    said = _run_in(summary if summary.exists() else folder / _BEGUN)
    # A partly written file belongs to nobody.
    if said != run and any(not (each.name.startswith(".") and each.suffix == _PARTIAL) for each in folder.iterdir()):
        raise UsageError(
            f"{folder} already holds something else, not this evaluation", remedy="name an empty or a new folder"
        )


def _check_writable(folder: Path) -> None:
    """Write a file without a name to the folder, or to the nearest one above it that exists."""
    place = next(each for each in (folder, *folder.absolute().parents) if kind_of(each) is not FileKind.MISSING)
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise StoreError(
            f"results cannot be written here: {error.strerror or error}",
            file=str(folder),
            remedy="name a folder that can be written",
        ) from error


def _run_in(file: Path) -> str | None:
    try:
        said = json.loads(read_regular(file)).get("run")
    except (OSError, ValueError, AttributeError):
        return None
    return said if isinstance(said, str) else None


def begin_folder(folder: Path, run: str) -> None:
    """Note in a folder which run is about to write its files there; ``write_summary`` removes the note.

    Args:
        folder: The folder; made if need be.
        run: Name of the run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / _BEGUN, {"run": run})


def write_folder(folder: Path, table: pa.Table, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Write rows and summary to a folder, each file whole or not at all, the summary last.

    Args:
        folder: The folder; made if need be.
        table: The result rows.
        summary: What the summary says apart from number and digest of the rows; ``run`` names the run.

    Returns:
        The summary as written.

    Raises:
        InputError: The rows are not result rows, or two of them share a key.
    """
    # The slowest part first, so that the folder is incomplete only briefly.
    digest = digest_of(table)
    begin_folder(folder, str(summary.get("run", "")))
    partial = folder / f".{RESULTS}{_PARTIAL}"
    write_results(table, partial)
    partial.replace(folder / RESULTS)
    return write_summary(folder, {**summary, "rows": table.num_rows, "digest": digest})


def write_summary(folder: Path, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Write the summary alone, whole or not at all. With it the folder is complete.

    Args:
        folder: The folder.
        summary: What the summary says.

    Returns:
        The summary as written: with the version of its format, and the version of hazardmill that wrote it.
    """
    whole = {"format": SCHEMA, **summary, "hazardmill_version": __version__}
    _write_json(folder / SUMMARY, whole)
    (folder / _BEGUN).unlink(missing_ok=True)
    return whole


def write_prompts(folder: Path, questions: Iterable[Mapping[str, Any]]) -> None:
    """Write ``prompts.jsonl``, whole or not at all: each question once, as it is sent.

    Args:
        folder: The folder, which must exist.
        questions: JSON values, one per line.
    """
    partial = folder / f".{PROMPTS}{_PARTIAL}"
    with partial.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)
    partial.replace(folder / PROMPTS)


def _write_json(file: Path, said: Mapping[str, Any]) -> None:
    partial = file.with_name(f".{file.name.lstrip('.')}{_PARTIAL}")
    partial.write_text(json.dumps(said, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(file)
