"""Files of household tasks, ours and SPOC's: JSON, one task per file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from hazardmill.errors import PlanningInputError
from hazardmill.files import read_regular

_Task = TypeVar("_Task")


def list_task_files(folder: Path, remedy: str) -> list[Path]:
    """Return the files of a folder whose names end in ``.json``, sorted by name.

    Args:
        folder: The folder.
        remedy: What to do if it has no task files.

    Raises:
        PlanningInputError: The folder cannot be listed, or has no such file.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError as error:
        message = f"the folder cannot be listed: {error.strerror or error}"
        raise PlanningInputError(message, file=str(folder), remedy=remedy) from error
    if not paths:
        raise PlanningInputError("the folder has no file that ends in .json", file=str(folder), remedy=remedy)
    return paths


def read_task_file(path: Path, parse: Callable[[object], _Task], shape: str) -> _Task:
    """Read one task file.

    Args:
        path: The file.
        parse: Makes a task of JSON values, or raises ``PlanningInputError``.
        shape: What to do if it is not JSON: what to write.

    Returns:
        The task.

    Raises:
        PlanningInputError: The file cannot be read, is not JSON, or is not a task; it names the file.
    """
    try:
        return parse(json.loads(read_regular(path), object_pairs_hook=_without_repetition))
    except PlanningInputError as error:
        error.file = str(path)
        raise
    except OSError as error:
        message = f"the task cannot be read: {error.strerror or error}"
        raise PlanningInputError(message, file=str(path), remedy="check the path") from error
    except (ValueError, RecursionError) as error:
        raise PlanningInputError(f"the task is not JSON: {error}", file=str(path), remedy=shape) from error


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    said = dict(pairs)
    if len(said) < len(pairs):
        repeated = next(key for number, (key, _) in enumerate(pairs) if any(key == k for k, _ in pairs[:number]))
        raise PlanningInputError(f"the key {repeated[:40]} occurs twice in one object", remedy="keep one of them")
    return said
