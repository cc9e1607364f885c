"""Ask a language model for the actions of episodes, through the ledger, as plans are asked for.

All episodes go on side by side, and each asks for its next action when its last one is answered: in batches and
exchange folders, an action of each episode is a round. These runs are named, resumed, paid for and replayed like those
of ``evaluation.runner``. A run's name does not depend on how episodes are judged. No message names the limit on
actions, so that a run with a larger one uses all answers that there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import JsonValue

from hazardmill.evaluation.conversation import Turns
from hazardmill.evaluation.episodes.dialogue import EpisodeDialogue
from hazardmill.evaluation.episodes.example import prompts_of
from hazardmill.evaluation.episodes.options import EpisodeOptions, name_evaluation
from hazardmill.evaluation.episodes.prompts import EpisodePrompts
from hazardmill.evaluation.episodes.rows import dialogue_row, episode_table
from hazardmill.evaluation.episodes.task_set import HouseholdTasks, open_world
from hazardmill.evaluation.planner_access import PlannerAccess
from hazardmill.evaluation.prompting import messages_json, question_request
from hazardmill.evaluation.runner import AskedAbout
from hazardmill.evaluation.scored_run import ScoredRun
from hazardmill.household.rules import Semantics
from hazardmill.household.task import HouseholdTask
from hazardmill.llm.requests import Answer, AnswerKey, Request
from hazardmill.records import content_hash
from hazardmill.runs.resources import REAL, ModelResources

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class EpisodePiece:
    """One episode of a run.

    Attributes:
        task: Its task.
        sample: Number of the run over all tasks that it belongs to, from 0.
        variant: Always None: every episode counts.
    """

    task: HouseholdTask
    sample: int
    variant: None = None


@dataclass(frozen=True)
class EpisodeRun(ScoredRun[EpisodePiece]):
    """A run that holds episodes with one model.

    Args:
        tasks: The tasks.
        options: How the episodes are held.
        access: How the model is reached.
        runs: Episodes per task.
        semantics: How they are judged.
        parameters: Values that replace parameters of the prompt.
        resources: How the run opens its backend, client, limiter and prices.
        asked_by: Parameters of the flow run that started it; empty for a command.
    """

    KIND_OF_NAME: ClassVar[str] = "episodes"

    tasks: HouseholdTasks
    options: EpisodeOptions
    access: PlannerAccess
    runs: int = 1
    semantics: Semantics = "paper"
    parameters: dict[str, JsonValue] = field(default_factory=dict)
    resources: ModelResources = REAL
    asked_by: dict[str, JsonValue] = field(default_factory=dict)

    @cached_property
    def prompts(self) -> EpisodePrompts:
        """What the agent is told."""
        return prompts_of(self.options)

    @cached_property
    def decided_by(self) -> dict[str, Any]:
        """Everything that decides the answers, as JSON values."""
        return {
            "tasks": self.tasks.digest,
            **self.options.said,
            "runs": self.runs,
            "model": self.model,
            "prompt": self.prompts.hash,
            "parameters": {**self.prompts.template.parameters, **self.parameters},
            **self.asked_at,
        }

    @property
    def name(self) -> str:
        """Name of the evaluation: of the answers, and how they are judged."""
        return name_evaluation(self.run_id, self.semantics)

    @property
    def release(self) -> str:
        """What is asked about, in words."""
        return self.tasks.name

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return len(self.tasks.tasks) * self.runs

    def pieces(self) -> Iterable[EpisodePiece]:
        """Return the episodes, task by task."""
        return (EpisodePiece(task, sample) for task in self.tasks.tasks for sample in range(self.runs))

    def requests(self, piece: EpisodePiece) -> Sequence[Request]:
        """Return the request for the first action."""
        return [self._request(piece, self._begin(piece), 1)]

    def turns(self, piece: EpisodePiece) -> Turns:
        """Yield one request per action, each after the answer to the one before."""
        dialogue, number = self._begin(piece), 0
        while dialogue.ending is None:
            number += 1
            (answer,) = yield [self._request(piece, dialogue, number)]
            dialogue.take(answer.text, answer.finish_reason)

    def table(self, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Return rows as a table, each with the rows of its actions (``rows.episode_table``)."""
        return episode_table(rows)

    def counted(self, piece: EpisodePiece) -> AskedAbout:
        """Return the episode: progress is counted in episodes."""
        return piece

    def score(self, piece: EpisodePiece, answers: Sequence[Answer | None]) -> list[dict[str, Any]]:
        """Return the row of an episode that has ended."""
        dialogue = self._begin(piece)
        for answer in answers:
            if answer is None:
                return []
            dialogue.take(answer.text, answer.finish_reason)
        fixed = {"run": self.name, "model": self.model, "sample": piece.sample, **self.options.said}
        return [{**fixed, **dialogue_row(piece.task, dialogue, self.semantics)}]

    def questions(self) -> Iterator[dict[str, Any]]:
        """Yield the first messages of each task's episodes, as they are sent, as JSON values."""
        for task in self.tasks.tasks:
            dialogue = self._begin(EpisodePiece(task, 0))
            yield {"task_id": task.name, "prompt": self.prompts.hash, "messages": messages_json(dialogue.messages)}

    def _begin(self, piece: EpisodePiece) -> EpisodeDialogue:
        world = open_world(piece.task.scene, self.options.observe, self.options.hands)
        return EpisodeDialogue(piece.task.assignment, world, self.prompts)

    def _request(self, piece: EpisodePiece, dialogue: EpisodeDialogue, number: int) -> Request:
        request = question_request(
            self.prompts.template,
            dialogue.messages,
            about=piece.task.name,
            shown=dialogue.prompt,
            model=self.model,
            sample=piece.sample,
            parameters=self.parameters,
        )
        # By task and number of the request, so that recorded answers survive an edited prompt.
        key = AnswerKey(record_hash=task_hash(piece.task), stage="evaluate", draft=number, sample=piece.sample)
        return request.model_copy(update={"key": key, "prompt_hash": self.prompts.hash})


def task_hash(task: HouseholdTask) -> str:
    """Return the SHA-256 by which requests name their task to recorded answers and to stand-ins."""
    return content_hash(task.to_json())
