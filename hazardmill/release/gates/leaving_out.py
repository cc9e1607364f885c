"""Leaving out what gates refuse, so that the rest can be released (``--leave-out``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hazardmill.release.gates.findings import GateFinding, GateResult
from hazardmill.release.gates.household_proofs import ReadHouseholdTask

if TYPE_CHECKING:
    from hazardmill.release.build.candidates import ReleaseCandidates


class LeftOut:
    """The tasks that gates have left out of a release so far, with the findings about them."""

    def __init__(self) -> None:
        self._results: dict[str, GateResult] = {}
        self._gone: set[str | None] = set()

    @property
    def results(self) -> tuple[GateResult, ...]:
        """The gates that left out tasks, each with its findings about these."""
        return tuple(self._results.values())

    def by(self, gate: str) -> tuple[GateFinding, ...]:
        """Return the findings because of which a gate left out tasks."""
        return self._results[gate].findings if gate in self._results else ()

    def take(self, results: Iterable[GateResult], gates: Collection[str]) -> bool:
        """Leave out the tasks that some gates refuse.

        A task that is refused because of another one (a duplicate, say) is only left out if no other task is: that
        other one may be among those that go.

        Args:
            results: What all gates found.
            gates: Names of the gates that leave out what they refuse.

        Returns:
            Whether tasks were left out, so that everything has to be written and looked at again.
        """
        refusing = [result for result in results if result.name in gates and not result.passed]
        alone = [result for result in map(_on_their_own, refusing) if not result.passed]
        chosen = alone or refusing
        for result in chosen:
            self._gone.update(finding.task_id for finding in result.findings)
            self._results[result.name] = replace(result, findings=(*self.by(result.name), *result.findings))
        return bool(chosen)

    def candidates(self, gathered: ReleaseCandidates) -> ReleaseCandidates:
        """Return the candidates without those that are left out."""
        # The opinions of reviewers stay, as those on rejected tasks do: pseudonyms must not depend on what is left out.
        return replace(
            gathered, candidates=tuple(each for each in gathered.candidates if each.task_id not in self._gone)
        )

    def household(self, read: Sequence[ReadHouseholdTask]) -> list[ReadHouseholdTask]:
        """Return the household tasks without those that are left out, which gates call by the names of their files."""
        return [(path, task) for path, task in read if path.name not in self._gone]


def _on_their_own(result: GateResult) -> GateResult:
    """Return the result with only those findings whose reason is not another task."""
    return replace(result, findings=tuple(each for each in result.findings if not each.compares))
