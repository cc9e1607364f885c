"""``hazardmill run resume``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hazardmill.cli.options import GroupedCommand, json_option, store_option, wait_option
from hazardmill.cli.run.config import override_config
from hazardmill.cli.run.options import settings_options
from hazardmill.cli.run.work import resumable, work_and_show
from hazardmill.runs.run import Run
from hazardmill.store.run_ids import new_run_id
from hazardmill.store_access import open_store


@click.command(cls=GroupedCommand, epilog="Example: hazardmill run resume generate-20260131-235959-1a2b3c")
@click.argument("run_id")
@click.option(
    "--child", is_flag=True, help="Start a new run with the changes; it reuses everything they do not affect."
)
@click.option("--child-id", help="Name of the child run [default: from the time].")
@settings_options
@store_option
@wait_option
@json_option
def resume(
    run_id: str,
    child: bool,
    child_id: str | None,
    limits: tuple[str, ...],
    store_path: Path | None,
    wait: bool,
    as_json: bool,
    **given: Any,  # noqa: ANN401  # values of the options that make a configuration, which checks them
) -> None:
    """Resume a run that was stopped or killed; nothing is paid twice.

    A run keeps the settings it was started with; you may give the same values again as options. Options that do not
    alter results may differ, and then apply to later resumes too: budget, requests and tokens per minute, timeout per
    attempt, deadline, size of answers, wave size, concurrency, cross-check share, and whether requests are sent in
    batches. If any other option differs, or if the prompts, the jail's layers or hazardmill itself have changed, the
    command lists the changes and does nothing. To continue with these changes, add `--child`: it starts a new run, on
    the same records unless `--limit` differs.

    If the run waits for a batch or an exchange folder, the command collects the answers that are there, and continues
    the run as far as they allow.
    """  # noqa: DOC501  # the docstring is the command's help
    if child_id is not None and not child:
        raise click.UsageError("--child-id names a child run: give --child too")
    store = open_store(store_path)
    with resumable(store, run_id, begun=False):
        store.recover()
    found = Run.load(store, run_id)
    config = override_config(found.config, limits, given)
    if found.made.unknown and not as_json:
        names = " and ".join(found.made.unknown)
        click.echo(
            f"run {run_id} does not record which {names} it was started with, so these are not compared", err=True
        )
    if child:
        child_id = child_id or new_run_id("generate")
        with resumable(store, child_id, begun=False):
            started, intakes = found.child(config, child_id)
        work_and_show(
            started,
            intakes,
            f"run {started.run_id}, a child of {run_id}: {len(started.selection)} records",
            as_json,
            wait=wait,
        )
        return
    going_on = found.resume(config)
    pending = len(going_on.pending())
    work_and_show(
        going_on, (), f"run {run_id}: {pending} of {len(going_on.selection)} records are left", as_json, wait=wait
    )
