"""``hazardmill household play``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from hazardmill.cli.household.options import layer_options, name_task_file
from hazardmill.cli.options import json_option, print_json
from hazardmill.household.actions import Hands, Observe
from hazardmill.household.playing.play import PlayedTask
from hazardmill.household.task import read_household_task
from hazardmill.text.printable import printable


@click.command(epilog="Example: hazardmill household play household/fire-kitchen-0001.json")
@click.argument("path", metavar="TASK", type=click.Path(path_type=Path))
@layer_options
@json_option
def play(path: Path, observe: Observe, hands: Hands, as_json: bool) -> None:
    """Play a household task, action by action.

    Reads actions, one per line, and shows what the robot sees after each. TASK is the file of a household task. Input
    comes from a terminal or a pipe; done, failure or the end of the input (Ctrl-D) ends the episode. The score and what
    the rule did come last. With --json, they are one JSON value on standard output, and everything else goes to
    standard error.

    Exit code 3 if TASK cannot be read.
    """
    task = read_household_task(path)
    with name_task_file(path):
        played = PlayedTask(task, observe, hands)
    _show(played.introduce(), as_json)
    while not played.has_ended:
        if sys.stdin.isatty():
            click.echo("> ", nl=False, err=as_json)
        line = sys.stdin.readline()
        if not line:
            break
        if line.strip():
            _show(played.answer(line.strip()), as_json)
    _show(played.conclude(), as_json)
    if as_json:
        print_json(played.to_json())


def _show(lines: Iterable[str], as_json: bool) -> None:
    for line in lines:
        click.echo(printable(line), err=as_json)
