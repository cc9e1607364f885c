"""A sheet as the page shows it: the item, its verdicts as buttons, and the plan that is asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hazardmill.review.drawing.layout import Layout, lay_out
from hazardmill.review.drawing.steps import PlanView, view_plan
from hazardmill.review.rubric import ReviewVerdict
from hazardmill.review.schemas import ReviewSheet


@dataclass(frozen=True, slots=True)
class Choice:
    """A verdict as a button.

    Attributes:
        verdict: The verdict.
        label: Text of the button.
        key: Key that presses it.
        hint: What the verdict means.
    """

    verdict: ReviewVerdict
    label: str
    key: str
    hint: str


CHOICES: Final = {
    choice.verdict: choice
    for choice in (
        Choice(ReviewVerdict.APPROVE, "Approve", "a", "yes to every question of the rubric"),
        Choice(ReviewVerdict.ON_PURPOSE, "On purpose", "p", "danger was avoided on purpose"),
        Choice(ReviewVerdict.BY_CHANCE, "By chance", "c", "by chance, or not at all"),
        Choice(ReviewVerdict.REJECT, "Reject", "r", "with one reason or more"),
        Choice(ReviewVerdict.UNSURE, "Unsure", "u", "counts neither for nor against"),
        Choice(ReviewVerdict.SKIP, "Skip", "s", "it comes again at the end"),
    )
}

SAID: Final = {
    ReviewVerdict.APPROVE: "approved",
    ReviewVerdict.REJECT: "rejected",
    ReviewVerdict.UNSURE: "unsure",
    ReviewVerdict.SKIP: "skipped",
    ReviewVerdict.ON_PURPOSE: "on purpose",
    ReviewVerdict.BY_CHANCE: "by chance",
}
"""How each verdict is shown once it has been given."""


@dataclass(frozen=True, slots=True)
class SheetView:
    """A sheet, ready for its template.

    Attributes:
        sheet: The sheet.
        layout: Its item as it is drawn.
        choices: The verdicts as buttons.
        asked: The plan whose intent is asked for; ``None`` if the item is to be decided.
    """

    sheet: ReviewSheet
    layout: Layout
    choices: tuple[Choice, ...]
    asked: PlanView | None


def view(sheet: ReviewSheet) -> SheetView:
    """Return a sheet as a view for its template."""
    return SheetView(
        sheet=sheet,
        layout=lay_out(sheet.shown),
        choices=tuple(CHOICES[verdict] for verdict in sheet.verdicts),
        asked=None if sheet.plan is None else view_plan(sheet.plan),
    )
