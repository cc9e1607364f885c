"""Working through a run in this process, with progress, and showing what came of it."""

from __future__ import annotations

import asyncio
import shlex
import signal
from typing import Any

import click

from hazardmill.commands.options import print_json
from hazardmill.commands.progress import RunProgress
from hazardmill.errors import ProviderError, RunStopped
from hazardmill.report.summary import funnel_and_cost
from hazardmill.stages.run import Run
from hazardmill.store.store import Store


def work_through(run: Run, *, quiet: bool, afterwards: str | None = None) -> dict[str, int]:
    """Work on everything pending, then write down how the run ended.

    Args:
        run: The run.
        quiet: Whether to show no progress.
        afterwards: The command that does what else was asked for, told with the one that goes on with a stopped run.

    Returns:
        Records by outcome.

    Raises:
        RunStopped: Interrupted; the run can be resumed.
        ProviderError: The provider cannot be asked; the run can be resumed.
    """
    go_on = "; then: ".join(filter(None, [command("run", "resume", run.run_id, "--store", run.store.path), afterwards]))
    try:
        with run.under_way():
            asyncio.run(_work(run, quiet))
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise RunStopped(
            f"run {run.run_id} was interrupted; what it had is kept", remedy=f"go on with: {go_on}"
        ) from None
    except ProviderError as error:
        error.remedy = f"{error.remedy or 'mend that'}; then: {go_on}"
        raise
    return run.counts()


def command(*words: object) -> str:
    """A command of ours as it is to be typed."""
    return shlex.join(["hazardmill", *map(str, words)])


async def _work(run: Run, quiet: bool) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is not None:
        # SIGTERM ends a run as Ctrl-C does: stopped, resumable.
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    batches = run.batches()
    with RunProgress(sum(map(len, batches)), quiet=quiet) as progress:
        async with run.session(progress.on_retry) as session:
            for batch in batches:
                await session.work(batch, progress)


def show(store: Store, run_ids: list[str], *, as_json: bool, extra: dict[str, Any] | None = None) -> None:
    """Print funnel and cost of runs, as tables or as one JSON value, then ``extra`` line by line.

    Of ``extra``, a ``path`` with its ``count`` of things is one line, and null is none.
    """
    losses, spent = funnel_and_cost(store, run_ids)
    if as_json:
        print_json({"run_ids": run_ids, "funnel": losses.to_json(), "cost": spent.to_json(), **(extra or {})})
        return
    from hazardmill.report.console import print_cost, print_funnel

    print_funnel(losses)
    print_cost(spent)
    for name, value in (extra or {}).items():
        if isinstance(value, dict):
            value = f"{value['path']} ({value['count']})"
        if value is not None:
            click.echo(f"{name + ':':14}{value}")
