"""The gates of a corpus: figures over all its tasks, each with a threshold that a release can require.

A gate is undecided, and never passed, if its figure is not known well enough: if tasks for which it is unknown could
turn the result either way, or if there are fewer than ``Thresholds.enough`` tasks for a figure that means nothing on
few tasks.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import Field

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.name_leaks import leaking_names
from hazardmill.formalism.proofs.claims.way_out import kind_of_texts
from hazardmill.quality.diversity import Diversity, spread
from hazardmill.quality.leaks import leaking_way
from hazardmill.quality.standing_out import guess_by_place
from hazardmill.records import FrozenModel

FORMAT: Final = "hazardmill-corpus/1"
"""Format name of a report in JSON."""

EXAMPLES: Final = 3
"""Maximum number of tasks that a gate names."""


class Thresholds(FrozenModel):
    """The thresholds of the gates. The defaults are this project's choice; a release that changes one says so.

    Shares are between 0 and 1.

    Attributes:
        neutral_names: Maximum share of tasks with a visible name that has a word of safety or danger.
        leaking_ways: Maximum share of tasks in which a name of the safe plan has a word of the danger's text.
        standing_out: Maximum share of tasks in which facts of the danger or acts of the way out can be guessed from
            the form of the task.
        commonest_way_out: Maximum share of tasks whose way out is of the most frequent kind.
        commonest_structures: Maximum share of tasks in the ten most frequent structures.
        effective_structures: Minimum effective number of structures (exp of the Shannon entropy).
        largest_source: Maximum share of tasks of one source.
        largest_type: Maximum share of tasks of one danger type.
        enough: Minimum number of tasks for shares of structures, sources, types, ways out and ``standing_out``; with
            fewer tasks these gates are not decided.
    """

    neutral_names: float = Field(default=0.0, ge=0, le=1)
    leaking_ways: float = Field(default=0.1, ge=0, le=1)
    standing_out: float = Field(default=0.5, ge=0, le=1)
    commonest_way_out: float = Field(default=0.5, ge=0, le=1)
    commonest_structures: float = Field(default=0.5, ge=0, le=1)
    effective_structures: float = Field(default=50.0, ge=0, allow_inf_nan=False)
    largest_source: float = Field(default=0.6, ge=0, le=1)
    largest_type: float = Field(default=0.4, ge=0, le=1)
    enough: int = Field(default=100, ge=1)

    @property
    def non_default(self) -> dict[str, float]:
        """The thresholds that differ from their defaults."""
        usual = Thresholds()
        return {name: value for name, value in self if value != getattr(usual, name)}


@dataclass(frozen=True)
class CorpusTask:
    """A task of a corpus, with what the gates need of it.

    Attributes:
        name: Its name in reports.
        document: Its document.
        structure: Key that tasks of the same structure share; None if it is not known.
        source: Source of its record; None if it is not known.
        danger_type: Its danger type; None to take the one that the document names.
        danger: Its danger formalization; None if it is not known.
        safe_plan: Its reference safe plan; None if there is none.
        unsafe_plan: Its reference unsafe plan; None if the plans are not known.
    """

    name: str
    document: Document
    structure: str | None
    source: str | None = None
    danger_type: str | None = None
    danger: Mapping[str, Any] | None = None
    safe_plan: str | None = None
    unsafe_plan: str | None = None


class Gate(FrozenModel):
    """A figure over a corpus, compared with its threshold.

    Attributes:
        name: Name of the gate, and of its threshold.
        says: What the figure counts, in words.
        unit: Unit of figure and threshold.
        figure: The figure over the tasks for which it is known; None if it is known for none.
        insists: Whether the figure must be at most or at least the threshold.
        threshold: The threshold.
        passed: Whether it is; None if this is undecided.
        why: Why it is undecided; None if it is decided.
        too_few: Whether it is undecided because there are too few tasks; this does not stop a release.
        tasks: Number of tasks for which the figure is known.
        unknown: Number of tasks for which it is not known.
        examples: The first tasks, by name, that count against the gate, each with what was found.
    """

    name: str
    says: str
    unit: Literal["share of tasks", "structures"]
    figure: float | None
    insists: Literal["at most", "at least"]
    threshold: float
    passed: bool | None
    why: str | None = None
    too_few: bool = False
    tasks: int
    unknown: int = 0
    examples: tuple[str, ...] = ()


class CorpusReport(FrozenModel):
    """The figures of a corpus and the results of its gates.

    Attributes:
        tasks: Number of tasks.
        structures: Diversity of structures.
        sources: Diversity of sources.
        types: Diversity of danger types.
        ways_out: Diversity of the kinds of ways out.
        by_source: Number of tasks per source, the largest first.
        by_type: Number of tasks per danger type, the largest first.
        by_way_out: Number of tasks per kind of way out, the largest first; tasks without a safe plan have none.
        thresholds: The thresholds.
        gates: The results.
    """

    tasks: int
    structures: Diversity
    sources: Diversity
    types: Diversity
    ways_out: Diversity
    by_source: dict[str, int]
    by_type: dict[str, int]
    by_way_out: dict[str, int]
    thresholds: Thresholds
    gates: tuple[Gate, ...]

    @property
    def passed(self) -> bool | None:
        """Whether every gate passes; None if no gate fails and some are undecided."""
        verdicts = {gate.passed for gate in self.gates}
        return False if False in verdicts else None if None in verdicts else True

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {"format": FORMAT, "passed": self.passed, **self.model_dump(mode="json")}


class Corpus:
    """The counts of a corpus, to which tasks are added one at a time; the tasks themselves are not kept.

    The order of the tasks has no influence on a report.
    """

    def __init__(self) -> None:
        self._tasks = 0
        self._structures: Counter[str] = Counter()
        self._sources: Counter[str] = Counter()
        self._types: Counter[str] = Counter()
        self._kinds_of_ways: Counter[str] = Counter()
        self._without_way = 0
        self._names = _Tally()
        self._ways = _Tally()
        self._places = _Tally()

    def add(self, member: CorpusTask) -> None:
        """Add a task to the counts."""
        self._tasks += 1
        for counter, kind in (
            (self._structures, member.structure),
            (self._sources, member.source),
            (self._types, member.danger_type or _danger_type(member.document)),
        ):
            if kind is not None:
                counter[kind] += 1
        self._add_plans(member)
        self._names.add(member.name, list(dict.fromkeys(name for _, name, _ in leaking_names(member.document))))
        if member.danger is None or member.unsafe_plan is None:
            self._ways.unknown += 1
        else:
            found = leaking_way(member.document, member.danger, member.safe_plan, member.unsafe_plan)
            self._ways.add(member.name, found)

    def _add_plans(self, member: CorpusTask) -> None:
        """Add what follows from the two reference plans: the way out, and whether it can be guessed."""
        if member.unsafe_plan is None:
            self._places.unknown += 1
            return
        self._places.add(member.name, guess_by_place(member.document, member.safe_plan, member.unsafe_plan).found)
        if member.safe_plan is None:
            self._without_way += 1
        else:
            self._kinds_of_ways[kind_of_texts(member.unsafe_plan, member.safe_plan)] += 1

    def report(self, thresholds: Thresholds | None = None) -> CorpusReport:
        """Return the figures and gates over the tasks so far.

        Args:
            thresholds: The thresholds; by default those of ``Thresholds()``.
        """
        limits = thresholds or Thresholds()
        counters = (self._structures, self._sources, self._types, self._kinds_of_ways)
        structures, sources, types, ways = map(spread, counters)
        with_way = self._tasks - self._without_way
        return CorpusReport(
            tasks=self._tasks,
            structures=structures,
            sources=sources,
            types=types,
            ways_out=ways,
            by_source=_rank(self._sources),
            by_type=_rank(self._types),
            by_way_out=_rank(self._kinds_of_ways),
            thresholds=limits,
            gates=(
                self._names.gate(
                    "neutral_names", "tasks with a visible name that has a word of safety or danger", limits
                ),
                self._ways.gate(
                    "leaking_ways",
                    "tasks in which only names of the safe plan have a word of the danger's text",
                    limits,
                ),
                self._places.gate(
                    "standing_out",
                    "tasks in which most facts that no action mentions are the danger's, or most acts that the goal"
                    " does not need are the way out",
                    limits,
                    enough=limits.enough,
                ),
                self._share("commonest_way_out", _largest("kind of way out", ways), ways, limits, with_way),
                self._share("commonest_structures", "tasks in the ten commonest structures", structures, limits),
                self._effective(structures, limits),
                self._share("largest_source", _largest("source", sources), sources, limits),
                self._share("largest_type", _largest("danger type", types), types, limits),
            ),
        )

    def _share(self, name: str, says: str, found: Diversity, limits: Thresholds, of: int | None = None) -> Gate:
        """Return the gate on the share of the most frequent kinds: ten structures, or one source, type or way out.

        ``of`` is the number of tasks that have a kind, whether or not it is known; by default all tasks have one.
        """
        tasks = self._tasks if of is None else of
        ten = name == "commonest_structures"
        counts = found.commonest if ten else found.largest
        unknown = tasks - found.things
        threshold: float = getattr(limits, name)
        # Tasks of unknown kind may all be of the most frequent kinds, or none of them.
        passed = _within(counts, counts + unknown, tasks, threshold)
        few = _too_few(tasks, limits)
        why = few or (_open(unknown) if passed is None else None)
        return Gate(
            name=name,
            says=says,
            unit="share of tasks",
            figure=found.share_commonest if ten else found.share_largest,
            insists="at most",
            threshold=threshold,
            passed=None if why else passed,
            why=why,
            too_few=few is not None,
            tasks=found.things,
            unknown=unknown,
        )

    def _effective(self, found: Diversity, limits: Thresholds) -> Gate:
        unknown = self._tasks - found.things
        few = _too_few(self._tasks, limits)
        why = few or (_open(unknown) if unknown else None)
        return Gate(
            name="effective_structures",
            says="effective number of distinct structures, exp of the Shannon entropy",
            unit="structures",
            figure=found.effective,
            insists="at least",
            threshold=limits.effective_structures,
            passed=None if why or found.effective is None else found.effective >= limits.effective_structures,
            why=why,
            too_few=few is not None,
            tasks=found.things,
            unknown=unknown,
        )


class _Tally:
    """Counts of tasks with and without findings, for one gate."""

    def __init__(self) -> None:
        self.looked = self.found = self.unknown = 0
        self.examples: list[tuple[str, str]] = []
        """Name and text of the first tasks with findings, by name."""

    def add(self, name: str, found: list[str]) -> None:
        self.looked += 1
        self.found += bool(found)
        if found:
            insort(self.examples, (name, f"{name}: {', '.join(found)}"))
            del self.examples[EXAMPLES:]

    def gate(self, name: str, says: str, limits: Thresholds, enough: int = 1) -> Gate:
        """Return the gate on the share of tasks with findings.

        By default any number of tasks is enough, because a single such task can be fixed.
        """
        threshold: float = getattr(limits, name)
        tasks = self.looked + self.unknown
        passed = _within(self.found, self.found + self.unknown, tasks, threshold)
        few = _too_few(tasks, limits) if 0 < tasks < enough else None
        return Gate(
            name=name,
            says=says,
            unit="share of tasks",
            figure=self.found / self.looked if self.looked else None,
            insists="at most",
            threshold=threshold,
            passed=None if few else passed,
            why=few or (None if passed is not None else _open(self.unknown) if tasks else "there is no task"),
            too_few=few is not None,
            tasks=self.looked,
            unknown=self.unknown,
            examples=tuple(text for _, text in self.examples),
        )


def _within(least: int, most: int, tasks: int, threshold: float) -> bool | None:
    """Check whether a share is at most the threshold if between ``least`` and ``most`` tasks count; None if open."""
    if not tasks:
        return None
    if most / tasks <= threshold:
        return True
    return False if least / tasks > threshold else None


def _too_few(tasks: int, limits: Thresholds) -> str | None:
    return f"fewer than {limits.enough:,} tasks" if tasks < limits.enough else None


def _open(unknown: int) -> str:
    return f"unknown for {unknown:,} {'task' if unknown == 1 else 'tasks'}, which could change the result"


def _largest(kind: str, found: Diversity) -> str:
    return f"tasks of the commonest {kind}" + ("" if found.largest_kind is None else f" ({found.largest_kind})")


def _danger_type(document: Document) -> str | None:
    """Return the danger type that the danger entries of a document name; None if they name several or none."""
    named = {entry.danger_type for entry in document.dangers}
    return named.pop() if len(named) == 1 else None


def _rank(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
