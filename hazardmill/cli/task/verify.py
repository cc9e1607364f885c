"""``hazardmill task verify``."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.text.printable import printable
from hazardmill.verification.place import verify_place


@click.command(epilog="Example: hazardmill task verify demo-out/tasks")
@click.argument("place", metavar="FOLDER|STORE")
@json_option
def verify(place: str, as_json: bool) -> None:
    """Check that all parts of each task agree with one another.

    FOLDER is a task folder, or a folder that contains task folders; STORE is the folder or the address of a store.
    Everything that follows from a task's document is computed again and compared: code, PDDL, plans, certificate with
    its witnesses, contrast twin, hash and id. Everything else must be the same wherever it is stated.

    Exit code 1 if something was found; 3 if there is no task here, or the folder or store cannot be read.
    """
    verified = verify_place(place)
    if as_json:
        print_json(asdict(verified))
    else:
        for finding in verified.findings:
            click.echo(printable(str(finding)))
        count = len(verified.findings)
        click.echo(f"tasks: {verified.tasks}; " + (f"{count} finding(s)" if count else "all well"))
    if verified.findings:
        sys.exit(1)
