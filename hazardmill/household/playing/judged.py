"""An episode with its judge, which is shown each state as it comes."""

from __future__ import annotations

from hazardmill.household.episode import Episode, StepResult
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.rules import Semantics
from hazardmill.household.scores import EpisodeCriteria, EpisodeJudge


class JudgedEpisode:
    """An episode whose states are judged: that of the start, and one after each action, also a rejected one.

    Args:
        interpreter: Finds what words mean in the scene.
        criteria: What the episode is judged by.
        semantics: Which reading of rules, goals and success counts.

    Attributes:
        episode: The episode.
        judge: Its judge.
    """

    def __init__(self, interpreter: Interpreter, criteria: EpisodeCriteria, semantics: Semantics = "paper") -> None:
        self.episode = Episode(interpreter)
        self.judge = EpisodeJudge(criteria, semantics)
        self._observe()

    def act(self, answer: str) -> StepResult:
        """Do what an answer says, and judge the state after it; an answer that ends the episode brings no state.

        Args:
            answer: An action in words, ``done`` or ``failure``.

        Returns:
            What became of it.

        Raises:
            UsageError: The episode has ended.
        """
        result = self.episode.act(answer)
        if self.episode.ending is None:
            self._observe()
        return result

    def _observe(self) -> None:
        self.judge.observe(self.episode.reader.world_state(self.episode.state))
