"""Builds the rows of the store from the result of a record: one atomic group per record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hazardmill import __version__
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.python_writer import task_code
from hazardmill.generation.context import Provenance, StageContext
from hazardmill.generation.fallback import best_executable
from hazardmill.generation.refine import DraftAttempt, RecordResult, first_failure
from hazardmill.llm.requests import OFFLINE_LABEL, OFFLINE_MODEL
from hazardmill.records import Danger, Outcome

Row = dict[str, Any]


def task_id_of(result: RecordResult) -> str:
    """Return the task id: the source, a hyphen, and the first 12 hex digits of the document's hash.

    Args:
        result: The result of an accepted record.
    """
    attempt = result.accepted
    assert attempt is not None and attempt.execution is not None and attempt.execution.document is not None
    return f"{result.record.source}-{attempt.execution.document.hash[:12]}"


def provenance(row: Mapping[str, Any]) -> Row:
    """Return the provenance that a task's document carries outside of its hash.

    Args:
        row: Holds ``record_id``, ``model_answered`` and ``backend``, named as in the table of tasks.

    Returns:
        These values, and ``label``: a notice if the offline author wrote the task, otherwise null.
    """
    offline = row["model_answered"] == OFFLINE_MODEL
    return {
        "record_id": row["record_id"],
        "model_answered": row["model_answered"],
        "backend": row["backend"],
        "label": OFFLINE_LABEL if offline else None,
    }


def record_rows(
    result: RecordResult,
    context: StageContext,
    *,
    run_id: str,
    ordinal: int,
    outcome: Outcome,
    task_id: str | None,
    reason: str | None,
    message: str | None,
    cross_check: Row | None,
    structure_id: str | None = None,
) -> dict[str, list[Row]]:
    """Build all rows of one record in one run.

    Args:
        result: What became of the record.
        context: Its prompts and models.
        run_id: The run.
        ordinal: Position of the record in the run.
        outcome: Its outcome, after the search for duplicates.
        task_id: Its task, or the one it duplicates; null if it has none.
        reason: Reason code of the outcome; null for an accepted record.
        message: What happened.
        cross_check: What external planners found; null if they were not asked.
        structure_id: Structure id of the accepted document; null if there is none.

    Returns:
        Rows by table: dangers, drafts, checks, outcomes, and tasks if the record was accepted.
    """
    record = result.record
    base = {"run_id": run_id, "record_id": record.record_id, "source": record.source}
    group: dict[str, list[Row]] = {
        "dangers": [{**base, **_danger_row(result, context)}],
        "drafts": [],
        "checks": [],
        "outcomes": [
            {
                **base,
                **outcome_row(result, ordinal, outcome, task_id, reason, message),
                **_outcome_provenance(result, context),
            }
        ],
    }
    kept = best_executable(result.attempts) if result.extraction.danger is not None else None
    has_task = any(attempt.draft.accepted for attempt in result.attempts)
    for attempt in result.attempts:
        fallback = None if has_task else attempt is kept
        group["drafts"].append({**base, **draft_row(result, attempt, context), "fallback": fallback})
        group["checks"].extend({**base, **row} for row in check_rows(result, attempt, context))
    if outcome is Outcome.ACCEPTED:
        group["tasks"] = [{**base, **_task_row(result, context, task_id, cross_check, structure_id)}]
    return group


def outcome_row(
    result: RecordResult, ordinal: int, outcome: Outcome, task_id: str | None, reason: str | None, message: str | None
) -> Row:
    """Return the columns of an outcome that are not provenance; the arguments are those of ``record_rows``."""
    return {
        "ordinal": ordinal,
        "outcome": outcome.value,
        "reason": reason,
        "message": message,
        "drafts": len(result.attempts),
        "task_id": task_id,
        "usd": result.usd,
    }


def _extract_provenance(result: RecordResult, context: StageContext) -> Row:
    made = Provenance(
        result.record.content_hash, context.prompts.extract, context.models.extract, result.extraction.answers
    )
    return {**made.columns(), "hazardmill_version": __version__}


def author_provenance(result: RecordResult, attempt: DraftAttempt, context: StageContext) -> Row:
    """Return the provenance columns of a row that the author's answer decided."""
    made = Provenance(
        result.record.content_hash,
        context.prompts.author,
        context.models.author,
        attempt.author_answers,
        _jail_profile(attempt, context),
    )
    return {**made.columns(), "hazardmill_version": __version__}


def _outcome_provenance(result: RecordResult, context: StageContext) -> Row:
    """Provenance of the last draft, or of the extraction if that decided the outcome."""
    if result.extraction.danger is None:
        return _extract_provenance(result, context)
    return author_provenance(result, result.attempts[-1], context)


