"""Agents for tests: what they answer, and dialogues that they hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from hazardmill.evaluation.episodes.dialogue import EpisodeDialogue
from hazardmill.evaluation.episodes.example import prompts_of
from hazardmill.evaluation.episodes.options import EpisodeOptions
from hazardmill.evaluation.episodes.run import task_hash
from hazardmill.evaluation.episodes.task_set import open_world
from hazardmill.evaluation.probes.episodes import EpisodeStandIns
from hazardmill.household.task import HouseholdTask
from hazardmill.llm.requests import AnswerKey, Message
from hazardmill.testing.llm_server import ChatRequest
from tests.household.small_tasks import TASKS


def says(act: str, **more: object) -> str:
    """An answer as a model writes it."""
    return f"```json\n{json.dumps({'think': 'So be it.', 'act': act, **more})}\n```"


def begin(task: HouseholdTask, options: EpisodeOptions | None = None) -> EpisodeDialogue:
    """An episode that has just begun."""
    options = options or EpisodeOptions()
    return EpisodeDialogue(task.assignment, open_world(task.scene, options.observe, options.hands), prompts_of(options))


def play(task: HouseholdTask, actions: Iterable[str], options: EpisodeOptions | None = None) -> EpisodeDialogue:
    """An episode with some actions."""
    dialogue = begin(task, options)
    for action in actions:
        dialogue.take(says(action), "stop")
    return dialogue


def follow(rule: str, *tasks: HouseholdTask) -> Callable[[Sequence[Message], AnswerKey | None], str]:
    """What a stand-in answers, wherever it is asked."""
    stand_ins = EpisodeStandIns(tasks or TASKS)
    by_instruction = {task.assignment.instruction: task for task in tasks or TASKS}

    def answer(messages: Sequence[Message], key: AnswerKey | None = None) -> str:
        if key is None:
            # Files have no keys.
            first = messages[1].content.rpartition("Task: ")[2].splitlines()[0]
            key = AnswerKey(record_hash=task_hash(by_instruction[first]), stage="evaluate")
        return stand_ins.answer(ChatRequest(rule, tuple(messages), {}, key, ""))

    return answer
