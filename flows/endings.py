"""How a run ended, as the state of a flow, and how to resume it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from prefect import get_run_logger, runtime
from prefect.client.schemas.objects import State, TaskRun
from prefect.states import Completed
from prefect.tasks import Task

from hazardmill.errors import (
    InputError,
    JailUnavailable,
    NotRecorded,
    ProviderError,
    RunStopped,
    StoreLocked,
    UsageError,
)
from hazardmill.records import Outcome
from hazardmill.runs.budgets import suggest_budget
from hazardmill.runs.recording import older_answers
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from hazardmill.text.shell import command

BUDGET_REACHED = "BudgetReached"
"""Name of the state of a run with no money left. Its type is Completed, because nothing went wrong."""

WAITING = "Waiting"
"""Name of the state of a run whose requests were sent together and have no answers yet. Its type is Completed, because
nothing went wrong; the deployment ``resume-waiting`` takes it up."""

_NO_ACCIDENT = InputError | JailUnavailable | ProviderError | RunStopped | StoreLocked | UsageError
"""Errors that a second try would meet again."""


def may_be_accident(task: Task[Any, Any], task_run: TaskRun, state: State[Any]) -> bool:
    """Return whether a failed task should be tried once more."""
    return is_accident(state.data)


def is_accident(error: object) -> bool:
    """Return whether a second try may succeed where this error ended the first."""
    return not isinstance(error, _NO_ACCIDENT)


def in_words(counts: Mapping[str, int]) -> str:
    """Render the outcome counts: ``137 accepted of 160 records: 9 no_danger, 14 quality_failed``."""
    accepted = counts.get(Outcome.ACCEPTED.value, 0)
    others = [f"{count} {name}" for name, count in counts.items() if count and name != Outcome.ACCEPTED.value]
    return f"{accepted} accepted of {sum(counts.values())} records" + (f": {', '.join(others)}" if others else "")


def warn_unrecorded(run: Run, errors: Sequence[NotRecorded]) -> None:
    """Log why records without a recorded answer stay pending, and how many answers are to earlier prompts."""
    for error in errors:
        get_run_logger().warning("a record stays pending: %s", error)
    older = older_answers(run.store, run.run_id) if run.config.backend == "recorded" else None
    if older is not None:
        get_run_logger().warning(older)


def complete_run(run: Run, message: str, result: object) -> State[Any]:
    """Return the state of a run with no record left."""
    return Completed(message=f"Run {run.run_id}: {message}", data=result)


def stop_run(run: Run, said: str, result: object) -> State[Any]:
    """Return the state of a run with no money left."""
    limit = run.config.budget_usd
    usd = None if limit is None else suggest_budget(run.store, run.run_id, limit, len(run.selection))
    more = {} if usd is None else {"budget_usd": f"{usd:g}"}
    retry = retry_command(run, **more)
    message = f"Run {run.run_id}: {said}; paid answers are kept; resume with a larger budget: {retry}"
    return Completed(name=BUDGET_REACHED, message=message, data=result)


def wait_for(run: Run, said: str, result: object) -> State[Any]:
    """Return the state of a run that waits for answers.

    Args:
        run: The run.
        said: What it waits for.
        result: How far it came.
    """
    message = f"Run {run.run_id}: {said}; the deployment resume-waiting takes it up, or: {retry_command(run)}"
    return Completed(name=WAITING, message=message, data=result)


def retry_command(run: Run, **changes: str) -> str:
    """Return the command that resumes a run: through its deployment if it has one, otherwise ``hazardmill run resume``.

    Args:
        run: The run.
        changes: Options to change, by name.
    """
    if runtime.deployment.name is None or runtime.flow_run.parent_flow_run_id is not None:
        options = [word for name, value in changes.items() for word in (f"--{name.replace('_', '-')}", value)]
        return command("run", "resume", run.run_id, "--store", run.store.address, *options)
    given = " ".join(f"-p {name}={value}" for name, value in {"run_id": run.run_id, **changes}.items())
    return f"prefect deployment run {runtime.flow_run.flow_name}/{runtime.deployment.name} {given}"


@contextmanager
def resumable(run: Run) -> Iterator[None]:
    """Add to an error that ends a run early how to resume it."""
    try:
        yield
    except (ProviderError, RunStopped) as error:
        error.remedy = f"{error.remedy or 'fix the problem'}; then retry this flow run, or: {retry_command(run)}"
        raise


def name_run(prefix: str) -> str:
    """Return a run's name that is the same when the flow run is retried, so that the retry resumes the run."""
    # The end of the id: ids begin with the time, and those of scheduled runs are all made at one moment.
    return f"{prefix}-{str(runtime.flow_run.id).replace('-', '')[-12:]}"


def run_exists(store: Store, run_id: str) -> bool:
    """Return whether the store has a run of that name."""
    return store.count("runs", {"run_id": run_id}) > 0
