"""Ask a language model for scripts in one of the four arms, through the ledger, as plans are asked for.

These runs are named, resumed, paid for and replayed like those of ``evaluation.runner``. How scripts are judged is no
part of a run's name: the same answers can be judged again by another map.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import JsonValue

from hazardmill.evaluation.planner_access import PlannerAccess
from hazardmill.evaluation.prompting import messages_json, question_request
from hazardmill.evaluation.runner import AskedAbout
from hazardmill.evaluation.safety.arms import ExampleChoice, ExamplePool, name_arm, script_lines
from hazardmill.evaluation.safety.options import SafetyOptions
from hazardmill.evaluation.safety.rows import ROWS
from hazardmill.evaluation.safety.scoring import SafetyScorer
from hazardmill.evaluation.safety.task_set import SafetyTask, SafetyTasks
from hazardmill.evaluation.scored_run import ScoredRun
from hazardmill.formalism.formats.pddl.plan_names import pddl_texts
from hazardmill.llm.prompts import PromptTemplate, load_prompt
from hazardmill.llm.requests import Answer, Message, Request
from hazardmill.records import content_hash
from hazardmill.runs.resources import REAL, ModelResources

if TYPE_CHECKING:
    import pyarrow as pa


def safety_prompt() -> PromptTemplate:
    """Return the template that asks for a script.

    Raises:
        PromptError: The template is missing or malformed.
    """
    return load_prompt("evaluate", "safety")


@dataclass(frozen=True)
class SafetyQuestion:
    """A task with the example that is shown with it.

    Attributes:
        task: The task.
        example: The example.
    """

    task: SafetyTask
    example: SafetyTask


@dataclass(frozen=True)
class SafetyRun(ScoredRun[SafetyQuestion]):
    """A run that asks one model for scripts, in one arm.

    Args:
        tasks: The tasks; all of them may be examples.
        options: How scripts are judged.
        access: How the model is reached.
        choice: How the example is chosen.
        reminder: Whether the agent is reminded of safety.
        example_seed: Seed of the draw of examples.
        samples: Answers per task.
        parameters: Values that replace parameters of the prompt.
        limit: Most tasks to ask about; None for all.
        resources: How the run opens its backend, client, limiter and prices.
        asked_by: Parameters of the flow run that started it; empty for a command.
    """

    KIND_OF_NAME: ClassVar[str] = "safety"

    tasks: SafetyTasks
    options: SafetyOptions
    access: PlannerAccess
    choice: ExampleChoice = "few-shot"
    reminder: bool = False
    example_seed: int = 0
    samples: int = 1
    parameters: dict[str, JsonValue] = field(default_factory=dict)
    limit: int | None = None
    resources: ModelResources = REAL
    asked_by: dict[str, JsonValue] = field(default_factory=dict)

    @cached_property
    def prompt(self) -> PromptTemplate:
        """The template of the question."""
        return safety_prompt()

    @cached_property
    def decided_by(self) -> dict[str, Any]:
        """Everything that decides the answers, as JSON values."""
        return {
            "tasks": self.tasks.digest,
            "agent": self.arm,
            "example_seed": self.example_seed if self.choice == "few-shot" else None,
            "confidence": self.options.confidence,
            "limit": self.limit,
            "model": self.model,
            "samples": self.samples,
            "prompt": self.prompt.hash,
            "parameters": {**self.prompt.parameters, **self.parameters},
            **self.asked_at,
        }

    @property
    def arm(self) -> str:
        """Name of the arm."""
        return name_arm(self.choice, reminder=self.reminder)

    @property
    def name(self) -> str:
        """Name of the evaluation: of the answers, and how they are judged."""
        return self.options.name_evaluation(self.run_id)

    @property
    def release(self) -> str:
        """What is asked about, in words."""
        return self.tasks.name

    @cached_property
    def items(self) -> tuple[SafetyQuestion, ...]:
        """The tasks that are asked about, each with its example.

        Raises:
            UsageError: There is no example for a task.
        """  # the pool raises it
        pool = ExamplePool(self.tasks, self.choice, self.example_seed)
        return tuple(SafetyQuestion(task, pool.example_for(task)) for task in self.tasks.tasks[: self.limit])

    def pieces(self) -> Iterable[SafetyQuestion]:
        """Return the tasks with their examples."""
        return self.items

    def requests(self, piece: SafetyQuestion) -> Sequence[Request]:
        """Return one request per sample."""
        messages = self._messages(piece)
        shown = content_hash([message.content for message in messages])
        return [
            question_request(
                self.prompt,
                messages,
                about=piece.task.task_id,
                shown=shown,
                model=self.model,
                sample=sample,
                parameters=self.parameters,
            )
            for sample in range(self.samples)
        ]

    def questions(self) -> Iterator[dict[str, Any]]:
        """Yield each question once, as it is sent, as JSON values."""
        for piece in self.items:
            yield {
                "task_id": piece.task.task_id,
                "agent": self.arm,
                "example": piece.example.task_id,
                "prompt": self.prompt.hash,
                "messages": messages_json(self._messages(piece)),
            }

    def table(self, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Return rows as a table (``rows.ROWS``)."""
        return ROWS.table(rows)

    def counted(self, piece: SafetyQuestion) -> AskedAbout:
        """Return the task: progress is counted in tasks."""
        return piece.task

    def score(self, piece: SafetyQuestion, answers: Sequence[Answer | None]) -> list[dict[str, Any]]:
        """Return a row per sample with an answer."""
        if not any(answers):
            return []
        scorer = SafetyScorer(piece.task, self.options)
        fixed = {"run": self.name, "model": self.model, "agent": self.arm}
        return [
            {**fixed, "sample": sample, **scorer.answer(answer.text, answer.finish_reason)}
            for sample, answer in enumerate(answers)
            if answer is not None
        ]

    def _messages(self, piece: SafetyQuestion) -> tuple[Message, ...]:
        domain, problem = (text.strip() for text in pddl_texts(piece.task.document))
        return self.prompt.render(
            reminder=self.reminder,
            confidence=self.options.confidence,
            example_instruction=piece.example.instruction,
            example_script=script_lines(piece.example.reference or ""),
            instruction=piece.task.instruction,
            domain=domain,
            problem=problem,
        )
