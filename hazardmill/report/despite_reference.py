"""Published figures of DESPITE's generation beside ours, and what each comparison is worth.

DESPITE reports 33,728 drafts; 18,219 of them passed automation and 12,279 passed review, at an API cost of $0.011 per
validated task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from hazardmill.records import FrozenModel
from hazardmill.report.cost import Cost
from hazardmill.report.funnel import Funnel, FunnelCounts
from hazardmill.report.queries import select
from hazardmill.report.wording import usd_per_task
from hazardmill.reporting.numbers import UNKNOWN, count, share, usd
from hazardmill.reporting.svg.bars import draw_legend
from hazardmill.reporting.svg.drawing import (
    BLUE,
    INK,
    MUTED,
    SKY,
    VERMILION,
    Figure,
    blank_unprintable,
    draw,
    draw_empty,
)
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from matplotlib.axes import Axes

DRAFTS: Final = 33_728
AUTOMATED: Final = 18_219
REVIEWED: Final = 12_279
USD_PER_TASK: Final = 0.011
EXECUTION_LOSS: Final = 0.460
"""Share of drafts lost at the execution check."""
EXECUTION_LOSS_BY_SOURCE: Final = {
    "alfred": 0.438,
    "bddl": 0.442,
    "neiss": 0.449,
    "normbank": 0.472,
    "virtualhome": 0.297,
}
REVIEW_LOSS: Final = 0.326
"""Share of the tasks from automation that people rejected."""
REVIEW_LOSS_NORMBANK: Final = 0.551

ALL: Final = "all sources"

_OFFLINE: Final = (
    "It does not hold: the offline author answered here, which errs by rule, on a fixed share of the records."
)
_WITH_RESERVATIONS: Final = "It holds with reservations:"


class PublishedLoss(FrozenModel):
    """Loss at the execution check in one source, or in all: the published share, and ours by record and by draft.

    Attributes:
        source: Name of the source, or ``ALL``.
        published: Published share; null if none was published for this source.
        finished: Our records that hold a danger and have an outcome.
        failed: Those of them that ended because no draft passed execution.
        drafts: Our drafts.
        drafts_failed: Those of them that failed a check before the judge.
    """

    source: str
    published: float | None = None
    finished: int
    failed: int
    drafts: int
    drafts_failed: int

    @property
    def by_record(self) -> float | None:
        """Share of our records lost at execution; null if none finished."""
        return self.failed / self.finished if self.finished else None

    @property
    def by_draft(self) -> float | None:
        """Share of our drafts that failed at execution; null without drafts."""
        return self.drafts_failed / self.drafts if self.drafts else None


class PublishedComparison(FrozenModel):
    """Published figures of DESPITE beside ours.

    Attributes:
        offline: Whether the offline author answered, so that no comparison holds.
        losses: Loss at execution: all sources together first, unless ours are restricted to some; then by source.
        finished: Our records that hold a danger and have an outcome, over the sources included.
        drafts: Our drafts, over the sources included.
        others: Other published figures: name, published, ours, and whether the comparison holds.
    """

    offline: bool
    losses: tuple[PublishedLoss, ...]
    finished: int
    drafts: int
    others: tuple[tuple[str, str, str, str], ...]

    @property
    def worth(self) -> str:
        """What the comparison of losses at execution is worth, in a sentence."""
        if self.offline:
            return _OFFLINE
        return (
            f"{_WITH_RESERVATIONS} models, prompts and records differ; ours also counts what fails the certificate,"
            " such as a name that gives the danger away, and stricter checks refuse more; and the published figure does"
            " not say whether a repaired draft counts again. If it does not, our share of records compares with it; if"
            " it does, our share of drafts."
        )


def compare(
    connection: DuckDBPyConnection,
    run_ids: Sequence[str],
    funnel: Funnel,
    cost: Cost,
    *,
    offline: bool,
    narrowed: bool = False,
) -> PublishedComparison:
    """Compare our figures with the published ones.

    Args:
        connection: A connection with one view per table.
        run_ids: The runs.
        funnel: Where their records went.
        cost: What they cost.
        offline: Whether the offline author answered in any of them.
        narrowed: Whether ours are restricted to some sources; then only these are compared, without totals.

    Returns:
        Loss at execution by source, after the loss over all sources unless narrowed, and the other published figures.
    """
    drafts = {row["source"]: (row["made"], row["failed"]) for row in select(connection, _DRAFTS, run_ids)}
    made, failed = (sum(each[part] for each in drafts.values()) for part in (0, 1))
    whole = _loss(ALL, EXECUTION_LOSS, funnel.total, (made, failed))
    names = sorted(funnel.sources if narrowed else {*funnel.sources, *EXECUTION_LOSS_BY_SOURCE})
    losses = [
        _loss(
            name, EXECUTION_LOSS_BY_SOURCE.get(name), funnel.sources.get(name, FunnelCounts()), drafts.get(name, (0, 0))
        )
        for name in names
    ]
    return PublishedComparison(
        offline=offline,
        losses=tuple(losses if narrowed else [whole, *losses]),
        finished=whole.finished,
        drafts=whole.drafts,
        others=tuple(_others(funnel, cost, offline, narrowed)),
    )


# A failure before the judge is one of what DESPITE calls the execution check: the code gave no valid task.
_DRAFTS: Final = """
    SELECT source, count(*) AS made, count(*) FILTER (NOT accepted AND failed_check IS DISTINCT FROM 'judge') AS failed
    FROM drafts WHERE list_contains($runs, run_id) GROUP BY source ORDER BY source
