"""``hazardmill run estimate``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from hazardmill.cli.options import GroupedCommand, json_option, print_json, store_option
from hazardmill.cli.run.config import new_config
from hazardmill.cli.run.options import generation_options
from hazardmill.llm.charged_prices import describe_charged
from hazardmill.llm.prices import Prices
from hazardmill.reporting.numbers import UNKNOWN, hours, plural, usd
from hazardmill.runs.config import RunConfig
from hazardmill.runs.estimates.assumptions import Range
from hazardmill.runs.estimates.estimate import CostEstimate
from hazardmill.runs.estimates.estimate import estimate as work_out
from hazardmill.runs.estimates.spending import StageEstimate
from hazardmill.runs.estimates.ways import ModelWays
from hazardmill.store_access import open_store


@click.command(
    cls=GroupedCommand,
    epilog="Example: hazardmill run estimate --source neiss --model deepseek/deepseek-chat --limit 500",
)
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
    are listed; if the store's ledger knows the models, measured values replace them. Cost and likely time are given for
    single requests and for batches, and the cheaper way is named.
    """
    config = new_config(sources, inputs, wheres, limits, replay, given)
    found = work_out(open_store(store_path, create=True), config)
    show_estimate(found, config, as_json=as_json)


def show_estimate(found: CostEstimate, config: RunConfig, *, as_json: bool) -> None:
    """Print an estimate.

    Args:
        found: The estimate.
        config: The run.
        as_json: Whether to print it as JSON.
    """
    if as_json:
        print_json({**found.model_dump(mode="json"), "budget_usd": config.budget_usd})
        return
    table, budget = Table(box=box.SIMPLE_HEAD, pad_edge=False), config.budget_usd
    in_batches = any(each.batches == "priced" for each in found.ways)
    heads = ("Stage", "Requests", "Tokens in", "Of these cached", "Tokens out", "USD", "in batches")
    for place, name in enumerate(heads if in_batches else heads[:-1]):
        table.add_column(name, justify="right" if place else "left", no_wrap=not place)
    for stage, spent in (*found.stages.items(), ("all", found.total)):
        cells = _cells(spent)
        table.add_row(stage, *(cells if in_batches else cells[:-1]))
    noun = "dialogue" if config.kind == "hazard_task" else "record"
    click.echo(f"{plural(found.records, noun)}; each figure: low, expected, high")
    Console().print(table)
    share = found.cached_share
    click.echo(f"input from the cache: {share.low:.0%}, {share.expected:.0%}, {share.high:.0%}")
    for line in describe_charged(config, Prices.load()):
        click.echo(line)
    if found.unknown_prices:
        click.echo(f"cost unknown: no price is known of {', '.join(found.unknown_prices)} [give it with --price]")
    for line in _ways(found, config.author_format if config.kind == "task" else None):
        click.echo(line)
    cost = found.total.batch_usd if config.channel == "batch" else found.total.usd
    if budget is not None and cost is not None:
        click.echo(f"a budget of {budget:g} USD {_verdict(cost, budget)}")
    click.echo("assumed:")
    for assumption in found.assumptions:
        click.echo(f"  {assumption}")


def _cells(spent: StageEstimate) -> tuple[str, ...]:
    counts = (spent.requests, spent.prompt_tokens, spent.cached_tokens, spent.completion_tokens)
    return (*map(_counts, counts), *(UNKNOWN if cost is None else _usd(cost) for cost in (spent.usd, spent.batch_usd)))


def _ways(found: CostEstimate, author_format: str | None) -> Iterator[str]:
    """Yield what single requests and batches cost and take, and which of them is cheaper."""
    if found.hours is None:
        return
    yield f"single requests: {_list(found.total.usd, usd)}; {_list(found.hours, hours)}"
    if found.batch_hours is not None and found.batch_rounds is not None:
        rounds = _list(found.batch_rounds, lambda number: f"{number:.0f}")
        yield f"batches: {_list(found.total.batch_usd, usd)}; {rounds} rounds: {_list(found.batch_hours, hours)}"
    for each in found.ways:
        stages = (
            f"author as {author_format}" if stage == "author" and author_format is not None else stage
            for stage in each.stages
        )
        yield f"{each.model} ({', '.join(stages)}): {_verdict_on_batches(each)}"


def _verdict_on_batches(ways: ModelWays) -> str:
    if ways.batches == "none":
        return "its provider takes no batches"
    if ways.usd is None or ways.batch_usd is None:
        return "prices.yaml has no price inside a batch, so it is not known which way is cheaper"
    single, batch = ways.usd.expected, ways.batch_usd.expected
    if ways.cheaper is None:
        return f"batches cost the same, {usd(batch)}"
    cost, other = (batch, single) if ways.cheaper == "batch" else (single, batch)
    cheaper = "batches are" if ways.cheaper == "batch" else "single requests are"
    doubt = "" if ways.holds_always else " in the expected case, though not in every case"
    cache = "holds inside a batch, too" if ways.cache_holds else "does not hold inside a batch"
    saved = f"{usd(cost)} instead of {usd(other)} ({cost / other - 1:+.0%})"
    return f"{cheaper} cheaper{doubt}: {saved}; the cache discount {cache}"


def _list(figures: Range | None, write: Callable[[float], str]) -> str:
    if figures is None:
        return "cost unknown"
    return ", ".join(map(write, (figures.low, figures.expected, figures.high)))


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
