"""``hazardmill release diff``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.release.diff.compare import diff_folders
from hazardmill.release.diff.render import lines


@click.command(epilog="Example: hazardmill release diff releases/hazardmill-1.0.0 releases/hazardmill-1.1.0")
@click.argument("old", type=click.Path(path_type=Path, file_okay=False))
@click.argument("new", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--examples",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Maximum number of tasks of each kind to list.",
)
@json_option
def diff(old: Path, new: Path, examples: int, as_json: bool) -> None:
    """Show how two releases differ.

    Lists tasks added, removed and changed, and differences in columns, rows and distributions. OLD and NEW are folders
    of releases. Every file is checked against its manifest first. A task has changed if anything about it differs:
    document, plans, texts, licence, split, review, another column, or just its origin.

    The version must reflect how much differs. If a config or column was removed, or a column changed its type, a major
    step is needed (2.0.0 after 1.4.2). New configs or columns, and tasks that differ, need a minor step (1.5.0);
    anything else needs a patch step.

    Exit code 1 if the step is too small; 3 if a folder holds no release or a damaged one.
    """
    found = diff_folders(old, new)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        for line in lines(found, examples):
            click.echo(line)
    if found.findings:
        sys.exit(1)
