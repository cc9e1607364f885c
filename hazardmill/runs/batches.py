"""How a run sends its requests together, if its access to models says so."""

from __future__ import annotations

from pathlib import Path

from hazardmill.llm.access import ModelAccess
from hazardmill.llm.batches.dispatch import BatchDispatch, BatchRules
from hazardmill.llm.batches.outbox import Outbox
from hazardmill.llm.batches.sent import has_open_batches
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Channel, Ledger
from hazardmill.llm.limits.budget import Budget
from hazardmill.llm.requests import Backend
from hazardmill.runs.resources import ModelResources
from hazardmill.store.store import Store
from hazardmill.store.writer import Writer

_HOUR_S = 3600.0


def open_dispatch(
    store: Store,
    writer: Writer,
    ledger: Ledger,
    client: Client,
    outbox: Outbox | None,
    backend: Backend,
    access: ModelAccess,
    resources: ModelResources,
    budget: Budget | None,
    *,
    wait: bool,
) -> BatchDispatch | None:
    """Return what sends the requests of a run together; None if each is sent by itself and no earlier one was not.

    Args:
        store: The store of the run.
        writer: Its writer.
        ledger: Its ledger.
        client: Its client.
        outbox: What the client puts requests into; None if it sends them.
        backend: The backend whose answers the run uses.
        access: How the run reaches its models.
        resources: How it opens what it works with.
        budget: What it may spend; None for no limit.
        wait: Whether to wait for answers.

    Raises:
        SettingsError: A model's provider has no batches, or the exchange folder belongs to another run.
    """
    if outbox is None and not has_open_batches(store, writer.run_id):
        return None
    rules = BatchRules(
        channel=access.channel,
        place=access.api_base if access.exchange is None else str(access.exchange),
        fallbacks=access.fallback_models,
        max_age_s=access.batch_max_age * _HOUR_S,
        wait=wait,
    )
    dispatch = BatchDispatch(
        store,
        writer,
        ledger,
        client,
        # An empty outbox is false.
        Outbox() if outbox is None else outbox,
        backend,
        lambda channel, place, model: resources.batches(_sent_by(access, channel, place), model, writer.run_id),
        prices=resources.prices(),
        budget=budget,
        rules=rules,
        sleep=resources.batch_sleep,
    )
    if outbox is not None:
        # Before anything is sent or written down.
        dispatch.open_providers(access.primary_models)
    return dispatch


def _sent_by(access: ModelAccess, channel: Channel, place: str | None) -> ModelAccess:
    """Return the access with which something was sent, which may have been another one than today's."""
    if channel == "exchange":
        return access.model_copy(update={"exchange": None if place is None else Path(place), "batch": False})
    return access.model_copy(update={"exchange": None, "batch": True, "api_base": place})
