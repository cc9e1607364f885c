"""Counting the results of checking many files of task code."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from hazardmill.verification.batch_check import CheckedFile


@dataclass
class CheckCounts:
    """Counts over all checked files.

    Attributes:
        files: Number of files.
        accepted: How many were accepted.
        unknown: How many were not judged because the jail failed.
        reasons: Pair of check and reason code to the number of files that failed for it.
        results: The results that were kept.
    """

    files: int = 0
    accepted: int = 0
    unknown: int = 0
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    results: list[CheckedFile] = field(default_factory=list)

    def add(self, result: CheckedFile, *, keep: bool) -> None:
        """Count a result; with ``keep`` it is added to ``results``, too."""
        self.files += 1
        self.accepted += result.accepted is True
        self.unknown += result.accepted is None
        if result.check is not None and result.reason is not None:
            self.reasons[result.check, result.reason] += 1
        if keep:
            self.results.append(result)

    def to_json(self) -> dict[str, Any]:
        """Return the counts and the kept results as JSON values."""
        return {
            "files": self.files,
            "accepted": self.accepted,
            "failed": self.files - self.accepted - self.unknown,
            "unknown": self.unknown,
            "reasons": [
                {"check": check, "reason": reason, "files": count}
                for (check, reason), count in self.reasons_by_frequency()
            ],
            "results": [asdict(result) for result in self.results],
        }

    def reasons_by_frequency(self) -> list[tuple[tuple[str, str], int]]:
        """List pairs of check and reason with the number of files that failed for them, the most frequent first."""
        return sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))
