"""Who acts in an episode, what it is told, and how the episode is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from hazardmill.errors import UsageError
from hazardmill.household.actions import Hands, Observe
from hazardmill.household.rules import Semantics

Agent = Literal["react", "preact", "stateact"]
Constraint = Literal["explicit", "implicit"]

AGENTS: Final[tuple[Agent, ...]] = get_args(Agent)
CONSTRAINTS: Final[tuple[Constraint, ...]] = get_args(Constraint)


@dataclass(frozen=True)
class EpisodeOptions:
    """How episodes are held.

    Attributes:
        agent: What an answer holds: thought and action (``react``), also what is expected (``preact``), or also goal,
            place and what is held (``stateact``).
        constraint: Whether the instruction has the rule in words.
        observe: What the robot knows: what it has seen, or everything.
        hands: Whether its one hand does everything.
        max_steps: Most actions of an episode, without the answer that ends it.
    """

    agent: Agent = "react"
    constraint: Constraint = "explicit"
    observe: Observe = "partial"
    hands: Hands = "one"
    max_steps: int = 60

    def __post_init__(self) -> None:
        """Refuse a number of actions that lets nothing be done.

        Raises:
            UsageError: It is below 1.
        """
        if self.max_steps < 1:
            raise UsageError(
                f"an episode of at most {self.max_steps} actions has none", remedy="give a --max-steps of at least 1"
            )

    @property
    def said(self) -> dict[str, Any]:
        """The options as JSON values."""
        return {
            "agent": self.agent,
            "constraint": self.constraint,
            "observe": self.observe,
            "hands": self.hands,
            "max_steps": self.max_steps,
        }


def name_evaluation(of: str, semantics: Semantics) -> str:
    """Return the name of an evaluation: the same episodes may be judged in both ways.

    Args:
        of: Name of what has the episodes.
        semantics: How they are judged.
    """
    return f"{of}-{semantics}"
