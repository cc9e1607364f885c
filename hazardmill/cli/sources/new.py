"""``hazardmill sources new``."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.ingest.skeleton import write_source_project


@click.command(epilog="Example: hazardmill sources new recipes")
@click.argument("name")
@click.option(
    "--to", "folder", type=click.Path(path_type=Path), help="Folder of the project [default: hazardmill-NAME]."
)
@json_option
def new(name: str, folder: Path | None, as_json: bool) -> None:
    """Write a project with a source of your own, to be adapted.

    It is a package with an adapter, cases, a sample, guidance and an entry point, and passes `sources check` as it is
    written. Nothing has to be installed to try it.
    """
    place = folder or Path(f"hazardmill-{name.replace('_', '-')}")
    written = write_source_project(name, place)
    if as_json:
        print_json([str(path) for path in written])
        return
    for path in written:
        click.echo(str(path))
    where = shlex.quote(str(place) if place.is_absolute() else f"./{place}")
    click.echo(f"next: hazardmill sources check {where}; README.md says what to change")
