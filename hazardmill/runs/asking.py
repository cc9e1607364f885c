"""What a run asks models with: ledger, budget, limits, client, and batches where requests are sent together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hazardmill.llm.access import ModelAccess
from hazardmill.llm.batches.dispatch import BatchDispatch
from hazardmill.llm.batches.exchange.folder import format_begun
from hazardmill.llm.batches.outbox import Outbox
from hazardmill.llm.batches.rules import BatchRules
from hazardmill.llm.batches.sent import has_open_batches
from hazardmill.llm.charged_prices import charged_prices
from hazardmill.llm.client import Client, Retry
from hazardmill.llm.ledger import Channel, Ledger
from hazardmill.llm.limits.budget import Budget
from hazardmill.llm.requests import Backend
from hazardmill.runs.budgets import open_budget, open_shared_limits
from hazardmill.runs.resources import ModelResources
from hazardmill.store.store import Store
from hazardmill.store.writer import Writer

_HOUR_S: Final = 3600.0


@dataclass(frozen=True)
class Asking:
    """What one session of a run asks models with.

    Attributes:
        ledger: Where answers are found and attempts recorded.
        budget: What may be spent; None for no limit.
        client: Answers requests, or puts them into the outbox.
        dispatch: Sends requests together, or books what earlier sessions have sent together; None if there is neither.
    """

    ledger: Ledger
    budget: Budget | None
    client: Client
    dispatch: BatchDispatch | None


@asynccontextmanager
async def open_asking(
    store: Store,
    writer: Writer,
    backend: Backend,
    access: ModelAccess,
    resources: ModelResources,
    *,
    on_retry: Callable[[Retry], None] | None = None,
    wait: bool = False,
) -> AsyncIterator[Asking]:
    """Open everything that a session of a run asks with, and close it afterwards.

    Args:
        store: The store of the run.
        writer: Its writer.
        backend: The backend whose answers the run uses; it is closed at the end.
        access: How the run reaches its models.
        resources: How it opens what it asks with.
        on_retry: Called before each pause after which a request is sent again.
        wait: Whether to wait for the answers to requests that were sent together.

    Yields:
        What the session asks with.

    Raises:
        SettingsError: The budget cannot be kept, a model's provider has no batches, or the exchange folder belongs to
            another run or has another format.
        StoreError: The ledger, a shared budget or shared limits cannot be read or written.
    """  # what it opens raises them
    run_id, prices = writer.run_id, charged_prices(access, resources.prices())
    ledger = Ledger(store, writer, run_id)
    dispatch: BatchDispatch | None = None
    try:
        with (
            open_budget(store, run_id, access, ledger) as budget,
            open_shared_limits(store, run_id, access) as shared_limits,
        ):
            outbox = Outbox()
            is_together = access.channel != "single"
            client = resources.client(
                backend,
                ledger,
                limiter=resources.limiter(access),
                prices=prices,
                budget=budget,
                shared_limits=shared_limits,
                deadline_s=access.deadline_s,
                on_retry=on_retry,
                outbox=outbox if is_together else None,
            )
            if is_together or has_open_batches(store, run_id):
                dispatch = BatchDispatch(
                    store,
                    writer,
                    ledger,
                    client,
                    outbox,
                    backend,
                    lambda channel, place, model: resources.batches(_sent_by(access, channel, place), model, run_id),
                    prices=prices,
                    budget=budget,
                    rules=_rules(access, wait=wait),
                    sleep=resources.batch_sleep,
                )
            if dispatch is not None and is_together:
                # Before anything is sent or written down.
                dispatch.open_providers(access.primary_models)
            yield Asking(ledger, budget, client, dispatch)
    finally:
        if dispatch is not None:
            await dispatch.close()
        await backend.close()


def _rules(access: ModelAccess, *, wait: bool) -> BatchRules:
    return BatchRules(
        channel=access.channel,
        place=access.api_base if access.exchange is None else str(access.exchange),
        fallbacks=access.fallback_models,
        max_age_s=access.batch_max_age * _HOUR_S,
        wait=wait,
    )


def _sent_by(access: ModelAccess, channel: Channel, place: str | None) -> ModelAccess:
    """Return the access with which something was sent, which may have been another one than today's."""
    if channel == "exchange":
        assert place is not None  # the folder
        folder = Path(place)
        # A folder keeps its format; only of today's may another one be asked for, which is refused.
        begun = None if folder == access.exchange else format_begun(folder)
        update = {"exchange": folder, "exchange_format": begun or access.exchange_format, "batch": False}
        return access.model_copy(update=update)
    return access.model_copy(update={"exchange": None, "batch": True, "api_base": place})
