"""The figures of a report on where the records went and what that cost. Each states its unit and n."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hazardmill.records import Outcome
from hazardmill.report import tables
from hazardmill.report.cost import Cost, Spend
from hazardmill.report.dangers import danger_groups, danger_types, length_by_effort
from hazardmill.report.despite_reference import PublishedComparison, loss_beside_published
from hazardmill.report.funnel import LOSSES, DraftYield, Funnel
from hazardmill.report.sankey import danger_flows
from hazardmill.report.wording import OUTCOME_WORDS, reason, token_sum, usd_sum
from hazardmill.reporting.numbers import UNKNOWN, count, plural, share, share_of
from hazardmill.reporting.svg.bars import ROW, THICK, draw_label, draw_legend, lay_out_rows
from hazardmill.reporting.svg.drawing import (
    BLUE,
    GREEN,
    GRID,
    MUTED,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Figure,
    draw,
    draw_empty,
)
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REASONS: Final = 12
"""How many of the commonest reasons get a separate bar."""

_OTHER_REASONS: Final = "other reasons"
_LABEL: Final = 30
"""Characters per line in the name of a reason."""
_COLOURS: Final = {
    Outcome.NO_DANGER: SKY,
    Outcome.EXTRACTION_FAILED: PURPLE,
    Outcome.EXECUTION_FAILED: VERMILION,
    Outcome.QUALITY_FAILED: ORANGE,
    Outcome.DUPLICATE: GREEN,
}
_STAGES: Final = {
    Outcome.NO_DANGER: "extraction: no danger in it",
    Outcome.EXTRACTION_FAILED: "extraction: failed",
    Outcome.EXECUTION_FAILED: "execution",
    Outcome.QUALITY_FAILED: "judging",
    Outcome.DUPLICATE: "duplicates",
}


def all_figures(
    funnel: Funnel, cost: Cost, tasks: Sequence[Mapping[str, Any]], comparison: PublishedComparison
) -> list[Figure]:
    """Return all figures of a report, drawn, in the order of the page.

    Args:
        funnel: Where the records went.
        cost: What that cost.
        tasks: One row per distinct task, with the columns that ``danger_flows`` and ``length_by_effort`` read.
        comparison: Published figures and ours.
    """
    return [
        funnel_bars(funnel),
        losses_by_reason(funnel),
        yield_by_draft(funnel.drafts),
        cost_by_stage(cost),
        danger_groups(tasks),
        length_by_effort(tasks),
        danger_types(tasks),
        loss_beside_published(comparison),
        danger_flows(tasks),
    ]


def funnel_bars(funnel: Funnel) -> Figure:
    """Draw the funnel: bars from all records to the accepted ones, each loss beside what was left."""
    total = funnel.total
    title = f"Where the records went (n = {plural(total.records, 'record')})"
    left = total.records
    bars = [("records", 0, left, MUTED)]
    for words, lost, colour in [
        *((OUTCOME_WORDS[outcome], total.of(outcome), VERMILION) for outcome in LOSSES),
        ("pending", total.pending, GRID),
    ]:
        left -= lost
        bars.append((words, left, lost, colour))
    bars.append(("accepted", 0, total.accepted, BLUE))
    grid = Grid(
        title,
        ("Records", "Number", "Share"),
        tuple((words, count(width), share_of(width, total.records)) for words, _, width, _ in bars),
    )
    if not total.records:
        return draw_empty("funnel", title, "no records", grid)

    def paint(axes: Axes) -> None:
        starts, widths, colours = ([bar[part] for bar in bars] for part in (1, 2, 3))
        axes.barh(range(len(bars)), widths, left=starts, color=colours, height=THICK)
        for place, (_, start, width, _) in enumerate(bars):
            draw_label(axes, start + width, place, f"{count(width)}  ({share(width / total.records)})", total.records)
        lay_out_rows(axes, [words for words, *_ in bars], "records", total.records)

    said = ", ".join(f"{words} {count(width)}" for words, _, width, _ in bars)
    alt = f"Bars of the number of records: {said}."
    return draw("funnel", title, alt, 0.9 + ROW * len(bars), paint, grid=grid)


def losses_by_reason(funnel: Funnel) -> Figure:
    """Draw the number of records lost as bars, by stage and reason.

    Only the commonest reasons get a bar; the others are combined by stage.

    Returns:
        The figure ``losses``; a placeholder if no record was lost.
    """
    lost = sum(funnel.total.of(outcome) for outcome in LOSSES)
    title = f"Losses by stage and reason (n = {plural(lost, 'record')} lost)"
    every = [(outcome, code, number) for outcome in LOSSES for code, number in funnel.reasons(outcome)]
    grid = Grid(
        title,
        ("Stage", "Reason", "Records", "Of the lost", "Of all records"),
        tuple(
            (_STAGES[outcome], reason(code), count(number), share(number / lost), share(number / funnel.total.records))
            for outcome, code, number in every
        ),
        words=2,
    )
    if not lost:
        return draw_empty("losses", title, "no record was lost" if funnel.total.records else "no records", grid)
    bars = _fold_rare(every)
    most = max(number for _, _, number in bars)
    lines = [textwrap.wrap(reason(code), _LABEL, max_lines=2, placeholder=" ...") for _, code, _ in bars]
    high = any(len(words) > 1 for words in lines)

    def paint(axes: Axes) -> None:
        for outcome in LOSSES:
            mine = [(place, number) for place, (stage, _, number) in enumerate(bars) if stage is outcome]
            if mine:
                places, numbers = zip(*mine, strict=True)
                axes.barh(places, numbers, color=_COLOURS[outcome], height=THICK, label=_STAGES[outcome])
        for place, (_, _, number) in enumerate(bars):
            draw_label(axes, number, place, f"{count(number)}  ({share(number / lost)})", most)
        lay_out_rows(axes, ["\n".join(words) for words in lines], "records", most)
        axes.tick_params(axis="y", labelsize=8.5)
        draw_legend(axes, 2)

    said = "; ".join(f"{_STAGES[outcome]}, {reason(code)}: {count(number)}" for outcome, code, number in bars)
    stages = sum(any(stage is outcome for stage, *_ in bars) for outcome in LOSSES)
    folded = len(every) - sum(code != _OTHER_REASONS for _, code, _ in bars)
    height = 1.0 + 0.22 * -(-stages // 2) + (0.42 if high else ROW) * len(bars)
    return draw(
        "losses",
        title,
        f"Bars of the number of records lost: {said}. Shares are of the records lost.",
        height,
        paint,
        grid=grid,
        note=f"{plural(folded, 'rarer reason')} combined by stage as other reasons." if folded else None,
    )


def _fold_rare(every: list[tuple[Outcome, str | None, int]]) -> list[tuple[Outcome, str | None, int]]:
    """Return the commonest reasons by stage, with the other reasons of each stage combined."""
    # A single further reason is shown itself, not as "other".
    if len(every) <= REASONS + 1:
        return every
    kept = sorted(range(len(every)), key=lambda place: (-every[place][2], place))[:REASONS]
    bars = []
    for outcome in LOSSES:
        bars += [every[place] for place in sorted(kept) if every[place][0] is outcome]
        others = sum(number for place, (stage, _, number) in enumerate(every) if stage is outcome and place not in kept)
        if others:
            bars.append((outcome, _OTHER_REASONS, others))
    return bars


def yield_by_draft(drafts: Sequence[DraftYield]) -> Figure:
    """Draw how many drafts passed and failed as bars, by draft number."""
    made = sum(row.made for row in drafts)
    title = f"Yield by draft (n = {plural(made, 'draft')})"
    grid = tables.yields(drafts)
    if not made:
        return draw_empty("drafts", title, "no drafts", grid)
    most = max(row.made for row in drafts)

    def paint(axes: Axes) -> None:
        places = range(len(drafts))
        passed = [row.passed for row in drafts]
        failed = [row.made - row.passed for row in drafts]
        axes.barh(places, passed, color=BLUE, height=THICK, label="passed every check")
        axes.barh(places, failed, left=passed, color=GRID, height=THICK, label="failed a check")
        for place, row in enumerate(drafts):
            words = f"{count(row.passed)} of {count(row.made)}"
            draw_label(
                axes, row.made, place, f"{words}  ({share(row.passed / row.made)})" if row.made else "none", most
            )
        lay_out_rows(axes, [f"draft {row.number}" for row in drafts], "drafts", most)
        draw_legend(axes, 2)

    said = "; ".join(f"draft {row.number}: {row.passed} of {row.made} passed" for row in drafts)
    height = 1.2 + ROW * len(drafts)
    return draw("drafts", title, f"Bars of drafts by number. {said}.", height, paint, grid=grid)


def cost_by_stage(cost: Cost) -> Figure:
    """Draw the cost by stage as bars.

    The unit is USD, or tokens in and out if these runs paid nothing or no price is known. Attempts whose price is not
    known are in no bar; a note counts them.

    Returns:
        The figure ``cost``; a placeholder if these runs paid for no attempt.
    """
    attempts = plural(cost.paid.attempts, "attempt")
    grid = _costs(cost)
    if not cost.paid.attempts:
        return draw_empty("cost", "Cost by stage (n = 0 attempts)", "every answer was paid for before", grid)
    in_usd = bool(cost.paid.usd.known)
    unit = "USD" if in_usd else "tokens"
    bars = [_bar(spent, in_usd) for spent in cost.by_stage.values()]
    title = f"Cost by stage in {unit} (n = {attempts})"
    most = max(width for width, _, _ in bars)

    def paint(axes: Axes) -> None:
        axes.barh(range(len(bars)), [width for width, _, _ in bars], color=BLUE, height=THICK)
        for place, (width, words, _) in enumerate(bars):
            draw_label(axes, width, place, words, most)
        lay_out_rows(axes, list(cost.by_stage), unit, most)

    said = ", ".join(f"{stage} {words}" for stage, (_, words, _) in zip(cost.by_stage, bars, strict=True))
    unknown = sum(number for _, _, number in bars)
    notes = [] if in_usd else ["Tokens in and out: these runs paid nothing, or no price is known."]
    if unknown:
        what = "The price" if in_usd else "The number of tokens"
        notes.append(f"{what} of {plural(unknown, 'attempt')} is unknown and not in any bar.")
    return draw(
        "cost",
        title,
        f"Bars of {unit} by stage: {said}.",
        0.9 + ROW * len(bars),
        paint,
        grid=grid,
        note=" ".join(notes) or None,
    )


def _bar(spent: Spend, in_usd: bool) -> tuple[float, str, int]:
    """Return width and label of a stage's bar, and how many attempts are not in it."""
    if in_usd:
        return spent.usd.known or 0, usd_sum(spent.usd), spent.usd.unknown
    parts = (spent.prompt_tokens, spent.completion_tokens)
    unknown = max(part.unknown for part in parts)
    if all(part.known is None for part in parts):
        return 0, UNKNOWN, unknown
    tokens = sum(part.known or 0 for part in parts)
    return tokens, f"{tokens:,}" + (f" + {count(unknown)} unknown" if unknown else ""), unknown


def _costs(cost: Cost) -> Grid:
    lines = [
        (
            stage,
            count(spent.attempts),
            count(spent.failed),
            count(spent.in_flight),
            token_sum(spent.prompt_tokens),
            token_sum(spent.completion_tokens),
            usd_sum(spent.usd),
        )
        for stage, spent in (*cost.by_stage.items(), ("all", cost.paid))
    ]
    head = ("Stage", "Attempts", "Failed", "In flight", "Tokens in", "Tokens out", "USD")
    return Grid("Cost by stage", head, tuple(lines))
