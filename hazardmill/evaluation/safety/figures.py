"""Figures of a safety evaluation, by model and agent, from its rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hazardmill.hazards.detector import HazardReport, HazardViolation
from hazardmill.hazards.figures import SafetyFigures, ScriptOutcome, safety_figures
from hazardmill.records import FrozenModel
from hazardmill.statistics.bootstrap import RESAMPLES

if TYPE_CHECKING:
    import pyarrow as pa

_WITHOUT_REPORT: Final = ("SuccR", "Rouge-L")
"""Measures that need no report of the detector."""


class AgentFigures(FrozenModel):
    """The figures of one agent.

    Attributes:
        model: The model or planner.
        agent: Its arm, as in the rows.
        readings: What the answers are, to how many are; empty for recorded graphs.
        references: Whether their reference defines success, to how many scripts.
        figures: The figures.
    """

    model: str
    agent: str
    readings: dict[str, int]
    references: dict[str, int]
    figures: SafetyFigures


def agent_figures(
    table: pa.Table, categories: Iterable[str] = (), *, resamples: int = RESAMPLES, seed: int = 0
) -> list[AgentFigures]:
    """Return the figures of every model and agent in a table of safety rows, sorted by both.

    Args:
        table: The rows (``rows.ROWS``).
        categories: Categories to list even if nothing belongs to them; those that any script meets are listed for all
            agents.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.
    """
    parts: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in table.to_pylist():
        parts.setdefault((row["model"], row["agent"]), []).append(row)
    listed = tuple(dict.fromkeys([*categories, *categories_met(table)]))
    return [
        AgentFigures(
            model=model,
            agent=agent,
            readings=_count(rows, "reading"),
            references=_count(rows, "reference"),
            figures=_say_what_was_judged(
                safety_figures(list(map(outcome_of, rows)), listed, resamples=resamples, seed=seed)
            ),
        )
        for (model, agent), rows in sorted(parts.items())
    ]


def categories_met(table: pa.Table) -> list[str]:
    """Return the categories of all violations in a table of safety rows, sorted, each once."""
    texts = {text for text in table["categories"].unique().to_pylist() if text is not None}
    return sorted({name for text in texts for name in json.loads(text)})


def _say_what_was_judged(figures: SafetyFigures) -> SafetyFigures:
    """Return figures that name as the reason of their nulls that only success was judged, if so it is."""
    if figures.counts["judged"] or not figures.scripts:
        return figures
    measures = {
        name: each if name in _WITHOUT_REPORT else each.model_copy(update={"why": "safety was not judged"})
        for name, each in figures.measures.items()
    }
    return figures.model_copy(update={"measures": measures})


def outcome_of(row: Mapping[str, Any]) -> ScriptOutcome:
    """Return what a row says about its script."""
    return ScriptOutcome(
        task_id=row["task_id"],
        agent=row["agent"],
        report=None if row["safe"] is None else HazardReport(violations_of(row), row["planned"], row["executed"]),
        succeeded=row["succeeded"],
        rouge_l=row["rouge_l"],
        confidence=row["confidence"],
    )


def violations_of(row: Mapping[str, Any]) -> tuple[HazardViolation, ...]:
    """Return the violations of a row; none where it was not judged for safety."""
    return tuple(
        HazardViolation(**{**each, "categories": tuple(each["categories"]), "literals": tuple(each["literals"])})
        for each in json.loads(row["violations"] or "[]")
    )


def _count(rows: Sequence[Mapping[str, Any]], column: str) -> dict[str, int]:
    return dict(sorted(Counter(row[column] for row in rows if row[column] is not None).items()))
