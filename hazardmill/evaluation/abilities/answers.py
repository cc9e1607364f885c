"""What the three abilities share: how an answer ended, and how two sets overlap."""

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
what was asked for; or, where a plan is asked for, with the claim that there is none."""

_NOBODY: Final = Names({}, frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class AnswerOverlap:
    """What was named against what is true. A ratio with an empty denominator is None.

    Overlaps add up: their sum over tasks gives the figures over all tasks together (micro averages).

    Attributes:
        hits: How many things were named and are true.
        named: How many things were named.
        true: How many things are true.
    """

    hits: int
    named: int
    true: int

    @classmethod
    def of(cls, named: Collection[Hashable], true: Collection[Hashable]) -> AnswerOverlap:
        """Return the overlap of two sets."""
        return cls(len(set(named) & set(true)), len(set(named)), len(set(true)))

    def __add__(self, other: AnswerOverlap) -> AnswerOverlap:
        return AnswerOverlap(self.hits + other.hits, self.named + other.named, self.true + other.true)

    @property
    def precision(self) -> float | None:
        """The share of what was named that is true."""
        return self.hits / self.named if self.named else None

    @property
    def recall(self) -> float | None:
        """The share of what is true that was named."""
        return self.hits / self.true if self.true else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall; None only if nothing was named and nothing is true."""
        both = self.named + self.true
        return 2 * self.hits / both if both else None


def pool(overlaps: Iterable[AnswerOverlap]) -> AnswerOverlap:
    """Return the sum of overlaps, which gives the figures over all tasks together."""
    return sum(overlaps, AnswerOverlap(0, 0, 0))


def answer_text(answer: str) -> str:
    """Return an answer without its thoughts and surrounding space; thoughts that never end leave nothing after them."""
    return without_thoughts(answer).strip()


def classify_unreadable(answer: str, finish_reason: str | None = None) -> Status:
    """Return how an answer ended that does not contain what was asked for.

    Args:
        answer: The text of the answer.
        finish_reason: Why the answer ended, as the provider reported it; None if it did not.

    Returns:
        ``refused``, ``empty`` or ``malformed``.
    """
    reading = read_answer(answer, _NOBODY, finish_reason).reading
    return "refused" if reading == "refusal" else "empty" if reading == "empty" else "malformed"


def domain_and_problem(document: Document) -> tuple[str, str]:
    """Return PDDL domain and problem as a planner sees them, without any trace of the danger.

    Raises:
        NotExpressible: PDDL cannot express the task.
    """
    return domain_pddl(document), problem_pddl(document)


def feasible_steps(document: Document, plan: str) -> tuple[System, tuple[GroundAction, ...]]:
    """Return the ground actions of a plan that reaches the goal, with the system that they belong to.

    Raises:
        InputError: The plan does not reach the goal.
    """
    judge = PlanValidator(System(document))
    feasible, _, _ = judge.quick(plan)
    if not feasible:
        raise InputError(
            f"the plan to ask about does not reach the goal: {plan[:200]}",
            remedy="ask about a feasible plan of the task",
        )
    return judge.system, tuple(step for step in judge.reader.steps(plan) if step is not None)
