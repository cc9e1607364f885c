"""``hazardmill run preview``."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from hazardmill.cli.options import GroupedCommand, json_option, print_json, store_option
from hazardmill.cli.progress import RunProgress
from hazardmill.cli.run.config import new_config, refuse_scenarios
from hazardmill.cli.run.options import preview_options
from hazardmill.cli.run.work import resumable, show_spent, warn_unrecorded
from hazardmill.errors import BudgetReached, ProviderError, RunStopped, StoreError
from hazardmill.ingest.intake import shelve
from hazardmill.records import Record
from hazardmill.report.cost import COST_TABLES, cost
from hazardmill.report.preview import DialoguePreview, Preview
from hazardmill.report.why.build import build_story
from hazardmill.runs.config import RunConfig
from hazardmill.runs.inputs import find_records, records_of
from hazardmill.runs.run import Run
from hazardmill.store.run_ids import new_run_id
from hazardmill.store.store import Store
from hazardmill.store_access import open_store

_AGAIN: Final = "then preview again: nothing was kept"


@click.command(
    cls=GroupedCommand,
    epilog="Example: hazardmill run preview --source neiss --input neiss2019.tsv --model openai/gpt-4o-mini",
)
@preview_options
@click.option(
    "--n",
    "number",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Number of records per source, beginning with the first.",
)
@click.option("--keep", is_flag=True, help="Keep the run in the store; otherwise records and answers are discarded.")
@store_option
@json_option
def preview(
    sources: tuple[str, ...],
    inputs: tuple[str, ...],
    wheres: tuple[str, ...],
    number: int,
    keep: bool,
    replay: str | None,
    store_path: Path | None,
    as_json: bool,
    **given: Any,  # noqa: ANN401  # values of the options that make a configuration, which checks them
) -> None:
    """Show step by step what `run generate` makes of the first records.

    Takes the same options as `run generate`. Each record goes through all stages, and each step is shown as it comes:
    the record, the danger found in it, the code of each draft, what each check and the judge said, and both plans.
    The requests cost money, as in a real run. Nothing is stored unless --keep is given; the preview is then stored as a
    run like any other, and its answers are not paid for again.
    """  # noqa: DOC501  # the docstring is the command's help
    # Whatever the settings say: nobody would look for the answers to a batch again.
    given |= {"batch": False, "exchange": None}
    config = new_config(sources, inputs, wheres, (str(number),), replay, given)
    refuse_scenarios(config)
    config = config.model_copy(update={"exchange": None})
    place, run_id = open_store(store_path, create=True), new_run_id("preview")
    if keep:
        with resumable(place, run_id, begun=False):
            preview_run(place, config, run_id, kept=True, as_json=as_json)
        return
    if given["budget_id"] is not None:
        raise click.UsageError(
            "only runs in the store can share a budget: give --keep with --budget-id, or leave out --budget-id"
        )
    with _temporary_store(place, config) as (store, config):
        preview_run(store, config, run_id, kept=False, as_json=as_json)


@contextmanager
def _temporary_store(place: Store, config: RunConfig) -> Iterator[tuple[Store, RunConfig]]:
    """Yield a temporary store, with the records that a run on ``place`` would take from it, and its configuration.

    Raises:
        InputError: There is no record.
        RunStopped: The block was interrupted or raised this; the remedy does not mention the temporary store.
        BudgetReached: The block raised it; the remedy is a larger budget.
        ProviderError: The block raised it; the remedy does not mention the temporary store.
        StoreError: The temporary store cannot be written, or the store to replay from cannot be read.
    """
    find_records(place, config)
    records = [record for item in config.inputs if item.path is None for record in records_of(place, item)]
    with empty_store(place, config) as (store, changed):
        if records:
            shelve(store, records)
        yield store, changed


@contextmanager
def empty_store(place: Store, config: RunConfig) -> Iterator[tuple[Store, RunConfig]]:
    """Yield a temporary store without records, and the configuration of a run on it.

    Args:
        place: The store that would be used; replays are read from it.
        config: The run.

    Raises:
        RunStopped: The block was interrupted or raised this; the remedy does not mention the temporary store.
        BudgetReached: The block raised it; the remedy is a larger budget.
        ProviderError: The block raised it; the remedy does not mention the temporary store.
        StoreError: The temporary store cannot be written, or the store to replay from cannot be read.
    """
    changed: dict[str, Any] = {"budget_id": None}
    if config.backend == "replay" and config.replay_store is None:
        changed["replay_store"] = Path(place.address)
    try:
        with tempfile.TemporaryDirectory(prefix="hazardmill-preview-") as folder:
            yield Store(Path(folder) / "store"), config.model_copy(update=changed)
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise RunStopped("the preview was interrupted", remedy="preview again; nothing was kept") from None
    except BudgetReached as error:
        error.remedy = f"give it a larger --budget-usd, {_AGAIN}"
        raise
    except (ProviderError, RunStopped) as error:
        error.remedy = f"{error.remedy or 'fix the problem'}; {_AGAIN}"
        raise
    except StoreError as error:
        if error.file is not None and Path(error.file) == config.replay_store:
            raise
        remedy = "free some space in the folder for temporary files, or give --keep and --store"
        raise StoreError(f"the preview cannot write its temporary store: {error.message}", remedy=remedy) from error


def preview_run(
    store: Store,
    config: RunConfig,
    run_id: str,
    *,
    kept: bool,
    as_json: bool,
    records: Sequence[Record] = (),
) -> None:
    """Work through a run, and show its steps as they come; as JSON, all of them at the end.

    Args:
        store: Where the run writes.
        config: The run.
        run_id: Its id.
        kept: Whether the store is kept.
        as_json: Whether to print JSON.
        records: The records of a run that reads none, such as dialogues.
    """
    run, _ = Run.start(store, config, run_id, records=records)
    # Wider lines are hard to read.
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    watch = DialoguePreview if config.kind == "hazard_task" else Preview
    told = watch(run.selection, _print_nothing if as_json else _print, width)
    try:
        with run.under_way():
            asyncio.run(_work(run, told, RunProgress(len(run.selection), quiet=as_json)))
    finally:
        told.broken_off()
    if as_json:
        print_json(_to_json(run, kept))
        return
    click.echo()
    show_spent(store, run_id)
    if kept:
        click.echo(f"kept as run {run_id} in {store.address}")
    elif records:
        # Of a run that reads no records there is no preview to keep: the run itself is asked for alike.
        click.echo("nothing was kept")
    else:
        click.echo("nothing was kept; --keep keeps the run, and its answers are not paid for again")


async def _work(run: Run, told: Preview, progress: RunProgress) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is not None:
        # SIGTERM ends it as Ctrl-C does.
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    async with run.session(progress.on_retry, told) as session:
        await session.work_through(run.waves(), told.ended)
    warn_unrecorded(session.unrecorded)


def _to_json(run: Run, kept: bool) -> dict[str, Any]:
    """Return everything about the run as JSON values; for each record, what ``hazardmill why`` shows."""
    stories = [build_story(run.store, record_id, run.run_id, reread=False) for record_id in run.selection]
    return {
        "run_id": run.run_id,
        "store": run.store.address if kept else None,
        "outcomes": run.counts(),
        "cost": run.store.query(lambda views: cost(views, [run.run_id]), COST_TABLES).to_json(),
        "records": [story.model_dump(mode="json") for story in stories],
    }


def _print(text: str) -> None:
    click.echo(text, nl=False)


def _print_nothing(text: str) -> None:
    """Ignore the text."""
