"""The rows of a dialogue when it is committed, and which of its tasks are unlike all that the run kept before."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

from hazardmill.generation.acting.proposals import CheckedProposal, novelty_text
from hazardmill.generation.acting.refine import turns_of
from hazardmill.generation.acting.rows import DecidedTurn, dialogue_rows
from hazardmill.generation.context import StageContext
from hazardmill.generation.refine import RecordResult
from hazardmill.quality.novelty import NoveltyGate
from hazardmill.records import Outcome
from hazardmill.store.store import Store

NOT_NOVEL: Final = "not_novel"
"""Reason code of a proposal that is too near to an earlier task."""

REASONS: Final = {NOT_NOVEL: "The proposal is too near to an earlier hazard task of the run."}
"""Reason codes of proposals that pass their checks and are not kept, with their meanings."""


class KeptHazardTasks:
    """The hazard tasks that a run has kept so far. Dialogues must be committed in order.

    Args:
        store: Where the run writes.
        run_id: The run.
        context: Prompts, models and novelty threshold of the run.
    """

    def __init__(self, store: Store, run_id: str, context: StageContext) -> None:
        self._run_id = run_id
        self._context = context
        self._ids: list[str] = []
        self._gate = NoveltyGate(0.0 if context.acting is None else context.acting.novelty)
        if context.acting is None:
            return
        columns = ["hazard_task_id", "dialogue", "draft", "proposal", "instruction", "objects"]
        rows = store.rows("hazard_tasks", {"run_id": run_id}, columns)
        for row in sorted(rows, key=lambda row: (row["dialogue"], row["draft"], row["proposal"])):
            self._gate.add(novelty_text(row["instruction"], json.loads(row["objects"])))
            self._ids.append(row["hazard_task_id"])

    def commit(self, result: RecordResult, ordinal: int) -> tuple[dict[str, list[dict[str, Any]]], Outcome]:
        """Keep the tasks of a dialogue that are new, in the order of turn and proposal.

        Args:
            result: What became of the dialogue.
            ordinal: Position of the dialogue in the run.

        Returns:
            The rows of the dialogue, and its outcome.
        """
        decided: list[DecidedTurn] = []
        kept: list[str] = []
        nearest: str | None = None
        for turn in turns_of(result.attempts):
            proposals = []
            for proposal in turn.proposals:
                new = self._decide(proposal)
                if new.task_id is not None:
                    kept.append(new.task_id)
                elif new.check.reason == NOT_NOVEL:
                    nearest = nearest or new.check.details["nearest"]
                proposals.append(new)
            decided.append((turn, proposals))
        outcome, reason, message = result.outcome, result.reason, result.message
        task_id = kept[0] if kept else None
        if result.outcome is Outcome.ACCEPTED and not kept:
            outcome, reason, task_id = Outcome.DUPLICATE, NOT_NOVEL, nearest
            message = f"each of its tasks is near to an earlier one; the first to {nearest}"
        rows = dialogue_rows(
            result,
            decided,
            self._context,
            run_id=self._run_id,
            ordinal=ordinal,
            outcome=outcome,
            task_id=task_id,
            reason=reason,
            message=message,
        )
        return rows, outcome

    def _decide(self, proposal: CheckedProposal) -> CheckedProposal:
        task = proposal.task
        if task is None:
            return proposal
        verdict = self._gate.add(task.text)
        if verdict.kept:
            self._ids.append(self._name(task.name))
            return replace(proposal, task_id=self._ids[-1])
        assert verdict.nearest is not None and verdict.similarity is not None, "what is not kept is near to something"
        near = self._ids[verdict.nearest]
        check = proposal.check.model_copy(
            update={
                "passed": False,
                "reason": NOT_NOVEL,
                "message": f"its Rouge-L to {near} is {verdict.similarity:.2f}",
                "mend": "propose another request with other things",
                "details": {**proposal.check.details, "nearest": near, "similarity": verdict.similarity},
            }
        )
        return replace(proposal, check=check)

    def _name(self, name: str) -> str:
        """Return the id of a kept task; equal ones, which a high threshold keeps, are numbered."""
        same = sum(each == name or each.startswith(f"{name}-") for each in self._ids)
        return f"{name}-{same + 1}" if same else name
