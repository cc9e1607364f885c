"""One episode: actions in words, accepted or rejected, and what the robot is told after each.

The document of the scene is the world: an action is accepted iff it is applicable there, and its effects are those of
the document.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Final, Literal

from hazardmill.errors import UsageError
from hazardmill.formalism.semantics.transition_system import GroundAction, State
from hazardmill.household.actions import Reason, Verb
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.phrases import Phrase, squeeze
from hazardmill.household.states import StateReader

Ending = Literal["done", "failure"]

ENDINGS: Final[tuple[Ending, ...]] = ("done", "failure")
"""Answers that end an episode: the robot says that it is done, or that it gives up."""

_NEAREST: Final = 3


@dataclass(frozen=True, slots=True)
class StepResult:
    """What became of one action.

    Attributes:
        accepted: Whether it was done; a rejected action changes nothing.
        told: The result in words; of a rejected action the reason.
        reason: Why it was rejected; None if it was accepted.
        action: The ground action; None if it was rejected, or ended the episode.
    """

    accepted: bool
    told: str
    reason: Reason | None = None
    action: GroundAction | None = None


class Episode:
    """An episode in a scene, from its start or from another state of its system.

    Args:
        interpreter: Finds what words mean in the scene; episodes may share it.
        state: The state in which the episode begins; None for that of the scene.

    Attributes:
        state: The state after the last action.
        ending: The answer that ended the episode; None while it lasts.
        steps: Actions so far, rejected ones among them.
    """

    def __init__(self, interpreter: Interpreter, state: State | None = None) -> None:
        self._interpreter = interpreter
        self._world = world = interpreter.world
        self.state = world.system.initial if state is None else state
        self.ending: Ending | None = None
        self.steps = 0

    @property
    def reader(self) -> StateReader:
        """Reads states of this episode."""
        return self._interpreter.reader

    def skills(self) -> tuple[str, ...]:
        """Return what an answer may choose from in this state, sorted.

        These are going to what is known, all actions on what is in sight that its properties allow, and the two
        answers that end the episode. An action among them may still be rejected.
        """
        return self._interpreter.skills.of(self.state) + ENDINGS

    def observation(self, result: StepResult | None = None) -> str:
        """Return what the robot is told in this state.

        Args:
            result: The result of the last action, told first; None at the start.
        """
        lines = self._interpreter.observer.describe(self.state)
        return "\n".join(lines if result is None else (result.told, *lines))

    def act(self, answer: str) -> StepResult:
        """Do what an answer says, if it can be done.

        Args:
            answer: An action in words, such as ``pick up Mug (2)``; case and blanks do not matter.

        Returns:
            Whether the action was accepted, and what the robot is told.

        Raises:
            UsageError: The episode has ended.
        """
        if self.ending is not None:
            raise UsageError(f"the episode ended with {self.ending!r}", remedy="start another episode")
        self.steps += 1
        phrase = self._interpreter.phrase(answer)
        # A name that does not exist and one that was not seen yet are told the same: nothing unseen shows.
        if phrase is None:
            return self._end_or_reject(answer)
        seen = self.reader.has_been_seen
        if not seen(phrase.thing, self.state) or (phrase.source and not seen(phrase.source, self.state)):
            return self._reject(self._unknown(), None, answer)
        return self._try(phrase)

    # Acting

    def _try(self, phrase: Phrase) -> StepResult:
        target = self._interpreter.resolve(phrase, self.state)
        if isinstance(target, Reason):
            return self._reject(target, phrase)
        action, args = target
        bits, numbers = self.state.bits, self.state.numbers
        ground = self._world.system.ground(action.name, args)
        after = None if ground is None else ground.step(bits, numbers)
        if after is not None:
            self.state = State(*after)
            return StepResult(True, f"Done: {phrase.text}.", None, ground)
        # Demands are looked at one by one only where their conjunction, the precondition, fails.
        binding = {parameter.name: arg for parameter, arg in zip(action.parameters, args, strict=True)}
        conditions = self._world.system.compiler
        reason = next(
            demand.reason
            for demand in action.demands
            if not conditions.condition(demand.condition, binding).holds(bits, numbers)
        )
        return self._reject(reason, phrase)

    # Rejecting

    def _unknown(self) -> Reason:
        return Reason.UNKNOWN_OBJECT if self._world.observe == "full" else Reason.NOT_SEEN

    def _end_or_reject(self, answer: str) -> StepResult:
        squeezed = squeeze(answer)
        ending = next((word for word in ENDINGS if word == squeezed), None)
        if ending is not None:
            self.ending = ending
            return StepResult(True, f"The episode ends: {ending}.")
        has_verb = any(squeezed.startswith(squeeze(verb.removesuffix(" into"))) for verb in Verb)
        return self._reject(self._unknown() if has_verb else Reason.UNKNOWN_ACTION, None, answer)

    def _reject(self, reason: Reason, phrase: Phrase | None, answer: str = "") -> StepResult:
        told = f"Rejected: {self._interpreter.explain(reason, phrase, self.state)}."
        if phrase is None:
            told += f" The nearest skills are: {'; '.join(self._nearest(answer))}."
        return StepResult(False, told, reason)

    def _nearest(self, answer: str) -> list[str]:
        names = {squeeze(skill): skill for skill in self.skills()}
        near = difflib.get_close_matches(squeeze(answer[:200]), names, _NEAREST, 0.0)
        return [names[word] for word in near]
