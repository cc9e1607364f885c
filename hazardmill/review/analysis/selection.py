"""The part of a review that somebody looks at: by source, danger type and reviewer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hazardmill.records import FrozenModel
from hazardmill.reporting.table import Grid
from hazardmill.review.assignments.model import SubmittedPlan
from hazardmill.review.candidates import ReviewItem
from hazardmill.review.decisions.effective import Opinion
from hazardmill.review.policies import REASON_WORDS, AcceptedSet
from hazardmill.text.suggestions import unknown_name


@dataclass(frozen=True, slots=True)
class ReviewSelection:
    """Which items count. A field without names takes all of them.

    Attributes:
        sources: Names of sources.
        danger_types: Danger types, as ``ReviewItem.danger_type`` has them.
        reviewers: Names of reviewers: items count that were assigned to one of them, with what everybody decided.
    """

    sources: tuple[str, ...] = ()
    danger_types: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()

    def check(self, items: Mapping[str, ReviewItem], reviewers: Iterable[str]) -> None:
        """Refuse names that nothing in the review has, which would select nothing without a word.

        Args:
            items: All items by id.
            reviewers: Names of all reviewers.

        Raises:
            UnknownName: No item has that source or danger type, or nothing was assigned to that reviewer.
        """  # noqa: DOC501  # the helper makes it
        for what, asked, known in (
            ("source", self.sources, {item.source for item in items.values()}),
            ("danger type", self.danger_types, {item.danger_type for item in items.values()}),
            ("reviewer", self.reviewers, {*reviewers}),
        ):
            for name in asked:
                if name not in known:
                    there = f"there are: {', '.join(sorted(known)) or 'none'}"
                    raise unknown_name(f"no item of the review has the {what} {name!r}", name, known, remedy=there)

    def apply(
        self, items: Mapping[str, ReviewItem], held: Sequence[Opinion], plans: Mapping[str, SubmittedPlan]
    ) -> tuple[dict[str, ReviewItem], list[Opinion]]:
        """Return the items that count, and the opinions on them.

        Args:
            items: All items by id.
            held: All opinions.
            plans: Plans under review by id; an opinion on one is an opinion on the plan's task.
        """
        if not (self.sources or self.danger_types or self.reviewers):
            return dict(items), list(held)
        about = [plans[each.slip.item].item if each.slip.kind == "plan" else each.slip.item for each in held]
        theirs = {item for item, each in zip(about, held, strict=True) if each.slip.reviewer in self.reviewers}
        taken = {
            name: item
            for name, item in items.items()
            if (not self.sources or item.source in self.sources)
            and (not self.danger_types or item.danger_type in self.danger_types)
            and (not self.reviewers or name in theirs)
        }
        return taken, [each for item, each in zip(about, held, strict=True) if item in taken]


EVERYTHING: Final = ReviewSelection()


class ReviewedTask(FrozenModel):
    """A task, scenario or hazard task under review, as a maintainer looks for it.

    Attributes:
        item: Its id.
        source: Name of the source of its record.
        danger_type: Its danger type; for scenarios kind and hazard, for hazard tasks the first category.
        outcome: ``accepted``, or the reason why it is not, under the policy.
        reviewers: Reviewer to verdict, or to the state of a slip that is not decided. Calibration tasks and repeats are
            left out.
    """

    item: str
    source: str
    danger_type: str
    outcome: str
    reviewers: dict[str, str]


def list_tasks(
    items: Mapping[str, ReviewItem], held: Iterable[Opinion], accepted: AcceptedSet
) -> tuple[ReviewedTask, ...]:
    """List the items of the accepted set and of the others, with what each reviewer said.

    Args:
        items: Items by id.
        held: Opinions on them.
        accepted: Which of them people accept.

    Returns:
        The items in the order of source, danger type and id.
    """
    said: dict[str, dict[str, str]] = {item: {} for item in (*accepted.accepted, *accepted.others)}
    for each in held:
        if each.slip.kind in ("task", "adjudication") and each.slip.item in said:
            verdict = each.decision.verdict if each.state == "decided" and each.decision is not None else None
            said[each.slip.item][each.slip.reviewer] = each.state if verdict is None else str(verdict)
    found = [
        ReviewedTask(
            item=item,
            source=items[item].source,
            danger_type=items[item].danger_type,
            outcome=str(accepted.others.get(item, "accepted")),
            reviewers=by,
        )
        for item, by in said.items()
    ]
    return tuple(sorted(found, key=lambda task: (task.source, task.danger_type, task.item)))


def tasks_grid(tasks: Iterable[ReviewedTask]) -> Grid:
    """Return a list of tasks as a table."""
    words = {"accepted": "accepted", **{str(code): text for code, text in REASON_WORDS.items()}}
    rows = tuple(
        (
            task.item,
            task.source,
            task.danger_type.replace("_", " "),
            words[task.outcome],
            ", ".join(f"{name}: {said}" for name, said in sorted(task.reviewers.items())),
        )
        for task in tasks
    )
    return Grid("Tasks", ("task", "source", "type", "outcome", "reviewers"), rows, words=5)
