"""``hazardmill run batch``."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.errors import UsageError
from hazardmill.llm.batches.providers import open_batches
from hazardmill.llm.batches.sent import TABLE, SentBatch, forget, open_batches_of
from hazardmill.llm.ledger import Ledger
from hazardmill.reporting.numbers import duration
from hazardmill.run_options import ATTEMPT_TIMEOUT_S, MAX_ANSWER_BYTES
from hazardmill.store.store import Store
from hazardmill.store_access import open_store
from hazardmill.text.printable import printable


@click.command(epilog="Example: hazardmill run batch generate-20260131-235959-1a2b3c-0001 --is batch_abc")
@click.argument("name", required=False)
@click.option("--is", "batch_id", metavar="ID", help="The batch exists at the provider, under this id.")
@click.option("--none", "is_none", is_flag=True, help="The provider does not have it: send its open requests again.")
@click.option("--cancel", is_flag=True, help="Ask the provider to stop the batch; answers it has given are recorded.")
@store_option
@json_option
def batch(
    name: str | None, batch_id: str | None, is_none: bool, cancel: bool, store_path: Path | None, as_json: bool
) -> None:
    """List the batches of all runs, or settle what became of one.

    A batch is written down before it is created. If the process is killed in between, and the provider does not list
    batches by name, only you can find out whether it exists. Record that with --is or --none, then use `run resume`.
    """  # noqa: DOC501  # the docstring is the command's help
    chosen = sum((batch_id is not None, is_none, cancel))
    if chosen > 1 or (chosen and name is None):
        raise UsageError(
            "--is, --none and --cancel apply to one batch, one at a time", remedy="give NAME and one of them"
        )
    store = open_store(store_path)
    if chosen:
        assert name is not None  # checked above
        _change(store, _open_batch(store, name), batch_id, is_none=is_none)
        return
    rows = [row for row in store.rows(TABLE) if name in (None, row["batch"])]
    if as_json:
        print_json([{**row, **{key: row[key].isoformat() for key in ("created_at", "at")}} for row in rows])
        return
    for row in sorted(rows, key=lambda row: row["created_at"]):
        click.echo(printable(_line(row)))


def _open_batch(store: Store, name: str) -> tuple[str, SentBatch]:
    """Return a batch that is not done, with the id of its run."""
    for row in store.rows(TABLE, {"batch": name}, ["run_id"]):
        for found in open_batches_of(store, row["run_id"]):
            if found.name == name:
                return row["run_id"], found
    raise UsageError(f"there is no open batch named {name}", remedy="see: hazardmill run batch")


def _change(store: Store, found: tuple[str, SentBatch], batch_id: str | None, *, is_none: bool) -> None:
    """Write down what became of a batch, or ask its provider to stop it."""
    run_id, batch = found
    if batch_id is None and not is_none:
        if batch.channel == "exchange":
            raise UsageError(
                f"{batch.name} is a file in an exchange folder, and cannot be cancelled", remedy="leave it unanswered"
            )
        if batch.batch_id is None:
            raise UsageError(
                f"the provider's id of {batch.name} is not known yet", remedy=f"resume run {run_id}, which looks for it"
            )
        asyncio.run(_cancel(batch))
        click.echo(
            f"{batch.name}: its provider was asked to stop it; resume run {run_id} to record the answers it has given"
        )
        return
    with store.writer(run_id) as writer:
        # Again, now that nobody else works on the run.
        _, batch = _open_batch(store, batch.name)
        if batch.state != "intended" and not is_none:
            raise UsageError(
                f"the provider's id of {batch.name} is already known: {batch.batch_id}", remedy="resume the run"
            )
        if is_none:
            forget(batch, Ledger(store, writer, run_id)).result()
        else:
            batch.batch_id, batch.state = batch_id, "sent"
            writer.append_sync({TABLE: [batch.row(run_id)]})
    click.echo(f"{batch.name}: written down; resume run {run_id}")


async def _cancel(batch: SentBatch) -> None:
    provider = open_batches(
        batch.model, api_base=batch.place, timeout_s=ATTEMPT_TIMEOUT_S, max_answer_bytes=MAX_ANSWER_BYTES
    )
    try:
        assert batch.batch_id is not None  # checked by the caller
        await provider.cancel(batch.batch_id)
    finally:
        await provider.close()


def _line(row: dict[str, Any]) -> str:
    age = duration((datetime.now(UTC) - row["created_at"]).total_seconds())
    parts = [
        f"{row['batch']}  {row['channel']:8}  {row['state']:10}",
        row["batch_id"],
        f"{row['answered']} of {row['requests']} requests answered",
        f"{age} old",
        row["end"],
        row["message"],
    ]
    return "  ".join(part for part in parts if part)
