"""The best executable draft of a record that ended without a task: kept for a look at it, never counted as accepted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hazardmill.generation.refine import DraftAttempt


def best_executable(attempts: Sequence[DraftAttempt]) -> DraftAttempt | None:
    """The draft that came furthest, if none was accepted.

    Executable is a draft that passed the search: its goal can be reached, dangerously and, where the danger is
    avoidable, without. Of those the one counts whose certificate has the most lines that hold, then the latest: it was
    mended after what was found in the others.

    Args:
        attempts: All drafts of one record, in order.

    Returns:
        The draft; null if one was accepted, or none is executable.
    """
    if any(attempt.draft.accepted for attempt in attempts):
        return None
    # Those of a danger that was sent back are of no danger that is kept.
    latest = max((attempt.draft.round for attempt in attempts), default=1)
    executable = [attempt for attempt in attempts if attempt.draft.round == latest and _has_passed_search(attempt)]
    return max(executable, key=lambda attempt: (_lines_held(attempt), attempt.draft.number), default=None)


def _has_passed_search(attempt: DraftAttempt) -> bool:
    return any(check.name == "search" and check.passed is True for check in attempt.draft.checks)


def _lines_held(attempt: DraftAttempt) -> int:
    certificate = attempt.execution.certificate if attempt.execution else None
    return 0 if certificate is None else sum(line.passed is True for line in certificate.lines)
