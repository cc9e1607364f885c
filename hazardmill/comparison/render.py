"""A comparison as tables and sentences, for terminal and page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hazardmill.comparison.compare import ComparedRun, RecordPair, RunComparison
from hazardmill.comparison.figures import PairedFigure
from hazardmill.comparison.load import RecordOutcome
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.records import Outcome
from hazardmill.report.wording import OUTCOME_WORDS, reason
from hazardmill.reporting.estimates import render_interval
from hazardmill.reporting.numbers import NONE, count, plural, usd
from hazardmill.reporting.table import Grid
from hazardmill.statistics.estimate import Estimate, Proportion

TITLES: Final = {
    "outcomes": "Outcomes",
    "losses": "Losses by reason",
    "danger_types": "Danger types",
    "judge_reasons": "Judge's reasons",
    "ways_out": "Ways out",
    "verdicts": "Reviewers' verdicts",
}
"""The title of each tally."""

_FIELDS: Final = {"judge_reasons": "judge", "task_id": "task", "danger_type": "danger type", "way_out": "way out"}


def sentences(found: RunComparison) -> list[str]:
    """Return sentences that say which records are compared, which are left out, and whether anything differs."""
    pairing, a, b = found.pairing, found.a, found.b
    said = [f"{plural(pairing.pairs, 'record')} of both runs {'is' if pairing.pairs == 1 else 'are'} compared."]
    left = [
        (pairing.only_a, f"only run {a.run_id} has"),
        (pairing.only_b, f"only run {b.run_id} has"),
        (pairing.changed, "the content differs"),
        (pairing.unfinished, "one of the runs has not finished"),
    ]
    if out := [f"{count(number)} that {words}" for number, words in left[:2] if number]:
        said.append(f"Left out: {', '.join(out)}.")
    said += [
        f"Left out: {plural(number, 'record')} of both runs, because {words}." for number, words in left[2:] if number
    ]
    if found.differing:
        said.append(f"{count(found.differing)} of them ended differently.")
    else:
        said.append("The runs do not differ." if found.is_nothing else "They differ only in cost or time.")
        if found.unpriced:
            said.append(f"The cost or time of {plural(found.unpriced, 'pair')} is unknown.")
    for side in (a, b):
        if OFFLINE_MODEL in side.models:
            said.append(f"Run {side.run_id} was answered by the offline author: rules, not a language model.")
    return said


def grids(found: RunComparison) -> Iterator[Grid]:
    """Yield every table of a comparison except the one of single records.

    Yields:
        Runs, differing settings, figures, changed records, one table per tally that is not empty, and changed outcomes.
    """
    yield _runs(found)
    if found.settings:
        rows = tuple((each.name, each.old or NONE, each.new or NONE) for each in found.settings)
        yield Grid("Settings that differ", ("", "A", "B"), rows, words=3)
    yield figures_grid(found)
    yield changed_grid(found)
    for name, beside in found.tallies.items():
        if beside:
            counted = ((_words(name, each.value), each.a, each.b) for each in beside)
            lines = tuple((words, count(a), count(b), _sign(b - a)) for words, a, b in counted)
            yield Grid(TITLES[name], ("", "A", "B", "B less A"), lines)
    if found.moved:
        rows = tuple((_outcome(each.a), _outcome(each.b), count(each.records)) for each in found.moved)
        yield Grid("Changed outcomes", ("In A", "In B", "Records"), rows, words=2)


def figures_grid(found: RunComparison) -> Grid:
    """Return the table of figures with their intervals, or the reason why there is none.

    Differences of shares are in percentage points. The shares of A and B have intervals of their own.
    """
    level = f"{100 * found.how.level:g} %"
    head = ("", f"A, {level}", f"B, {level}", "B less A", f"{level} interval", "Pairs")
    rows = tuple(_figure(each) for each in found.figures if each.pairs)
    return Grid("Figures, paired by record", head, rows)


def changed_grid(found: RunComparison) -> Grid:
    """Return the table of records that have a property in one run only, with McNemar's p-value.

    There is one row per share; figures that are not shares have no such records.
    """
    rows = tuple(
        (each.name, count(each.only_a), count(each.only_b), "<0.001" if each.p < 0.001 else f"{each.p:.3f}")
        for each in found.figures
        if each.only_a is not None and each.only_b is not None and each.p is not None
    )
    return Grid("Changed records", ("", "Only A", "Only B", "McNemar's p"), rows)


def records_grid(found: RunComparison, most: int | None = None) -> Grid:
    """Return the table of single records that differ, one row per field.

    Args:
        found: The comparison.
        most: Largest number of records to list; ``None`` lists all. The title states how many were left out.
    """
    differing = [pair for pair in found.pairs if pair.differs]
    rows = [row for pair in differing[:most] for row in _differences(pair)]
    shown = "" if most is None or len(differing) <= most else f"the first {count(most)} of "
    return Grid(
        f"Records that differ ({shown}{count(len(differing))})", ("Record", "In", "A", "B"), tuple(rows), words=4
    )


def _runs(found: RunComparison) -> Grid:
    def row(name: str, side: ComparedRun) -> tuple[str, ...]:
        return name, side.run_id, ", ".join(side.models) or NONE, count(side.records), count(side.finished)

    return Grid(
        "Runs", ("", "Run", "Answered by", "Records", "Finished"), (row("A", found.a), row("B", found.b)), words=3
    )


def _figure(each: PairedFigure) -> tuple[str, ...]:
    def write_value(value: float | None, *, signed: bool = False) -> str:
        if value is None:
            return NONE
        sign = "" if not signed else "-" if value < 0 else "+" if value > 0 else ""
        size = abs(value) if signed else value
        if each.unit == "share":
            return f"{sign}{100 * size:.1f}"
        return sign + (usd(size) if each.unit == "USD" else f"{size:.2f}")

    def write_side(value: float | None, share: Proportion | None) -> str:
        if share is None:
            return write_value(value)
        return f"{write_value(value)} ({render_interval(share, write_value)})"

    difference = Estimate(value=each.difference, low=each.low, high=each.high, method=each.method)
    interval = render_interval(difference, lambda end: write_value(end, signed=True)) or each.why or NONE
    name = f"{each.name}, %" if each.unit == "share" else each.name
    return (
        name,
        write_side(each.a, each.share_a),
        write_side(each.b, each.share_b),
        write_value(each.difference, signed=True),
        interval,
        count(each.pairs),
    )


def _differences(pair: RecordPair) -> Iterator[tuple[str, str, str, str]]:
    for name in pair.differs:
        yield pair.record_id, _FIELDS.get(name, name), _value(pair.a, name), _value(pair.b, name)


def _value(ended: RecordOutcome, name: str) -> str:
    value = getattr(ended, name)
    if name == "outcome":
        return _outcome(value)
    if name == "judge_reasons":
        return ", ".join(_name_judge_code(each) for each in value) or NONE
    if name == "reason":
        return NONE if value is None else _name_judge_code(value)
    return NONE if value is None else str(value).replace("_", " ") if name != "task_id" else str(value)


def _words(tally: str, value: str) -> str:
    if tally == "outcomes":
        return _outcome(value)
    if tally == "losses":
        outcome, _, why = value.partition(" ")
        return f"{_outcome(outcome)}: {_name_judge_code(why)}"
    return _name_judge_code(value)


def _name_judge_code(code: str) -> str:
    return reason(code.replace("judge:", "judge: ")).replace("_", " ")


def _outcome(value: str) -> str:
    return OUTCOME_WORDS[Outcome(value)]


def _sign(number: int) -> str:
    return f"{number:+,}" if number else "="
