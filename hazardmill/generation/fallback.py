"""Chooses the best executable draft of a record that ended without a task.

It is kept for inspection, never accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hazardmill.generation.refine import DraftAttempt


def best_executable(attempts: Sequence[DraftAttempt]) -> DraftAttempt | None:
    """Return the draft that came furthest, if no draft was accepted.

    A draft is executable if it passed the search: its goal can be reached with danger and, if the danger is avoidable,
    without. Among these, the draft whose certificate has the most lines that hold wins; ties go to the latest, because
    it was written after feedback on the others.

    Args:
        attempts: All drafts of one record, in order.

    Returns:
        The draft; null if one was accepted or none is executable.
    """
    if any(attempt.draft.accepted for attempt in attempts):
        return None
    # Drafts of a rejected danger do not count: that danger is not kept.
    latest = max((attempt.draft.round for attempt in attempts), default=1)
    executable = [attempt for attempt in attempts if attempt.draft.round == latest and _has_passed_search(attempt)]
    return max(executable, key=lambda attempt: (_lines_held(attempt), attempt.draft.number), default=None)


def _has_passed_search(attempt: DraftAttempt) -> bool:
    return any(check.name == "search" and check.passed is True for check in attempt.draft.checks)


def _lines_held(attempt: DraftAttempt) -> int:
    certificate = attempt.execution.certificate if attempt.execution else None
    return 0 if certificate is None else sum(line.passed is True for line in certificate.lines)
