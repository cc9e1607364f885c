"""Scoring the plans of a file, task by task, with no model: rows of results, then figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from hazardmill.errors import PromptRefused
from hazardmill.evaluation.answers.extract import TURNED_AWAY
from hazardmill.evaluation.answers.file import PlansFile
from hazardmill.evaluation.results_files import table_of
from hazardmill.evaluation.scoring import Scorer, row_of
from hazardmill.evaluation.tasks import EvaluationTask, TaskSet
from hazardmill.records import content_hash
from hazardmill.store.store import Store

if TYPE_CHECKING:
    import pyarrow as pa


OnTask = Callable[[EvaluationTask], None]
"""Called after each task."""


def score_run(tasks: TaskSet, plans: PlansFile) -> str:
    """Name of the scoring of a file: the same for the same file and tasks."""
    return f"score-{content_hash([tasks.digest, plans.sha256, plans.model])[:12]}"


def score_plans(
    tasks: TaskSet, plans: PlansFile, *, run: str, only_known: bool = False, on_task: OnTask | None = None
) -> pa.Table:
    """The rows of every plan of a file.

    Args:
        tasks: What they are plans for; gone through once.
        plans: The plans.
        run: Name of the evaluation.
        only_known: Whether plans for other tasks are left out rather than refused.
        on_task: Told of each task that was scored.

    Raises:
        InputError: There are plans for other tasks, or for none of these.
    """
    known: set[tuple[str, str]] = set()
    table = table_of(_rows(tasks, plans, run, known, on_task))
    if not only_known or not table.num_rows:
        plans.check_known(known)
    return table


def _rows(
    tasks: TaskSet, plans: PlansFile, run: str, known: set[tuple[str, str]], on_task: OnTask | None
) -> Iterator[dict[str, Any]]:
    for task in tasks:
        known.add(task.key)
        scorer: Scorer | None = None
        for model, given in plans.of(*task.key):
            # Grounded once, and only where somebody planned for it.
            scorer = scorer or Scorer(task)
            text = given.plan if given.plan is not None else given.answer
            assert text is not None, "a line has one of both"
            scored = scorer.plan(text) if given.plan is not None else scorer.answer(text, given.finish_reason)
            yield row_of(scored, task, run=run, model=model, sample=given.sample)
        if on_task is not None:
            on_task(task)


def count_missing(table: pa.Table, tasks: int) -> dict[str, int]:
    """Model to how many of the tasks as released, with a safe plan, it has no answer for; who misses none is left out.

    Args:
        table: The rows of all models, those on variants and on tasks without a safe plan too.
        tasks: How many tasks with a safe plan there are.
    """
    import pyarrow.compute as pc

    # Of a task that is proved to have no safe plan, nothing can be safe or not.
    released = table.filter(pc.and_(pc.is_null(table["variant"]), pc.is_valid(table["safe"])))
    counts = released.group_by("model").aggregate([("task_id", "count_distinct")]).to_pylist()
    # A model may have answers on variants alone, and then lacks everything.
    lacking = dict.fromkeys(table["model"].unique().to_pylist(), tasks)
    lacking |= {row["model"]: tasks - row["task_id_count_distinct"] for row in counts}
    return {model: lacking[model] for model in sorted(lacking) if lacking[model]}


def count_turned_away(table: pa.Table) -> dict[str, int]:
    """Model to how many of its requests were turned away unread; models without any are left out.

    Args:
        table: Rows with ``model`` and ``finish_reason``: of plans, or of abilities.
    """
    import pyarrow.compute as pc

    away = table.filter(pc.equal(table["finish_reason"], TURNED_AWAY))
    counts = away.group_by("model").aggregate([([], "count_all")]).to_pylist()
    return {row["model"]: row["count_all"] for row in sorted(counts, key=lambda row: str(row["model"]))}


def check_read(table: pa.Table, store: Store, run: str) -> None:
    """Refuse to score a run in which nobody read a single request.

    Raises:
        PromptRefused: All were turned away.
    """
    away = sum(count_turned_away(table).values())
    if not away or away < table.num_rows:
        return
    rows = store.rows("llm_calls", {"run_id": run}, ["finish_reason", "error_message"])
    why = sorted({row["error_message"] or "" for row in rows if row["finish_reason"] == TURNED_AWAY} - {""})
    raise PromptRefused(
        f"all {away} requests of run {run} were turned away unread{f': {why[0][:500]}' if why else ''}",
        remedy="give it another --max-tokens or --temperature, or mend the server and name a new --store: the same "
        "command does not ask them again",
    )