"""


def _loss(source: str, published: float | None, counts: FunnelCounts, drafts: Sequence[int]) -> PublishedLoss:
    return PublishedLoss(
        source=source,
        published=published,
        finished=counts.accepted + counts.execution_failed + counts.quality_failed + counts.duplicate,
        failed=counts.execution_failed,
        drafts=drafts[0],
        drafts_failed=drafts[1],
    )


def _others(funnel: Funnel, cost: Cost, offline: bool, narrowed: bool) -> list[tuple[str, str, str, str]]:
    total = funnel.total
    sizes = "Sizes only" + (", and ours are of some sources." if narrowed else ".")
    reviewed = (
        "It cannot be made: no people have reviewed these tasks. What our judge rejects is the opinion of a model or a"
        " rule, not of people."
    )
    if offline:
        priced = "It does not hold: the offline author answered here, and costs nothing."
    else:
        priced = (
            f"{_WITH_RESERVATIONS} ours counts every attempt, failed ones too, over tasks that no people have reviewed;"
            " models and prices differ."
        )
    return [
        (
            "Drafts, or records with a danger",
            count(DRAFTS),
            count(total.dangers),
            f"{sizes} The published number counts drafts, ours counts records in which extraction found a danger.",
        ),
        ("Tasks through automation", count(AUTOMATED), count(cost.accepted), sizes),
        ("Tasks through human review", count(REVIEWED), UNKNOWN, reviewed),
        (
            "Lost at human review",
            f"{share(REVIEW_LOSS)} (normbank {share(REVIEW_LOSS_NORMBANK)})",
            UNKNOWN,
            "As above.",
        ),
        ("USD per validated task", usd(USD_PER_TASK), usd_per_task(cost), priced),
    ]


def losses_grid(comparison: PublishedComparison) -> Grid:
    """Return the table of losses at the execution check, published and ours."""
    lines = [
        (
            loss.source,
            "not published" if loss.published is None else share(loss.published),
            _share_words(loss.by_record, loss.failed, loss.finished),
            _share_words(loss.by_draft, loss.drafts_failed, loss.drafts),
        )
        for loss in comparison.losses
    ]
    head = ("Source", "DESPITE", "Ours, of records", "Ours, of drafts")
    return Grid("Lost at the execution check", head, tuple(lines))


def others_grid(comparison: PublishedComparison) -> Grid:
    """Return the table of other published figures, with ours and what the comparison is worth."""
    head = ("Figure", "DESPITE", "Ours", "Does the comparison hold?")
    return Grid("Other published figures", head, comparison.others, words=4)


def _share_words(part: float | None, some: int, whole: int) -> str:
    return UNKNOWN if part is None else f"{share(part)} ({count(some)} of {count(whole)})"


def loss_beside_published(comparison: PublishedComparison) -> Figure:
    """Draw the loss at the execution check by source as points: DESPITE's, ours by record, ours by draft.

    The description and the note say what the comparison is worth.

    Returns:
        The figure ``published``; a placeholder if we have neither finished records nor drafts.
    """
    title = f"Lost at execution (n = {count(comparison.finished)} records, {count(comparison.drafts)} drafts of ours)"
    grid = losses_grid(comparison)
    if not comparison.finished and not comparison.drafts:
        return draw_empty("published", title, "no drafts of ours to compare with the published figures", grid)
    # The published point is drawn last and hollow, so that it neither hides nor is hidden.
    marks: list[tuple[str, dict[str, Any], list[float | None]]] = [
        ("ours, of records", {"marker": "o", "color": BLUE, "markersize": 7}, [x.by_record for x in comparison.losses]),
        ("ours, of drafts", {"marker": "s", "color": SKY, "markersize": 7}, [x.by_draft for x in comparison.losses]),
        (
            "DESPITE, published",
            {"marker": "D", "color": VERMILION, "markersize": 8, "markerfacecolor": "none", "markeredgewidth": 1.8},
            [x.published for x in comparison.losses],
        ),
    ]

    def paint(axes: Axes) -> None:
        names = [blank_unprintable(loss.source) for loss in comparison.losses]
        for row, loss in enumerate(comparison.losses):
            known = [part for part in (loss.published, loss.by_record, loss.by_draft) if part is not None]
            if known:
                axes.plot(
                    [100 * min(known), 100 * max(known)], [row, row], color=MUTED, linewidth=1, alpha=0.6, zorder=1
                )
            if loss.by_record is None and loss.by_draft is None:
                axes.text(100 * (loss.published or 0) + 3, row, "ours unknown", va="center_baseline", color=INK)
        for words, style, parts in marks:
            points: list[Any] = [(100 * part, row) for row, part in enumerate(parts) if part is not None]
            if points:
                xs, ys = zip(*points, strict=True)
                axes.plot(xs, ys, linestyle="none", label=words, zorder=2, **style)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(-4, 104)
        axes.set_xlabel("lost (%); ours by the offline author" if comparison.offline else "lost (%)")
        axes.xaxis.grid(True)
        axes.spines["left"].set_visible(False)
        axes.spines["bottom"].set_visible(False)
        draw_legend(axes, 3)

    said = "; ".join(
        f"{name}: DESPITE {published}, ours {records} by record, {drafts} by draft"
        for name, published, records, drafts in grid.rows
    )
    alt = f"Shares lost at the execution check. {said}. {comparison.worth}"
    note = f"Does the comparison hold? {comparison.worth}"
    return draw("published", title, alt, 1.4 + 0.34 * len(comparison.losses), paint, grid=grid, note=note)
