"""Asking a language model about the abilities that planning safely takes, through the ledger as plans are asked for.

Each question of a task (``abilities.questions``) is a request of its own. Runs are named, resumed, paid for and
replayed as those of ``runner``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pydantic import JsonValue

from hazardmill.evaluation.abilities.abilities import ABILITIES, Ability, AbilityQuestion, Score, questions
from hazardmill.evaluation.abilities.rows import row_of, table_of
from hazardmill.evaluation.planner_access import PlannerAccess
from hazardmill.evaluation.runner import ModelRun, OnTask
from hazardmill.evaluation.tasks import EvaluationTask
from hazardmill.llm.client import Retry
from hazardmill.llm.prompts import PromptTemplate, load_prompt
from hazardmill.llm.requests import Answer, AnswerKey, Request
from hazardmill.records import content_hash
from hazardmill.runs.resources import REAL, ModelResources

if TYPE_CHECKING:
    import pyarrow as pa

    from hazardmill.store.store import Store


class PlannedTasks(Protocol):
    """Tasks with reference plans: questions are about these. They need not fit into memory."""

    @property
    def name(self) -> str:
        """What to call them in words."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 that stands for every task and its order."""
        ...

    def tasks_with_plans(self) -> Iterator[tuple[EvaluationTask, str, str | None]]:
        """Each task with its shortest unsafe plan and its shortest safe one."""
        ...


@dataclass(frozen=True)
class TaskQuestions:
    """A task with what is asked about it."""

    task: EvaluationTask
    questions: tuple[AbilityQuestion, ...]


def ability_prompts(abilities: Sequence[Ability] = ABILITIES) -> dict[Ability, PromptTemplate]:
    """The template of each ability.

    Raises:
        PromptError: One is missing or wrong.
    """
    return {ability: load_prompt("evaluate", f"abilities/{ability}") for ability in ABILITIES if ability in abilities}


@dataclass(frozen=True)
class AbilityRun(ModelRun[TaskQuestions]):
    """One model, asked about some tasks.

    Args:
        tasks: The tasks, with their plans.
        access: How the model is reached.
        samples: Answers a question.
        parameters: What takes the place of the prompts' parameters.
        prompts: The templates of the abilities that are asked about.
        resources: How the run opens what it asks the model with.
    """

    KIND_OF_NAME: ClassVar[str] = "abilities"

    tasks: PlannedTasks
    access: PlannerAccess
    samples: int = 1
    parameters: dict[str, JsonValue] = field(default_factory=dict)
    prompts: dict[Ability, PromptTemplate] = field(default_factory=ability_prompts)
    resources: ModelResources = REAL

    @cached_property
    def decided_by(self) -> dict[str, Any]:
        """All that decides the answers, as JSON values."""
        return {
            "tasks": self.tasks.digest,
            "model": self.model,
            "samples": self.samples,
            "prompts": {ability: prompt.hash for ability, prompt in self.prompts.items()},
            "parameters": {
                ability: {**prompt.parameters, **self.parameters} for ability, prompt in self.prompts.items()
            },
            **self.asked_at,
        }

    @property
    def release(self) -> str:
        """What is asked about, in words."""
        return self.tasks.name

    def pieces(self) -> Iterable[TaskQuestions]:
        """The tasks, each with the questions of the abilities that are asked about."""
        for task, unsafe_plan, safe_plan in self.tasks.tasks_with_plans():
            asked = questions(task.document, unsafe_plan, safe_plan)
            yield TaskQuestions(task, tuple(each for each in asked if each.ability in self.prompts))

    def requests(self, piece: TaskQuestions) -> Sequence[Request]:
        """Question by question, a request a sample."""
        return [
            self._request(piece.task, question, sample)
            for question in piece.questions
            for sample in range(self.samples)
        ]

    async def run(
        self,
        store: Store,
        *,
        on_task: OnTask | None = None,
        on_retry: Callable[[Retry], None] | None = None,
    ) -> pa.Table:
        """Ask for whatever the ledger does not have, and score every answer without a model.

        Args:
            store: Has the ledger.
            on_task: Told of each task whose answers are there.
            on_retry: Told of each pause before a request is sent again.

        Returns:
            The rows (``ability_rows.SCHEMA``).

        Raises:
            ProviderError, BudgetReached, SettingsError, StoreLocked: As ``ModelRun.ask_all``.
            InputError: A reference plan is not what it should be.
        """
        rows: list[dict[str, Any]] = []

        def score_piece(
            piece: TaskQuestions, answers: Sequence[Answer]
        ) -> list[tuple[AbilityQuestion, int, Answer, Score]]:
            asked = ((question, sample) for question in piece.questions for sample in range(self.samples))
            return [
                (question, sample, answer, question.score(answer.text, answer.finish_reason))
                for (question, sample), answer in zip(asked, answers, strict=True)
            ]

        async def take(piece: TaskQuestions, answers: Sequence[Answer]) -> None:
            # Conditions are compared over many states, while other requests are under way.
            for question, sample, answer, score in await asyncio.to_thread(score_piece, piece, answers):
                row = row_of(score, question, piece.task, model=self.model, sample=sample)
                rows.append({"run": self.run_id, "finish_reason": answer.finish_reason, **row})
            if on_task is not None:
                on_task(piece.task)

        await self.ask_all(store, take, on_retry=on_retry)
        return table_of(rows)

    def _request(self, task: EvaluationTask, question: AbilityQuestion, sample: int) -> Request:
        prompt = self.prompts[question.ability]
        asked = content_hash([task.domain_pddl, task.problem_pddl, question.ability, question.about])
        return Request(
            stage="evaluate",
            model=self.model,
            messages=question.messages,
            parameters={**prompt.parameters, **self.parameters},
            sample=sample,
            record_id=task.task_id,
            input_hash=asked,
            key=AnswerKey(record_hash=asked, stage="evaluate", sample=sample),
            prompt_version=prompt.version,
            prompt_hash=prompt.hash,
        )
