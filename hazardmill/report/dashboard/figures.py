"""The figures of the cost dashboard: cost by stage, cumulative cost, share of cached input, USD per task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hazardmill.report.dashboard.history import Past, SpendPoint, SpendTally, SpendTotals
from hazardmill.report.wording import token_sum, usd_sum
from hazardmill.reporting.numbers import NONE, UNKNOWN, count, plural, share, usd
from hazardmill.reporting.svg.bars import ROW, THICK, draw_label, draw_legend, lay_out_rows
from hazardmill.reporting.svg.drawing import BLUE, MUTED, SERIES, SKY, VERMILION, Figure, draw, draw_empty
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Bar:
    """One row of a bar chart: a run, or a source within a run.

    Attributes:
        name: Name of the row.
        by_stage: What was spent, by stage.
    """

    name: str
    by_stage: dict[str, SpendTotals]


def stacked_cost(bars: Sequence[Bar], of: str) -> Figure:
    """Draw what each row paid as bars, stacked by stage.

    The unit is USD, or tokens in and out if nothing was paid or no price is known.

    Args:
        bars: Rows from top to bottom.
        of: What the rows are, for the title.

    Returns:
        The figure ``stages``; a placeholder if there was no attempt.
    """
    stages = list(dict.fromkeys(stage for bar in bars for stage in bar.by_stage))
    parts = [spent for bar in bars for spent in bar.by_stage.values()]
    attempts = sum(spent.attempts for spent in parts)
    in_usd = any(spent.usd.total for spent in parts)
    unit = "USD" if in_usd else "tokens"
    title = f"Cost by stage in {unit}, {of} (n = {plural(attempts, 'attempt')})"
    totals = [sum(bar.by_stage.values(), SpendTotals()) for bar in bars]
    words = [usd_sum(total.usd.sum) if in_usd else token_sum(total.tokens.sum) for total in totals]
    grid = Grid(
        title,
        ("", *stages, "all"),
        tuple(
            (
                bar.name,
                *(_cell(bar.by_stage.get(stage, SpendTotals()), in_usd) for stage in stages),
                _cell(total, in_usd),
            )
            for bar, total in zip(bars, totals, strict=True)
        ),
    )
    if not attempts:
        return draw_empty("stages", title, "no request was paid for yet", grid)
    widths = {stage: [_tally(bar.by_stage.get(stage, SpendTotals()), in_usd).total for bar in bars] for stage in stages}
    most = max(map(sum, zip(*widths.values(), strict=True)))

    def paint(axes: Axes) -> None:
        ends = [0.0] * len(bars)
        for place, stage in enumerate(stages):
            axes.barh(
                range(len(bars)),
                widths[stage],
                left=ends,
                color=SERIES[place % len(SERIES)],
                height=THICK,
                label=stage,
            )
            ends = [end + width for end, width in zip(ends, widths[stage], strict=True)]
        for place, (end, said) in enumerate(zip(ends, words, strict=True)):
            draw_label(axes, end, place, said, most)
        lay_out_rows(axes, [bar.name for bar in bars], unit, most)
        draw_legend(axes, 4)

    unknown = sum(_tally(spent, in_usd).sum.unknown for spent in parts)
    notes = [] if in_usd else ["Tokens in and out: nothing was paid, or no price is known."]
    if unknown:
        what = "The price" if in_usd else "The number of tokens"
        notes.append(f"{what} of {plural(unknown, 'attempt')} is unknown and not in any bar.")
    said = "; ".join(f"{bar.name} {text}" for bar, text in zip(bars, words, strict=True))
    alt = f"Bars of {unit}, divided by stage: {said}."
    return draw("stages", title, alt, 1.25 + ROW * len(bars), paint, grid=grid, note=" ".join(notes) or None)


def _tally(spent: SpendTotals, in_usd: bool) -> SpendTally:
    return spent.usd if in_usd else spent.tokens


def _cell(spent: SpendTotals, in_usd: bool) -> str:
    if not spent.attempts:
        return NONE
    return usd_sum(spent.usd.sum) if in_usd else token_sum(spent.tokens.sum)


def money_line(points: Sequence[SpendPoint], budget: float | None, of: str, shared: str | None = None) -> Figure:
    """Draw the cumulative cost over attempts: the known cost, its upper bound, and the budget.

    Args:
        points: Points of the line, in order.
        budget: Budget in US dollars; null if there is none.
        of: What paid, for the title.
        shared: Name of the budget if other runs spend from it too; else null.

    Returns:
        The figure ``money``; a placeholder if there is no budget, and cost and bound are zero or unknown.
    """
    attempts = points[-1].attempts if points else 0
    title = f"Cumulative cost, {of} (n = {plural(attempts, 'attempt')})"
    last = points[-1] if points else SpendPoint(0, 0.0, 0.0)
    upper = usd(last.upper) if last.upper is not None else "not bounded"
    limit = usd(budget) if budget is not None else "none"
    head = ("Attempts", "USD known", "USD at most", "Budget")
    # If nothing is known and nothing bounds it, the sum is unknown, not zero.
    known = UNKNOWN if last.upper is None and not last.usd else usd(last.usd)
    grid = Grid(title, head, ((count(attempts), known, upper, limit),), words=0)
    if not (last.usd or last.upper) and budget is None:
        why = "nothing was paid" if last.upper is not None else "what was paid is unknown, and nothing bounds it"
        return draw_empty("money", title, why, grid)
    bounded = [point for point in points if point.upper is not None]
    differs = any(abs((point.upper or 0) - point.usd) > 1e-9 for point in bounded)

    def paint(axes: Axes) -> None:
        places = [0, *(point.attempts for point in points)]
        axes.plot(places, [0.0, *(point.usd for point in points)], color=BLUE, linewidth=2, label="known")
        if differs:
            places = [0, *(point.attempts for point in bounded)]
            most = [0.0, *(point.upper or 0.0 for point in bounded)]
            axes.plot(places, most, color=SKY, linewidth=1.5, linestyle="--", label="at most")
        if budget is not None:
            axes.axhline(budget, color=VERMILION, linewidth=1.5, label=f"budget {usd(budget)}")
        axes.set_ylim(bottom=0, top=1.08 * max(last.usd, last.upper or 0, budget or 0))
        axes.set_xlim(0, attempts or 1)
        axes.set_xlabel("attempts, in the order in which they ended")
        axes.set_ylabel("USD")
        axes.yaxis.grid(True)
        axes.locator_params(axis="x", nbins=5, integer=True)
        axes.locator_params(axis="y", nbins=5)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.spines["left"].set_visible(False)
        draw_legend(axes, 3)

    notes = []
    if differs:
        notes.append("At most: an attempt of unknown cost counts with what was reserved for it.")
    if len(bounded) < len(points):
        notes.append("The cost of some attempts has no upper bound.")
    if shared is not None:
        notes.append("Other runs spend from this budget too: the line shows only this run.")
    alt = f"A line of USD over attempts: {known} known, at most {upper}, after {count(attempts)}; budget {limit}."
    return draw("money", title, alt, 2.7, paint, grid=grid, note=" ".join(notes) or None)


def cache_shares(bars: Sequence[tuple[str, SpendTotals]], of: str) -> Figure:
    """Draw the cached share of the input tokens as bars.

    Args:
        bars: Name of each row, and what it spent; only attempts count whose cached and other tokens are known.
        of: What the rows are, for the title.

    Returns:
        The figure ``cache``; a placeholder if no input tokens count.
    """
    prompt = sum(spent.prompt for _, spent in bars)
    title = f"Cache-hit share of input, {of} (n = {count(prompt)} tokens)"
    lines = tuple((name, *_read(spent)) for name, spent in bars)
    grid = Grid(title, ("", "Tokens in", "Of them cached", "Share"), lines)
    if not prompt:
        return draw_empty("cache", title, "no provider has said yet what it read from its cache", grid)
    words = [share(spent.cache_hit_share) if spent.prompt else UNKNOWN for _, spent in bars]
    widths = [100 * (spent.cache_hit_share or 0) for _, spent in bars]
    note = "Over attempts where both numbers are known."
    return _bars("cache", title, [name for name, _ in bars], widths, words, "% of input tokens", grid, note, most=100)


def _read(spent: SpendTotals) -> tuple[str, str, str]:
    """Return tokens in, cached tokens and share; unknown if no attempt reported them."""
    if spent.attempts and not spent.prompt:
        return (UNKNOWN, UNKNOWN, UNKNOWN)
    return count(spent.prompt), count(spent.cached), share(spent.cache_hit_share)


def usd_per_task_bars(pasts: Sequence[Past], names: Sequence[str], looked_at: str, of: str) -> Figure:
    """Draw the price per validated task as one bar per run.

    Args:
        pasts: The runs, from top to bottom.
        names: Their names, in the same order.
        looked_at: Id of the run to highlight in blue.
        of: What the rows are, for the title.

    Returns:
        The figure ``task``; a placeholder if no run has an accepted task, or none has a price above zero.
    """
    tasks = sum(past.tasks for past in pasts)
    title = f"USD per validated task, {of} (n = {plural(tasks, 'task')})"
    words = [price_per_task(past) for past in pasts]
    lines = tuple(
        (name, count(past.tasks), usd_sum(past.spent.whole.sum), said)
        for name, past, said in zip(names, pasts, words, strict=True)
    )
    grid = Grid(title, ("Run", "Tasks", "USD behind them", "USD per task"), lines)
    if not tasks:
        return draw_empty("task", title, "no task was accepted yet", grid)
    if not any(past.usd_per_task for past in pasts):
        return draw_empty("task", title, "nothing was paid, or no price is known", grid)
    colours = [BLUE if past.run_id == looked_at else MUTED for past in pasts]
    note = "All attempts behind the tasks, whichever run paid."
    if any(past.run_id == looked_at for past in pasts):
        note += " Blue: the run that wrote this."
    return _bars("task", title, names, [p.usd_per_task or 0 for p in pasts], words, "USD", grid, note, colours=colours)


def price_per_task(past: Past) -> str:
    """Write the price per validated task: ``at least`` if an unknown price is behind it, a dash without tasks."""
    if not past.tasks:
        return NONE
    unknown = past.spent.whole.sum.unknown
    return f"{'at least ' if unknown and past.usd_per_task is not None else ''}{usd(past.usd_per_task)}"


def _bars(
    name: str,
    title: str,
    names: Sequence[str],
    widths: Sequence[float],
    words: Sequence[str],
    unit: str,
    grid: Grid,
    note: str,
    *,
    most: float | None = None,
    colours: Sequence[str] | None = None,
) -> Figure:
    longest = max(widths) if most is None else most

    def paint(axes: Axes) -> None:
        axes.barh(range(len(names)), widths, color=colours or BLUE, height=THICK)
        for place, (width, said) in enumerate(zip(widths, words, strict=True)):
            draw_label(axes, width, place, said, longest)
        lay_out_rows(axes, names, unit, longest)

    said = "; ".join(f"{of} {text}" for of, text in zip(names, words, strict=True))
    return draw(name, title, f"Bars of {unit}: {said}.", 1.0 + ROW * len(names), paint, grid=grid, note=note)


def lay_out_usd(axes: Axes) -> None:
    """Lay out a vertical axis of US dollars: five round values at most, with lines across."""
    axes.set_ylabel("USD")
    axes.yaxis.grid(True)
    axes.locator_params(axis="y", nbins=5)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.spines["left"].set_visible(False)
