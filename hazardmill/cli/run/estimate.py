"""``hazardmill run estimate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.cli.run.config import new_config
from hazardmill.cli.run.options import generation_options
from hazardmill.reporting.numbers import usd
from hazardmill.runs.estimate import CostEstimate, Range, StageEstimate
from hazardmill.runs.estimate import estimate as work_out
from hazardmill.store_access import open_store


@click.command(epilog="Example: hazardmill run estimate --source neiss --model deepseek/deepseek-chat --limit 500")
@generation_options
@store_option
@json_option
def estimate(
    sources: tuple[str, ...],
    inputs: tuple[str, ...],
    wheres: tuple[str, ...],
    limits: tuple[str, ...],
    replay: str | None,
    store_path: Path | None,
    as_json: bool,
    **given: Any,  # noqa: ANN401  # values of the options that make a configuration, which checks them
) -> None:
    """Estimate what `run generate` with these options will ask and cost.

    Each figure is given as low, expected and high. Nothing is sent or written, and no key is needed. The assumptions
    are listed; if the store's ledger knows the models, measured values replace them.
    """
    config = new_config(sources, inputs, wheres, limits, replay, given)
    found = work_out(open_store(store_path, create=True), config)
    if as_json:
        print_json({**found.model_dump(mode="json"), "budget_usd": config.budget_usd})
        return
    _show(found, config.budget_usd)


def _show(found: CostEstimate, budget: float | None) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(("Stage", "Requests", "Tokens in", "Of these cached", "Tokens out", "USD")):
        table.add_column(name, justify="right" if place else "left", no_wrap=not place)
    for stage, spent in (*found.stages.items(), ("all", found.total)):
        table.add_row(stage, *_cells(spent))
    click.echo(f"{found.records:,} records; each figure: low, expected, high")
    Console().print(table)
    share = found.cached_share
    click.echo(f"input from the cache: {share.low:.0%}, {share.expected:.0%}, {share.high:.0%}")
    if found.unknown_prices:
        click.echo(f"cost unknown: prices.yaml has no price of {', '.join(found.unknown_prices)}")
    if budget is not None and found.total.usd is not None:
        click.echo(f"a budget of {budget:g} USD {_verdict(found.total.usd, budget)}")
    click.echo("assumed:")
    for assumption in found.assumptions:
        click.echo(f"  {assumption}")


def _cells(spent: StageEstimate) -> tuple[str, ...]:
    counts = (spent.requests, spent.prompt_tokens, spent.cached_tokens, spent.completion_tokens)
    return (*map(_counts, counts), "unknown" if spent.usd is None else _usd(spent.usd))


def _counts(figures: Range) -> str:
    return "\n".join(f"{figure:,.0f}" for figure in (figures.low, figures.expected, figures.high))


def _usd(figures: Range) -> str:
    return "\n".join(map(usd, (figures.low, figures.expected, figures.high)))


def _verdict(usd: Range, budget: float) -> str:
    if usd.high <= budget:
        return "suffices even in the dearest case"
    if usd.expected <= budget:
        return "suffices in the expected case, but not in the dearest"
    return "will be reached before the run ends" if usd.low > budget else "is likely to be reached before the run ends"
