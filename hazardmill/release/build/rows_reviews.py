"""Rows of ``reviews``: what reviewers decided, under pseudonyms, without times and notes."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.release.manifest import Review
from hazardmill.review.decisions.effective import Opinion
from hazardmill.review.models import is_model
from hazardmill.review.rubric import ReviewVerdict

Row = dict[str, Any]


@dataclass(frozen=True)
class Votes:
    """What reviewers said of one task."""

    reviewers: int
    """Reviewers who decided on the task as it is."""
    approvals: int
    """Those of them who approved."""


class Reviews:
    """The decisions of a review that tell of accepted tasks: first looks and adjudications, no repeats and no tests.

    Args:
        held: What reviewers hold.
        name: Of the release. Pseudonyms follow the order of hashes of it and the names, so that they tell nothing of
            the alphabet, and stay as they are while nobody joins.
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
        """What reviewers said of a task."""
        current = [each for each in self._of.get(task_id, ()) if each.state == "decided"]
        approvals = sum(each.verdict is ReviewVerdict.APPROVE for each in current)
        return Votes(len({each.slip.reviewer for each in current}), approvals)

    def rows(self, row: Mapping[str, Any]) -> list[Row]:
        """The rows of ``reviews`` of a task."""
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
        """The figures of the manifest.

        Args:
            task_ids: The released tasks.
            rejected: Tasks that reviewers are against.
        """
        of = [each for task_id in task_ids for each in self._of.get(task_id, ())]
        names = {each.slip.reviewer for each in of}
        return Review(reviewers=len(names), models=sum(map(is_model, names)), decisions=len(of), rejected=rejected)
