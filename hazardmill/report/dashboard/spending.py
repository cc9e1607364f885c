"""The page ``page-cost``: what all runs of a store paid today, this week and in the last 30 days.

Days are days in UTC, and a week begins on Monday. Attempts count when they ended. An attempt without a known price is
counted beside the sum, never as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.report.cost import STAGES
from hazardmill.report.dashboard.figures import lay_out_usd
from hazardmill.report.dashboard.history import SpendTally
from hazardmill.report.dashboard.history_queries import PAID, USD
from hazardmill.report.dashboard.writing import write_code, write_picture, write_table, write_text
from hazardmill.report.queries import select
from hazardmill.report.wording import usd_sum
from hazardmill.reporting.numbers import NONE, count, plural
from hazardmill.reporting.svg.bars import draw_legend
from hazardmill.reporting.svg.drawing import MUTED, SERIES, Figure, draw, draw_empty
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from matplotlib.axes import Axes

DAYS: Final = 30
"""Days of the longest period, of which today is the last."""

_ROWS: Final = 30
"""Most rows of a table; cheaper models or sources share the last one."""

_UNNAMED: Final = "unknown model"
_NO_SOURCE: Final = "no single record"
_OTHERS: Final = "all others"

_BY_DAY: Final = f"""
    SELECT CASE WHEN model_answered = $offline THEN model_answered
                ELSE coalesce(model_sent, model_asked, model_answered, '{_UNNAMED}') END AS model,
           CASE WHEN contains(record_id, ':') THEN split_part(record_id, ':', 1) ELSE '{_NO_SOURCE}' END AS source,
           stage, (epoch_us("at") - $since) // 86400000000 AS day,
           count(*) AS attempts, sum({USD}) AS usd, count({USD}) AS usd_known,
           sum(usd_upper) AS upper, count(usd_upper) AS upper_known
    FROM llm_calls WHERE epoch_us("at") >= $since AND {PAID} GROUP BY ALL
