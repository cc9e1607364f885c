"""The result of a gate: whether it lets a release pass, and what it found about each task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from hazardmill.reporting.numbers import plural

NAMED: Final = 3
"""Maximum number of tasks that the line for one reason names."""


class GateProblem(NamedTuple):
    """A reason why a task cannot be released.

    Attributes:
        message: What is wrong.
        remedy: What to do about it.
        kind: Name that all findings with the same reason share; None if they share the message.
        compares: Whether the task conflicts with another one, so that the finding disappears if that one is left out.
    """

    message: str
    remedy: str
    kind: str | None = None
    compares: bool = False


@dataclass(frozen=True, slots=True)
class GateFinding:
    """One reason to stop a release, unless the gate is waived.

    Attributes:
        task_id: The task; None if the finding is about all tasks together.
        message: What is wrong.
        remedy: What to do about it.
        kind: Name that all findings with the same reason share; None if they share the message.
        compares: Whether the task conflicts with another one, so that the finding disappears if that one is left out.
    """

    task_id: str | None
    message: str
    remedy: str
    kind: str | None = None
    compares: bool = False

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
        looked: Number of tasks that it looked at.
        findings: Its findings, by task id; empty if it passed.
        waived: The reason given why its findings do not stop the release; None if it passed or was not waived.
        not_judged: Figures that cannot be judged on so few tasks; they do not stop a release.
    """

    name: str
    says: str
    looked: int
    findings: tuple[GateFinding, ...]
    waived: str | None = None
    not_judged: tuple[str, ...] = ()
    left_out: tuple[GateFinding, ...] = ()
    """Findings about tasks that were left out of the release because of this gate, before it looked again."""

    @property
    def passed(self) -> bool:
        """Whether it found nothing."""
        return not self.findings

    @property
    def found(self) -> int:
        """Number of its findings."""
        return len(self.findings)

    @property
    def stops(self) -> bool:
        """Whether it stops the release."""
        return not self.passed and self.waived is None

    @property
    def in_words(self) -> tuple[str, ...]:
        """One line per finding."""
        return tuple(f"{self.name}: {finding.in_words}" for finding in self.findings)

    @property
    def summary(self) -> tuple[str, ...]:
        """One line per reason, with the number of tasks concerned and the first of them."""
        return tuple(f"{self.name}: {line}" for line in self._summarize_all(self.findings))

    @property
    def left_out_summary(self) -> tuple[str, ...]:
        """The same for the tasks that were left out, without the name of the gate."""
        return tuple(self._summarize_all(self.left_out))

    @property
    def left_out_tasks(self) -> tuple[str, ...]:
        """Ids of the tasks that were left out because of this gate, sorted."""
        return tuple(sorted({finding.task_id for finding in self.left_out if finding.task_id is not None}))

    def _summarize_all(self, findings: Sequence[GateFinding]) -> Iterator[str]:
        by_kind: dict[str, list[GateFinding]] = {}
        for finding in findings:
            by_kind.setdefault(finding.kind or finding.message, []).append(finding)
        yield from map(self._summarize, by_kind.values())

    def _summarize(self, alike: Sequence[GateFinding]) -> str:
        first = alike[0]
        names = list(dict.fromkeys(finding.task_id for finding in alike if finding.task_id is not None))
        if len(names) < 2:
            # There may be several findings of one kind about one task.
            more = f" (and {len(alike) - 1:,} more of this kind)" if len(alike) > 1 else ""
            return first.in_words + more
        differ = any(finding.message != first.message for finding in alike)
        of = f"for {names[0]}" if differ else "each"
        looked = self.looked + len(self.left_out_tasks)
        told = f"{len(names):,} of {looked:,}; first: {', '.join(names[:NAMED])}"
        return f"{told}; {of}: {first.message} [{first.remedy}]"

    @property
    def verdict(self) -> str:
        """One line: whether it passed, and what was not judged."""
        waived = f"waived: {self.waived}; " if self.waived else ""
        left = len(self.left_out_tasks)
        without = f" ({plural(left, 'task')} left out)" if left else ""
        said = f"passed{without}" if self.passed else f"{waived}{plural(self.found, 'finding')}"
        return f"{said}; not judged: {'; '.join(self.not_judged)}" if self.not_judged else said


class FindingTally:
    """The findings of one gate while it looks at tasks.

    The order in which tasks arrive has no influence on the result.

    Args:
        name: Name of the gate.
        says: What it requires, in words.
    """

    def __init__(self, name: str, says: str) -> None:
        self.name = name
        self.looked = 0
        self._says = says
        self._findings: list[GateFinding] = []
        self._texts: dict[str, str] = {}
        self._not_judged: list[str] = []

    def leave_open(self, message: str) -> None:
        """Note a figure that cannot be judged; it does not stop a release."""
        self._not_judged.append(message)

    def add(
        self, task_id: str | None, message: str, remedy: str, kind: str | None = None, compares: bool = False
    ) -> None:
        """Add a finding; ``task_id`` is None if it is about all tasks together.

        Args:
            task_id: The task.
            message: What is wrong.
            remedy: What to do about it.
            kind: Name that all findings with the same reason share, if their messages differ.
            compares: Whether the task conflicts with another one.
        """
        # Many tasks have the same finding: its texts are kept once.
        message, remedy = (self._texts.setdefault(text, text) for text in (message, remedy))
        self._findings.append(GateFinding(task_id, message, remedy, kind, compares))

    def result(self, waived: str | None = None) -> GateResult:
        """Return the result so far: the gate passes if there are no findings."""
        return GateResult(
            name=self.name,
            says=self._says,
            looked=self.looked,
            findings=tuple(sorted(self._findings, key=lambda each: (each.task_id or "", each.message))),
            waived=waived if self._findings else None,
            not_judged=tuple(self._not_judged),
        )
