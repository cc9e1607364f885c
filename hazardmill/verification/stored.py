"""Verifying the tasks of a store: each row on its own, and against the rows of other tables that it was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hazardmill.errors import StoreError
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.records import DANGER_LISTS, Danger
from hazardmill.store.maintenance.findings import command
from hazardmill.store.schemas import TASKS
from hazardmill.store.store import Store
from hazardmill.verification.findings import Code, TaskFinding, render_value
from hazardmill.verification.task import AGAIN, LEAVE_OUT, json_object, verify_task

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


Row: TypeAlias = Mapping[str, Any]

_AT_A_TIME: Final = 100
"""Number of tasks in memory at a time."""

_MADE_BY: Final = (
    "source",
    "input_hash",
    "prompt_version",
    "prompt_hash",
    "model_asked",
    "model_answered",
    "backend",
    "jail_profile",
    "hazardmill_version",
)
"""Columns that a task takes over from its accepted draft."""


def against_draft(task: Row, row: Row) -> Iterator[tuple[Code, str, str]]:
    """Compare a task with the draft that was accepted.

    Args:
        task: Row of the task.
        row: Row of the draft, with ``accepted`` and ``document``.

    Yields:
        Code, column and message of each contradiction. The provenance in the documents may differ.
    """
    if not row["accepted"]:
        yield "contradiction", "draft", f"draft {task['draft']} was not accepted"
    stored, drafted = (json_object(each["document"] or "") or {} for each in (task, row))
    differing = [
        name
        for name in sorted({*stored, *drafted} - {"provenance"})
        if canonical_json(stored.get(name)) != canonical_json(drafted.get(name))
    ]
    if differing:
        yield "contradiction", "document", f"the document is not that of its draft: {', '.join(differing)}"


def against_danger(task: Row, row: Row) -> Iterator[tuple[Code, str, str]]:
    """Compare the danger of a task with the danger that was extracted from its record.

    Args:
        task: Row of the task.
        row: Row of the table ``dangers``.

    Yields:
        Code, column and message of a contradiction.
    """
    stored = json_object(task["danger"]) or {}
    stored |= {name: canonical_json(stored[name]) for name in DANGER_LISTS if stored.get(name) is not None}
    differing = [name for name in Danger.model_fields if stored.get(name) != row[name]]
    if differing:
        yield "contradiction", "danger", f"the danger is not that of the table of dangers: {', '.join(differing)}"


def _outcome(task: Row, row: Row) -> Iterator[tuple[Code, str, str]]:
    if row["outcome"] != "accepted":
        yield "contradiction", "run_id", f"its record ended in this run as {row['outcome']}"


def _nothing_else(task: Row, row: Row) -> Iterator[tuple[Code, str, str]]:
    yield from ()


@dataclass(frozen=True, slots=True)
class _Origin:
    """A table whose rows a task was made from.

    Attributes:
        key: Columns that identify the row that belongs to a task.
        repeated: Columns that must be equal in both tables.
        further: Further columns that ``compare`` needs.
        compare: Yields code, column and message of other contradictions.
    """

    key: tuple[str, ...]
    repeated: tuple[str, ...]
    further: tuple[str, ...]
    compare: Callable[[Row, Row], Iterator[tuple[Code, str, str]]]


_ORIGINS: Final[Mapping[str, _Origin]] = {
    "drafts": _Origin(
        ("run_id", "record_id", "draft"), (*_MADE_BY, "document_hash"), ("accepted", "document"), against_draft
    ),
    "dangers": _Origin(("run_id", "record_id"), ("source", "input_hash"), tuple(Danger.model_fields), against_danger),
    "outcomes": _Origin(("run_id", "record_id"), ("source", "input_hash", "task_id"), ("outcome",), _outcome),
    "records": _Origin(("record_id",), ("source", "licence", "attribution"), ("content_hash",), _nothing_else),
}


@dataclass(frozen=True, slots=True)
class VerifiedTasks:
    """The result of verifying the tasks of a store, or of folders.

    Attributes:
        tasks: Number of tasks that were verified.
        findings: What is wrong with them; empty if all is well.
    """

    tasks: int
    findings: tuple[TaskFinding, ...]


def verify_store(store: Store) -> VerifiedTasks:
    """Verify every task of a store, in the order of their ids.

    Returns:
        Number of tasks that were verified, and the findings about all of them.

    Raises:
        StoreError: The store cannot be read.
    """
    import duckdb

    try:
        return store.query(lambda views: _verify(views, store.path), ["tasks", *_ORIGINS])
    except duckdb.Error as error:
        raise StoreError(
            f"the tasks cannot be read: {error}",
            file=store.address,
            remedy=f"see: {command('store verify', store.path)}",
        ) from error


def findings_in_store(store: Store) -> tuple[TaskFinding, ...]:
    """Return the findings about the tasks of a store, for ``store verify``.

    Raises no error: if the tasks cannot be read, this is a finding, too.
    """
    try:
        return verify_store(store).findings
    except StoreError as error:
        remedy = error.remedy or command("store rebuild --dry-run", store.path)
        return (TaskFinding("unreadable", store.address, "tasks", f"no task can be verified: {error.message}", remedy),)


def _verify(views: DuckDBPyConnection, place: Path) -> VerifiedTasks:
    findings: list[TaskFinding] = []
    looked = 0
    cursor = views.execute(_join_query())
    names = ["task", *_ORIGINS]
    while rows := cursor.fetchmany(_AT_A_TIME):
        for values in rows:
            looked += 1
            found = dict(zip(names, values, strict=True))
            task = found.pop("task")
            # Two runs may have the same task: the finding must say which row it is about.
            name = f"{task['task_id']} of run {task['run_id']}"
            told = [*verify_task(task, name=name).findings]
            told += [
                TaskFinding(code, name, where, message, AGAIN) for code, where, message in _contradictions(task, found)
            ]
            findings += [replace(each, remedy=_name_command(each.remedy, task, place)) for each in told]
    return VerifiedTasks(looked, tuple(sorted(findings, key=lambda each: (each.task, each.where))))


def _name_command(remedy: str, task: Row, place: Path) -> str:
    """Return a remedy with what to type for this task of this store."""
    if remedy == LEAVE_OUT:
        return f"{LEAVE_OUT}: {command('review serve', place)}"
    if remedy != AGAIN:
        return remedy
    recheck = command(f"run recheck {task['run_id']}", place)
    again = command(f"run generate --source {task['source']} --model MODEL", place)
    return f"see what its draft gives now: {recheck}; generate the task again: {again}"


def _join_query() -> str:
    """Build the query for every task with its row of each table, null where there is none."""
    task = ", ".join(f"{column.name} := tasks.{column.name}" for column in TASKS.columns)
    parts, joins = [f"struct_pack({task})"], []
    for table, origin in _ORIGINS.items():
        columns = dict.fromkeys((*origin.key, *origin.repeated, *origin.further))
        packed = ", ".join(f"{name} := {table}.{name}" for name in columns)
        parts.append(f"CASE WHEN {table}.record_id IS NOT NULL THEN struct_pack({packed}) END")
        same = " AND ".join(f"{table}.{name} = tasks.{name}" for name in origin.key)
        joins.append(f"LEFT JOIN {table} ON {same}")
    return f"SELECT {', '.join(parts)} FROM tasks {' '.join(joins)}"


def _contradictions(task: Row, origins: Mapping[str, Row | None]) -> Iterator[tuple[Code, str, str]]:
    for table, row in origins.items():
        if row is None:
            yield "missing", table, f"the store has no row of {table} for this task"
            continue
        if table == "records" and row["content_hash"] != task["input_hash"]:
            continue  # The record was ingested again with other content since, which is not an error.
        origin = _ORIGINS[table]
        for name in origin.repeated:
            if row[name] != task[name]:
                yield (
                    "contradiction",
                    name,
                    f"{name} is {render_value(task[name])}; {table} has {render_value(row[name])}",
                )
        yield from origin.compare(task, row)
