"""The result of a gate: whether it lets a release pass, and what it found about which task."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from typing import Final

LISTED: Final = 20
"""Maximum number of findings that a gate lists; it counts all."""


@dataclass(frozen=True, slots=True, order=True)
class GateFinding:
    """One reason to stop a release, unless the gate is waived.

    Attributes:
        task_id: The task; None if the finding is about all tasks together.
        message: What is wrong.
        remedy: What to do about it.
    """

    task_id: str | None
    message: str
    remedy: str

    @property
    def in_words(self) -> str:
        """Task, message and remedy in one line."""
        of = "" if self.task_id is None else f"{self.task_id}: "
        return f"{of}{self.message} [{self.remedy}]"


@dataclass(frozen=True, slots=True)
class GateResult:
    """The result of one gate after it has seen all tasks.

    Attributes:
        name: Name of the gate.
        says: What it requires, in words.
        passed: Whether it found nothing.
        looked: Number of tasks that it looked at.
        findings: Its first findings, by task id; empty if it passed.
        found: Number of all its findings.
        waived: The reason given why its findings do not stop the release; None if it passed or was not waived.
        not_judged: Figures that mean nothing on so few tasks, and that stop nothing.
    """

    name: str
    says: str
    passed: bool
    looked: int
    findings: tuple[GateFinding, ...]
    found: int
    waived: str | None = None
    not_judged: tuple[str, ...] = ()

    @property
    def stops(self) -> bool:
        """Whether it stops the release."""
        return not self.passed and self.waived is None

    @property
    def in_words(self) -> tuple[str, ...]:
        """One line per listed finding, and a last line with the number of further ones."""
        more = self.found - len(self.findings)
        lines = [f"{self.name}: {finding.in_words}" for finding in self.findings]
        return (*lines, *([f"{self.name}: and {more:,} more"] if more else []))

    @property
    def verdict(self) -> str:
        """One line: whether it passed, and what was not judged."""
        waived = f"waived: {self.waived}; " if self.waived else ""
        said = "passed" if self.passed else f"{waived}{self.found:,} {'finding' if self.found == 1 else 'findings'}"
        return f"{said}; not judged: {'; '.join(self.not_judged)}" if self.not_judged else said


class FindingTally:
    """The findings of one gate while it looks at tasks: all are counted, and the first by task id are kept.

    The order in which tasks arrive has no influence on the result.

    Args:
        name: Name of the gate.
        says: What it requires, in words.
    """

    def __init__(self, name: str, says: str) -> None:
        self.name = name
        self.looked = 0
        self._says = says
        self._found = 0
        self._first: list[tuple[str, str, GateFinding]] = []
        self._not_judged: list[str] = []

    def leave_open(self, message: str) -> None:
        """Note a figure that cannot be judged; it does not stop a release."""
        self._not_judged.append(message)

    def add(self, task_id: str | None, message: str, remedy: str) -> None:
        """Add a finding; ``task_id`` is None if it is about all tasks together."""
        self._found += 1
        insort(self._first, (task_id or "", message, GateFinding(task_id, message, remedy)), key=lambda each: each[:2])
        del self._first[LISTED:]

    def result(self, waived: str | None = None) -> GateResult:
        """Return the result so far: the gate passes if there are no findings."""
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