def _danger_row(result: RecordResult, context: StageContext) -> Row:
    extraction = result.extraction
    fields = dict.fromkeys(Danger.model_fields)
    if extraction.danger is not None:
        fields |= extraction.danger.columns()
    return {
        "no_danger": extraction.no_danger,
        "decline_reason": extraction.decline_reason,
        **fields,
        "round": extraction.round,
        "sent_back": extraction.sent_back and canonical_json(extraction.sent_back.to_json()),
        "error": extraction.error,
        "identities": canonical_json([answer.identity for answer in extraction.answers]),
        "paid": any(answer.paid for answer in extraction.answers),
        **_extract_provenance(result, context),
    }


def draft_row(result: RecordResult, attempt: DraftAttempt, context: StageContext) -> Row:
    """Return the row of a draft, without the columns that name run and record, and without ``fallback``."""
    draft = attempt.draft
    failed = None if draft.accepted else first_failure(draft.checks)
    told = None if draft.feedback is None else context.prompts.feedback
    return {
        "draft": draft.number,
        "round": draft.round,
        "answer": draft.answer,
        "code": draft.code,
        "document": None if draft.document is None else canonical_json(draft.document),
        "document_hash": attempt.document_hash,
        "accepted": draft.accepted,
        "failed_check": failed.name if failed else None,
        "failed_reason": failed.reason if failed else None,
        "feedback": draft.feedback,
        "feedback_version": told and told.version,
        "feedback_hash": told and told.hash,
        "identities": canonical_json(list(draft.identities)),
        "paid": any(answer.paid for answer in attempt.answers),
        "usd": attempt.usd,
        **author_provenance(result, attempt, context),
    }


def _jail_profile(attempt: DraftAttempt, context: StageContext) -> str | None:
    """Return the jail's profile if the draft's code ran in it."""
    ran = any(check.name == "jail" and check.passed is not None for check in attempt.draft.checks)
    return context.jail.profile if ran else None


def check_rows(result: RecordResult, attempt: DraftAttempt, context: StageContext) -> list[Row]:
    """Return the rows of a draft's checks, without the columns that name run and record."""
    profile = _jail_profile(attempt, context)
    author = author_provenance(result, attempt, context)
    judge = {
        **Provenance(
            result.record.content_hash, context.prompts.judge, context.models.judge, attempt.judge_answers, profile
        ).columns(),
        "hazardmill_version": __version__,
    }
    return [
        {
            "draft": attempt.draft.number,
            "check_name": check.name,
            "position": position,
            "passed": check.passed,
            "reason": check.reason,
            "message": check.message,
            "mend": check.mend,
            "details": canonical_json(check.details),
            **(judge if check.name == "judge" else author),
        }
        for position, check in enumerate(attempt.draft.checks)
    ]


def _task_row(
    result: RecordResult, context: StageContext, task_id: str | None, cross_check: Row | None, structure_id: str | None
) -> Row:
    attempt, danger = result.accepted, result.extraction.danger
    assert attempt is not None and attempt.execution is not None and danger is not None
    execution = attempt.execution
    assert execution.document is not None and execution.certificate is not None
    solution = execution.certificate.solution
    assert solution.unsafe is not None  # an accepted task has an unsafe plan; only an avoidable danger has a safe one
    author = author_provenance(result, attempt, context)
    made_by = provenance({"record_id": result.record.record_id, **author})
    return {
        "task_id": task_id,
        "draft": attempt.draft.number,
        "code": task_code(execution.document),
        "document": canonical_json({**execution.document.to_json(), "provenance": made_by}),
        "document_hash": execution.document.hash,
        "structure_id": structure_id,
        "danger": canonical_json(danger.model_dump(mode="json")),
        "danger_group": danger.danger_group.value,
        "danger_type": danger.danger_type.value,
        "avoidability": danger.instantaneous_avoidability,
        "safe_plan": solution.safe_text,
        "unsafe_plan": solution.unsafe_text,
        "safe_length": None if solution.safe is None else len(solution.safe),
        "unsafe_length": len(solution.unsafe),
        "plan_length": solution.plan_length,
        "safety_effort": solution.safety_effort,
        "certificate": canonical_json(execution.certificate.to_json()),
        "domain_pddl": execution.domain_pddl,
        "problem_pddl": execution.problem_pddl,
        "cross_check": None if cross_check is None else canonical_json(cross_check),
        "licence": result.record.licence,
        "attribution": result.record.attribution,
        **author,
    }
