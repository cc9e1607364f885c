"""``hazardmill release diff``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.release.diff.compare import diff_folders
from hazardmill.release.diff.render import lines


@click.command(epilog="Example: hazardmill release diff releases/1.0.0 releases/1.1.0")
@click.argument("old", type=click.Path(path_type=Path, file_okay=False))
@click.argument("new", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--examples", type=click.IntRange(0), default=20, show_default=True, help="Most tasks of a kind to name in words."
)
@json_option
def diff(old: Path, new: Path, examples: int, as_json: bool) -> None:
    """Compare two releases: tasks added, removed and changed, columns, rows and distributions.

    OLD and NEW are folders of releases. Every file is held against its manifest first. A task has changed in its
    document, its plans, its texts, its licence, its split, its review or another column; or only in where it came from.

    The version must say how much is different: a config or column that is gone or has another type takes a major step
    (2.0.0 after 1.4.2), new ones and tasks that are not the same take a minor step (1.5.0), anything else a patch step.

    Exit code 1 if the version says less than that; 3 if a folder holds no release, or a damaged one.
    """
    found = diff_folders(old, new)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        for line in lines(found, examples):
            click.echo(line)
    if found.findings:
        sys.exit(1)
