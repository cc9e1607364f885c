"""Building the rows of ``reviews``: decisions of reviewers under pseudonyms, without times and notes."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.release.manifest import Review
from hazardmill.review.decisions.effective import Opinion
from hazardmill.review.models import is_model
from hazardmill.review.rubric import ReviewVerdict

Row = dict[str, Any]


@dataclass(frozen=True)
class Votes:
    """How reviewers voted on one task.

    Attributes:
        reviewers: Number of reviewers whose decision is about the task as it is now.
        approvals: Number of these decisions that approve it.
    """

    reviewers: int
    approvals: int


class MadeHow(TypedDict):
    """How a task, scenario or hazard task was made and reviewed.

    Attributes:
        group: Its structural group.
        drafts: Number of drafts that its record took.
        policy: The policy of the review.
        votes: How reviewers voted on it; None under the policy ``none``.
    """

    group: str
    drafts: int
    policy: str
    votes: Votes | None


def reviewed_columns(policy: str, votes: Votes | None) -> Row:
    """Return the columns that say how a task, scenario or hazard task was reviewed.

    Args:
        policy: The policy of the review.
        votes: How reviewers voted on it; None under the policy ``none``.
    """
    return {
        "review_policy": policy,
        "reviewers": None if votes is None else votes.reviewers,
        "approvals": None if votes is None else votes.approvals,
    }


class Reviews:
    """The decisions of a review on tasks: first decisions and adjudications, without repeats and planted tests.

    Args:
        held: The opinions of reviewers, as the review has them now.
        name: Name of the release. Pseudonyms are numbered in the order of a hash of this name and the reviewer's, so
            that they do not give away the alphabetical order, and stay the same as long as no reviewer joins.
    """

    def __init__(self, held: Iterable[Opinion], name: str) -> None:
        self._of: dict[str, list[Opinion]] = defaultdict(list)
        for each in held:
            if each.slip.kind in ("task", "adjudication") and each.decision is not None and each.state != "skipped":
                self._of[each.slip.item].append(each)
        names = {each.slip.reviewer for opinions in self._of.values() for each in opinions}
        ranked = sorted(names, key=lambda reviewer: hashlib.sha256(f"{name}\n{reviewer}".encode()).hexdigest())
        self.pseudonyms: Mapping[str, str] = {
            reviewer: f"{'model' if is_model(reviewer) else 'reviewer'}-{place}"
            for place, reviewer in enumerate(ranked, start=1)
        }

    def votes(self, task_id: str) -> Votes:
        """Count the current decisions on a task."""
        current = [each for each in self._of.get(task_id, ()) if each.state == "decided"]
        approvals = sum(each.verdict is ReviewVerdict.APPROVE for each in current)
        return Votes(len({each.slip.reviewer for each in current}), approvals)

    def rows(self, row: Mapping[str, Any]) -> list[Row]:
        """Return the rows of ``reviews`` of a task, sorted by kind and pseudonym.

        Args:
            row: The released row of the task.
        """
        found = []
        for each in self._of.get(row["task_id"], ()):
            assert each.decision is not None
            found.append(
                {
                    **{name: row[name] for name in ("task_id", "source", "licence", "attribution", "model_answered")},
                    "kind": each.slip.kind,
                    "reviewer": self.pseudonyms[each.slip.reviewer],
                    "verdict": each.decision.verdict.value,
                    "reasons": canonical_json(sorted(each.decision.reasons)),
                    "rubric": each.decision.rubric,
                    "current": each.state == "decided",
                }
            )
        return sorted(found, key=lambda said: (said["kind"], int(said["reviewer"].rpartition("-")[2])))

    def figures(self, task_ids: Iterable[str], rejected: int) -> Review:
        """Return the numbers of reviewers and decisions for the manifest.

        Args:
            task_ids: The released tasks.
            rejected: Number of tasks that are left out because reviewers rejected them.
        """
        of = [each for task_id in task_ids for each in self._of.get(task_id, ())]
        names = {each.slip.reviewer for each in of}
        return Review(reviewers=len(names), models=sum(map(is_model, names)), decisions=len(of), rejected=rejected)
