"""Two runs of one store, compared record by record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import computed_field

from hazardmill.comparison.figures import ComparisonOptions, PairedFigure, Quotient, Values, figures, share
from hazardmill.comparison.load import RecordOutcome, Verdict, answering_models, ended_records
from hazardmill.errors import InputError, UsageError
from hazardmill.records import FrozenModel
from hazardmill.review.candidates import load_pool
from hazardmill.review.decisions.effective import opinions
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.policies import Policy, accepted_set
from hazardmill.runs.reproducibility import ConfigChange, config_changes, made_changes
from hazardmill.runs.run import Run

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hazardmill.store.store import Store

FORMAT: Final = "hazardmill-comparison/1"

COMPARED: Final = ("outcome", "reason", "drafts", "danger_type", "judge_reasons", "way_out", "task_id", "verdict")
"""Fields of ``RecordOutcome`` in which a record can differ. Cost and time of an answer always differ."""


class ComparedRun(FrozenModel):
    """One of the two runs."""

    run_id: str
    models: tuple[str, ...]
    """Who answered."""
    records: int
    finished: int
    """Records with an outcome."""


class Pairing(FrozenModel):
    """Which records are compared."""

    pairs: int
    only_a: int
    """Records that only the first run has."""
    only_b: int
    changed: int
    """Records of both runs whose content is not the same in both."""
    unfinished: int
    """Records of both runs that one of them has not finished."""


class SideBySide(FrozenModel):
    """How often something occurs in each run, among the records of both."""

    value: str
    a: int
    b: int


class OutcomeShift(FrozenModel):
    """Records that ended in one way in the first run and in another in the second."""

    a: str
    b: str
    records: int


class RecordPair(FrozenModel):
    """One record in both runs."""

    record_id: str
    a: RecordOutcome
    b: RecordOutcome

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated properties
    @property
    def differs(self) -> tuple[str, ...]:
        """Fields in which the two ends are not the same."""
        return tuple(name for name in COMPARED if getattr(self.a, name) != getattr(self.b, name))


class RunComparison(FrozenModel):
    """Two runs on the same records. The first is ``a``, the second ``b``; a difference is ``b`` less ``a``."""

    format: Literal["hazardmill-comparison/1"] = FORMAT
    a: ComparedRun
    b: ComparedRun
    settings: tuple[ConfigChange, ...]
    """What the runs were started with that differs: models, prompts, settings."""
    pairing: Pairing
    figures: tuple[PairedFigure, ...]
    tallies: dict[str, tuple[SideBySide, ...]]
    """``outcomes``, ``losses`` with their reasons, and so on: each value that either run has, the commonest first."""
    moved: tuple[OutcomeShift, ...]
    differing: int
    """Pairs that differ in anything but cost and time."""
    pairs: tuple[RecordPair, ...]
    how: ComparisonOptions

    @property
    def unpriced(self) -> int:
        """Pairs of which a run does not know the cost or the time."""
        return max(
            (each.unknown for each in self.figures if each.name in ("USD per record", "seconds per record")), default=0
        )

    @property
    def is_nothing(self) -> bool:
        """Whether the runs differ in nothing that is known, cost and time included."""
        return not self.differing and not any(figure.difference for figure in self.figures)


def compare(
    store: Store,
    first: str,
    second: str,
    review: Path | None = None,
    policy: Policy = "any-reject",
    how: ComparisonOptions | None = None,
) -> RunComparison:
    """Compare two runs on the records that both have finished.

    Args:
        store: Where both are.
        first: The run that is compared with.
        second: The run that is compared.
        review: Folder of people's decisions on the tasks; null where there are none.
        policy: By which rule people approve of a task.
        how: How intervals are drawn.

    Raises:
        UsageError: It is the same run twice.
        InputError: There is no such run, or there is no record to compare.
    """
    if first == second:
        raise UsageError(
            f"run {first} cannot be compared with itself", remedy="name two runs; see: hazardmill run list"
        )
    how = how or ComparisonOptions()
    runs = Run.load(store, first), Run.load(store, second)
    verdicts = _verdicts(store, review, policy)

    def read(views: DuckDBPyConnection) -> list[tuple[dict[str, RecordOutcome], tuple[str, ...]]]:
        return [(ended_records(views, run.run_id, verdicts), answering_models(views, run.run_id)) for run in runs]

    (a, models_a), (b, models_b) = store.query(read)
    pairing, pairs = _pair_records(runs, a, b)
    return RunComparison(
        a=ComparedRun(run_id=first, models=models_a, records=len(runs[0].selection), finished=len(a)),
        b=ComparedRun(run_id=second, models=models_b, records=len(runs[1].selection), finished=len(b)),
        settings=(*config_changes(runs[0].config, runs[1].config), *made_changes(runs[0].made, runs[1].made)),
        pairing=pairing,
        figures=tuple(figures([*_quotients(pairs)], how)),
        tallies={name: _beside(pairs, values) for name, values in _TALLIES.items()},
        moved=_count_shifts(pairs),
        differing=sum(bool(pair.differs) for pair in pairs),
        pairs=tuple(pairs),
        how=how,
    )


def _verdicts(store: Store, review: Path | None, policy: Policy) -> dict[str, Verdict]:
    """What people made of each task, where they did."""
    folder = None if review is None else ReviewFolder(review)
    # To read the pool takes a while, and most stores were never reviewed.
    if folder is None or not any(True for _ in folder.slips()):
        return {}
    items = load_pool(store)
    tasks = [item.item for item in items.values() if item.kind == "task"]
    found = accepted_set(tasks, opinions(folder, items), policy)
    verdicts: dict[str, Verdict] = dict.fromkeys(found.accepted, "approved")
    return verdicts | dict.fromkeys(found.rejected, "rejected")


def _pair_records(
    runs: tuple[Run, Run], a: Mapping[str, RecordOutcome], b: Mapping[str, RecordOutcome]
) -> tuple[Pairing, list[RecordPair]]:
    """The records of both runs that both have finished, in the order of the first.

    Raises:
        InputError: There are none; says why.
    """
    one, other = runs
    both = [record_id for record_id in one.selection if record_id in other.content]
    same = [record_id for record_id in both if _alike(one.content[record_id], other.content[record_id])]
    pairs = [RecordPair(record_id=each, a=a[each], b=b[each]) for each in same if each in a and each in b]
    names = f"runs {one.run_id} and {other.run_id}"
    again = "generate tasks from the same --source, --input and --where with both; see: hazardmill run list"
    if not both:
        counts = f"{len(one.selection)} and {len(other.selection)} records"
        raise InputError(f"{names} have no record in common, of {counts}", remedy=again)
    if not same:
        raise InputError(
            f"what {names} have in common are {len(both)} records whose content changed in between", remedy=again
        )
    if not pairs:
        left = one if len(a) < len(one.selection) else other
        raise InputError(
            f"{names} have finished none of their {len(same)} common records both",
            remedy=f"go on with: hazardmill run resume {left.run_id} --store {one.store.address}",
        )
    pairing = Pairing(
        pairs=len(pairs),
        only_a=len(one.selection) - len(both),
        only_b=len(other.selection) - len(both),
        changed=len(both) - len(same),
        unfinished=len(same) - len(pairs),
    )
    return pairing, pairs


def _alike(one: str | None, other: str | None) -> bool:
    """Whether a record's content is the same; the first stores did not write it down with the run."""
    return one is None or other is None or one == other


