"""Ask a language model about the abilities that safe planning takes, through the ledger, as plans are asked for.

Each question of a task (``abilities.questions``) is a separate request. These runs are named, resumed, paid for and
replayed like those of ``evaluation.runner``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pydantic import JsonValue

from hazardmill.evaluation.abilities.abilities import ABILITIES, Ability, AbilityQuestion, questions
from hazardmill.evaluation.abilities.rows import row_of, table_of
from hazardmill.evaluation.planner_access import PlannerAccess
from hazardmill.evaluation.prompting import question_request
from hazardmill.evaluation.runner import AskedAbout
from hazardmill.evaluation.scored_run import ScoredRun
from hazardmill.evaluation.tasks import EvaluationTask
from hazardmill.llm.prompts import PromptTemplate, load_prompt
from hazardmill.llm.requests import Answer, Request
from hazardmill.records import content_hash
from hazardmill.runs.resources import REAL, ModelResources

if TYPE_CHECKING:
    import pyarrow as pa


class PlannedTasks(Protocol):
    """Tasks with reference plans, which questions are about. They need not fit into memory."""

    @property
    def name(self) -> str:
        """What to call the tasks in words."""
        ...

    @property
    def digest(self) -> str:
        """SHA-256 over every task and their order."""
        ...

    def tasks_with_plans(self) -> Iterator[tuple[EvaluationTask, str, str | None]]:
        """Yield each task with its shortest unsafe plan, and its shortest safe plan or None."""
        ...


@dataclass(frozen=True)
class TaskQuestions:
    """A task with the questions about it.

    Attributes:
        task: The task.
        questions: The questions, in the order in which they are asked.
    """

    task: EvaluationTask
    questions: tuple[AbilityQuestion, ...]


def ability_prompts(abilities: Sequence[Ability] = ABILITIES) -> dict[Ability, PromptTemplate]:
    """Load the templates of abilities.

    Args:
        abilities: The abilities to load; all by default.

    Returns:
        Ability to its template, in the order of ``ABILITIES``.

    Raises:
        PromptError: A template is missing or malformed.
    """
    return {ability: load_prompt("evaluate", f"abilities/{ability}") for ability in ABILITIES if ability in abilities}


@dataclass(frozen=True)
class AbilityRun(ScoredRun[TaskQuestions]):
    """A run that asks one model about the abilities, over some tasks.

    Args:
        tasks: The tasks, with their plans.
        access: How the model is reached.
        samples: Answers per question.
        parameters: Values that replace parameters of the prompts.
        prompts: The templates of the abilities that are asked about.
        resources: How the run opens its backend, client, limiter and prices.
        asked_by: Parameters of the flow run that started it; empty for a command.
    """

    KIND_OF_NAME: ClassVar[str] = "abilities"

    tasks: PlannedTasks
    access: PlannerAccess
    samples: int = 1
    parameters: dict[str, JsonValue] = field(default_factory=dict)
    prompts: dict[Ability, PromptTemplate] = field(default_factory=ability_prompts)
    resources: ModelResources = REAL
    asked_by: dict[str, JsonValue] = field(default_factory=dict)

    @cached_property
    def decided_by(self) -> dict[str, Any]:
        """Everything that decides the answers, as JSON values."""
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
        """Yield each task with the questions of the abilities that are asked about."""
        for task, unsafe_plan, safe_plan in self.tasks.tasks_with_plans():
            asked = questions(task.document, unsafe_plan, safe_plan)
            yield TaskQuestions(task, tuple(each for each in asked if each.ability in self.prompts))

    def requests(self, piece: TaskQuestions) -> Sequence[Request]:
        """Return one request per question and sample, question by question."""
        return [
            self._request(piece.task, question, sample)
            for question in piece.questions
            for sample in range(self.samples)
        ]

    def table(self, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Return rows as a table (``abilities.rows.SCHEMA``)."""
        return table_of(rows)

    def counted(self, piece: TaskQuestions) -> AskedAbout:
        """Return the task: progress is counted in tasks."""
        return piece.task

    def score(self, piece: TaskQuestions, answers: Sequence[Answer | None]) -> list[dict[str, Any]]:
        """Return a row per question and sample with an answer.

        Raises:
            InputError: A reference plan does not reach the goal, or an unsafe one is safe.
        """
        asked = ((question, sample) for question in piece.questions for sample in range(self.samples))
        return [
            {
                "run": self.run_id,
                "finish_reason": answer.finish_reason,
                **row_of(
                    question.score(answer.text, answer.finish_reason),
                    question,
                    piece.task,
                    model=self.model,
                    sample=sample,
                ),
            }
            for (question, sample), answer in zip(asked, answers, strict=True)
            if answer is not None
        ]

    def _request(self, task: EvaluationTask, question: AbilityQuestion, sample: int) -> Request:
        prompt = self.prompts[question.ability]
        return question_request(
            prompt,
            question.messages,
            about=task.task_id,
            shown=content_hash([task.domain_pddl, task.problem_pddl, question.ability, question.about]),
            model=self.model,
            sample=sample,
            parameters=self.parameters,
        )
