"""Asking a language model for plans, through the ledger: each answer is on disk before it is scored, and paid for once.

The name of a run is made of all that decides it: release, model, prompt, parameters, samples. The ledger is its only
state. Whoever begins an equal run goes on with it: what is answered is not asked again, and the rows are worked out
anew from the answers, so that a run that was killed ends as one that was not.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from pydantic import JsonValue

from hazardmill import __version__
from hazardmill.errors import ProviderError, RunStopped, SettingsError
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
from hazardmill.runs.backend import answering_backend
from hazardmill.runs.budgets import check_budget, opened_budget
from hazardmill.runs.malloc import in_one_thread
from hazardmill.runs.ordered_pool import OrderedPool
from hazardmill.runs.resources import REAL, ModelResources

if TYPE_CHECKING:
    import pyarrow as pa

    from hazardmill.llm.client import Client
    from hazardmill.store.store import Store
    from hazardmill.store.writer import Writer

KIND: Final = "evaluate"
"""Of such runs in the table of runs."""

OnTask = Callable[[EvaluationTask], None]
"""Called after each task whose answers are there."""

Piece = TypeVar("Piece")
"""What is asked about at a time: a task, or a task with questions."""


class ModelRun(ABC, Generic[Piece]):
    """One model, asked about pieces of a release one after another, each by some requests."""

    KIND_OF_NAME: ClassVar[str] = KIND
    """What the name of such a run begins with."""

    access: PlannerAccess
    resources: ModelResources
    """How it opens what it asks the model with."""

    @property
    @abstractmethod
    def decided_by(self) -> dict[str, Any]:
        """All that decides the answers, as JSON values."""

    @property
    @abstractmethod
    def release(self) -> str:
        """What is asked about, in words."""

    @abstractmethod
    def pieces(self) -> Iterable[Piece]:
        """What is asked about, in order."""

    @abstractmethod
    def requests(self, piece: Piece) -> Sequence[Request]:
        """What is asked about a piece."""

    def is_task(self, piece: Piece) -> bool:
        """Whether the piece counts as a task of the release."""
        return True

    @property
    def model(self) -> str:
        """Who is asked."""
        return self.access.model

    @cached_property
    def run_id(self) -> str:
        """Name of the run: equal runs have equal ones."""
        return f"{self.KIND_OF_NAME}-{content_hash(self.decided_by)[:12]}"

    @property
    def asked_at(self) -> dict[str, Any]:
        """Backend and host, which are part of what decides the answers."""
        backend = answering_backend(self.access)
        return {"backend": backend.name, "host": backend.host}

    async def ask_all(
        self,
        store: Store,
        take: Callable[[Piece, Sequence[Answer]], Awaitable[None]],
        *,
        on_retry: Callable[[Retry], None] | None = None,
    ) -> None:
        """Ask for whatever the ledger does not have.

        Args:
            store: Has the ledger.
            take: Given each piece with the answers to its requests, in the order of the pieces.
            on_retry: Told of each pause before a request is sent again.

        Raises:
            ProviderError: The provider cannot be asked. What was answered is kept.
            BudgetReached: What is left cannot pay for the next request; likewise.
            SettingsError: There is no key, or no budget can be kept.
            StoreLocked: Another process works on the same run.
        """
        prices = self.resources.prices()
        check_budget(self.access, prices)
        backend = self.resources.backend(self.access, store)
        with self._under_way(store) as (writer, done):
            ledger = Ledger(store, writer, self.run_id)
            with opened_budget(store, self.run_id, self.access, ledger) as budget:
                client = self.resources.client(
                    backend,
                    ledger,
                    limiter=self.resources.limiter(self.access),
                    prices=prices,
                    budget=budget,
                    deadline_s=self.access.deadline_s,
                    on_retry=on_retry,
                )
                try:
                    async for piece, answers in self._answer_pieces(client, ledger, writer):
                        done["records"] += self.is_task(piece)
                        done["answers"] += len(answers)
                        await take(piece, answers)
                finally:
                    await backend.close()

    async def _answer_pieces(
        self, client: Client, ledger: Ledger, writer: Writer
    ) -> AsyncIterator[tuple[Piece, Sequence[Answer]]]:
        """Each piece with its answers, in the order of the pieces."""

        async def ask(piece: Piece) -> Sequence[Answer]:
            # Seen to the end, all of them: what is under way when one fails is being paid for.
            ended = await asyncio.gather(*map(client.ask, self.requests(piece)), return_exceptions=True)
            for failed in ended:
                if isinstance(failed, BaseException):
                    raise failed
            return [answer for answer in ended if isinstance(answer, Answer)]

        line = OrderedPool(self._batches(), ask, self.access.concurrency)
        try:
            async for done in line:
                if done is not None:
                    yield done
                    continue
                await in_one_thread(writer.roll)
                await in_one_thread(ledger.refresh)
        except (ProviderError, RunStopped):
            # What is under way is being paid for: its answers are for whoever goes on.
            client.close()
            await line.ended()
            raise
        finally:
            await line.call_off()

    async def _batches(self) -> AsyncIterator[Sequence[Piece]]:
        pieces = iter(self.pieces())
        while batch := await asyncio.to_thread(lambda: list(islice(pieces, self.access.batch_size))):
            yield batch

    @contextmanager
    def _under_way(self, store: Store) -> Iterator[tuple[Writer, Counter[str]]]:
        """Keep others off the run, and write down that it runs, then how it ended.

        Yields:
            Who writes, and a count of tasks (``records``) and ``answers`` that is to be kept.
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
                    failed = isinstance(error, Exception) and not isinstance(error, resumable)
                    self._change(store, writer, "failed" if failed else "stopped", done)
                    raise
                self._change(store, writer, "completed", done)
        finally:
            present.release()

    def _change(self, store: Store, writer: Writer, state: str, done: Counter[str]) -> None:
        rows = store.rows("runs", {"run_id": self.run_id}, ["sequence"])
        asked = self.access.model_dump(mode="json", exclude={"model"})
        row = {
            "run_id": self.run_id,
            "parent_run_id": None,
            "sequence": 1 + max((row["sequence"] for row in rows), default=-1),
            "kind": KIND,
            "state": state,
            "config": canonical_json({**asked, "evaluation": {**self.decided_by, "release": self.release}}),
            "selection": None,
            "counts": canonical_json(dict(done)),
            "at": datetime.now(UTC),
            "hazardmill_version": __version__,
        }
        writer.append_sync({"runs": [row]})


