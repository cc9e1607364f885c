"""The rows of a seed when it is committed, and which scenarios repeat earlier ones of the run."""

from __future__ import annotations

from typing import Any, Final

from hazardmill.generation.context import StageContext
from hazardmill.generation.refine import RecordResult
from hazardmill.generation.scenario_rows import accepted_scenario, scenario_id_of, scenario_record_rows
from hazardmill.records import Outcome
from hazardmill.store.store import Store

SAME_DOCUMENT: Final = "same_document"
REASONS: Final = {SAME_DOCUMENT: "An earlier scenario of the run has the same formal parts."}
"""Reason codes of a duplicate, with their meanings."""


class KeptScenarios:
    """The scenarios that a run has kept so far, by the hash of their document. They must be added in record order.

    Args:
        store: Where the run writes.
        run_id: The run.
    """

    def __init__(self, store: Store, run_id: str) -> None:
        rows = store.rows("scenarios", {"run_id": run_id}, ["document_hash", "scenario_id"])
        self._by_hash: dict[str, str] = {row["document_hash"]: row["scenario_id"] for row in rows}

    def add(self, document_hash: str, scenario_id: str) -> str | None:
        """Keep a scenario, unless an earlier one has the same document; return that one's id, else None."""
        first = self._by_hash.get(document_hash)
        if first is None:
            self._by_hash[document_hash] = scenario_id
        return first


def committed_rows(
    result: RecordResult, kept: KeptScenarios, context: StageContext, *, run_id: str, ordinal: int
) -> tuple[dict[str, list[dict[str, Any]]], Outcome]:
    """Return the rows of a seed and its outcome, after the search for duplicates.

    Args:
        result: What became of the seed.
        kept: The scenarios of the run so far.
        context: Prompts and models of the run.
        run_id: The run.
        ordinal: Position of the record in the run.
    """
    outcome, reason, message, scenario_id = result.outcome, result.reason, result.message, None
    if result.accepted is not None:
        scenario_id = scenario_id_of(result)
        first = kept.add(str(accepted_scenario(result).document_hash), scenario_id)
        if first is not None:
            outcome, reason, scenario_id = Outcome.DUPLICATE, SAME_DOCUMENT, first
            message = f"its scenario is the same as {first}, which an earlier record gave"
    rows = scenario_record_rows(
        result,
        context,
        run_id=run_id,
        ordinal=ordinal,
        outcome=outcome,
        scenario_id=scenario_id,
        reason=reason,
        message=message,
    )
    return rows, outcome
