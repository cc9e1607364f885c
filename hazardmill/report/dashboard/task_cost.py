"""The page ``page-task-cost``: what a validated task of each source cost, run by run, and which runs drift."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from hazardmill.report.dashboard.drift import BEFORE, BEYOND, LEAST, TrendPoint, cost_trend
from hazardmill.report.dashboard.figures import lay_out_usd, price_per_task
from hazardmill.report.dashboard.history import History
from hazardmill.report.dashboard.links import artifact_key, link_artifact, link_run
from hazardmill.report.dashboard.writing import (
    describe_offline,
    write_code,
    write_picture,
    write_table,
    write_text,
)
from hazardmill.reporting.numbers import NONE, count, plural, usd
from hazardmill.reporting.svg.bars import draw_legend
from hazardmill.reporting.svg.drawing import BLUE, PAPER, SKY, VERMILION, Figure, draw, draw_empty
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN: Final = 30
"""Most runs of a source in its figure, the latest ones."""

LOOKED_AT: Final = SHOWN + BEFORE
"""Runs of a source that are added up, so that the first one shown has runs before it."""


def write_task_cost(history: History) -> Iterator[str]:
    """Yield the blocks of the page.

    Args:
        history: The runs of a store, at least ``LOOKED_AT`` of each source.
    """
    trends = {source: cost_trend(history, source)[-SHOWN:] for source in history.all_sources}
    pasts = {point.past.run_id: point.past for trend in trends.values() for point in trend}
    if offline := history.count_offline(pasts.values()):
        yield describe_offline(offline, len(pasts))
    yield (
        "All attempts behind the tasks of a run count, whichever run paid for them. A run is compared with the median"
        f" of up to {BEFORE} earlier runs of the same source with the same models; a completed run whose tasks cost"
        f" more than {BEYOND:g} times as much drifts."
    )
    if not trends:
        yield "There is no generation run yet."
        return
    yield from _drifting([(source, point) for source, trend in trends.items() for point in trend if point.drifts])
    yield "### The latest run of each source"
    head = ("Source", "Run", "USD per task", "Median before", "Ratio", "Compared")
    yield write_table(head, (_latest_row(source, trend) for source, trend in trends.items() if trend), words=2)
    for source, trend in trends.items():
        yield f"### {write_text(source)}"
        yield write_picture(draw_trend(source, trend))
        yield f"Run by run: {link_artifact(artifact_key('cost', source))}."


def draw_trend(source: str, trend: Sequence[TrendPoint]) -> Figure:
    """Draw what a task of a source cost in each run, in order of time, with the band in which no run drifts."""
    known = [(place, point.usd) for place, point in enumerate(trend) if point.usd is not None]
    tasks = sum(point.past.tasks for point in trend)
    title = f"USD per validated task of {source}, {_runs(trend)} (n = {plural(tasks, 'task')})"
    rows = tuple(
        (point.past.run_id, price_per_task(point.past), usd(point.median_usd) if point.median_usd else NONE)
        for point in trend
    )
    grid = Grid(title, ("Run", "USD per task", "Median before"), rows)
    name = f"trend-{artifact_key('cost', source)}"
    if not any(value for _, value in known):
        why = "no run has a task" if not tasks else "nothing was paid, or no price is known"
        return draw_empty(name, title, why, grid)
    medians = [float("nan") if point.median_usd is None else point.median_usd for point in trend]
    tops = [BEYOND * median for median in medians]

    def paint(axes: Axes) -> None:
        places = range(len(trend))
        if any(point.median_usd for point in trend):
            # A step per run: each has a median of its own.
            edges = [edge for place in places for edge in (place - 0.5, place + 0.5)]
            low, high = ([value for value in values for _ in range(2)] for values in (medians, tops))
            axes.fill_between(edges, low, high, color=SKY, alpha=0.3, linewidth=0, label=f"median to {BEYOND:g} times")
            axes.plot(edges, low, color=SKY, linewidth=1.2)
        for drifts, colour, words in ((False, BLUE, "run"), (True, VERMILION, "drifts")):
            mine = [(place, value) for place, value in known if trend[place].drifts is drifts]
            done = [trend[place].state == "completed" for place, _ in mine]
            faces = [colour if whole else PAPER for whole in done]
            if mine:
                xs, ys = zip(*mine, strict=True)
                axes.scatter(xs, ys, color=faces, edgecolors=colour, s=26, zorder=3, label=words)
        axes.set_xlim(-0.6, len(trend) - 0.4)
        axes.set_ylim(bottom=0)
        step = max(1, len(trend) // 6)
        ticks = range(len(trend) - 1, -1, -step)
        axes.set_xticks(list(ticks), [trend[tick].past.began[5:10] for tick in ticks])
        axes.set_xlabel("runs in order of time, by the day (UTC) on which they began")
        lay_out_usd(axes)
        draw_legend(axes, 3)

    notes = []
    if without := len(trend) - len(known):
        notes.append(f"{plural(without, 'run')} without a point: no task, or a price behind its tasks is unknown.")
    if any(trend[place].state != "completed" for place, _ in known):
        notes.append("Hollow: the run is not complete.")
    said = "; ".join(f"{trend[place].past.began} {usd(value)}" for place, value in known)
    alt = f"Points of USD per task over runs: {said}."
    return draw(name, title, alt, 2.7, paint, grid=grid, note=" ".join(notes) or None)


def _drifting(found: Sequence[tuple[str, TrendPoint]]) -> Iterator[str]:
    yield "### Runs that drift"
    if not found:
        yield f"None of the runs shown drifts (the last {SHOWN} of each source)."
        return
    head = ("Run", "Source", "USD per task", "Median before", "Ratio", "Compared")
    yield write_table(
        head,
        (
            (_name(point), write_code(source), *_figures(point))
            for source, point in sorted(found, key=lambda each: each[1].past.began, reverse=True)
        ),
        words=2,
    )


def _latest_row(source: str, trend: Sequence[TrendPoint]) -> tuple[str, ...]:
    return (write_code(source), _name(trend[-1]), *_figures(trend[-1]))


def _figures(point: TrendPoint) -> tuple[str, ...]:
    ratio = NONE if point.ratio is None else f"{point.ratio:.2f}"
    median = NONE if point.median_usd is None else usd(point.median_usd)
    return (
        price_per_task(point.past),
        median,
        f"**{ratio}, drifts**" if point.drifts else ratio,
        _compared(point),
    )


def _compared(point: TrendPoint) -> str:
    if point.compared < LEAST:
        return f"{count(point.compared)}, too few"
    # With so many, the median is missing only if it is 0, and nothing can be compared with that.
    return f"{count(point.compared)} runs" + ("" if point.median_usd else " that cost nothing")


def _name(point: TrendPoint) -> str:
    state = "" if point.state == "completed" else f" ({write_text(point.state)})"
    return f"{link_run(point.past.run_id)}, {point.past.began}{state}"


def _runs(trend: Sequence[TrendPoint]) -> str:
    return f"the last {plural(len(trend), 'run')}" if len(trend) > 1 else "one run"
