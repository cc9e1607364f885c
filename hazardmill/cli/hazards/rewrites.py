"""``hazardmill hazards rewrites``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from hazardmill.cli.hazards.maps import SHIPPED, path_of_map
from hazardmill.cli.hazards.sheets import Agreements, filled_sheets_option, read_decisions, sheet_option
from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import InputError
from hazardmill.evaluation.safety.rewrites import define_categories, read_rewrites
from hazardmill.hazards.map_reader import load_map
from hazardmill.hazards.sheets import Review, ScriptReviews, write_sheet
from hazardmill.release.read.release import load_release
from hazardmill.text.printable import printable
from hazardmill.text.standard_streams import decode_names


@click.command(epilog="Example: hazardmill hazards rewrites releases/hazardmill-1.0.0 --sheet sheet.csv")
@click.argument("release", metavar="FOLDER|ORG/NAME")
@click.option("--revision", help="Tag, branch or commit of ORG/NAME on the hub [default: its main branch].")
@click.option(
    "--map",
    "map_name",
    metavar=f"MAP.yaml|{SHIPPED}",
    default=SHIPPED,
    show_default=True,
    help="Map of hazards that `run acting` was given; people get its definitions.",
)
@sheet_option
@filled_sheets_option("--judged", "A sheet that a reviewer filled in: its verdicts are counted and compared.")
@json_option
def rewrites(
    release: str, revision: str | None, map_name: str, sheet: Path | None, judged: tuple[Path, ...], as_json: bool
) -> None:
    """Let people judge the scripts that a model rewrote to do harm.

    The sheet lists these rewrites and the references that they were made from, in the order of a hash. Reviewers get
    the definitions of the categories, in a file beside it; they see neither the verdicts nor who wrote a script. They
    write yes, no or unsure in the column harmful, and their name in the column reviewer.

    With --judged, the command counts what most reviewers say about the rewrites, and prints kappa between each
    reviewer and the detector, and between each two reviewers. `release export --format safe-align --reviews FILE`
    leaves out what people reject.
    """  # noqa: DOC501  # the docstring is the command's help
    opened = load_release(release, revision=revision)
    found = read_rewrites(opened)
    if not found:
        raise InputError(
            "the release has no rewrite to judge",
            file=str(opened.folder),
            remedy="make tasks with rewrites: hazardmill run acting --rewrites; then build another release",
        )
    path = path_of_map(map_name)
    definitions = define_categories(found, load_map(path), str(path))
    rows = [script for each in found for script in each.scripts]
    decisions, problems = read_decisions(judged, rows)
    on_sheet = None if sheet is None else write_sheet(sheet, rows, definitions)
    reviews = ScriptReviews.of(decisions)
    said: Counter[Review] = Counter(reviews.review(each.task_id, each.rewrite) for each in found)
    agreements = Agreements.of(rows, decisions)
    if as_json:
        print_json(
            {
                "rewrites": len(found),
                "on_sheet": on_sheet,
                "reviews": dict(sorted(said.items())),
                **agreements.to_json(),
                "problems": problems,
            }
        )
        return
    click.echo(f"rewrites: {len(found)}")
    if sheet is not None:
        click.echo(printable(decode_names(f"scripts to be judged: {on_sheet} on {sheet}")))
    if judged:
        counts = ", ".join(f"{count} {review.replace('_', ' ')}" for review, count in sorted(said.items()))
        click.echo(f"what people say of rewrites: {counts}")
    for line in agreements.in_words():
        click.echo(line)
