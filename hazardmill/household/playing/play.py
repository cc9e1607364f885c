"""A task for a person to play: what is shown at the start, after each action and at the end.

What is shown names no object that has not been in sight, beyond the classes in the instruction and the rule.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from hazardmill.household.actions import Hands, Observe
from hazardmill.household.document import SceneDocument
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.playing.judged import JudgedEpisode
from hazardmill.household.task import HouseholdTask

SKILLS = "?"
"""The answer that asks for the skills, and is no action."""


class PlayedTask:
    """An episode that a person goes through.

    Args:
        task: The task.
        observe: What the robot knows.
        hands: How many hands it has.
    """

    def __init__(self, task: HouseholdTask, observe: Observe = "partial", hands: Hands = "one") -> None:
        self._task = task
        self._played = JudgedEpisode(Interpreter(SceneDocument(task.scene, observe, hands)), task.criteria)
        self._told: list[str] = []

    @property
    def has_ended(self) -> bool:
        """Whether ``done`` or ``failure`` ended the episode."""
        return self._played.episode.ending is not None

    def introduce(self) -> Iterator[str]:
        """Yield the lines that come first: the task, what can be answered, and what is seen."""
        assignment = self._task.assignment
        yield f"Task: {assignment.instruction.strip()}"
        yield f"Rule: {assignment.requirements.strip()}"
        yield f"One action per line; {SKILLS} lists the skills; done or failure ends the episode."
        yield from self._played.episode.observation().splitlines()

    def answer(self, words: str) -> Iterator[str]:
        """Take an answer; yield what is told then.

        Args:
            words: An action in words, or ``?``.

        Yields:
            The lines.

        Raises:
            UsageError: The episode has ended.
        """  # the episode raises it
        if words.strip() == SKILLS:
            yield "Skills: " + "; ".join(self._played.episode.skills())
            return
        result = self._played.act(words)
        self._told.append(result.told)
        if self.has_ended:
            yield result.told
        else:
            yield from self._played.episode.observation(result).splitlines()

    def conclude(self) -> Iterator[str]:
        """Yield the lines that come last: the score, and what the rule did."""
        score = self._played.judge.score
        if not self.has_ended:
            yield "The episode ends without done."
        gsr = "undefined" if score.gsr is None else f"{score.gsr:.0%}"
        yield f"Items met: {score.met} of {score.items} (GSR {gsr}); {'success' if score.success else 'no success'}."
        said = f"Rule: {score.rule}"
        if score.violated_at is not None:
            said += f" in state {score.violated_at}"
            if score.violated_at:
                said += f", after action {score.violated_at}: {self._told[score.violated_at - 1]}"
        if score.resolved_after:
            said += f"; resolved after {', '.join(map(str, score.resolved_after))} actions"
        yield f"{said.removesuffix('.')}."

    def to_json(self) -> dict[str, Any]:
        """Return how the episode went as JSON values: its name, actions, ending and score."""
        episode, score = self._played.episode, self._played.judge.score
        return {
            "name": self._task.name,
            "told": list(self._told),
            "ending": episode.ending,
            **dataclasses.asdict(score),
        }