@dataclass(frozen=True)
class Evaluation(ModelRun[EvaluationTask]):
    """One model on some tasks.

    Args:
        tasks: The tasks.
        access: How the model is reached.
        samples: Answers a task.
        parameters: What takes the place of the prompt's parameters.
        prompt: The template.
        resources: How the run opens what it asks the model with.
    """

    tasks: TaskSet
    access: PlannerAccess
    samples: int = 1
    parameters: dict[str, JsonValue] = field(default_factory=dict)
    prompt: PromptTemplate = field(default_factory=plan_prompt)
    resources: ModelResources = REAL

    @cached_property
    def decided_by(self) -> dict[str, Any]:
        """All that decides the answers, as JSON values."""
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
        """The tasks."""
        return self.tasks

    def requests(self, piece: EvaluationTask) -> Sequence[Request]:
        """A request a sample."""
        return [
            plan_request(self.prompt, piece, model=self.model, sample=sample, parameters=self.parameters)
            for sample in range(self.samples)
        ]

    def is_task(self, piece: EvaluationTask) -> bool:
        """Whether it is as released: variants are none."""
        return piece.variant is None

    async def run(
        self, store: Store, *, on_task: OnTask | None = None, on_retry: Callable[[Retry], None] | None = None
    ) -> pa.Table:
        """Ask for whatever the ledger does not have, and score everything.

        Args:
            store: Has the ledger.
            on_task: Told of each task whose answers are there.
            on_retry: Told of each pause before a request is sent again.

        Returns:
            The rows of results.

        Raises:
            ProviderError: The provider cannot be asked. What was answered is kept.
            BudgetReached: What is left cannot pay for the next request; likewise.
            SettingsError: There is no key, or no budget can be kept.
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

        await self.ask_all(store, take, on_retry=on_retry)
        return rows.table()
