"""Options that commands on household tasks share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from hazardmill.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")


def layer_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add ``--observe`` and ``--hands``, which choose one of the four layers of a scene.

    Returns:
        The decorated function.
    """
    observe = click.option(
        "--observe",
        type=click.Choice(["partial", "full"]),
        default="partial",
        show_default=True,
        help="What the robot knows: what it has seen, or everything.",
    )
    hands = click.option(
        "--hands",
        type=click.Choice(["one", "any"]),
        default="one",
        show_default=True,
        help="Whether its one hand does everything, or it has as many as it needs.",
    )
    return observe(hands(function))


def make_folder(path: Path) -> Path:
    """Make a folder for output, if it is not there.

    Args:
        path: The folder.

    Returns:
        The same.

    Raises:
        InputError: It cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"the folder cannot be made: {error.strerror or error}"
        raise InputError(message, file=str(path), remedy="name a folder that can be written") from error
    return path
