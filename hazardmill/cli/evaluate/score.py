"""Works through an evaluation in this process, with progress, and says how to resume it if it is stopped."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
import pyarrow as pa

from hazardmill.errors import (
    BudgetReached,
    CorruptStore,
    ProviderError,
    RunStopped,
    RunWaiting,
    SchemaMismatch,
    StoreError,
    StoreLocked,
)
from hazardmill.evaluation.results_files import check_out
from hazardmill.evaluation.runner import AskedAbout, Evaluation
from hazardmill.evaluation.score_file import check_read
from hazardmill.evaluation.scored_run import ScoredRun
from hazardmill.llm.client import Retry
from hazardmill.reporting.time_left import TimeLeft
from hazardmill.store.store import Store
from hazardmill.store_access import open_store
from hazardmill.text.printable import printable

_EVERY_S: Final = 3.0


def answer_all(
    evaluation: Evaluation | ScoredRun[Any],
    total: int,
    name: str,
    folder: Path,
    path: Path | None,
    *,
    quiet: bool,
    wait: bool = False,
    what: str = "tasks",
    named: str | None = None,
) -> pa.Table:
    """Work through an evaluation whose rows and figures will be written to a folder.

    Args:
        evaluation: What is asked.
        total: Number of tasks or scenarios that it is asked about.
        name: What to call them.
        folder: Where rows and figures will be written; it is checked before anything is paid for.
        path: The store, created if missing; None for that of the settings.
        quiet: Whether to print no progress.
        wait: Whether to wait for requests that were sent together.
        what: The word for what is counted.
        named: Name of the evaluation in its folder; None for that of the run.

    Returns:
        The result rows, in the schema of that kind of evaluation.

    Raises:
        UsageError: The folder holds something else.
        RunStopped: Interrupted, out of money, or the disk refused; the same command resumes.
        ProviderError: The provider cannot be asked, or did not read a single request; likewise.
    """
    check_out(folder, named or evaluation.run_id)
    store = open_store(path, create=True)
    if not quiet:
        click.echo(printable(f"run {evaluation.run_id}: {total} {what} of {name}"), err=True)
    table = work_through(evaluation, store, total, quiet=quiet, wait=wait, what=what)
    check_read(table, store, evaluation.run_id)
    return table


def work_through(
    evaluation: Evaluation | ScoredRun[Any],
    store: Store,
    total: int,
    *,
    quiet: bool,
    wait: bool = False,
    what: str = "tasks",
) -> pa.Table:
    """Ask and score, with a line of progress every few seconds.

    Args:
        evaluation: What is asked.
        store: Where the ledger and the rows are.
        total: Tasks or scenarios, for the progress.
        quiet: Whether to print no progress.
        wait: Whether to wait for requests that were sent together.
        what: The word for what is counted.

    Returns:
        The result rows, in the schema of that kind of evaluation.

    Raises:
        RunStopped: Interrupted, out of money, or the disk refused; the same command resumes.
        ProviderError: The provider cannot be asked; likewise.
    """
    progress = _Progress(total, quiet, what, paced=evaluation.access.channel == "single")
    with _resumable(evaluation.run_id):
        return asyncio.run(_work(evaluation, store, progress, wait))


async def _work(evaluation: Evaluation | ScoredRun[Any], store: Store, progress: _Progress, wait: bool) -> pa.Table:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is not None:
        # SIGTERM ends it as Ctrl-C does: stopped, resumable.
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    return await evaluation.run(store, on_task=progress.task, on_retry=progress.retry, wait=wait)


@contextmanager
def _resumable(run_id: str) -> Iterator[None]:
    """Add to any error that ends an evaluation early how to resume it."""
    again = "the answers so far are kept; the same command resumes, and asks only for the rest"
    try:
        yield
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise RunStopped(f"run {run_id} was interrupted", remedy=again) from None
    except RunWaiting as error:
        error.remedy = f"{again}; with --wait it waits for the answers"
        raise
    except BudgetReached as error:
        error.remedy = f"{again}; give it a larger --budget-usd"
        raise
    except (ProviderError, RunStopped) as error:
        error.remedy = f"{error.remedy or 'fix the problem'}; {again}"
        raise
    except (StoreLocked, CorruptStore, SchemaMismatch):
        raise
    except StoreError as error:
        remedy = f"{error.remedy or 'fix the problem'}; {again}"
        raise RunStopped(f"run {run_id} was stopped: {error.message}", file=error.file, remedy=remedy) from error


class _Progress:
    """Prints on standard error how many tasks are done, and how long the rest will take."""

    def __init__(self, total: int, quiet: bool, what: str, *, paced: bool = True) -> None:
        self._total = total
        self._what = what
        self._quiet = quiet
        self._done = 0
        # Answers to a batch come when they suit its provider, not at a pace.
        self._left = TimeLeft(total, time.monotonic) if paced else None
        self._last = time.monotonic()

    def task(self, task: AskedAbout) -> None:
        """Count a task; its twin does not count."""
        self._done += task.variant is None
        left = ""
        if self._left is not None:
            self._left.update(self._done)
            left = self._left.text
        self._say(f"{self._done}/{self._total} {self._what}" + (f"; {left}" if left else ""))

    def retry(self, retry: Retry) -> None:
        """Report that a request waits for another attempt."""
        reason = " ".join(retry.error.message.split())[:200]
        self._say(f"attempt {retry.attempt} in {retry.wait_s:.0f} s: {reason}")

    def _say(self, line: str) -> None:
        if not self._quiet and time.monotonic() - self._last >= _EVERY_S:
            self._last = time.monotonic()
            try:
                click.echo(line, file=sys.stderr)
            except BrokenPipeError:
                # A reader that has gone away is no reason to stop.
                self._quiet = True
