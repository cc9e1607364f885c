"""``hazardmill release export``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.release.read.exports import ExportSummary, Format
from hazardmill.release.read.exports import export as write
from hazardmill.release.read.release import load_release
from hazardmill.text.printable import printable

_FORMATS: Final = ("sft", "dpo", "stepwise")
_SPLITS: Final = ("train", "validation", "test")
_LEFT_OUT: Final = {
    "share_alike": "left out: {} under a share-alike licence (--by-sa takes them in)",
    "offline_authored": "left out: {} that our rules wrote, and no language model (--allow-offline takes them in)",
    "no_action": "left out: {} of an empty plan",
    "no_causal_step": "left out: {} of an unsafe plan of which it is not known where it is too late",
}


@click.command(epilog="Example: hazardmill release export releases/1.0.0 --format dpo --out pairs.jsonl")
@click.argument("release", metavar="FOLDER|ORG/NAME")
@click.option("--format", "format_", type=click.Choice(_FORMATS), required=True, help="What it is to train.")
@click.option("--split", type=click.Choice(_SPLITS), default="train", show_default=True, help="Which tasks.")
@click.option(
    "--by-sa/--no-by-sa",
    default=False,
    show_default=True,
    help="Whether tasks under a share-alike licence go into the file too; then it has to be shared alike.",
)
@click.option(
    "--allow-offline", is_flag=True, help="Take in tasks that our rules wrote, and no language model; they say so."
)
@click.option("--revision", help="Tag, branch or commit of ORG/NAME on the hub [default: its main branch].")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="File to write, .jsonl or .parquet; it must not be there yet.",
)
@json_option
def export(
    release: str,
    format_: Format,
    split: str,
    by_sa: bool,
    allow_offline: bool,
    revision: str | None,
    out: Path,
    as_json: bool,
) -> None:
    """Write a release as training data, in the columns that TRL documents.

    sft: a PDDL prompt and its safe plan. dpo: the safe plan preferred to the unsafe one, with where they part.
    stepwise: both plans, action by action, each labelled with whether a safe plan is still left. All columns:
    docs/training-data.md.
    """
    opened = load_release(release, revision=revision)
    exported = write(opened, out, format_, split=split, by_sa=by_sa, allow_offline=allow_offline)
    if as_json:
        print_json(exported.to_json())
        return
    for line in in_words(exported):
        click.echo(line)


def in_words(exported: ExportSummary) -> list[str]:
    """What was written, and what was not."""
    licences = ", ".join(f"{rows} under {printable(licence)}" for licence, rows in exported.licences.items())
    lines = [f"{exported.out}: {exported.rows} rows of {exported.split}: {licences}"]
    if exported.offline_authored:
        lines.append(f"{exported.offline_authored} of them were written by our rules, and by no language model")
    return lines + [_LEFT_OUT[reason].format(count) for reason, count in exported.left_out.items()]
