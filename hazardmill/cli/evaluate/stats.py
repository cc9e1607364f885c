"""``hazardmill evaluate stats``."""

from __future__ import annotations

from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import ExtraMissing
from hazardmill.reporting.terminal_text import render_grid
from hazardmill.text.printable import printable


@click.command(epilog="Example: hazardmill evaluate stats models.csv --pair big-thinking=big")
@click.argument("results", type=click.Path(path_type=Path), metavar="RESULTS|FILE.csv")
@click.option(
    "--pair",
    "pairs",
    multiple=True,
    metavar="THINKING=BASE",
    help="Compare a thinking model with its base; repeat for several.",
)
@click.option(
    "--models",
    "parameters",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.csv",
    help="Table of the models' numbers of parameters, with columns model and total_params_b.",
)
@click.option(
    "--least",
    type=click.IntRange(2),
    default=100,
    show_default=True,
    help="The fewest tasks in a bin of difficulty; smaller bins are merged.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of every bootstrap.")
@json_option
def stats(results: Path, pairs: tuple[str, ...], parameters: Path | None, least: int, seed: int, as_json: bool) -> None:
    """Compare models: scaling, correlations, effects of thinking.

    The figures show how rates grow with the number of parameters and with one another, how thinking models differ from
    their base models, and how the shares of danger types and other categories differ between easy and hard tasks.

    RESULTS is a folder or Parquet file written by `hazardmill evaluate`. The figures that need only each model's rates
    can also be computed from a CSV table. Its columns are model, feasibility, safety, safety_intention (per cent) and,
    if known, total_params_b and safety_precision. Unknown figures are null, with the reason. All definitions are in
    docs/evaluation-statistics.md.
    """  # noqa: DOC501  # the docstring is the command's help
    try:
        from hazardmill.evaluation.stats.figures import statistics
        from hazardmill.evaluation.stats.render import grids
    except ImportError as error:
        message = f"statistics need a package that is not installed: {error.name}"
        raise ExtraMissing(message, extra="evaluation") from error

    found = statistics(results, pairs=pairs, parameters=parameters, seed=seed, least=least)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    for grid in grids(found):
        for line in render_grid(grid):
            click.echo(line)
    for note in found.notes:
        click.echo(printable(f"note: {note}"))
