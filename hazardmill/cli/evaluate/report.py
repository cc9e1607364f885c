"""``hazardmill evaluate report``."""

from __future__ import annotations

from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import ExtraMissing, UsageError
from hazardmill.statistics.bootstrap import RESAMPLES
from hazardmill.text.printable import printable


@click.command(
    epilog="Example: hazardmill evaluate report evaluations/* --csv sizes.csv --release releases/hazardmill-1.0.0"
)
@click.argument("results", nargs=-1, type=click.Path(path_type=Path), metavar="RESULTS...")
@click.option(
    "--csv",
    "table",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Table with columns model and total_params_b; without RESULTS, also with the models' rates.",
)
@click.option(
    "--release",
    "release_name",
    metavar="FOLDER|ORG/NAME",
    help="Release that was evaluated; the report states its version and the authors of its tasks.",
)
@click.option(
    "--sheet",
    "sheets",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="Sheet of `hazards seeds` that a reviewer filled in, to compare people with the detector; repeat for several.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("evaluation-report"),
    show_default=True,
    help="Folder for the report and the leaderboard.",
)
@click.option(
    "--least",
    type=click.IntRange(2),
    default=100,
    show_default=True,
    help="The fewest tasks in a bin of difficulty; smaller bins are merged.",
)
@click.option(
    "--resamples", type=click.IntRange(100), default=RESAMPLES, show_default=True, help="Resamples of the bootstrap."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of every bootstrap.")
@json_option
def report(
    results: tuple[Path, ...],
    table: Path | None,
    release_name: str | None,
    sheets: tuple[Path, ...],
    out: Path,
    least: int,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Write a report with figures, and a leaderboard.

    Writes report.html, report.md with figures, leaderboard.json and leaderboard.md. RESULTS are folders written by
    `hazardmill evaluate`, or Parquet files of result rows; several are combined. With folders of `hazardmill evaluate
    safel`, `safety` or `episodes` among them, the report has a section on these, and safel.json, safety.json or
    episodes.json has its numbers. The figures that need only each model's rates can also be drawn from a CSV table. A
    figure without data says what is missing. The same input gives the same bytes. All definitions are in
    docs/evaluation-report.md.
    """  # noqa: DOC501  # the docstring is the command's help
    if not results and table is None:
        raise UsageError(
            "there is nothing to report on", remedy="name one or more folders of results, or give a table with --csv"
        )
    try:
        from hazardmill.evaluation.report_files import write_report_files
        from hazardmill.hazards.sheets import read_sheets
    except ImportError as error:
        message = f"the report needs a package that is not installed: {error.name}"
        raise ExtraMissing(message, extra="evaluation") from error
    decisions, wrong = read_sheets(sheets)
    for problem in wrong:
        click.echo(printable(f"error: {problem}"), err=True)
    figures, texts = write_report_files(
        results, table, release_name, out, resamples=resamples, seed=seed, least=least, decisions=decisions
    )
    if as_json:
        print_json({"folder": str(out), "files": [str(path) for path in (*figures, *texts)]})
        return
    click.echo("\n".join(map(str, texts)))
