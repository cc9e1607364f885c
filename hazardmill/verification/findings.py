"""What can be found of a task that does not agree with itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

Code = Literal["missing", "stray", "unreadable", "altered", "contradiction", "unlabelled", "unproved"]

MEANS: Final[Mapping[Code, str]] = {
    "missing": "A file, a row or a part of one is not there.",
    "stray": "A file or a part is there that no such task has.",
    "unreadable": "A part cannot be read, or is not of its kind.",
    "altered": "A part is not what follows from the document.",
    "contradiction": "Two places say different things of what is one.",
    "unlabelled": "Work of the offline author does not say so.",
    "unproved": "A claim that a task must fulfil does not hold, or cannot be proved again.",
}
"""Code to what it means."""

assert set(MEANS) == set(get_args(Code))

_LONGEST: Final = 120


@dataclass(frozen=True, slots=True)
class TaskFinding:
    """One thing that is wrong with a task."""

    code: Code
    task: str
    """Its id, or its folder."""
    where: str
    """The column; of a folder the file, and the key in it."""
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.task}: {self.where}: {self.message} ({self.code}) [{self.remedy}]"


def render_value(value: object) -> str:
    """A value as a message tells it: the beginning, where it is long."""
    text = "none" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
