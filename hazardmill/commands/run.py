"""``hazardmill run generate | resume | list``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hazardmill.commands.options import (
    facts,
    json_option,
    lens_of,
    named_values,
    open_store,
    print_json,
    show_rejects,
    store_option,
)

if TYPE_CHECKING:
    from hazardmill.stages.intake import Intake


@click.group(epilog="Example: hazardmill run list")
def run() -> None:
    """Generate tasks, resume a run, list runs."""


@run.command(epilog="Example: hazardmill run generate --source neiss --input neiss2019.tsv --limit 300")
@click.option("--source", "sources", multiple=True, required=True, help="Name of a source; repeat for several.")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="[SOURCE=]PATH",
    help="File or folder to read the source's records from; without it, those in the store.",
)
@click.option("--limit", "limits", multiple=True, metavar="[SOURCE=]N", help="At most so many records.")
@click.option("--where", "wheres", multiple=True, metavar="[SOURCE:]NAME=VALUE", help="Only records with this fact.")
@click.option("--model", help="Model of all stages, as litellm names it [default: setting `model`].")
@click.option("--extract-model", help="Model of the extract stage.")
@click.option("--judge-model", help="Model of the judge stage.")
@click.option("--api-base", help="Address of an OpenAI-compatible server; no key in it, that goes in the environment.")
@click.option(
    "--replay",
    is_flag=False,
    flag_value="",
    metavar="[STORE]",
    help="Answer from the ledger of this store, or of STORE; an unknown request stops the run.",
)
@click.option("--jail", type=click.Choice(["auto", "full", "minimal"]), help="Jail profile [default: setting `jail`].")
@click.option("--batch-size", type=click.IntRange(1, 1000), help="Records a batch.")
@click.option("--concurrency", type=click.IntRange(1, 1000), help="Records worked on at once.")
@click.option("--cross-check", type=click.FloatRange(0, 1), help="Share of accepted tasks shown to ENHSP and Tamer.")
@click.option("--sample", type=click.IntRange(0), default=0, show_default=True, help="Which draw of every answer.")
@click.option("--run-id", help="Name of the run [default: from the time].")
@store_option
@json_option
def generate(
    sources: tuple[str, ...],
    inputs: tuple[str, ...],
    limits: tuple[str, ...],
    wheres: tuple[str, ...],
    model: str | None,
    extract_model: str | None,
    judge_model: str | None,
    api_base: str | None,
    replay: str | None,
    jail: str | None,
    batch_size: int | None,
    concurrency: int | None,
    cross_check: float | None,
    sample: int,
    run_id: str | None,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Turn records of one or more sources into tasks."""
    from hazardmill.commands.running import show, work_through
    from hazardmill.llm.requests import OFFLINE_MODEL
    from hazardmill.settings import load_settings
    from hazardmill.stages.config import RunConfig, RunInput
    from hazardmill.stages.mill import Models
    from hazardmill.stages.run import Run

    settings = load_settings()
    names = tuple(dict.fromkeys(sources))
    paths, most = named_values(inputs, names, "--input"), named_values(limits, names, "--limit")
    asked = model or settings.model
    models = Models(
        extract=extract_model or settings.extract_model or asked,
        author=asked,
        judge=judge_model or settings.judge_model or asked,
    )
    offline = {name == OFFLINE_MODEL for name in (models.extract, models.author, models.judge)}
    if len(offline) > 1:
        raise click.UsageError("offline-author cannot be mixed with other models: name a model for each stage")
    live = "offline" if True in offline else "litellm"
    address = api_base or settings.api_base
    if live == "offline":
        if api_base or (address and not model and "model" not in settings.model_fields_set):
            raise click.UsageError("offline-author asks no server,: give --model with the address of one")
        address = None
    where = facts(wheres, names)
    config = RunConfig.model_validate(
        {
            "inputs": [
                RunInput(source=name, path=_path(paths.get(name)), limit=_limit(most.get(name)), where=where[name])
                for name in names
            ],
            "backend": live if replay is None else "replay",
            "replay_backend": live,
            # Absolute: the run may be resumed from another folder.
            "replay_store": Path(replay).absolute() if replay else None,
            "models": models,
            "api_base": address,
            "jail": jail or settings.jail,
            "batch_size": batch_size or settings.batch_size,
            "concurrency": concurrency or settings.concurrency,
            "cross_check": settings.cross_check if cross_check is None else cross_check,
            "sample": sample,
        }
    )
    store = open_store(store_path, create=True)
    started, intakes = Run.start(store, config, run_id)
    if not as_json:
        click.echo(f"run {started.run_id}: {len(started.selection)} records", err=True)
        _show_losses(intakes)
    work_through(started, quiet=as_json)
    lens_of(store)
    show(store, [started.run_id], as_json=as_json)


@run.command(epilog="Example: hazardmill run resume generate-20260131-235959-1a2b3c")
@click.argument("run_id")
@store_option
@json_option
def resume(run_id: str, store_path: Path | None, as_json: bool) -> None:
    """Go on with a run that was stopped or killed; what is done or paid for is not done again."""
    from hazardmill.commands.running import show, work_through
    from hazardmill.stages.run import Run

    store = open_store(store_path)
    store.recover()
    going_on = Run.load(store, run_id)
    pending = len(going_on.pending())
    if not as_json:
        click.echo(f"run {run_id}: {pending} of {len(going_on.selection)} records are left", err=True)
    work_through(going_on, quiet=as_json)
    lens_of(store)
    show(store, [run_id], as_json=as_json)


@run.command("list", epilog="Example: hazardmill run list --json")
@store_option
@json_option
def list_runs(store_path: Path | None, as_json: bool) -> None:
    """List the runs of a store with their state and counts, oldest first."""
    import json

    from hazardmill.stages.run import run_states, shown_state

    store = open_store(store_path)
    rows = [
        {
            "run_id": row["run_id"],
            "kind": row["kind"],
            "state": shown_state(store, row),
            "started": row["started"].isoformat(),
            "changed": row["at"].isoformat(),
            "counts": json.loads(row["counts"]) if row["counts"] else {},
        }
        for row in run_states(store)
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        counts = row["counts"].get("outcomes", row["counts"])
        shown = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        click.echo(f"{row['run_id']}  {row['kind']:8}  {row['state']:9}  {shown}")


def _show_losses(intakes: tuple[Intake, ...]) -> None:
    """Print what of each input came to no record, and the first of these."""
    for intake in intakes:
        if intake.counts.rejects or intake.counts.repeats:
            click.echo(f"  {intake.source}: {intake.counts.rejects} rejects, {intake.counts.repeats} repeats", err=True)
    show_rejects((reject for intake in intakes for reject in intake.examples), err=True)


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _limit(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or int(text) < 1:
        raise click.BadParameter(f"{text!r} is no number of records", param_hint="--limit")
    return int(text)
