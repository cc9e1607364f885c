"""Score the plans of a file task by task, without asking a model."""

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
"""Called after each task that was scored."""


def score_run(tasks: TaskSet, plans: PlansFile) -> str:
    """Return the name of the evaluation of a plans file; equal files on equal tasks have equal names."""
    return f"score-{content_hash([tasks.digest, plans.sha256, plans.model])[:12]}"


def score_plans(
    tasks: TaskSet, plans: PlansFile, *, run: str, only_known: bool = False, on_task: OnTask | None = None
) -> pa.Table:
    """Score every plan of a file.

    Args:
        tasks: The tasks that the plans are for; iterated once.
        plans: The plans.
        run: Name of the evaluation.
        only_known: Whether to leave out plans for other tasks instead of refusing them.
        on_task: Called after each task that was scored.

    Returns:
        The result rows (``results_files.SCHEMA_OF_ROWS``), one per plan.

    Raises:
        InputError: The file has plans for other tasks, and these are not left out; or it has no plan for any of these.
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
            assert text is not None, "a line has one of the two"
            scored = scorer.plan(text) if given.plan is not None else scorer.answer(text, given.finish_reason)
            yield row_of(scored, task, run=run, model=model, sample=given.sample)
        if on_task is not None:
            on_task(task)


def count_missing(table: pa.Table, tasks: int) -> dict[str, int]:
    """Count, per model, the released tasks with a safe plan that it did not answer.

    Args:
        table: The rows of all models, including those on variants and on tasks without a safe plan.
        tasks: Number of tasks with a safe plan.

    Returns:
        Model to its number of missing tasks, sorted by model. Models that miss none are left out.
    """
    import pyarrow.compute as pc

    # On a task that is proved to have no safe plan, ``safe`` is null, and the task is not counted.
    released = table.filter(pc.and_(pc.is_null(table["variant"]), pc.is_valid(table["safe"])))
    counts = released.group_by("model").aggregate([("task_id", "count_distinct")]).to_pylist()
    # A model that answered variants only misses every task.
    lacking = dict.fromkeys(table["model"].unique().to_pylist(), tasks)
    lacking |= {row["model"]: tasks - row["task_id_count_distinct"] for row in counts}
    return {model: lacking[model] for model in sorted(lacking) if lacking[model]}


def count_turned_away(table: pa.Table) -> dict[str, int]:
    """Count, per model, the requests that the provider turned away unread.

    Args:
        table: Rows with ``model`` and ``finish_reason``: of plans, or of abilities.

    Returns:
        Model to its number of such requests, sorted by model. Models without any are left out.
    """
    import pyarrow.compute as pc

    away = table.filter(pc.equal(table["finish_reason"], TURNED_AWAY))
    counts = away.group_by("model").aggregate([([], "count_all")]).to_pylist()
    return {row["model"]: row["count_all"] for row in sorted(counts, key=lambda row: str(row["model"]))}


def check_read(table: pa.Table, store: Store, run: str) -> None:
    """Refuse to score a run in which the provider read not a single request.

    Args:
        table: The rows of the run, with ``model`` and ``finish_reason``.
        store: The store with the run's ledger, which knows why requests were turned away.
        run: Name of the run.

    Raises:
        PromptRefused: All requests were rejected before the model read them. The message quotes the provider's first
            reason.
    """
    away = sum(count_turned_away(table).values())
    if not away or away < table.num_rows:
        return
    rows = store.rows("llm_calls", {"run_id": run}, ["finish_reason", "error_message"])
    why = sorted({row["error_message"] or "" for row in rows if row["finish_reason"] == TURNED_AWAY} - {""})
    raise PromptRefused(
        f"all {away} requests of run {run} were rejected before the model read "
        f"them{f': {why[0][:500]}' if why else ''}",
        remedy="give another --max-tokens or --temperature, or repair the server and name a new --store: the same "
        "command does not repeat these requests",
    )
