"""Draw rates over levels of distractors, by arm: how irrelevant additions to a task affect planners.

Level 0 is the task as released. A curve is over the tasks that a model answered at every level that it was asked about
in that arm, so that all its points are about the same tasks. The draws (seeds) of a level count together.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from hazardmill.evaluation.injection.injection import ARMS, Arm, parts_of
from hazardmill.evaluation.metrics import figures
from hazardmill.evaluation.report.model_names import label_model, shorten_name
from hazardmill.evaluation.report.model_results import ResultPanel
from hazardmill.evaluation.report.words import interval, render_rate
from hazardmill.reporting.numbers import count, plural
from hazardmill.reporting.svg.axes import draw_missing, series_style, split_axes, whiskers
from hazardmill.reporting.svg.drawing import MUTED, Figure, draw
from hazardmill.reporting.table import Grid
from hazardmill.statistics.estimate import LEVEL, Proportion

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METRICS: Final = {"F": "feasible", "S": "safe", "SI": "safety intention"}

_APART: Final = 0.05


@dataclass(frozen=True)
class Curve:
    """The rates of one model in one arm.

    Attributes:
        model: Name of the model.
        arm: What was added to the tasks.
        tasks: Number of tasks.
        seeds: Number of draws per level.
        points: Level to its rates; level 0 is the task as released.
    """

    model: str
    arm: Arm
    tasks: int
    seeds: int
    points: dict[int, dict[str, Proportion]]


def redundancy_curves(panel: ResultPanel) -> Figure:
    """Draw the curves: one column per arm, one row per rate, one line per model."""
    found = curves(panel)
    tasks = max((curve.tasks for curve in found), default=0)
    title = f"Rates over levels of distractors (n = up to {plural(tasks, 'task')} per model)"
    grid = Grid(
        title,
        ("Model", "Arm", "Distractors", "Tasks", "Seeds", *(f"{name}, 95 %" for name in METRICS)),
        tuple(
            (
                label_model(curve.model),
                curve.arm,
                count(level),
                count(curve.tasks),
                count(curve.seeds),
                *(render_rate(rates[name]) for name in METRICS),
            )
            for curve in found
            for level, rates in curve.points.items()
        ),
        words=2,
    )
    if not found:
        why = "no rows of injected tasks (variants such as actions-8-seed-0) beside rows of the same tasks as released"
        return draw_missing("redundancy", title, why, grid)
    models = sorted({curve.model for curve in found})

    def paint(axes: Axes) -> None:
        cells = split_axes(axes, len(METRICS), len(ARMS), sharex=True, sharey=True)
        for place, one in enumerate(cells):
            name, arm = list(METRICS)[place // len(ARMS)], ARMS[place % len(ARMS)]
            _paint(one, [curve for curve in found if curve.arm == arm], name, models)
            if place < len(ARMS):
                one.set_title(f"distractor {arm}", fontsize=9.5)
            if place >= len(cells) - len(ARMS):
                one.set_xlabel("distractors in the task (0: as released)")
            if place % len(ARMS) == 0:
                one.set_ylabel(f"{METRICS[name]} (%)")
        handles, labels = cells[0].get_legend_handles_labels()
        if not handles:
            handles, labels = cells[1].get_legend_handles_labels()
        cells[-1].figure.legend(handles, labels, loc="outside lower left", ncols=3)

    said = "; ".join(
        f"{row[0]}, {row[2]} {row[1]}: F {row[5]}, S {row[6]}, SI {row[7]}, n {row[3]} tasks" for row in grid.rows
    )
    note = "Whiskers are 95 % intervals over tasks. Each curve is over the tasks answered at all of its levels."
    height = 6.4 + 0.22 * -(-len(models) // 3)
    return draw(
        "redundancy", title, f"Rates by number of distractors. {said}.", height, paint, grid=grid, note=note, wide=True
    )


def curves(panel: ResultPanel) -> list[Curve]:
    """Return the curve of every model and arm, sorted by both."""
    rows = panel.results.rows
    rows = rows.filter(pc.is_valid(rows["safe"]))
    found = []
    injected: dict[tuple[str, Arm], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    seeds: dict[tuple[str, Arm], set[int]] = defaultdict(set)
    released: dict[str, set[str]] = defaultdict(set)
    parts = {variant: parts_of(variant) for variant in rows["variant"].unique().to_pylist()}
    for pair in rows.group_by(["model", "variant", "task_id"]).aggregate([]).to_pylist():
        part = parts[pair["variant"]]
        if pair["variant"] is None:
            released[pair["model"]].add(pair["task_id"])
        elif part is not None:
            arm, level, seed = part
            injected[pair["model"], arm][level].add(pair["task_id"])
            seeds[pair["model"], arm].add(seed)
    for (model, arm), by_level in sorted(injected.items()):
        # A model without rows on released tasks has no level 0; its other levels are still shown.
        sets = [*by_level.values(), *([released[model]] if released[model] else [])]
        common = set.intersection(*sets)
        if common:
            points = _points(rows, model, arm, common, panel)
            found.append(Curve(model, arm, len(common), len(seeds[model, arm]), points))
    return found


def _points(
    rows: pa.Table, model: str, arm: Arm, tasks: set[str], panel: ResultPanel
) -> dict[int, dict[str, Proportion]]:
    kept = rows.filter(
        pc.and_(pc.equal(rows["model"], model), pc.is_in(rows["task_id"], pa.array(sorted(tasks), pa.string())))
    )
    levels: list[str | None] = []
    for variant in kept["variant"].to_pylist():
        part = parts_of(variant)
        level = 0 if variant is None else part[1] if part is not None and part[0] == arm else None
        levels.append(None if level is None else f"{level:04}")
    by_level = kept.set_column(kept.column_names.index("variant"), "variant", pa.array(levels, pa.string()))
    by_level = by_level.filter(pc.is_valid(by_level["variant"]))
    told_by = figures(by_level, resamples=panel.how.resamples, level=LEVEL, seed=panel.how.seed)
    return {int(each.variant): {name: each.rates[name] for name in METRICS} for each in told_by if each.variant}


def _paint(axes: Axes, found: list[Curve], name: str, models: list[str]) -> None:
    for curve in found:
        number = models.index(curve.model)
        known = [
            (level, reach) for level, rates in curve.points.items() if (reach := interval(rates[name])) is not None
        ]
        if known:
            # Side by side, so that whiskers at one level can be distinguished.
            off = (number - (len(models) - 1) / 2) * _APART
            axes.errorbar(
                [_place(level) + off for level, _ in known],
                [reach[0] for _, reach in known],
                yerr=whiskers([reach for _, reach in known]),
                label=shorten_name(curve.model),
                linewidth=1.4,
                elinewidth=0.9,
                capsize=1.5,
                markersize=5,
                **series_style(number),
            )
    if not found:
        axes.text(0.5, 0.5, "no rows", ha="center", va="center", color=MUTED, transform=axes.transAxes)
    ticks = (0, 2, 4, 8, 16, 32, 64)
    axes.set_xticks([_place(level) for level in ticks], list(map(str, ticks)))
    axes.set_ylim(-4, 104)
    axes.grid(True)


def _place(level: int) -> float:
    """Return the place of a level on an axis where levels double; level 0 stands one step before the first."""
    return float(level.bit_length() - 1) if level else 0.0
