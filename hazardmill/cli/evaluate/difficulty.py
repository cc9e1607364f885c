"""``hazardmill evaluate difficulty``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.cli.ticker import Ticker
from hazardmill.evaluation.difficulty.release import card_lines, panel_of, read_panel, write_difficulty
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.release.read.release import load_release
from hazardmill.text.printable import printable


@click.command(
    epilog="Example: hazardmill evaluate difficulty evaluations/a --release releases/hazardmill-1.0.0 --out difficulty"
)
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULTS...")
@click.option(
    "--release",
    "release_name",
    required=True,
    metavar="FOLDER|ORG/NAME",
    help="Release that the models were evaluated on.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the rows and the splits.",
)
@click.option(
    "--panel",
    "named",
    multiple=True,
    metavar="MODEL",
    help="Model in the panel; repeat for several [default: all but rule-based stand-ins].",
)
@click.option(
    "--search-limit",
    "limit",
    type=click.IntRange(1),
    help="Maximum number of expansions of exact search per task [default: that of the formalism].",
)
@json_option
def difficulty(
    results: tuple[Path, ...], release_name: str, out: Path, named: tuple[str, ...], limit: int | None, as_json: bool
) -> None:
    """Measure how hard tasks are, for models and intrinsically.

    RESULTS are folders or files of rows written by `evaluate run` or `score`. A task is hard if the panel's mean score
    (0 infeasible, 1 feasible, 2 safe) is at most 0.8, and otherwise easy. Hard and easy tasks form two splits; a task
    that some model of the panel did not answer is in neither. The rows also give the intrinsic difficulty of each task:
    lengths, choices, and expansions of exact search. The splits are Parquet files with licences, which can be added to
    the release as a config. More is in docs/evaluation-abilities.md.
    """
    release = load_release(release_name)
    rows = read_panel(results, release)
    panel = panel_of(rows, named)
    ticker = Ticker(quiet=as_json)
    summary = write_difficulty(
        release,
        rows,
        panel,
        out,
        limit=limit or DEFAULT_LIMIT,
        on_task=lambda done: ticker.tell(f"{done}/{len(release)} tasks"),
    )
    if as_json:
        print_json({**summary, "card": card_lines(summary), "folder": str(out)})
        return
    for line in _lines(summary):
        click.echo(printable(line))
    if summary["splits"]:
        click.echo("to add the splits to the release, copy data/ into it, and add to `configs:` in its README.md:")
        for line in card_lines(summary):
            click.echo(printable(f"  {line}"))
    click.echo(printable(f"rows: {out}"))


def _lines(summary: dict[str, Any]) -> list[str]:
    members = len(summary["panel"])
    told = [
        f"{summary['release']}: {summary['tasks']} tasks with a safe plan",
        f"panel: {', '.join(summary['panel'])}",
    ]
    if summary["left_out"]:
        told.append(f"not in the panel: {', '.join(summary['left_out'])}")
    for config, splits in summary["splits"].items():
        told.append(f"{config}: {', '.join(f'{count} {split}' for split, count in splits.items())}")
    if summary["unknown"]:
        told.append(f"of {summary['unknown']} it is not known: not all {members} of the panel answered them")
    if summary["own_unknown"]:
        told.append(
            f"exact search reached its limit of {summary['limit']} expansions for {summary['own_unknown']} tasks"
        )
    return told
