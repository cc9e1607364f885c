"""What reviewers decided on tasks and what planners' plans did, as columns of the table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hazardmill.errors import InputError
from hazardmill.evaluation.results import read_results
from hazardmill.records import FrozenModel
from hazardmill.reporting.numbers import plural
from hazardmill.review.decisions.effective import Opinion

NOT_REVIEWED: Final = "not reviewed"
NOT_ASKED: Final = "not asked"

_SAID: Final = {"approve": "approved", "reject": "rejected", "unsure": "unsure"}
_COLUMNS: Final = ("model", "task_id", "variant", "feasible", "safe")


class ReviewerOpinion(FrozenModel):
    """What one reviewer decided on a task.

    Attributes:
        reviewer: The reviewer's name; in a release a pseudonym.
        verdict: ``approve``, ``reject`` or ``unsure``.
        reasons: Criteria of the rubric that the reviewer named.
        current: Whether the task is still what the reviewer saw.
    """

    reviewer: str
    verdict: str
    reasons: tuple[str, ...]
    current: bool

    @property
    def says(self) -> str:
        """The verdict in words."""
        return _SAID.get(self.verdict, self.verdict)


def opinions_by_item(held: Iterable[Opinion]) -> dict[str, tuple[ReviewerOpinion, ...]]:
    """Return what reviewers decided on each task, scenario and hazard task, repeats and planted defects left out.

    Args:
        held: All opinions of a review.
    """
    found: dict[str, list[ReviewerOpinion]] = defaultdict(list)
    for each in held:
        if each.slip.kind in ("task", "adjudication") and each.decision is not None and each.state != "skipped":
            found[each.slip.item].append(
                ReviewerOpinion(
                    reviewer=each.slip.reviewer,
                    verdict=each.decision.verdict.value,
                    reasons=tuple(sorted(each.decision.reasons)),
                    current=each.state == "decided",
                )
            )
    return {item: tuple(opinions) for item, opinions in found.items()}


def summarize_opinions(opinions: Sequence[ReviewerOpinion]) -> str:
    """Return the verdict of all reviewers together.

    Args:
        opinions: What they decided; decisions on an earlier state of the task do not count.

    Returns:
        ``approved`` or ``rejected`` if all who are sure say so, ``disputed`` if they differ, ``unsure`` if nobody is
        sure, ``not reviewed`` if nobody has decided.
    """
    said = {each.verdict for each in opinions if each.current}
    sure = said - {"unsure"}
    if not said:
        return NOT_REVIEWED
    return _SAID[sure.pop()] if len(sure) == 1 else "disputed" if sure else "unsure"


class PlannerResults:
    """What planners' plans did on each task as released, over all draws.

    Args:
        paths: Files or folders of result rows, as ``hazardmill evaluate`` writes them.

    Raises:
        InputError: A path has no result rows, or two of them share a row.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        counted: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        seen: set[Path] = set()
        for path in paths:
            if path.resolve() in seen:
                raise InputError("these results are given twice", file=str(path), remedy="name each of them once")
            seen.add(path.resolve())
            for row in _rows(read_results(path)):
                counted[row["task_id"]][row["model"]][_word(row)] += 1
        self._said = {task: tuple(map(_say, sorted(models.items()))) for task, models in counted.items()}
        self.is_empty = not seen

    def of(self, task_id: str | None) -> tuple[str, ...]:
        """Return in words what each planner's plans for a task did; empty if none was asked."""
        return self._said.get(task_id or "", ())

    def count_matches(self, shown: Collection[str | None]) -> tuple[str, ...]:
        """Say how many of the tasks with results are among those that are shown.

        Args:
            shown: Ids of the tasks that are shown.

        Returns:
            One sentence; none without any results.
        """
        if not self._said:
            return ()
        matched = len(self._said.keys() & set(shown))
        verb = "is" if matched == 1 else "are"
        said = f"{matched:,} of the {plural(len(self._said), 'task')} in the results of planners {verb} here."
        return (said if matched else f"{said} Were the planners evaluated on another release?",)


def _rows(table: pa.Table) -> Iterable[Mapping[str, Any]]:
    released = table.select(list(_COLUMNS)).filter(pc.is_null(table.column("variant")))
    return (row for batch in released.to_batches() for row in batch.to_pylist())


def _word(row: Mapping[str, Any]) -> str:
    if row["safe"]:
        return "safe"
    # Safe is null where no plan is: reaching the goal is all that a plan can do there.
    return "not feasible" if not row["feasible"] else "feasible" if row["safe"] is None else "not safe"


def _say(result: tuple[str, Counter[str]]) -> str:
    model, counts = result
    if len(counts) == 1:
        return f"{model}: {next(iter(counts))}"
    return f"{model}: {', '.join(f'{counts[word]} {word}' for word in sorted(counts))}"
