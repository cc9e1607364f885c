"""Ask a language model for plans through the ledger: each answer is on disk before it is scored, and is paid for once.

The name of a run is a hash of everything that decides its answers: release, model, prompt, parameters, samples. Its
only state is the ledger. Starting an equal run resumes the first one: questions that are already answered are not asked
again, and rows are computed anew from all answers, so that a killed run ends with the same rows as an undisturbed one.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar

from pydantic import JsonValue

from hazardmill import __version__
from hazardmill.errors import AnswerPending, ProviderError, RunStopped, RunWaiting, SettingsError
from hazardmill.evaluation.conversation import Conversation, Turns
from hazardmill.evaluation.ordered_pool import OrderedPool
from hazardmill.evaluation.planner_access import PlannerAccess
from hazardmill.evaluation.prompting import plan_prompt, plan_request
from hazardmill.evaluation.scoring import Scorer, row_of
from hazardmill.evaluation.tasks import EvaluationTask, TaskSet
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.llm.client import Retry
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.prompts import PromptTemplate
from hazardmill.llm.requests import Answer, Request
from hazardmill.records import content_hash
from hazardmill.runs.asking import open_asking
from hazardmill.runs.backend import answering_backend
from hazardmill.runs.budgets import check_budget
from hazardmill.runs.malloc import in_one_thread
from hazardmill.runs.resources import REAL, ModelResources
from hazardmill.runs.status import latest_states

if TYPE_CHECKING:
    import pyarrow as pa

    from hazardmill.llm.batches.dispatch import BatchDispatch
    from hazardmill.llm.client import Client
    from hazardmill.store.store import Store
    from hazardmill.store.writer import Writer

KIND: Final = "evaluate"
"""The kind of these runs in the table of runs."""

_ASKED_BY: Final = "asked_by"
"""Key in the stored configuration for the parameters of the flow run that started the evaluation."""

OnTask = Callable[[EvaluationTask], None]
"""Called after each task, once all its answers have arrived."""


class AskedAbout(Protocol):
    """What progress is counted in."""

    @property
    def variant(self) -> str | None:
        """What was changed in it; None if it counts as a task of its own."""
        ...


OnPiece = Callable[[AskedAbout], None]
"""Called after each thing that was asked about, once all its answers have arrived."""

Piece = TypeVar("Piece")
"""The unit of work of a run: a task, or a task with questions about it."""


class ModelRun(ABC, Generic[Piece]):
    """A run that asks one model about the pieces of a release, in order; each piece takes one or more requests.

    Attributes:
        KIND_OF_NAME: Prefix of the run's name.
        access: How the model is reached, with limits and budget.
        resources: How the run opens its backend, client, limiter and prices.
        asked_by: What started it, for whoever starts it again: the parameters of a flow run; empty for a command.
    """

    KIND_OF_NAME: ClassVar[str] = KIND

    access: PlannerAccess
    resources: ModelResources
    asked_by: dict[str, JsonValue]

    @property
    @abstractmethod
    def decided_by(self) -> dict[str, Any]:
        """Everything that decides the answers, as JSON values."""

    @property
    @abstractmethod
    def release(self) -> str:
        """What is asked about, in words."""

    @abstractmethod
    def pieces(self) -> Iterable[Piece]:
        """Return the pieces of the run, in order."""

    @abstractmethod
    def requests(self, piece: Piece) -> Sequence[Request]:
        """Return the requests that a piece begins with; unless ``turns`` is another, all that it takes."""

    def turns(self, piece: Piece) -> Turns:
        """Yield what a piece asks, each time after the answers to what it asked before."""
        yield self.requests(piece)

    def is_task(self, piece: Piece) -> bool:
        """Return whether the piece counts as a task of the release."""
        return True

    @property
    def model(self) -> str:
        """The model that is asked."""
        return self.access.model

    @cached_property
    def run_id(self) -> str:
        """The name of the run: equal runs have equal names."""
        return f"{self.KIND_OF_NAME}-{content_hash(self.decided_by)[:12]}"

    @property
    def asked_at(self) -> dict[str, Any]:
        """Backend and host, which are among what decides the answers."""
        backend = answering_backend(self.access)
        return {"backend": backend.name, "host": backend.host}

    async def ask_all(
        self,
        store: Store,
        take: Callable[[Piece, Sequence[Answer]], Awaitable[None]],
        *,
        on_retry: Callable[[Retry], None] | None = None,
        wait: bool = False,
    ) -> None:
        """Ask for every answer that the ledger does not have yet.

        Args:
            store: The store with the ledger.
            take: Called with each piece and the answers to its requests, in the order of the pieces.
            on_retry: Called before each pause that precedes another attempt at a request.
            wait: Whether to wait for requests that were sent together.

        Raises:
            ProviderError: The provider cannot be asked. Answers that arrived are kept.
            BudgetReached: The rest of the budget cannot pay for the next request. Answers that arrived are kept.
            RunWaiting: Requests were sent together, and their answers are not there yet.
            SettingsError: An API key is missing, or the budget cannot be kept because the model has no known price.
            StoreLocked: Another process works on the same run.
        """
        check_budget(self.access, self.resources.prices())
        backend = self.resources.backend(self.access, store)
        with self._under_way(store) as (writer, done):
            async with open_asking(
                store, writer, backend, self.access, self.resources, on_retry=on_retry, wait=wait
            ) as asking:
                client, dispatch = asking.client, asking.dispatch
                if dispatch is not None:
                    await (self._ask_together(client, dispatch) if client.defers else dispatch.finish())
                async for piece, answers in self._answer_pieces(client, asking.ledger, writer):
                    done["records"] += self.is_task(piece)
                    done["answers"] += len(answers)
                    await take(piece, answers)

    async def _ask_together(self, client: Client, dispatch: BatchDispatch) -> None:
        """Send what the ledger does not answer as batches, until it answers everything."""
        await dispatch.begin()
        begun: dict[int, Conversation] = {}
        ended: set[int] = set()
        while True:
            if not dispatch.open:
                for place, piece in enumerate(self.pieces()):
                    if place in ended:
                        continue
                    conversation = begun.pop(place, None) or Conversation(self.turns(piece))
                    await _go_on(conversation, client)
                    if not conversation.requests:
                        ended.add(place)
                    elif conversation.answers:
                        # Others begin anew, so that pieces without an answer need not fit into memory.
                        begun[place] = conversation
            if not (dispatch.open or dispatch.has_requests):
                return
            await dispatch.round()

    async def _answer_pieces(
        self, client: Client, ledger: Ledger, writer: Writer
    ) -> AsyncIterator[tuple[Piece, Sequence[Answer]]]:
        """Yield each piece with its answers, in the order of the pieces."""

        async def ask(piece: Piece) -> Sequence[Answer]:
            conversation = Conversation(self.turns(piece))
            while conversation.requests:
                # Wait for all of them even when one fails: requests under way are being paid for.
                ended = await asyncio.gather(*map(client.ask, conversation.requests), return_exceptions=True)
                for failed in ended:
                    if isinstance(failed, BaseException):
                        raise failed
                conversation.take([answer for answer in ended if isinstance(answer, Answer)])
            return conversation.answers

        line = OrderedPool(self._batches(), ask, self.access.concurrency)
        try:
            async for done in line:
                if done is not None:
                    yield done
                    continue
                # A batch has ended: write its answers as one part, and take in what other runs have paid for since.
                await in_one_thread(writer.roll)
                await in_one_thread(ledger.refresh)
        except (ProviderError, RunStopped):
            # Requests under way are being paid for: keep their answers for whoever resumes the run.
            client.close()
            await line.drain()
            raise
        finally:
            await line.call_off()

    async def _batches(self) -> AsyncIterator[Sequence[Piece]]:
        pieces = iter(self.pieces())
        while batch := await asyncio.to_thread(lambda: list(islice(pieces, self.access.batch_size))):
            yield batch

    @contextmanager
    def _under_way(self, store: Store) -> Iterator[tuple[Writer, Counter[str]]]:
        """Lock the run against other processes, and record that it runs and later how it ended.

        Yields:
            The writer, and a counter of tasks (``records``) and ``answers`` that are done, which the caller keeps.
        """
        done = Counter(records=0, answers=0)
        present = store.hold(self.run_id)
        try:
            with store.writer(self.run_id) as writer:
                self._change(store, writer, "running", done)
                try:
                    yield writer, done
                except BaseException as error:
                    resumable = ProviderError | RunStopped | SettingsError | asyncio.CancelledError | GeneratorExit
                    # A run that can be resumed is stopped; only a fault of the program makes it fail.
                    failed = isinstance(error, Exception) and not isinstance(error, resumable)
                    stopped = "waiting" if isinstance(error, RunWaiting) else "stopped"
                    self._change(store, writer, "failed" if failed else stopped, done)
                    raise
                self._change(store, writer, "completed", done)
        finally:
            present.release()

    def _change(self, store: Store, writer: Writer, state: str, done: Counter[str]) -> None:
        rows = store.rows("runs", {"run_id": self.run_id}, ["sequence"])
        asked = self.access.model_dump(mode="json", exclude={"model"})
        more = {_ASKED_BY: self.asked_by} if self.asked_by else {}
        row = {
            "run_id": self.run_id,
            "parent_run_id": None,
            "sequence": 1 + max((row["sequence"] for row in rows), default=-1),
            "kind": KIND,
            "state": state,
            "config": canonical_json({**asked, "evaluation": {**self.decided_by, "release": self.release, **more}}),
            "selection": None,
            "counts": canonical_json(dict(done)),
            "at": datetime.now(UTC),
            "hazardmill_version": __version__,
        }
        writer.append_sync({"runs": [row]})


@dataclass(frozen=True)
class Evaluation(ModelRun[EvaluationTask]):
    """A run that asks one model for plans of some tasks.

    Args:
        tasks: The tasks.
        access: How the model is reached.
        samples: Answers per task.
        parameters: Values that replace parameters of the prompt.
        prompt: The template of the question.
        resources: How the run opens its backend, client, limiter and prices.
        asked_by: Parameters of the flow run that started it; empty for a command.
    """

    tasks: TaskSet
    access: PlannerAccess
    samples: int = 1
    parameters: dict[str, JsonValue] = field(default_factory=dict)
    prompt: PromptTemplate = field(default_factory=plan_prompt)
    resources: ModelResources = REAL
    asked_by: dict[str, JsonValue] = field(default_factory=dict)

    @cached_property
    def decided_by(self) -> dict[str, Any]:
        """Everything that decides the answers, as JSON values."""
        return {
            "tasks": self.tasks.digest,
            "model": self.model,
            "samples": self.samples,
            "prompt": self.prompt.hash,
            "parameters": {**self.prompt.parameters, **self.parameters},
            **self.asked_at,
        }

    @property
    def release(self) -> str:
        """What is asked about, in words."""
        return self.tasks.name

    def pieces(self) -> Iterable[EvaluationTask]:
        """Return the tasks."""
        return self.tasks

    def requests(self, piece: EvaluationTask) -> Sequence[Request]:
        """Return one request per sample."""
        return [
            plan_request(self.prompt, piece, model=self.model, sample=sample, parameters=self.parameters)
            for sample in range(self.samples)
        ]

    def is_task(self, piece: EvaluationTask) -> bool:
        """Return whether the piece is a task as released, and not a variant of one."""
        return piece.variant is None

    async def run(
        self,
        store: Store,
        *,
        on_task: OnTask | None = None,
        on_retry: Callable[[Retry], None] | None = None,
        wait: bool = False,
    ) -> pa.Table:
        """Ask for every answer that the ledger does not have yet, and score all of them.

        Args:
            store: The store with the ledger.
            on_task: Called after each task whose answers have arrived.
            on_retry: Called before each pause that precedes another attempt at a request.
            wait: Whether to wait for requests that were sent together.

        Returns:
            The result rows (``results_files.SCHEMA_OF_ROWS``).

        Raises:
            ProviderError: The provider cannot be asked. Answers that arrived are kept.
            BudgetReached: The rest of the budget cannot pay for the next request. Answers that arrived are kept.
            SettingsError: An API key is missing, or the budget cannot be kept because the model has no known price.
            StoreLocked: Another process works on the same run.
        """
        from hazardmill.evaluation.results_files import RowsTable

        rows = RowsTable()

        async def take(task: EvaluationTask, answers: Sequence[Answer]) -> None:
            scorer = Scorer(task)
            for sample, answer in enumerate(answers):
                scored = scorer.answer(answer.text, answer.finish_reason)
                rows.add(row_of(scored, task, run=self.run_id, model=self.model, sample=sample))
            if on_task is not None:
                on_task(task)

        await self.ask_all(store, take, on_retry=on_retry, wait=wait)
        return rows.table()


async def _go_on(conversation: Conversation, client: Client) -> None:
    """Take a conversation as far as the ledger has answers, and put what it asks next into the outbox."""
    while conversation.requests:
        unknown = [request for request in conversation.requests if not client.knows(request)]
        for request in unknown:
            with suppress(AnswerPending):
                await client.ask(request)
        if unknown:
            return
        conversation.take([await client.ask(request) for request in conversation.requests])


def waiting_evaluations(store: Store) -> dict[str, dict[str, Any]]:
    """Return the evaluations that wait for answers and were started by a flow, with the parameters of that flow run.

    Args:
        store: The store.

    Returns:
        Parameters by the name of the run.
    """
    found = {}
    for row in latest_states(store):
        config = json.loads(row["config"])
        if row["kind"] == KIND and row["state"] == "waiting" and _ASKED_BY in config["evaluation"]:
            found[row["run_id"]] = config["evaluation"][_ASKED_BY]
    return found
