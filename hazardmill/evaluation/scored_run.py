"""Runs whose questions are scored one piece at a time, as soon as its answers are there, and again from the ledger."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hazardmill.evaluation.conversation import Conversation
from hazardmill.evaluation.runner import AskedAbout, ModelRun, OnPiece, Piece
from hazardmill.llm.client import Retry
from hazardmill.llm.ledger import LedgerIndex
from hazardmill.llm.requests import Answer

if TYPE_CHECKING:
    import pyarrow as pa

    from hazardmill.store.store import Store


class ScoredRun(ModelRun[Piece]):
    """A run that asks a model, and has a row for each answer."""

    @abstractmethod
    def score(self, piece: Piece, answers: Sequence[Answer | None]) -> list[dict[str, Any]]:
        """Return the rows of a piece.

        Args:
            piece: What was asked about.
            answers: An answer per request of the piece; None where there is none yet, which has no row.
        """

    @abstractmethod
    def table(self, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Return rows as a table with the schema of this kind of run."""

    @abstractmethod
    def counted(self, piece: Piece) -> AskedAbout:
        """Return what progress is counted in."""

    async def run(
        self,
        store: Store,
        *,
        on_task: OnPiece | None = None,
        on_retry: Callable[[Retry], None] | None = None,
        wait: bool = False,
    ) -> pa.Table:
        """Ask for every answer that the ledger does not have yet, and score all of them without a model.

        Args:
            store: The store with the ledger.
            on_task: Called after each piece whose answers have arrived.
            on_retry: Called before each pause that precedes another attempt at a request.
            wait: Whether to wait for requests that were sent together.

        Returns:
            The rows as a table.

        Raises:
            ProviderError: The provider cannot be asked. Answers that arrived are kept.
            BudgetReached: The rest of the budget cannot pay for the next request. Answers that arrived are kept.
            RunWaiting: Requests were sent together, and their answers are not there yet (``rows_so_far``).
            SettingsError: An API key is missing, or the budget cannot be kept because the model has no known price.
            StoreLocked: Another process works on the same run.
        """
        rows: list[dict[str, Any]] = []

        async def take(piece: Piece, answers: Sequence[Answer]) -> None:
            # In a thread, because scoring computes while other requests are under way.
            rows.extend(await asyncio.to_thread(self.score, piece, answers))
            if on_task is not None:
                on_task(self.counted(piece))

        await self.ask_all(store, take, on_retry=on_retry, wait=wait)
        return self.table(rows)

    async def rows_so_far(self, store: Store) -> tuple[pa.Table, int]:
        """Score the answers that the ledger has, and ask nobody.

        Args:
            store: The store with the ledger.

        Returns:
            The rows, and the number of questions without an answer.
        """
        index, backend = LedgerIndex.read(store), self.resources.backend(self.access, store)
        await backend.close()
        rows: list[dict[str, Any]] = []
        missing = 0
        for piece in self.pieces():
            conversation = Conversation(self.turns(piece))
            answers: list[Answer | None] = []
            while conversation.requests and None not in answers:
                recorded = (index.answer(each.identity(backend.name, backend.host)) for each in conversation.requests)
                found = [None if each is None else each.answer(paid=False) for each in recorded]
                answers += found
                if None not in found:
                    conversation.take([each for each in found if each is not None])
            missing += answers.count(None)
            rows += self.score(piece, answers)
        return self.table(rows), missing
