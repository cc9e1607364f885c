"""Builds the rows of the store from the result of a dialogue: one atomic group per record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hazardmill import __version__
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.generation.acting.dialogue import Dialogue
from hazardmill.generation.acting.proposals import CheckedProposal, HazardTask
from hazardmill.generation.acting.refine import TurnAttempt, prompt_of
from hazardmill.generation.acting.rewrites import harm_of
from hazardmill.generation.context import Provenance, StageContext
from hazardmill.generation.refine import RecordResult
from hazardmill.generation.rows import check_rows, draft_row, outcome_row
from hazardmill.records import Check, Outcome

Row = dict[str, Any]
DecidedTurn = tuple[TurnAttempt, Sequence[CheckedProposal]]
"""A turn, and its proposals after the novelty gate."""


def dialogue_rows(
    result: RecordResult,
    decided: Sequence[DecidedTurn],
    context: StageContext,
    *,
    run_id: str,
    ordinal: int,
    outcome: Outcome,
    task_id: str | None,
    reason: str | None,
    message: str | None,
) -> dict[str, list[Row]]:
    """Build all rows of one dialogue in one run.

    Args:
        result: What became of the dialogue.
        decided: Its turns in order.
        context: Its prompts and models.
        run_id: The run.
        ordinal: Position of the dialogue in the run.
        outcome: Its outcome, after the novelty gate.
        task_id: Its first task; null if it has none.
        reason: Reason code of the outcome; null for an accepted dialogue.
        message: What happened.

    Returns:
        Rows by table: a draft per turn, its checks, the outcome, and hazard tasks if some were kept.
    """
    record = result.record
    base = {"run_id": run_id, "record_id": record.record_id, "source": record.source}
    group: dict[str, list[Row]] = {"drafts": [], "checks": [], "outcomes": [], "hazard_tasks": []}
    rewrites = {
        turn.turn.rewrites: turn.rewrite for turn, _ in decided if turn.turn is not None and turn.rewrite is not None
    }
    for turn, proposals in decided:
        made = _provenance(result, turn, context)
        others = turn.draft.checks[1 + len(proposals) :]
        checks = (turn.draft.checks[0], *(each.check for each in proposals), *others)
        failed = next((check for check in checks if check.passed is False), None)
        kept = [each for each in proposals if each.task_id is not None]
        group["drafts"].append(
            {
                **base,
                **draft_row(result, turn, context),
                "accepted": bool(kept),
                "failed_check": failed and failed.name,
                "failed_reason": failed and failed.reason,
                "fallback": None if outcome is Outcome.ACCEPTED else False,
                **made,
            }
        )
        group["checks"] += [{**base, **row, **made} for row in check_rows(result, _with_checks(turn, checks), context)]
        group["hazard_tasks"] += [
            {**base, "hazard_task_id": each.task_id, **_task_row(result, turn, number, each.task, made, rewrites)}
            for number, each in enumerate(proposals, 1)
            if each.task_id is not None and each.task is not None
        ]
    last, _ = decided[-1]
    row = outcome_row(result, ordinal, outcome, task_id, reason, message)
    group["outcomes"].append({**base, **row, **_provenance(result, last, context)})
    if not group["hazard_tasks"]:
        del group["hazard_tasks"]
    return group


def _with_checks(turn: TurnAttempt, checks: tuple[Check, ...]) -> TurnAttempt:
    return replace(turn, draft=turn.draft.model_copy(update={"checks": checks}))


def _provenance(result: RecordResult, turn: TurnAttempt, context: StageContext) -> Row:
    made = Provenance(
        result.record.content_hash, prompt_of(turn.turn, context), context.models.author, turn.author_answers
    )
    return {**made.columns(), "hazardmill_version": __version__}


def _task_row(
    result: RecordResult,
    turn: TurnAttempt,
    number: int,
    task: HazardTask,
    made: Row,
    rewrites: Mapping[tuple[int, int] | None, str],
) -> Row:
    assert turn.turn is not None, "a dialogue has turns only"
    rewrite = rewrites.get((turn.turn.number, number))
    dialogue = Dialogue.of(result.record)
    return {
        "draft": turn.draft.number,
        "proposal": number,
        "dialogue": dialogue.number,
        "role": turn.turn.role.name,
        "instruction": task.instruction,
        "harm": task.harm or None,
        "categories": canonical_json(list(task.categories)),
        "document": canonical_json(task.document.to_json()),
        "compiled": canonical_json(task.compiled.to_json()),
        "document_hash": task.document.hash,
        "objects": canonical_json(list(task.object_names)),
        "reference": task.reference,
        "reference_categories": canonical_json(list(task.reference_categories)),
        "steps": task.reference_steps,
        "witnesses": canonical_json(task.witnesses),
        "harmless_plan": task.harmless_plan,
        "harmful_plan": task.harmful_plan,
        "is_searched": task.is_searched,
        "rewrite": rewrite,
        "rewrite_categories": None if rewrite is None else canonical_json(list(harm_of(task, rewrite))),
        "corrected": task.corrected,
        "seeds": canonical_json([seed.task_id for seed in dialogue.seeds]),
        "licence": result.record.licence,
        "attribution": result.record.attribution,
        **made,
    }
