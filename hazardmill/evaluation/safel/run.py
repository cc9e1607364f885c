"""Ask a language model one of the four SAFEL tests, through the ledger, as plans are asked for.

These runs are named, resumed, paid for and replayed like those of ``evaluation.runner``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import JsonValue

from hazardmill.evaluation.planner_access import PlannerAccess
from hazardmill.evaluation.prompting import question_request
from hazardmill.evaluation.runner import AskedAbout
from hazardmill.evaluation.safel.rows import table_of
from hazardmill.evaluation.safel.scenario_set import SafelItem, ScenarioSet
from hazardmill.evaluation.safel.scoring import SafelScorer
from hazardmill.evaluation.safel.shown import (
    SafelQuestion,
    SafelTest,
    goal_question,
    refusal_question,
    safel_prompt,
    sequence_question,
    transition_question,
)
from hazardmill.evaluation.scored_run import ScoredRun
from hazardmill.llm.prompts import PromptTemplate
from hazardmill.llm.requests import Answer, Request
from hazardmill.records import content_hash
from hazardmill.runs.resources import REAL, ModelResources

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class SafelPiece:
    """A scenario with the questions of one test about it.

    Attributes:
        item: The scenario or ordinary task.
        questions: The questions, in the order in which they are asked.
    """

    item: SafelItem
    questions: tuple[SafelQuestion, ...]


@dataclass(frozen=True)
class SafelRun(ScoredRun[SafelPiece]):
    """A run that asks one model one test, over some scenarios.

    Args:
        scenarios: The scenarios.
        test: The test.
        access: How the model is reached.
        samples: Answers per question.
        parameters: Values that replace parameters of the prompt.
        limit: Most scenarios of each kind to ask about; None for all.
        resources: How the run opens its backend, client, limiter and prices.
        asked_by: Parameters of the flow run that started it; empty for a command.
    """

    KIND_OF_NAME: ClassVar[str] = "safel"

    scenarios: ScenarioSet
    test: SafelTest
    access: PlannerAccess
    samples: int = 1
    parameters: dict[str, JsonValue] = field(default_factory=dict)
    limit: int | None = None
    resources: ModelResources = REAL
    asked_by: dict[str, JsonValue] = field(default_factory=dict)

    @cached_property
    def prompt(self) -> PromptTemplate:
        """The template of the test."""
        return safel_prompt(self.test)

    @cached_property
    def decided_by(self) -> dict[str, Any]:
        """Everything that decides the answers, as JSON values."""
        return {
            "scenarios": self.scenarios.digest,
            "test": self.test,
            "limit": self.limit,
            "model": self.model,
            "samples": self.samples,
            "prompt": self.prompt.hash,
            "parameters": {**self.prompt.parameters, **self.parameters},
            **self.asked_at,
        }

    @property
    def release(self) -> str:
        """What is asked about, in words."""
        return self.scenarios.name

    @cached_property
    def items(self) -> tuple[SafelItem, ...]:
        """What this test asks about: plans are for ``sit`` alone, ordinary tasks for refusal alone."""
        kinds = {"refusal": ("mal", "sit", "task"), "sequence": ("sit",)}.get(self.test, ("mal", "sit"))
        found: list[SafelItem] = []
        for kind in kinds:
            of_kind = [item for item in (*self.scenarios.scenarios, *self.scenarios.ordinary) if item.kind == kind]
            found += of_kind[: self.limit]
        return tuple(found)

    def pieces(self) -> Iterable[SafelPiece]:
        """Yield what is asked about with its questions."""
        for item in self.items:
            yield SafelPiece(item, tuple(self._questions(item)))

    def _questions(self, item: SafelItem) -> Iterator[SafelQuestion]:
        document, instruction = item.document, item.instruction
        if self.test == "refusal":
            yield refusal_question(document, instruction, item.kind)
        elif self.test == "sequence":
            yield sequence_question(document, instruction)
        elif item.kind != "task" and self.test == "goal":
            yield goal_question(document, instruction, item.kind)
        elif item.kind != "task":
            for action in document.actions:
                lifted = item.lifted.get(action.name)
                yield transition_question(document, instruction, item.kind, action.name, lifted)

    def requests(self, piece: SafelPiece) -> Sequence[Request]:
        """Return one request per question and sample, question by question."""
        return [
            self._request(piece.item, question, sample)
            for question in piece.questions
            for sample in range(self.samples)
        ]

    def table(self, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Return rows as a table (``rows.SCHEMA``)."""
        return table_of(rows)

    def counted(self, piece: SafelPiece) -> AskedAbout:
        """Return the scenario: progress is counted in scenarios."""
        return piece.item

    def score(self, piece: SafelPiece, answers: Sequence[Answer | None]) -> list[dict[str, Any]]:
        """Return a row per question and sample with an answer."""
        scorer = SafelScorer(piece.item)
        asked = ((question, sample) for question in piece.questions for sample in range(self.samples))
        return [
            {
                "run": self.run_id,
                "model": self.model,
                "sample": sample,
                **scorer.row(question, answer.text, answer.finish_reason),
            }
            for (question, sample), answer in zip(asked, answers, strict=True)
            if answer is not None
        ]

    def _request(self, item: SafelItem, question: SafelQuestion, sample: int) -> Request:
        return question_request(
            self.prompt,
            question.messages,
            about=item.scenario_id,
            shown=content_hash([message.content for message in question.messages]),
            model=self.model,
            sample=sample,
            parameters=self.parameters,
        )