"""


@dataclass(frozen=True)
class DaySpend:
    """What one model took for one source and stage on one day.

    Attributes:
        model: Model that was sent to, or the offline author.
        source: Source of the records.
        stage: Stage that asked.
        day: Number of the day, from 0; the last one is today.
        usd: Cost in US dollars.
        upper: Most that it can have been, in US dollars.
    """

    model: str
    source: str
    stage: str
    day: int
    usd: SpendTally
    upper: SpendTally


def read_spending(connection: DuckDBPyConnection, now: datetime) -> list[DaySpend]:
    """Add up what was paid on each of the last 30 days.

    Args:
        connection: A connection with one view per table.
        now: The time that counts as now.

    Returns:
        One sum per model, source, stage and day, in no particular order.
    """
    since = int(_first_day(now).timestamp()) * 1_000_000
    rows = select(connection, _BY_DAY, (), since=since, offline=OFFLINE_MODEL)
    return [
        DaySpend(
            model=row["model"],
            source=row["source"],
            stage=row["stage"],
            # What a machine with a fast clock wrote belongs to today.
            day=min(row["day"], DAYS - 1),
            usd=SpendTally(row["usd"] or 0, row["usd_known"], row["attempts"]),
            upper=SpendTally(row["upper"] or 0, row["upper_known"], row["attempts"]),
        )
        for row in rows
    ]


def write_spending(spent: Sequence[DaySpend], now: datetime) -> Iterator[str]:
    """Yield the blocks of the page: sums by period, then by model, source and stage, and a figure by day."""
    periods = _periods(now)
    head = ("Period (UTC)", "Attempts", "USD", "At most", "Price unknown")
    yield write_table(head, (_period_row(name, spent, first) for name, first in periods.items()))
    if any(each.usd.sum.unknown for each in spent):
        yield (
            "Price unknown: attempts under way, cut off, or of a model without a price. They are in no sum of USD;"
            " under *At most* each counts with what was reserved for it."
        )
    if not spent:
        return
    yield write_picture(daily_cost(spent, now))
    parts: list[tuple[str, Callable[[DaySpend], str]]] = [
        ("model", lambda each: each.model),
        ("source", lambda each: each.source),
        ("stage", lambda each: each.stage),
    ]
    for name, part in parts:
        yield f"### By {name}"
        yield write_table((name.capitalize(), *periods), _part_rows(spent, part, list(periods.values())))


def daily_cost(spent: Sequence[DaySpend], now: datetime) -> Figure:
    """Draw the known cost of each day as a bar, divided by model."""
    cost: dict[str, list[float]] = {}
    for each in spent:
        cost.setdefault(each.model, [0.0] * DAYS)[each.day] += each.usd.total
    ranked = sorted((name for name in cost if any(cost[name])), key=lambda name: -sum(cost[name]))
    attempts = sum(each.usd.parts for each in spent)
    unknown = sum(each.usd.sum.unknown for each in spent)
    title = f"Cost per day in USD, by model (n = {plural(attempts, 'attempt')})"
    first = _first_day(now)
    days = [f"{first + timedelta(days=day):%m-%d}" for day in range(DAYS)]
    totals = [sum(values) for values in zip(*cost.values(), strict=True)]
    rows = tuple((day, usd_sum(SpendTally(total, 1, 1).sum)) for day, total in zip(days, totals, strict=True))
    grid = Grid(title, ("Day", "USD"), rows)
    if not ranked:
        return draw_empty("days", title, "nothing was paid, or no price is known", grid)
    shown = ranked[: len(SERIES)] if len(ranked) <= len(SERIES) else ranked[: len(SERIES) - 1]
    drawn = [(name, cost[name], SERIES[place]) for place, name in enumerate(shown)]
    if rest := ranked[len(shown) :]:
        drawn.append((_OTHERS, [sum(values) for values in zip(*(cost[name] for name in rest), strict=True)], MUTED))

    def paint(axes: Axes) -> None:
        floor = [0.0] * DAYS
        for name, heights, colour in drawn:
            axes.bar(range(DAYS), heights, bottom=floor, color=colour, width=0.8, label=_shorten(name))
            floor = [low + height for low, height in zip(floor, heights, strict=True)]
        ticks = range(DAYS - 1, -1, -7)
        axes.set_xticks(list(ticks), [days[tick] for tick in ticks])
        axes.set_xlim(-0.6, DAYS - 0.4)
        lay_out_usd(axes)
        draw_legend(axes, 2)

    note = f"The price of {plural(unknown, 'attempt')} is unknown and not in any bar." if unknown else None
    paid = [f"{day} {words}" for (day, words), total in zip(rows, totals, strict=True) if total]
    alt = f"Bars of USD per day, divided by model: {'; '.join(paid)}."
    height = 2.4 + 0.2 * ((len(drawn) + 1) // 2)
    return draw("days", title, alt, height, paint, grid=grid, note=note)


def _periods(now: datetime) -> dict[str, int]:
    """Return the periods by name, each with its first day."""
    return {"Today": DAYS - 1, "This week": DAYS - 1 - now.astimezone(UTC).weekday(), f"Last {DAYS} days": 0}


def _first_day(now: datetime) -> datetime:
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=DAYS - 1)


def _period_row(name: str, spent: Sequence[DaySpend], first: int) -> tuple[str, ...]:
    mine = [each for each in spent if each.day >= first]
    usd, upper = _add(each.usd for each in mine), _add(each.upper for each in mine)
    most = usd_sum(upper.sum) if not upper.sum.unknown else "not bounded"
    # The last column has the number of unknown prices, so that the sum need not repeat it.
    known = usd_sum(SpendTally(usd.total, usd.known, usd.known).sum) if usd.known or not usd.parts else "unknown"
    return (write_text(name), count(usd.parts), known, most, count(usd.sum.unknown) if usd.sum.unknown else NONE)


def _part_rows(
    spent: Sequence[DaySpend], part: Callable[[DaySpend], str], firsts: Sequence[int]
) -> Iterator[tuple[str, ...]]:
    by_name: dict[str, list[DaySpend]] = {}
    for each in spent:
        by_name.setdefault(part(each), []).append(each)
    stages = {stage: place for place, stage in enumerate(STAGES)}
    ranked = sorted(by_name, key=lambda name: (stages.get(name, -1), -_add(x.usd for x in by_name[name]).total, name))
    for name in ranked[:_ROWS]:
        yield (_name(name), *_cells(by_name[name], firsts))
    if rest := [each for name in ranked[_ROWS:] for each in by_name[name]]:
        yield (_OTHERS, *_cells(rest, firsts))
    yield ("**all**", *_cells(spent, firsts))


def _cells(spent: Sequence[DaySpend], firsts: Sequence[int]) -> Iterator[str]:
    for first in firsts:
        usd = _add(each.usd for each in spent if each.day >= first)
        yield usd_sum(usd.sum) if usd.parts else NONE


def _name(name: str) -> str:
    if name == OFFLINE_MODEL:
        return f"{write_code(name)}, rules and no language model"
    return name if name in (_NO_SOURCE, _UNNAMED) else write_code(name)


def _shorten(name: str, longest: int = 28) -> str:
    return name if len(name) <= longest else f"{name[: longest - 4]} ..."


def _add(parts: Iterator[SpendTally]) -> SpendTally:
    return sum(parts, SpendTally())
