"""Choose the tasks that the page shows in full, with both plans step by step and how the task came about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import fluents_of, render
from hazardmill.formalism.semantics.plan_validator import PlanValidator, PlanVerdict
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.report.queries import Row, select
from hazardmill.report.wording import reason

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SHOWN: Final = 3
"""How many tasks the page shows in full."""


@dataclass(frozen=True)
class ExampleDraft:
    """One draft of the record that led to the task.

    Attributes:
        number: From 1.
        accepted: Whether the task was made from it.
        failed: Check and reason of the failure, in words; empty for the accepted draft.
    """

    number: int
    accepted: bool
    failed: str


@dataclass(frozen=True)
class ExampleTask:
    """A task with everything that the page shows of it.

    Attributes:
        row: Its whole row of the table ``tasks``.
        record: Context of the record; null if the store no longer holds it.
        danger: The danger formalization.
        given: Atoms that are true at the start, and the value of each integer fluent; without context fluents.
        context: One entry per ground context fluent: the atom, its value, and whether a danger condition reads it.
        dangers: One entry per danger entry: action, condition, increment.
        safe: Null if the danger is unavoidable, so that there is no safe plan.
        attempts: All drafts of the record, in order.
        proved: One entry per line of the certificate: claim, whether it holds (null: not decided), message.
    """

    row: Row
    title: str
    record: str | None
    danger: dict[str, Any]
    goal: str
    given: tuple[str, ...]
    context: tuple[tuple[str, bool, bool], ...]
    dangers: tuple[tuple[str, str, int], ...]
    unsafe: PlanVerdict
    safe: PlanVerdict | None
    attempts: tuple[ExampleDraft, ...]
    proved: tuple[tuple[str, bool | None, str], ...]

    @property
    def offline(self) -> bool:
        """Whether the offline author wrote the task."""
        return bool(self.row["model_answered"] == OFFLINE_MODEL)


def example_tasks(connection: DuckDBPyConnection, run_ids: Sequence[str], tasks: Sequence[Row]) -> list[ExampleTask]:
    """Return the tasks to show, each read whole.

    Args:
        connection: A connection with one view per table.
        run_ids: The runs.
        tasks: Rows with ``run_id``, ``task_id``, ``source``, ``danger_group`` and ``danger_type``.

    Raises:
        DocumentError: The store holds a task that this version cannot read.
    """
    return [_example(connection, run_ids, task["run_id"], task["task_id"]) for task in choose_examples(tasks)]


def choose_examples(tasks: Sequence[Row], number: int = SHOWN) -> list[Row]:
    """Return tasks that are as unlike one another as possible.

    Greedy: next comes a task with a new source if there is one, then with a new group, then with a new type; ties go
    to the smallest id.

    Args:
        tasks: Rows, as for ``example_tasks``.
        number: How many to choose, at the most.
    """
    left = sorted(tasks, key=lambda task: (task["task_id"], task["run_id"]))
    chosen: list[Row] = []
    while left and len(chosen) < number:

        def news(task: Row) -> tuple[bool, ...]:
            return tuple(
                all(task[part] != other[part] for other in chosen) for part in ("source", "danger_group", "danger_type")
            )

        best = max(left, key=news)
        left.remove(best)
        chosen.append(best)
    return chosen


_TASK: Final = "SELECT * FROM tasks WHERE list_contains($runs, run_id) AND run_id = $run AND task_id = $task"
_RECORD: Final = "SELECT context FROM records WHERE record_id = $record"
_DRAFTS: Final = """
    SELECT draft, accepted, failed_check, failed_reason FROM drafts
    WHERE run_id = $run AND record_id = $record ORDER BY draft
"""


def _example(connection: DuckDBPyConnection, run_ids: Sequence[str], run_id: str, task_id: str) -> ExampleTask:
    (row,) = select(connection, _TASK, run_ids, run=run_id, task=task_id)
    records = select(connection, _RECORD, run_ids, record=row["record_id"])
    drafts = select(connection, _DRAFTS, run_ids, run=run_id, record=row["record_id"])
    document = Document.from_json(json.loads(row["document"]))
    system = System(document)
    judge = PlanValidator(system)
    return ExampleTask(
        row=row,
        title=document.texts.get("title") or document.name,
        record=records[0]["context"] if records else None,
        danger=json.loads(row["danger"]),
        goal=render(document.goal),
        given=tuple(_initial_atoms(document, system)),
        context=tuple(_context(document, system)),
        dangers=tuple((entry.action, render(entry.condition), entry.increment) for entry in document.dangers),
        unsafe=judge.verdict(row["unsafe_plan"]),
        safe=None if row["safe_plan"] is None else judge.verdict(row["safe_plan"]),
        attempts=tuple(_attempt(draft) for draft in drafts),
        proved=tuple(
            (reason(line["name"]), line["passed"], line["message"])
            for line in json.loads(row["certificate"]).get("lines", ())
        ),
    )


def _initial_atoms(document: Document, system: System) -> Iterator[str]:
    normal = {fluent.name for fluent in document.fluents if fluent.kind == "normal" and not fluent.integer}
    yield from (f"({' '.join(atom)})" for atom, _ in document.initial if atom[0] in normal)
    for atom, value in zip(system.integers, system.initial.numbers, strict=True):
        yield f"({' '.join(atom)}) = {value}"


def _context(document: Document, system: System) -> Iterator[tuple[str, bool, bool]]:
    start = dict(document.initial)
    read = {node[1] for entry in document.dangers for node in fluents_of(entry.condition)}
    for fluent in document.fluents:
        if fluent.kind == "context":
            for binding in system.bindings([(p.name, p.type) for p in fluent.parameters], {}):
                atom = (fluent.name, *binding.values())
                yield f"({' '.join(atom)})", bool(start.get(atom, False)), fluent.name in read


def _attempt(draft: Row) -> ExampleDraft:
    failed = "" if draft["accepted"] else f"{reason(draft['failed_check'])}: {reason(draft['failed_reason'])}"
    return ExampleDraft(draft["draft"], draft["accepted"], failed)
