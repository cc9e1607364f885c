"""Replays plans in words: what becomes of an episode that follows one."""

from __future__ import annotations

from collections.abc import Iterable

from hazardmill.household.document import SceneDocument
from hazardmill.household.episode import Episode
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.rules import Semantics
from hazardmill.household.scores import EpisodeJudge
from hazardmill.household.task import HouseholdTask


def replay_plan(
    task: HouseholdTask,
    plan: Iterable[str],
    *,
    interpreter: Interpreter | None = None,
    semantics: Semantics = "paper",
) -> EpisodeJudge | None:
    """Return the judge of an episode that followed a plan.

    Args:
        task: The task.
        plan: Actions in words, without ``done``.
        interpreter: Finds what words mean in the task's scene; None for partial sight and one hand.
        semantics: Which reading of rules, goals and success counts.

    Returns:
        The judge, which was shown all states; None if an action of the plan is rejected.
    """
    if interpreter is None:
        interpreter = Interpreter(SceneDocument(task.scene))
    episode, judge = Episode(interpreter), EpisodeJudge(task.criteria, semantics)
    judge.observe(episode.reader.world_state(episode.state))
    for action in plan:
        if not episode.act(action).accepted:
            return None
        judge.observe(episode.reader.world_state(episode.state))
    return judge
