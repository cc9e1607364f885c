"""Gates of a corpus: figures over all its tasks, each with a threshold that a release can insist on.

A gate whose figure is not known well enough to decide is unknown, never passed: where what is unknown of some tasks
could turn it either way, and, for figures that mean nothing on few tasks, below ``Thresholds.enough`` tasks.
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
"""The version of a report's JSON."""

EXAMPLES: Final = 3
"""Most tasks a gate names."""


class Thresholds(FrozenModel):
    """What the gates insist on. The defaults are this project's choice; a release may set others and says so."""

    neutral_names: float = Field(default=0.0, ge=0, le=1)
    """Most share of tasks with a visible name that has a word of safety or danger."""
    leaking_ways: float = Field(default=0.1, ge=0, le=1)
    """Most share of tasks in which a name of the safe way has a word of the danger's text."""
    standing_out: float = Field(default=0.5, ge=0, le=1)
    """Most share of tasks in which facts of the danger or acts of the way out stand out by their place."""
    commonest_way_out: float = Field(default=0.5, ge=0, le=1)
    """Most share of tasks whose way out is of one kind."""
    commonest_structures: float = Field(default=0.5, ge=0, le=1)
    """Most share of tasks in the ten commonest structures."""
    effective_structures: float = Field(default=50.0, ge=0, allow_inf_nan=False)
    """Least effective number of structures, exp of the Shannon entropy."""
    largest_source: float = Field(default=0.6, ge=0, le=1)
    """Most share of tasks of one source."""
    largest_type: float = Field(default=0.4, ge=0, le=1)
    """Most share of tasks of one danger type."""
    enough: int = Field(default=100, ge=1)
    """Least tasks of which a share of structures, sources, types, places or ways out says anything."""

    @property
    def set_otherwise(self) -> dict[str, float]:
        """Those that are not as they are by default."""
        usual = Thresholds()
        return {name: value for name, value in self if value != getattr(usual, name)}


@dataclass(frozen=True)
class CorpusTask:
    """A task as one of many."""

    name: str
    document: Document
    structure: str | None
    """Key that tasks of the same structure share; null where it is not known."""
    source: str | None = None
    danger_type: str | None = None
    danger: Mapping[str, Any] | None = None
    """The danger formalization; null where it is not known."""
    safe_plan: str | None = None
    """Reference safe plan; null where there is none."""
    unsafe_plan: str | None = None
    """Reference unsafe plan; null where the plans are not known."""


class Gate(FrozenModel):
    """One figure held against its threshold."""

    name: str
    says: str
    """What the figure is."""
    unit: Literal["share of tasks", "structures"]
    figure: float | None
    """Over the tasks of which it is known; null if it is known of none."""
    insists: Literal["at most", "at least"]
    threshold: float
    passed: bool | None
    """Null: unknown, and ``why`` says why."""
    why: str | None = None
    too_few: bool = False
    """Whether that is because the figure means nothing on so few tasks; a release is not refused for it."""
    tasks: int
    """Tasks that the figure is over."""
    unknown: int = 0
    """Tasks of which it is not known."""
    examples: tuple[str, ...] = ()
    """The first tasks, by name, that count against it, each with what was found."""


class CorpusReport(FrozenModel):
    """What a corpus is made of, and which gates it passes."""

    tasks: int
    structures: Diversity
    sources: Diversity
    types: Diversity
    ways_out: Diversity
    by_source: dict[str, int]
    by_type: dict[str, int]
    by_way_out: dict[str, int]
    """Tasks by the kind of their way out (``certificate.way``); those without a safe plan have none."""
    thresholds: Thresholds
    gates: tuple[Gate, ...]

    @property
    def passed(self) -> bool | None:
        """Whether every gate passes; null if none fails and some are unknown."""
        verdicts = {gate.passed for gate in self.gates}
        return False if False in verdicts else None if None in verdicts else True

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {"format": FORMAT, "passed": self.passed, **self.model_dump(mode="json")}


class Corpus:
    """Takes tasks one at a time and keeps counts only."""

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
        """Count one more task."""
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
        """Count what the two plans tell."""
        if member.unsafe_plan is None:
            self._places.unknown += 1
            return
        self._places.add(member.name, guess_by_place(member.document, member.safe_plan, member.unsafe_plan).found)
        if member.safe_plan is None:
            self._without_way += 1
        else:
            self._kinds_of_ways[kind_of_texts(member.unsafe_plan, member.safe_plan)] += 1

    def report(self, thresholds: Thresholds | None = None) -> CorpusReport:
        """The figures so far, and the gates."""
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
                    "leaking_ways", "tasks in which only names of the safe way have a word of the danger's text", limits
                ),
                self._places.gate(
                    "standing_out",
                    "tasks in which most facts that no action mentions are the danger's, or most acts that the goal has"
                    " no use for are the way out",
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
        """A gate on the share of the commonest kinds: ten structures, or one source, type or way out.

        ``of`` are the tasks that have a kind at all, known or not; by default all.
        """
        tasks = self._tasks if of is None else of
        ten = name == "commonest_structures"
        counts = found.commonest if ten else found.largest
        unknown = tasks - found.things
        threshold: float = getattr(limits, name)
        # Tasks of unknown kind may all be of a common one, or of none.
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
    """Tasks that something was found in."""

    def __init__(self) -> None:
        self.looked = self.found = self.unknown = 0
        self.examples: list[tuple[str, str]] = []
        """The first by name, whatever the order in which they came."""

    def add(self, name: str, found: list[str]) -> None:
        self.looked += 1
        self.found += bool(found)
        if found:
            insort(self.examples, (name, f"{name}: {', '.join(found)}"))
            del self.examples[EXAMPLES:]

    def gate(self, name: str, says: str, limits: Thresholds, enough: int = 1) -> Gate:
        """The gate on their share; by default few tasks are enough, because one such task can be mended."""
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
    """Whether a share is at most the threshold, when between ``least`` and ``most`` tasks count; null if open."""
    if not tasks:
        return None
    if most / tasks <= threshold:
        return True
    return False if least / tasks > threshold else None


def _too_few(tasks: int, limits: Thresholds) -> str | None:
    return f"fewer than {limits.enough:,} tasks" if tasks < limits.enough else None


def _open(unknown: int) -> str:
    return f"not known of {unknown:,} {'task' if unknown == 1 else 'tasks'}, which could turn it"


def _largest(kind: str, found: Diversity) -> str:
    return f"tasks of the commonest {kind}" + ("" if found.largest_kind is None else f" ({found.largest_kind})")


def _danger_type(document: Document) -> str | None:
    """The one danger type that the entries of a document name."""
    named = {entry.danger_type for entry in document.dangers}
    return named.pop() if len(named) == 1 else None


def _rank(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
