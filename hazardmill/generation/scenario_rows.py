"""Builds the rows of the store from the result of a seed of a scenario: one atomic group per record."""

from __future__ import annotations

from typing import Any

from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.generation.context import StageContext
from hazardmill.generation.refine import RecordResult
from hazardmill.generation.rows import author_provenance, check_rows, draft_row, outcome_row
from hazardmill.generation.scenario_refine import ScenarioAttempt
from hazardmill.records import Outcome

Row = dict[str, Any]


def accepted_scenario(result: RecordResult) -> ScenarioAttempt:
    """Return the draft of an accepted seed."""
    attempt = result.accepted
    assert isinstance(attempt, ScenarioAttempt) and attempt.correction is not None, "it was accepted"
    return attempt


def name_scenario(source: object, kind: object, document_hash: str) -> str:
    """Return the id of a scenario: source, kind, and the first 12 hex digits of its document's hash."""
    return f"{source}-{kind}-{document_hash[:12]}"


def scenario_id_of(result: RecordResult) -> str:
    """Return the id of the scenario of an accepted seed."""
    attempt = accepted_scenario(result)
    assert attempt.correction is not None and attempt.correction.scenario.risk is not None
    return name_scenario(result.record.source, attempt.correction.scenario.risk.kind, str(attempt.document_hash))


def scenario_record_rows(
    result: RecordResult,
    context: StageContext,
    *,
    run_id: str,
    ordinal: int,
    outcome: Outcome,
    scenario_id: str | None,
    reason: str | None,
    message: str | None,
) -> dict[str, list[Row]]:
    """Build all rows of one seed in one run.

    Args:
        result: What became of the seed.
        context: Its prompts and models.
        run_id: The run.
        ordinal: Position of the record in the run.
        outcome: Its outcome, after the search for duplicates.
        scenario_id: Its scenario, or the one it duplicates; null if it has none.
        reason: Reason code of the outcome; null for an accepted record.
        message: What happened.

    Returns:
        Rows by table: drafts, checks, outcomes, and scenarios if the record was accepted.
    """
    record = result.record
    base = {"run_id": run_id, "record_id": record.record_id, "source": record.source}
    group: dict[str, list[Row]] = {
        "drafts": [],
        "checks": [],
        "outcomes": [
            {
                **base,
                **outcome_row(result, ordinal, outcome, scenario_id, reason, message),
                **author_provenance(result, result.attempts[-1], context),
            }
        ],
    }
    has_scenario = result.accepted is not None
    for attempt in result.attempts:
        group["drafts"].append(
            {**base, **draft_row(result, attempt, context), "fallback": None if has_scenario else False}
        )
        group["checks"].extend({**base, **row} for row in check_rows(result, attempt, context))
    if outcome is Outcome.ACCEPTED:
        group["scenarios"] = [{**base, **_scenario_row(result, context, scenario_id)}]
    return group


def _scenario_row(result: RecordResult, context: StageContext, scenario_id: str | None) -> Row:
    attempt = accepted_scenario(result)
    correction = attempt.correction
    assert correction is not None and correction.scenario.risk is not None
    scenario, risk, found = correction.scenario, correction.scenario.risk, correction.verification
    value = {**scenario.to_json(), "id": scenario_id}
    return {
        "scenario_id": scenario_id,
        "draft": attempt.draft.number,
        "kind": risk.kind,
        "instruction": risk.instruction,
        "target": risk.target,
        "hazard": risk.hazard,
        "scenario": canonical_json(value),
        "document_hash": attempt.document_hash,
        "plan": found.plan,
        "careless_plan": found.careless_plan,
        "steps": found.steps,
        "shortest_plans": found.shortest_plans,
        "corrected": correction.outcome == "corrected",
        "licence": result.record.licence,
        "attribution": result.record.attribution,
        **author_provenance(result, attempt, context),
    }
