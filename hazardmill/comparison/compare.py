"""Compare two runs of one store, record by record."""

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
from hazardmill.runs.reproducibility import ConfigChange, config_changes, reproducibility_changes
from hazardmill.runs.run import Run
from hazardmill.store.run_ids import list_command
from hazardmill.text.shell import command

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hazardmill.store.store import Store

FORMAT: Final = "hazardmill-comparison/1"

COMPARED: Final = ("outcome", "reason", "drafts", "danger_type", "judge_reasons", "way_out", "task_id", "verdict")
"""Fields of ``RecordOutcome`` in which a pair can differ; cost and time are left out, as no two answers share them."""


class ComparedRun(FrozenModel):
    """One of the two runs.

    Attributes:
        run_id: Id of the run.
        models: Names of the models that answered, sorted.
        records: Number of records that the run selected.
        finished: Number of those that have an outcome.
    """

    run_id: str
    models: tuple[str, ...]
    records: int
    finished: int


class Pairing(FrozenModel):
    """Counts of the records that are compared and of those that are left out.

    Attributes:
        pairs: Records that are compared.
        only_a: Records that only the first run has.
        only_b: Records that only the second run has.
        changed: Records of both runs whose content differs between them.
        unfinished: Records of both runs, with the same content, that at least one run has not finished.
    """

    pairs: int
    only_a: int
    only_b: int
    changed: int
    unfinished: int


class SideBySide(FrozenModel):
    """How often one value occurs in each run, among the compared records.

    Attributes:
        value: What is counted, such as an outcome or a danger type.
        a: Its count in the first run.
        b: Its count in the second run.
    """

    value: str
    a: int
    b: int


class OutcomeShift(FrozenModel):
    """Number of records with one outcome in the first run and another outcome in the second.

    Attributes:
        a: Outcome in the first run.
        b: Outcome in the second run.
        records: Number of such records.
    """

    a: str
    b: str
    records: int


class RecordPair(FrozenModel):
    """One record, with what became of it in the first run (``a``) and in the second (``b``)."""

    record_id: str
    a: RecordOutcome
    b: RecordOutcome

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated properties
    @property
    def differs(self) -> tuple[str, ...]:
        """Names of the ``COMPARED`` fields in which the two outcomes differ; empty if there are none."""
        return tuple(name for name in COMPARED if getattr(self.a, name) != getattr(self.b, name))


class RunComparison(FrozenModel):
    """Everything that is compared between a first run ``a`` and a second run ``b``; a difference is ``b`` minus ``a``.

    Attributes:
        format: Name and version of this JSON format.
        a: The first run.
        b: The second run.
        settings: Settings, models and prompts that differ between the runs.
        pairing: Which records are compared.
        figures: Rates, costs and times of both runs over the pairs.
        tallies: Tables of counts by name (``outcomes``, ``losses`` and so on): each value that occurs in either run,
            most frequent first.
        moved: Changes of outcome, most frequent first.
        differing: Number of pairs that differ in anything but cost and time.
        pairs: The compared records, in the order of the first run.
        how: How intervals were computed.
    """

    format: Literal["hazardmill-comparison/1"] = FORMAT
    a: ComparedRun
    b: ComparedRun
    settings: tuple[ConfigChange, ...]
    pairing: Pairing
    figures: tuple[PairedFigure, ...]
    tallies: dict[str, tuple[SideBySide, ...]]
    moved: tuple[OutcomeShift, ...]
    differing: int
    pairs: tuple[RecordPair, ...]
    how: ComparisonOptions

    @property
    def unpriced(self) -> int:
        """Number of pairs for which the cost or the time in one of the runs is unknown."""
        return max(
            (each.unknown for each in self.figures if each.name in ("USD per record", "seconds per record")), default=0
        )

    @property
    def is_nothing(self) -> bool:
        """Whether the runs do not differ in anything known, cost and time included."""
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
        store: The store that holds both runs.
        first: Id of the run to compare with.
        second: Id of the run that is compared with it.
        review: Review folder with people's decisions on the tasks; ``None`` leaves reviewers out.
        policy: The rule by which reviewers accept a task.
        how: How intervals are computed; ``None`` for the defaults.

    Returns:
        The comparison; its pairs are in the order of the first run.

    Raises:
        UsageError: Both ids are the same.
        InputError: A run does not exist, the runs have no finished record in common, or the review is damaged.
        StoreError: The store cannot be read.
    """
    if first == second:
        raise UsageError(
            f"run {first} cannot be compared with itself", remedy=f"name two runs; see: {list_command(store.address)}"
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
        settings=(
            *config_changes(runs[0].config, runs[1].config),
            *reproducibility_changes(runs[0].made, runs[1].made),
        ),
        pairing=pairing,
        figures=tuple(figures([*_quotients(pairs)], how)),
        tallies={name: _beside(pairs, values) for name, values in _TALLIES.items()},
        moved=_count_shifts(pairs),
        differing=sum(bool(pair.differs) for pair in pairs),
        pairs=tuple(pairs),
        how=how,
    )


def _verdicts(store: Store, review: Path | None, policy: Policy) -> dict[str, Verdict]:
    """Return what reviewers made of each task that they settled."""
    folder = None if review is None else ReviewFolder(review)
    # Reading the pool takes a while, and most stores were never reviewed.
    if folder is None or not any(True for _ in folder.slips()):
        return {}
    items = load_pool(store)
    tasks = [item.item for item in items.values() if item.slip_kind == "task"]
    found = accepted_set(tasks, opinions(folder, items), policy)
    verdicts: dict[str, Verdict] = dict.fromkeys(found.accepted, "approved")
    return verdicts | dict.fromkeys(found.rejected, "rejected")


def _pair_records(
    runs: tuple[Run, Run], a: Mapping[str, RecordOutcome], b: Mapping[str, RecordOutcome]
) -> tuple[Pairing, list[RecordPair]]:
    """Pair the records that both runs have finished.

    Returns:
        Counts of the records that are compared and left out, and the pairs in the order of the first run.

    Raises:
        InputError: There are none; the message says why.
    """
    one, other = runs
    both = [record_id for record_id in one.selection if record_id in other.content]
    same = [record_id for record_id in both if _alike(one.content[record_id], other.content[record_id])]
    pairs = [RecordPair(record_id=each, a=a[each], b=b[each]) for each in same if each in a and each in b]
    names = f"runs {one.run_id} and {other.run_id}"
    again = (
        f"generate tasks from the same --source, --input and --where with both; see: {list_command(one.store.address)}"
    )
    if not both:
        counts = f"{len(one.selection)} and {len(other.selection)} records"
        raise InputError(f"{names} have no record in common; they have {counts}", remedy=again)
    if not same:
        raise InputError(
            f"the content of all {len(both)} records that {names} have in common changed in between", remedy=again
        )
    if not pairs:
        left = one if len(a) < len(one.selection) else other
        raise InputError(
            f"no record is finished in both runs: {names} have {len(same)} in common",
            remedy=f"resume the run: {command('run', 'resume', left.run_id, '--store', one.store.address)}",
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
    """Return whether a record's content is the same in both; ``None`` is unknown and counts as the same."""
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
"""The name of each tally, and the values of a record that it counts."""


def _beside(pairs: Iterable[RecordPair], values: Callable[[RecordOutcome], Iterable[str]]) -> tuple[SideBySide, ...]:
    """Count the values of both runs, most frequent first."""
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
