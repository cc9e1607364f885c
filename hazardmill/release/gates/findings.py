"""What a gate says: whether it lets a release pass, and what it found of which task."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from typing import Final

LISTED: Final = 20
"""Most findings that a gate lists; it counts them all."""


@dataclass(frozen=True, slots=True, order=True)
class GateFinding:
    """One thing that stops a release, unless the gate is waived."""

    task_id: str | None
    """Null where it is of all tasks together."""
    message: str
    remedy: str

    @property
    def in_words(self) -> str:
        """All of it, in a line."""
        of = "" if self.task_id is None else f"{self.task_id}: "
        return f"{of}{self.message} [{self.remedy}]"


@dataclass(frozen=True, slots=True)
class GateResult:
    """What one gate says."""

    name: str
    says: str
    """What it insists on."""
    passed: bool
    looked: int
    """Tasks that it looked at."""
    findings: tuple[GateFinding, ...]
    """The first by task id; empty where it passes."""
    found: int
    """How many there are in all."""
    waived: str | None = None
    """The reason given why what it found stops nothing; null where it passed."""
    not_judged: tuple[str, ...] = ()
    """Figures that mean nothing on so few tasks; they stop nothing."""

    @property
    def stops(self) -> bool:
        """Whether it stops the release."""
        return not self.passed and self.waived is None

    @property
    def in_words(self) -> tuple[str, ...]:
        """A line a finding, then how many more there are."""
        more = self.found - len(self.findings)
        lines = [f"{self.name}: {finding.in_words}" for finding in self.findings]
        return (*lines, *([f"{self.name}: and {more:,} more"] if more else []))

    @property
    def verdict(self) -> str:
        """In a line: passed or not, and what was not judged."""
        waived = f"waived: {self.waived}; " if self.waived else ""
        said = "passed" if self.passed else f"{waived}{self.found:,} {'finding' if self.found == 1 else 'findings'}"
        return f"{said}; not judged: {'; '.join(self.not_judged)}" if self.not_judged else said


class FindingTally:
    """Counts findings and keeps the first ones by task, in whatever order tasks come."""

    def __init__(self, name: str, says: str) -> None:
        self.name = name
        self.looked = 0
        self._says = says
        self._found = 0
        self._first: list[tuple[str, str, GateFinding]] = []
        self._not_judged: list[str] = []

    def leave_open(self, message: str) -> None:
        """Name a figure that cannot be judged, and that stops nothing."""
        self._not_judged.append(message)

    def add(self, task_id: str | None, message: str, remedy: str) -> None:
        """Count one more."""
        self._found += 1
        insort(self._first, (task_id or "", message, GateFinding(task_id, message, remedy)), key=lambda each: each[:2])
        del self._first[LISTED:]

    def result(self, waived: str | None = None) -> GateResult:
        """What the gate says now: it passes if nothing was found."""
        return GateResult(
            name=self.name,
            says=self._says,
            passed=not self._found,
            looked=self.looked,
            findings=tuple(finding for _, _, finding in self._first),
            found=self._found,
            waived=waived if self._found else None,
            not_judged=tuple(self._not_judged),
        )
