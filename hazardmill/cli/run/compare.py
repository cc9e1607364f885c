"""``hazardmill run compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.comparison.compare import RunComparison
from hazardmill.comparison.compare import compare as compare_runs
from hazardmill.comparison.figures import ComparisonOptions
from hazardmill.comparison.page import write_page
from hazardmill.comparison.render import grids, records_grid, sentences
from hazardmill.reporting.terminal import print_grids
from hazardmill.review.policies import Policy
from hazardmill.review.rubric import rubric_version
from hazardmill.store_access import open_store
from hazardmill.text.printable import printable

_REVIEW: Final = Path("review")
_EXAMPLES: Final = 20
"""The most records with different outcomes that are listed on a terminal."""


@click.command(epilog="Example: hazardmill run compare RUN_A RUN_B --store demo-out/store --html compared.html")
@click.argument("first", metavar="RUN_A")
@click.argument("second", metavar="RUN_B")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write everything to one self-contained page, and print nothing else unless --json is given.",
)
@click.option(
    "--review",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder with rubric.md and decisions/ [default: review, if it exists].",
)
@click.option(
    "--policy",
    type=click.Choice(["any-reject", "majority", "adjudicated"]),
    default="any-reject",
    show_default=True,
    help="Rule by which the reviewers' decisions accept a task.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the bootstrap.")
@store_option
@json_option
def compare(
    first: str,
    second: str,
    page: Path | None,
    folder: Path | None,
    policy: Policy,
    seed: int,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Compare two runs that differ in prompt, model or format.

    Records that both runs have finished are compared in pairs, with paired intervals and McNemar's exact test. Both
    runs must be in one store. Exit code 3 if they have no record in common.
    """
    found = compare_runs(open_store(store_path), first, second, _review(folder), policy, ComparisonOptions(seed=seed))
    if page is not None:
        written = write_page(found, page)
        if not as_json:
            click.echo(written)
            return
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    _show(found)


def _review(folder: Path | None) -> Path | None:
    """Return the folder of the review; None if none was named and the default one does not exist."""
    if folder is None:
        return _REVIEW if (_REVIEW / "decisions").is_dir() else None
    # A misspelt folder must not become an empty review.
    rubric_version(folder / "rubric.md")
    return folder


def _show(found: RunComparison) -> None:
    for sentence in sentences(found):
        click.echo(printable(sentence))
    click.echo()
    print_grids(grids(found))
    if found.differing:
        print_grids([records_grid(found, _EXAMPLES)])
    if found.differing > _EXAMPLES:
        click.echo(f"and {found.differing - _EXAMPLES} more records; to see all, use --html FILE or --json")
