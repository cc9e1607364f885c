"""What the abilities share: how an answer ended, and how two sets agree."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from hazardmill.errors import InputError
from hazardmill.evaluation.answers.extract import read_answer, without_thoughts
from hazardmill.evaluation.answers.text import Names
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import GroundAction, System

Status = Literal["answered", "empty", "refused", "malformed", "none_claimed"]
"""How an answer ended: with what was asked for; with nothing; with a refusal; with something that cannot be read as
it; or, where a plan is asked for, with the claim that there is none."""

_NOBODY: Final = Names({}, frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class AnswerOverlap:
    """What was named against what is true. A ratio with an empty denominator is null.

    Overlaps add up: the sum over tasks gives the figures over all of them (micro averages).
    """

    hits: int
    named: int
    true: int

    @classmethod
    def of(cls, named: Collection[Hashable], true: Collection[Hashable]) -> AnswerOverlap:
        """Of two sets."""
        return cls(len(set(named) & set(true)), len(set(named)), len(set(true)))

    def __add__(self, other: AnswerOverlap) -> AnswerOverlap:
        return AnswerOverlap(self.hits + other.hits, self.named + other.named, self.true + other.true)

    @property
    def precision(self) -> float | None:
        """Of what was named, the share that is true."""
        return self.hits / self.named if self.named else None

    @property
    def recall(self) -> float | None:
        """Of what is true, the share that was named."""
        return self.hits / self.true if self.true else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of the two: twice the hits by all that is named and true; null only if that is nothing."""
        both = self.named + self.true
        return 2 * self.hits / both if both else None


def pool(overlaps: Iterable[AnswerOverlap]) -> AnswerOverlap:
    """The sum: figures over all tasks together."""
    return sum(overlaps, AnswerOverlap(0, 0, 0))


def answer_text(answer: str) -> str:
    """An answer without its thoughts, of which what does not end leaves nothing behind it."""
    return without_thoughts(answer).strip()


def classify_unreadable(answer: str, finish_reason: str | None = None) -> Status:
    """How an answer ended in which there is nothing of what was asked for."""
    reading = read_answer(answer, _NOBODY, finish_reason).reading
    return "refused" if reading == "refusal" else "empty" if reading == "empty" else "malformed"


def domain_and_problem(document: Document) -> tuple[str, str]:
    """Domain and problem as a planner sees them, without a trace of the danger.

    Raises:
        NotExpressible: PDDL cannot say the task.
    """
    return domain_pddl(document), problem_pddl(document)


def feasible_steps(document: Document, plan: str) -> tuple[System, tuple[GroundAction, ...]]:
    """The ground actions of a plan that reaches the goal.

    Raises:
        InputError: It does not.
    """
    judge = PlanValidator(System(document))
    feasible, _, _ = judge.quick(plan)
    if not feasible:
        raise InputError(
            f"the plan to ask about does not reach the goal: {plan[:200]}",
            remedy="ask about a feasible plan of the task",
        )
    return judge.system, tuple(step for step in judge.reader.steps(plan) if step is not None)
