"""Works through a run in this process, with progress, and shows the results."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import click

from hazardmill.cli.options import print_json, write_lens
from hazardmill.cli.progress import RunProgress
from hazardmill.cli.rejects import show_rejects
from hazardmill.errors import (
    BudgetReached,
    CorruptStore,
    NotRecorded,
    ProviderError,
    RunStopped,
    RunWaiting,
    SchemaMismatch,
    StoreError,
    StoreLocked,
)
from hazardmill.formalism.search.engines.external import ENGINES, available
from hazardmill.ingest.intake import Intake
from hazardmill.llm.charged_prices import describe_charged
from hazardmill.report.console import print_cost, print_funnel
from hazardmill.report.cost import COST_TABLES, cost
from hazardmill.report.summary import funnel_and_cost
from hazardmill.report.wording import usd_per_task, usd_sum
from hazardmill.reporting.numbers import plural, share, usd
from hazardmill.runs.budgets import suggest_budget
from hazardmill.runs.overview.answering_models import describe_answering, describe_asked, read_answering_models
from hazardmill.runs.overview.pace import RunPace
from hazardmill.runs.recording import older_answers
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from hazardmill.text.shell import command

_REASONS_SHOWN: Final = 5


def work_through(run: Run, *, quiet: bool, afterwards: str | None = None, wait: bool = False) -> dict[str, int]:
    """Work on everything pending, then write down how the run ended.

    Args:
        run: The run.
        quiet: Whether to show no progress.
        afterwards: The command to run after the run is resumed, for the error message of a stopped run.
        wait: Whether to wait for requests that were sent together.

    Returns:
        Records by outcome.

    Raises:
        RunStopped: Interrupted, stopped on purpose, out of money, or the disk refused; the run can be resumed.
        RunWaiting: Requests were sent together, and their answers are not there yet.
        ProviderError: The provider cannot be asked; the run can be resumed.
        StoreLocked: Another process works on the run.
        CorruptStore, SchemaMismatch: The store cannot be read.
    """
    _warn_missing_engines(run)
    with resumable(run.store, run.run_id, afterwards, wanted=lambda: _suggest_budget(run)), run.under_way():
        asyncio.run(_work(run, quiet, wait))
    return run.counts()


def _warn_missing_engines(run: Run) -> None:
    """Report once which engines a cross-check has to do without."""
    missing = [engine for engine in ENGINES if not available(engine)] if run.config.cross_check else []
    if missing:
        are = "are" if len(missing) > 1 else "is"
        click.echo(
            f"cross-check: {' and '.join(missing)} {are} not installed and will be skipped "
            f"[pip install 'hazardmill[{','.join(missing)}]', or in a checkout make engines; docs/licences.md]",
            err=True,
        )


def _suggest_budget(run: Run) -> float | None:
    """Return a budget, in USD, that should suffice to finish the run; None if it has no limit."""
    limit = run.config.budget_usd
    return None if limit is None else suggest_budget(run.store, run.run_id, limit, len(run.selection))


@contextmanager
def resumable(
    store: Store,
    run_id: str,
    afterwards: str | None = None,
    *,
    begun: bool = True,
    wanted: Callable[[], float | None] = lambda: None,
) -> Iterator[None]:
    """Add to any error that ends a run early how to resume it.

    Args:
        store: The store of the run.
        run_id: The run.
        afterwards: The command to run after the run is resumed.
        begun: Whether the run is already in the store. If not, it is looked up: an error while it starts can come
            before or after it is written.
        wanted: Returns the budget to suggest, in USD, if the current one is used up.

    Raises:
        KeyboardInterrupt: The run was interrupted before it was in the store.
        CancelledError: Likewise.
        RunStopped: The run was interrupted, or the disk refused; what it holds is whole.
        HazardmillError: Any other error as it came; those of a provider, and deliberate stops, say how to resume.
    """  # noqa: DOC501  # HazardmillError stands for its subclasses

    def go_on_with(*options: object) -> str:
        return "; then: ".join(
            filter(None, [command("run", "resume", run_id, "--store", store.address, *options), afterwards])
        )

    go_on = go_on_with()
    try:
        yield
    except (KeyboardInterrupt, asyncio.CancelledError):
        if not (begun or _is_there(store, run_id)):
            raise
        raise RunStopped(
            f"run {run_id} was interrupted; its progress is kept", remedy=f"resume with: {go_on}"
        ) from None
    except BudgetReached as error:
        usd = wanted()
        more = () if usd is None else ("--budget-usd", f"{usd:g}")
        error.remedy = f"paid answers are kept; resume with a larger budget: {go_on_with(*more)}"
        raise
    except RunWaiting as error:
        error.remedy = f"look again later with: {go_on}; or wait for the answers: {go_on_with('--wait')}"
        raise
    except (ProviderError, RunStopped) as error:
        error.remedy = f"{error.remedy or 'fix the problem'}; then: {go_on}"
        raise
    except (StoreLocked, CorruptStore, SchemaMismatch):
        raise
    except StoreError as error:
        if not (begun or _is_there(store, run_id)):
            raise
        remedy = f"{error.remedy or 'fix the problem'}; then: {go_on}"
        raise RunStopped(f"run {run_id} was stopped: {error.message}", file=error.file, remedy=remedy) from error


def _is_there(store: Store, run_id: str) -> bool:
    try:
        return store.count("runs", {"run_id": run_id}) > 0
    except StoreError:
        return False


async def _work(run: Run, quiet: bool, wait: bool) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is not None:
        # SIGTERM ends a run as Ctrl-C does: stopped, resumable.
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    waves = run.waves()
    pending = sum(map(len, waves))
    pace = RunPace(run.config, pending)
    with RunProgress(pending, quiet=quiet, pace=pace) as progress:
        async with run.session(progress.on_retry, pace, wait=wait) as session:
            progress.tally = pace.tally = session.ledger.tally
            await session.work_through(waves, progress)
    warn_unrecorded(session.unrecorded)
    older = older_answers(run.store, run.run_id)
    if older is not None:
        click.echo(older, err=True)


def warn_unrecorded(errors: Sequence[NotRecorded]) -> None:
    """Print why records stay pending, one line for each of the first few."""
    for error in errors[:_REASONS_SHOWN]:
        click.echo(f"stays pending: {error}", err=True)
    if len(errors) > _REASONS_SHOWN:
        click.echo(f"and {len(errors) - _REASONS_SHOWN} more without a recorded answer", err=True)


def show(store: Store, run_ids: list[str], *, as_json: bool, extra: dict[str, Any] | None = None) -> None:
    """Print funnel and cost of runs and who answered, as text or as one JSON value, then ``extra`` line by line.

    Args:
        store: The store of the runs.
        run_ids: Their ids.
        as_json: Whether to print one JSON value, which includes ``extra``.
        extra: Further results by name. A dict with ``path`` and ``count`` becomes one line; None is left out.
    """
    losses, spent = funnel_and_cost(store, run_ids)
    answered = read_answering_models(store, run_ids)
    models = list(dict.fromkeys(model for run_id in run_ids for model in answered.get(run_id, ())))
    if as_json:
        by = [model.model_dump() for model in models]
        result = {"run_ids": run_ids, "answered_by": by, "funnel": losses.to_json(), "cost": spent.to_json()}
        print_json({**result, **(extra or {})})
        return

    print_funnel(losses)
    print_cost(spent)
    click.echo(describe_answering(models))
    for name, value in (extra or {}).items():
        if isinstance(value, dict):
            value = f"{value['path']} ({value['count']})"
        if value is not None:
            click.echo(f"{name + ':':14}{value}")


def show_spent(store: Store, run_id: str, *, err: bool = False) -> None:
    """Print one line with what a run has spent so far, how certain that is, and the cost per task."""
    found = store.query(lambda views: cost(views, [run_id]), COST_TABLES)
    paid = found.paid
    unknown = f", of {plural(paid.usd.unknown, 'request')} unknown" if paid.usd.unknown else ""
    most = usd(paid.usd_upper.known) if not paid.usd_upper.unknown else "any sum"
    overrun = usd_sum(paid.usd_overrun) if paid.overruns else "none"
    parts = [
        f"spent: {usd(paid.usd.known)}{unknown}; at most {most}",
        f"overrun: {overrun}",
        f"input from the cache: {share(paid.cache_hit_share)}",
        f"per validated task: {usd_per_task(found)}",
    ]
    click.echo("; ".join(parts), err=err)


def work_and_show(run: Run, intakes: tuple[Intake, ...], begins: str, as_json: bool, *, wait: bool = False) -> None:
    """Work through a run and show its results.

    Args:
        run: The run.
        intakes: What was just read from its inputs.
        begins: The line to print before the work.
        as_json: Whether to print only the result, as JSON.
        wait: Whether to wait for requests that were sent together.

    Raises:
        RunStopped: Interrupted, stopped on purpose, out of money, or the disk refused; the run can be resumed.
        ProviderError: The provider cannot be asked; the run can be resumed.
    """
    if not as_json:
        click.echo(f"{begins}; {describe_asked(run.config)}", err=True)
        for line in describe_charged(run.config, run.resources.prices()):
            click.echo(line, err=True)
        _show_losses(intakes)
    try:
        work_through(run, quiet=as_json, wait=wait)
    except (ProviderError, RunStopped):
        if not as_json:
            show_spent(run.store, run.run_id, err=True)
        raise
    write_lens(run.store)
    show(run.store, [run.run_id], as_json=as_json)
    if not as_json:
        show_spent(run.store, run.run_id)


def _show_losses(intakes: tuple[Intake, ...]) -> None:
    """Print how many items of each input did not become records, with the first of them."""
    for intake in intakes:
        if intake.counts.rejects or intake.counts.repeats:
            click.echo(f"  {intake.source}: {intake.counts.rejects} rejects, {intake.counts.repeats} repeats", err=True)
    show_rejects((reject for intake in intakes for reject in intake.examples), err=True)
