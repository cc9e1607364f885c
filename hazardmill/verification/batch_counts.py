"""What became of many files of code that were checked, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from hazardmill.verification.batch_check import CheckedFile


@dataclass
class CheckCounts:
    """Counts over all files."""

    files: int = 0
    accepted: int = 0
    unknown: int = 0
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By check and reason."""
    results: list[CheckedFile] = field(default_factory=list)

    def add(self, result: CheckedFile, *, keep: bool) -> None:
        """Count one file in."""
        self.files += 1
        self.accepted += result.accepted is True
        self.unknown += result.accepted is None
        if result.check is not None and result.reason is not None:
            self.reasons[result.check, result.reason] += 1
        if keep:
            self.results.append(result)

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
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
        """List check and reason with the files that failed for it, most first."""
        return sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))
