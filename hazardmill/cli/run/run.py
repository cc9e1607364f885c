"""``hazardmill run estimate | preview | generate | resume | list | compare | recheck | record``."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hazardmill.cli.options import json_option, lens_of, print_json, show_rejects, store_option
from hazardmill.cli.run.compare import compare
from hazardmill.cli.run.estimate import estimate
from hazardmill.cli.run.options import generation_options, new_config, otherwise, settings_options
from hazardmill.cli.run.preview import preview
from hazardmill.cli.run.recheck import recheck
from hazardmill.cli.run.record import record
from hazardmill.errors import ProviderError, RunStopped
from hazardmill.store_access import open_store

if TYPE_CHECKING:
    from hazardmill.ingest.intake import Intake
    from hazardmill.runs.run import Run
    from hazardmill.runs.status import RunSummary


@click.group(epilog="Example: hazardmill run list")
def run() -> None:
    """Estimate what a run costs, preview it; generate tasks; resume, list, compare, record runs; check drafts again."""


run.add_command(compare)
run.add_command(estimate)
run.add_command(preview)
run.add_command(recheck)
run.add_command(record)


@run.command(epilog="Example: hazardmill run generate --source neiss --input neiss2019.tsv --limit 300 --budget-usd 5")
@generation_options
@click.option("--run-id", help="Name of the run [default: from the time].")
@store_option
@json_option
def generate(
    sources: tuple[str, ...],
    inputs: tuple[str, ...],
    wheres: tuple[str, ...],
    limits: tuple[str, ...],
    replay: str | None,
    run_id: str | None,
    store_path: Path | None,
    as_json: bool,
    **given: Any,  # noqa: ANN401  # values of the options that make a configuration, which checks them
) -> None:
    """Turn records of one or more sources into tasks.

    What it will cost, `hazardmill run estimate` says beforehand, by the same options. With --budget-usd nothing is
    sent that could cost more than is left: the run then stops, and `run resume` with a larger budget goes on.
    """
    from hazardmill.cli.run.work import resumable
    from hazardmill.runs.run import Run
    from hazardmill.store.run_ids import new_run_id

    config = new_config(sources, inputs, wheres, limits, replay, given)
    store = open_store(store_path, create=True)
    run_id = run_id or new_run_id("generate")
    with resumable(store, run_id, begun=False):
        started, intakes = Run.start(store, config, run_id)
    _work(started, intakes, f"run {started.run_id}: {len(started.selection)} records", as_json)


@run.command(epilog="Example: hazardmill run resume generate-20260131-235959-1a2b3c")
@click.argument("run_id")
@click.option("--child", is_flag=True, help="Start a run of its own with what changed; it reuses what did not.")
@click.option("--child-id", help="Name of the child run [default: from the time].")
@settings_options
@store_option
@json_option
def resume(
    run_id: str,
    child: bool,
    child_id: str | None,
    limits: tuple[str, ...],
    store_path: Path | None,
    as_json: bool,
    **given: Any,  # noqa: ANN401  # values of the options that make a configuration, which checks them
) -> None:
    """Go on with a run that was stopped or killed; what is done or paid for is not done again.

    A run goes on with the settings it was started with; options may repeat them. What alters no result (budget, limits,
    deadline, timeout, batch size, concurrency, cross-check share) may differ, and then holds for later resumes too.
    Where anything else differs, or prompts, the jail's layers or hazardmill changed meanwhile, it says what, and does
    nothing: `--child` starts a run of its own on the same records.
    """
    from hazardmill.cli.run.work import resumable
    from hazardmill.runs.run import Run
    from hazardmill.store.run_ids import new_run_id

    if child_id is not None and not child:
        raise click.UsageError("--child-id names a child run: give --child too")
    store = open_store(store_path)
    with resumable(store, run_id, begun=False):
        store.recover()
    found = Run.load(store, run_id)
    config = otherwise(found.config, limits, given)
    if found.made.unknown and not as_json:
        names = " and ".join(found.made.unknown)
        click.echo(f"run {run_id} does not say with which {names} it was started: not compared", err=True)
    if child:
        child_id = child_id or new_run_id("generate")
        with resumable(store, child_id, begun=False):
            started, intakes = found.child(config, child_id)
        _work(started, intakes, f"run {started.run_id}, a child of {run_id}: {len(started.selection)} records", as_json)
        return
    going_on = found.resumed(config)
    pending = len(going_on.pending())
    _work(going_on, (), f"run {run_id}: {pending} of {len(going_on.selection)} records are left", as_json)


def _work(run: Run, intakes: tuple[Intake, ...], begins: str, as_json: bool) -> None:
    """Work a run through and show what came of it."""
    from hazardmill.cli.run.work import show, show_spent, work_through

    if not as_json:
        click.echo(begins, err=True)
        _show_losses(intakes)
    try:
        work_through(run, quiet=as_json)
    except (ProviderError, RunStopped):
        if not as_json:
            show_spent(run.store, run.run_id, err=True)
        raise
    lens_of(run.store)
    show(run.store, [run.run_id], as_json=as_json)
    if not as_json:
        show_spent(run.store, run.run_id)


@run.command("list", epilog="Example: hazardmill run list --json")
@store_option
@json_option
def list_runs(store_path: Path | None, as_json: bool) -> None:
    """List the runs of a store, oldest first: state, outcomes so far, what each paid itself, duration, parent."""
    from hazardmill.runs.status import listed_runs

    runs = listed_runs(open_store(store_path))
    if as_json:
        print_json([_flat(run) for run in runs])
        return
    for run in runs:
        click.echo(_line(run))


def _flat(run: RunSummary) -> dict[str, Any]:
    row = run.model_dump(mode="json", exclude={"paid"})
    return {**row, **run.paid.model_dump(mode="json", exclude={"last"})}


def _line(run: RunSummary) -> str:
    counts = run.counts.get("outcomes", run.counts)
    shown = ", ".join(f"{count} {name}" for name, count in counts.items() if count and name != "records")
    of = f" of shard {run.shard}" if run.shard else ""
    parts = [
        f"{run.run_id}  {run.kind:8}  {run.state:9}  {run.records} records{of}" + (f": {shown}" if shown else ""),
        _paid_text(run) if run.kind == "generate" else None,
        f"{run.started:%Y-%m-%d %H:%M:%S} UTC, {timedelta(seconds=round(run.duration_s))}",
        f"child of {run.parent_run_id}" if run.parent_run_id else None,
    ]
    return "  ".join(part for part in parts if part)


def _paid_text(run: RunSummary) -> str:
    """``0.0123 USD, 4,300 + 1,200 tokens``; where the cost is unknown, the most it can have been."""
    from hazardmill.reporting.numbers import usd

    paid = run.paid
    text = usd(paid.usd) if paid.usd is not None else f"unknown cost, at most {usd(paid.usd_upper)}"
    prompt, completion = (
        "unknown" if tokens is None else f"{tokens:,}" for tokens in (paid.prompt_tokens, paid.completion_tokens)
    )
    return f"{text}, {prompt} + {completion} tokens"


def _show_losses(intakes: tuple[Intake, ...]) -> None:
    """Print what of each input came to no record, and the first of these."""
    for intake in intakes:
        if intake.counts.rejects or intake.counts.repeats:
            click.echo(f"  {intake.source}: {intake.counts.rejects} rejects, {intake.counts.repeats} repeats", err=True)
    show_rejects((reject for intake in intakes for reject in intake.examples), err=True)
