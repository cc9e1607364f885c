"""The kinds of findings about a task whose parts do not agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

Code = Literal["missing", "stray", "unreadable", "altered", "contradiction", "unlabelled", "unproved"]

MEANS: Final[Mapping[Code, str]] = {
    "missing": "A file, a row or a part of one is missing.",
    "stray": "There is a file or a part that does not belong to the task.",
    "unreadable": "A part cannot be read, or has the wrong type.",
    "altered": "A part differs from what the document implies.",
    "contradiction": "Two places that must agree say different things.",
    "unlabelled": "Output of the offline author is not labelled as such.",
    "unproved": "A required claim does not hold, or cannot be proved again.",
}
"""Code to its meaning."""

assert set(MEANS) == set(get_args(Code))

_LONGEST: Final = 120


@dataclass(frozen=True, slots=True)
class TaskFinding:
    """One thing that is wrong with a task.

    Attributes:
        code: Kind of the finding.
        task: Id of the task, or its folder.
        where: The column; for a folder, the file and the key in it.
        message: What is wrong.
        remedy: What to do about it.
    """

    code: Code
    task: str
    where: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.task}: {self.where}: {self.message} ({self.code}) [{self.remedy}]"


def render_value(value: object) -> str:
    """Render a value for a message: None as ``none``, and only the beginning of a long text."""
    text = "none" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
