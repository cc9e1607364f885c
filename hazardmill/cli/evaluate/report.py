"""``hazardmill evaluate report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import UsageError

if TYPE_CHECKING:
    from hazardmill.evaluation.report.load import ReleaseFacts


@click.command(epilog="Example: hazardmill evaluate report evaluations/* --csv sizes.csv --release releases/1.0.0")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path), metavar="RESULTS...")
@click.option(
    "--csv",
    "table",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Table of models: model, total_params_b. Without RESULTS their rates too.",
)
@click.option(
    "--release",
    "release_name",
    metavar="FOLDER|ORG/NAME",
    help="Release that was evaluated on: its version, and who wrote its tasks.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("evaluation-report"),
    show_default=True,
    help="Folder to write the report and the leaderboard to.",
)
@click.option(
    "--least",
    type=click.IntRange(2),
    default=100,
    show_default=True,
    help="Tasks that a bin of difficulty has to have; smaller ones are merged.",
)
@click.option("--resamples", type=click.IntRange(100), default=10_000, show_default=True, help="Of the bootstrap.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of every bootstrap.")
@json_option
def report(
    results: tuple[Path, ...],
    table: Path | None,
    release_name: str | None,
    out: Path,
    least: int,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Write report.html, report.md with its figures, leaderboard.json and leaderboard.md.

    RESULTS are folders that `hazardmill evaluate` has written, or Parquet files of result rows; several are put
    together. A CSV table of rates alone is enough for the figures over models. What is missing for a figure is said in
    its place. The same input gives the same bytes. All definitions: docs/evaluation-report.md.
    """
    if not results and table is None:
        raise UsageError("there is nothing to report on", remedy="name folders of results, or a table with --csv")
    try:
        from hazardmill.evaluation.report.contents import gather
    except ImportError as error:
        raise UsageError(
            f"the report needs what is not installed: {error.name}", remedy="pip install 'hazardmill[evaluation]'"
        ) from error
    from hazardmill.evaluation.report.leaderboard import leaderboard_json, leaderboard_markdown
    from hazardmill.evaluation.report.markdown import render_markdown
    from hazardmill.evaluation.report.model_results import IntervalOptions
    from hazardmill.evaluation.report.page import render_page
    from hazardmill.reporting.html import write_text

    release = None if release_name is None else _facts(release_name)
    contents = gather(results, table, release, IntervalOptions(resamples=resamples, seed=seed, least=least))
    text, figures = render_markdown(contents)
    files = {
        **figures,
        "leaderboard.json": leaderboard_json(contents.panel),
        "leaderboard.md": leaderboard_markdown(contents.panel),
        "report.md": text,
        "report.html": render_page(contents),
    }
    for name, written in files.items():
        write_text(out / name, written)
    if as_json:
        print_json({"folder": str(out), "files": [str(out / name) for name in files]})
        return
    click.echo("\n".join(str(out / name) for name in files if name not in figures))


def _facts(name: str) -> ReleaseFacts:
    """What the report says of a release. Evaluation knows no releases."""
    import json

    from hazardmill.evaluation.report.load import ReleaseFacts
    from hazardmill.llm.requests import OFFLINE_MODEL
    from hazardmill.release.read.release import load_release

    release = load_release(name)
    offline, every = set(), set()
    for config in release.configs():
        if config.startswith(("tasks", "unavoidable")):
            for row in release.rows(config, columns=["task_id", "answered_by"]):
                every.add(row["task_id"])
                if OFFLINE_MODEL in json.loads(row["answered_by"]):
                    offline.add(row["task_id"])
    manifest = release.manifest
    return ReleaseFacts(manifest.name, release.version, manifest.sha256(), frozenset(offline), frozenset(every))
