"""Answers of an exchange folder that are not used: what is wrong, where, and what to do, each logged once."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from hazardmill.errors import InputError
from hazardmill.text.printable import printable

_log = logging.getLogger(__name__)

_MOST: Final = 5
"""Problems of a kind in a file that are logged one by one; of more, the number is logged."""


class ProblemKind(StrEnum):
    """What is wrong with an answer, in words that follow its number."""

    UNFINISHED = "not whole"
    UNREADABLE = "unreadable"
    UNKNOWN = "to unknown prompts"
    DOUBLED = "doubled"
    BOOKED = "to prompts whose answers are already recorded"
    MISPLACED = "in files that are not read"


@dataclass(frozen=True, slots=True)
class AnswerProblem:
    """An answer, or a file of answers, that is not used.

    Attributes:
        kind: What is wrong, as it is counted.
        about: What it is about: an identifier, or a place in the file. A problem about the same thing is the same one.
        message: What is wrong.
        remedy: What to do.
        line: Line in the file, from 1; null if that says nothing.
    """

    kind: ProblemKind
    about: str
    message: str
    remedy: str
    line: int | None = None


class ProblemLog:
    """Logs problems with the answers of a folder as warnings, each once, however often its files are read."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, ProblemKind, str]] = set()

    def report(self, file: str, problems: Sequence[AnswerProblem]) -> None:
        """Log the problems that were not logged before, and how many there are.

        Args:
            file: The file of answers that they are in.
            problems: All of its problems.
        """
        new = [each for each in problems if (file, each.kind, each.about) not in self._logged]
        shown: Counter[ProblemKind] = Counter()
        for each in new:
            self._logged.add((file, each.kind, each.about))
            shown[each.kind] += 1
            if shown[each.kind] <= _MOST:
                text = InputError(each.message, file=file, line=each.line, remedy=each.remedy)
                _log.warning("%s", printable(str(text)))
        if new and len(problems) > 1:
            counts = Counter(each.kind for each in problems)
            listed = ", ".join(f"{count} {kind}" for kind, count in counts.items())
            _log.warning("%s: %d answers are left out: %s; all others are used", printable(file), len(problems), listed)
