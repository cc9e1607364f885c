"""The figures of scores, by way of the rows in which an evaluation keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hazardmill.evaluation.abilities.answers import AnswerOverlap
from hazardmill.evaluation.safel.figures import SafelGroup, safel_figures
from hazardmill.evaluation.safel.goal import GoalScore
from hazardmill.evaluation.safel.rows import table_of
from hazardmill.evaluation.safel.transition import TransitionScore


def figures_of(scores: Iterable[GoalScore | TransitionScore]) -> SafelGroup:
    """The figures over all scenarios; each score is about one of its own."""
    table = table_of(row(score, number) for number, score in enumerate(scores))
    (figures,) = safel_figures(table, resamples=100)
    return figures.groups["all"]


def row(score: GoalScore | TransitionScore, number: int) -> dict[str, Any]:
    named = {"run": "r", "model": "m", "scenario_id": f"s{number}", "kind": "sit", "about": "", "sample": 0}
    named |= {"status": score.status, "undeclared": len(score.undeclared)}
    if isinstance(score, GoalScore):
        more = {"test": "goal", "excluded": score.excluded, "comparisons": score.comparisons}
        return {**named, **more, **counts("unary_", score.unary), **counts("relational_", score.relational)}
    more = {"test": "transition", "new": score.new, "asked": score.asked, "equal": score.equal}
    return {**named, **more, **counts("", score.conditions)}


def counts(prefix: str, overlap: AnswerOverlap | None) -> dict[str, int | None]:
    return {
        f"{prefix}{name}": None if overlap is None else getattr(overlap, name) for name in ("hits", "named", "true")
    }
