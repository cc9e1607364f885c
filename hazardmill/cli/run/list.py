"""``hazardmill run list``."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.reporting.numbers import usd
from hazardmill.runs.overview.answering_models import describe_answering, describe_model
from hazardmill.runs.status import RunSummary, summarize_runs
from hazardmill.store_access import open_store


@click.command("list", epilog="Example: hazardmill run list --json")
@store_option
@json_option
def list_runs(store_path: Path | None, as_json: bool) -> None:
    """List the runs of a store, oldest first, with outcomes and cost.

    Each line also says which models answered, and has state, time of start and duration; it names the parent if the run
    is a child (`run resume --child`). The cost of a child does not include that of its parent.
    """
    runs = summarize_runs(open_store(store_path))
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
        _models_text(run),
        _paid_text(run) if run.kind == "generate" else None,
        f"{run.started:%Y-%m-%d %H:%M:%S} UTC, {timedelta(seconds=round(run.duration_s))}",
        f"child of {run.parent_run_id}" if run.parent_run_id else None,
    ]
    return "  ".join(part for part in parts if part)


def _models_text(run: RunSummary) -> str | None:
    """Say which models have answered, or else which are asked; nothing of a run that asks none."""
    if run.answered_by:
        return describe_answering(run.answered_by)
    return f"asks {', '.join(map(describe_model, run.models_asked))}" if run.models_asked else None


def _paid_text(run: RunSummary) -> str:
    """Return cost and tokens as text.

    Returns:
        ``$0.0123, 4,300 + 1,200 tokens``; for an unknown cost its upper bound. Without tokens if the run itself has
        none, because all its answers were replayed.
    """
    paid = run.paid
    text = usd(paid.usd) if paid.usd is not None else f"unknown cost, at most {usd(paid.usd_upper)}"
    if (paid.prompt_tokens, paid.completion_tokens) == (0, 0):
        return text
    if paid.prompt_tokens is None and paid.completion_tokens is None:
        return f"{text}, tokens unknown"
    prompt, completion = (
        "unknown" if tokens is None else f"{tokens:,}" for tokens in (paid.prompt_tokens, paid.completion_tokens)
    )
    return f"{text}, {prompt} + {completion} tokens"
