"""Drawing the figures of a card: SVG files with alternative texts; the same facts give the same bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hazardmill.records import Outcome
from hazardmill.release.build.configs import SPLITS
from hazardmill.release.documents.card_context import Facts
from hazardmill.report.dangers import danger_types, length_by_effort
from hazardmill.report.wording import OUTCOME_WORDS
from hazardmill.reporting.html import write_text
from hazardmill.reporting.numbers import UNKNOWN, count, plural, share, share_of
from hazardmill.reporting.svg.bars import ROW, THICK, draw_label, lay_out_rows
from hazardmill.reporting.svg.drawing import BLUE, GREEN, MUTED, ORANGE, VERMILION, Figure, draw, draw_empty
from hazardmill.reporting.svg.stacked_bars import tasks_by_source
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER: Final = "figures"

LOSSES: Final = (
    Outcome.NO_DANGER,
    Outcome.EXTRACTION_FAILED,
    Outcome.EXECUTION_FAILED,
    Outcome.QUALITY_FAILED,
    Outcome.DUPLICATE,
    Outcome.PENDING,
)
"""Outcomes of records without a task, in the order of the stages."""

_SPLIT_COLOURS: Final = dict(zip(SPLITS, (BLUE, ORANGE, GREEN), strict=True))


def figures(facts: Facts) -> list[Figure]:
    """Draw all figures of a release, in the order of the card; without tasks, the funnel only."""
    manifest = facts.manifest
    if manifest.household_tasks and not manifest.from_records:
        return []  # All figures are about what was made of records.
    funnel = way(manifest.funnel, manifest.from_records)
    if manifest.total and not facts.tasks:
        return [funnel]
    return [funnel, tasks_by_split(facts), danger_types(facts.tasks), length_by_effort(facts.tasks)]


def address(figure: Figure) -> str:
    """Return the path of a figure within the folder of its release."""
    return f"{FOLDER}/{figure.name}.svg"


def write_figures(folder: Path, facts: Facts) -> list[str]:
    """Write all figures as SVG files.

    Returns:
        Paths of the files within the folder.

    Raises:
        StoreError: A file cannot be written.
    """
    for figure in facts.figures:
        write_text(folder / address(figure), f"{figure.standalone}\n", what="figure")
    return [address(figure) for figure in facts.figures]


def steps(funnel: Mapping[str, int], released: int) -> list[tuple[str, int]]:
    """List the counts on the way from records to released tasks, with their labels.

    Args:
        funnel: The counts in the manifest.
        released: Number of all that is released.

    Returns:
        Pairs of label and count: ``records``, one per outcome without a task that occurs, ``accepted``, ``released``.
    """
    lost = [(OUTCOME_WORDS[outcome], funnel[outcome.value]) for outcome in LOSSES if funnel.get(outcome.value)]
    accepted = funnel.get(Outcome.ACCEPTED.value, released)
    return [("records", funnel.get("records", 0)), *lost, ("accepted", accepted), ("released", released)]


def part_of(number: int, records: int) -> str:
    """Return the share of the records in words; a dash for more than all of them, as a dialogue gives several tasks."""
    return share_of(number, records) if number <= records else UNKNOWN


def way(funnel: Mapping[str, int], released: int) -> Figure:
    """Draw the funnel from records to what is released, as bars with each loss beside the records that are left.

    Args:
        funnel: The counts in the manifest.
        released: Number of all that is released.

    Returns:
        The figure, with the same numbers as a table; without records, its picture only says so.
    """
    (_, records), *lost, (_, accepted), _ = steps(funnel, released)
    title = f"From records to released tasks (n = {plural(records, 'record')})"
    left = records
    bars = [("records", 0, records, MUTED)]
    for words, number in lost:
        left -= number
        bars.append((words, left, number, VERMILION))
    bars += [("accepted", 0, accepted, BLUE), ("released", 0, released, GREEN)]
    of_all = [(name, number, part_of(number, records)) for name, _, number, _ in bars]
    # A dialogue may give several tasks.
    most = max(records, released)
    grid = Grid(title, ("Records", "Number", "Share"), tuple((name, count(n), part) for name, n, part in of_all))
    if not records:
        return draw_empty("funnel", title, "no records", grid)

    def paint(axes: Axes) -> None:
        starts, widths, colours = ([bar[part] for bar in bars] for part in (1, 2, 3))
        axes.barh(range(len(bars)), widths, left=starts, color=colours, height=THICK)
        for place, (_, start, width, _) in enumerate(bars):
            part = f"  ({share(width / records)})" if width <= records else ""
            draw_label(axes, start + width, place, f"{count(width)}{part}", most)
        lay_out_rows(axes, [name for name, *_ in bars], "records", most)

    alt = f"Bars of the number of records: {', '.join(f'{name} {count(number)}' for name, number, _ in of_all)}."
    note = "A record of several runs of a kind counts once, by its latest outcome."
    return draw("funnel", title, alt, 0.9 + ROW * len(bars), paint, grid=grid, note=note)


def tasks_by_split(facts: Facts) -> Figure:
    """Draw the number of tasks per source, stacked by split."""
    title = f"Tasks by source and split (n = {plural(len(facts.tasks), 'task')})"
    cells = Counter((task["source"], task["split"]) for task in facts.tasks)
    return tasks_by_source("tasks", title, cells, _SPLIT_COLOURS, by="split", lacking="no tasks")
