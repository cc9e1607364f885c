"""Options that commands on household tasks share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from hazardmill.errors import FormalismError, InputError

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


@contextmanager
def name_task_file(path: Path) -> Iterator[None]:
    """Name the file of a task in errors about its document, which knows no file.

    Args:
        path: The file.

    Raises:
        FormalismError: It is raised inside, and now names the file and a remedy.
        InputError: Likewise.
    """
    try:
        yield
    except (FormalismError, InputError) as error:
        error.file = error.file or str(path)
        error.remedy = error.remedy or "keep only the objects that the task needs"
        raise


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