def _quotients(pairs: Sequence[RecordPair]) -> Iterator[Quotient]:
    def both(value: Callable[[RecordOutcome], float | None]) -> tuple[Values, Values]:
        return [value(pair.a) for pair in pairs], [value(pair.b) for pair in pairs]

    records, tasks = both(lambda ended: 1.0), both(lambda ended: float(ended.accepted))
    yield share("declined", *both(lambda ended: float(ended.declined)))
    yield share("accepted", *tasks)
    yield share("accepted at draft 1", *both(lambda ended: float(ended.accepted and ended.drafts == 1)))
    yield share("approved by reviewers", *both(_approval))
    drafts, usd = both(lambda ended: float(ended.drafts)), both(lambda ended: ended.usd)
    yield Quotient("drafts per record", "drafts", *drafts, *records)
    yield Quotient("drafts per task", "drafts", *drafts, *tasks)
    yield Quotient("USD per record", "USD", *usd, *records)
    yield Quotient("USD per task", "USD", *usd, *tasks)
    yield Quotient("seconds per record", "seconds", *both(lambda ended: ended.seconds), *records)


def _approval(ended: RecordOutcome) -> float | None:
    return None if ended.verdict is None else float(ended.verdict == "approved")


_TALLIES: Final[dict[str, Callable[[RecordOutcome], Iterable[str]]]] = {
    "outcomes": lambda ended: (ended.outcome.value,),
    "losses": lambda ended: () if ended.reason is None else (f"{ended.outcome.value} {ended.reason}",),
    "danger_types": lambda ended: () if ended.danger_type is None else (ended.danger_type,),
    "judge_reasons": lambda ended: ended.judge_reasons,
    "ways_out": lambda ended: (ended.way_out or "not_known",) if ended.accepted else (),
    "verdicts": lambda ended: () if ended.verdict is None else (ended.verdict,),
}
"""Name of a tally to what of a record is counted in it."""


def _beside(pairs: Iterable[RecordPair], values: Callable[[RecordOutcome], Iterable[str]]) -> tuple[SideBySide, ...]:
    """Counts of both runs, the commonest first."""
    a: Counter[str] = Counter()
    b: Counter[str] = Counter()
    for pair in pairs:
        a.update(values(pair.a))
        b.update(values(pair.b))
    ranked = sorted(a.keys() | b.keys(), key=lambda value: (-a[value] - b[value], value))
    return tuple(SideBySide(value=value, a=a[value], b=b[value]) for value in ranked)


def _count_shifts(pairs: Iterable[RecordPair]) -> tuple[OutcomeShift, ...]:
    counts = Counter((pair.a.outcome.value, pair.b.outcome.value) for pair in pairs if pair.a.outcome != pair.b.outcome)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(OutcomeShift(a=a, b=b, records=records) for (a, b), records in ranked)
