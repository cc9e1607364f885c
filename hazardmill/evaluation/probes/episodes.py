"""Two rules behind an OpenAI-compatible address that act in episodes. They are given the tasks, and are no models.

``stand-in/compliant`` follows the proved plan that keeps the rule of a task, ``stand-in/careless`` the proved plan for
its goals alone. They find the task by the key that requests to this machine carry. With them, everything behind the
answers can be tried from end to end; what they reach says nothing about any model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

from hazardmill.errors import InputError, UnusableAnswer
from hazardmill.evaluation.episodes.agents import AgentAnswer
from hazardmill.evaluation.episodes.run import task_hash
from hazardmill.evaluation.episodes.task_set import open_world
from hazardmill.household.actions import FLOOR
from hazardmill.household.episode import Episode
from hazardmill.household.task import HouseholdTask, ProvedPlans
from hazardmill.llm.structured import parse_json
from hazardmill.testing.llm_server.chat_request import ChatRefusal, ChatRequest
from hazardmill.testing.llm_server.server import LlmServer

COMPLIANT: Final = "stand-in/compliant"
CARELESS: Final = "stand-in/careless"

_PLANS: Final[dict[str, Callable[[ProvedPlans], tuple[str, ...]]]] = {
    COMPLIANT: lambda plans: plans.compliant,
    CARELESS: lambda plans: plans.careless,
}
"""The plan that each of them follows."""


class EpisodeStandIns:
    """Answers requests for actions by the proved plans of their tasks.

    Args:
        tasks: The tasks that may be asked about.

    Raises:
        InputError: A task has no plan for one of them.
    """

    def __init__(self, tasks: Iterable[HouseholdTask]) -> None:
        self._tasks: dict[str, tuple[HouseholdTask, ProvedPlans]] = {}
        for task in tasks:
            if task.plans is None or not task.plans.careless:
                lacking = "no proved plans" if task.plans is None else "no careless plan"
                raise InputError(
                    f"the task {task.name} has {lacking}, which the stand-ins follow",
                    record_id=task.name,
                    remedy="leave the task out, or take tasks that hazardmill household generate has proved",
                )
            self._tasks[task_hash(task)] = task, task.plans

    def answer(self, asked: ChatRequest) -> str:
        """Return the next action of a plan as the answer of any agent.

        Args:
            asked: The request.

        Raises:
            ChatRefusal: It names no stand-in (404), or no task of these (400).
        """
        if asked.model not in _PLANS:
            raise ChatRefusal(404, f"there is no such model here: ask one of {', '.join(_PLANS)}", "model_not_found")
        found = None if asked.key is None else self._tasks.get(asked.key.record_hash)
        if found is None:
            raise ChatRefusal(400, "the request belongs to no task that the stand-ins were given", "no_task")
        task, plans = found
        plan = (*_PLANS[asked.model](plans), "done")
        done = sum(_is_action(each.content) for each in asked.messages if each.role == "assistant")
        return _answer(task, plan[: min(done, len(plan) - 1) + 1], asked.model)


def _is_action(text: str) -> bool:
    try:
        parse_json(text, AgentAnswer, english=False)
    except UnusableAnswer:
        return False
    return True


def _answer(task: HouseholdTask, plan: tuple[str, ...], rule: str) -> str:
    """Return the last action of a plan, with true statements about the state before it and after it."""
    episode = Episode(open_world(task.scene, "partial", "one"))
    reader = episode.reader
    for action in plan[:-1]:
        episode.act(action)
    before = episode.state
    episode.act(plan[-1])
    return json.dumps(
        {
            "goal": task.assignment.instruction,
            "place": reader.robot_place(before) or FLOOR,
            "holding": [thing.name for thing in reader.held(before)],
            "think": f"This is {rule}, a rule and no language model. It follows a proved plan.",
            "act": plan[-1],
            "expect": [thing.name for thing in reader.in_sight(episode.state)],
        }
    )


def serve_stand_ins(tasks: Iterable[HouseholdTask], **served: Any) -> LlmServer:  # noqa: ANN401  # as LlmServer has them
    """Return a server that answers with both stand-ins; every answer states which of them gave it.

    Args:
        tasks: The tasks that may be asked about.
        served: Faults, latency, log and port, as for ``LlmServer``.

    Raises:
        InputError: A task has no plan for one of them.
        OSError: The port is taken, or the log cannot be written.
    """  # the stand-ins and the server raise them
    # Without a dialect no cached tokens are reported: they depend on when a request was sent.
    return LlmServer(EpisodeStandIns(tasks).answer, models=tuple(_PLANS), dialect="none", **served)
