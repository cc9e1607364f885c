"""One episode with an agent: it is told what it sees, answers with an action, and so on until the episode ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hazardmill.evaluation.episodes.agents import (
    MOST_UNREADABLE,
    AgentAnswer,
    UnreadableAnswer,
    read_agent_answer,
)
from hazardmill.evaluation.episodes.prompts import EpisodePrompts
from hazardmill.formalism.semantics.transition_system import State
from hazardmill.household.episode import Episode, StepResult
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.spoc_format import SpocTask
from hazardmill.llm.requests import Message
from hazardmill.records import content_hash

Ending = Literal["done", "failure", "steps_used_up", "unreadable", "refused"]
"""How an episode ends: by the agent's word, with its last action, or with answers that are no actions."""

_EMPTY = "(no answer)"
"""Stands for an empty answer in what is sent later: providers reject empty messages."""


@dataclass(frozen=True, slots=True)
class EpisodeStep:
    """One action, or the answer that ends the episode.

    Attributes:
        prompt: SHA-256 of the messages that it answers.
        answer: The answer.
        unreadable: Number of answers before it that could not be read, to the same situation.
        before: The state in which it was chosen.
        after: The state after it.
        result: What became of it.
        observation: What the robot was told then; empty at the end.
    """

    prompt: str
    answer: AgentAnswer
    unreadable: int
    before: State
    after: State
    result: StepResult
    observation: str

    @property
    def is_action(self) -> bool:
        """Whether it is an action, and not the agent's word that the episode ends."""
        return self.result.action is not None or not self.result.accepted


class EpisodeDialogue:
    """An episode that goes on answer by answer.

    Args:
        assignment: The task.
        interpreter: Finds what words mean in its scene; episodes may share it.
        prompts: What the agent is told.

    Attributes:
        messages: All messages so far.
        steps: The actions so far, and the answer that ended the episode.
        ending: How it ended; null while it goes on.
        finish_reason: Why the last answer ended, as the provider reported it; null if it did not.
        unreadable: Number of answers so far that could not be read.
    """

    def __init__(self, assignment: SpocTask, interpreter: Interpreter, prompts: EpisodePrompts) -> None:
        self._prompts = prompts
        self._episode = Episode(interpreter)
        self.start = self._episode.state
        self.reader = interpreter.reader
        self.messages = prompts.open(assignment, self._episode.observation(), self._episode.skills())
        self.steps: list[EpisodeStep] = []
        self.ending: Ending | None = None
        self.finish_reason: str | None = None
        self.unreadable = 0
        self._in_a_row = 0

    @property
    def prompt(self) -> str:
        """SHA-256 of the messages so far."""
        return content_hash([[message.role, message.content] for message in self.messages])

    @property
    def actions(self) -> int:
        """Number of actions so far."""
        return sum(step.is_action for step in self.steps)

    def take(self, text: str, finish_reason: str | None = None) -> None:
        """Go on with an answer.

        Args:
            text: The answer as the model gave it.
            finish_reason: Why it ended, as the provider reported it; null if it did not.
        """
        assert self.ending is None, "an episode that has ended asks nothing"
        self.finish_reason = finish_reason
        answer = read_agent_answer(text, finish_reason, self._prompts.options.agent)
        told = self._again(answer) if isinstance(answer, UnreadableAnswer) else self._act(answer)
        self.messages = (*self.messages, Message(role="assistant", content=text.strip() or _EMPTY), *told)

    def _again(self, answer: UnreadableAnswer) -> tuple[Message, ...]:
        self.unreadable += 1
        self._in_a_row += 1
        if answer.is_refusal:
            self.ending = "refused"
        elif answer.is_final or self._in_a_row == MOST_UNREADABLE:
            self.ending = "unreadable"
        return () if self.ending else self._prompts.ask_again(answer.problem)

    def _act(self, answer: AgentAnswer) -> tuple[Message, ...]:
        episode, before, prompt = self._episode, self._episode.state, self.prompt
        result = episode.act(answer.act)
        if episode.ending is not None:
            self.ending = episode.ending
        elif self.actions + 1 == self._prompts.options.max_steps:
            self.ending = "steps_used_up"
        observation = "" if episode.ending else episode.observation(result)
        self.steps.append(EpisodeStep(prompt, answer, self._in_a_row, before, episode.state, result, observation))
        self._in_a_row = 0
        return () if self.ending else self._prompts.tell(observation, episode.skills())
