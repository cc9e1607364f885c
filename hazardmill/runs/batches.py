"""How a run sends its requests together, if its access to models says so."""

from __future__ import annotations

from hazardmill.llm.access import ModelAccess
from hazardmill.llm.batches.dispatch import BatchDispatch, BatchRules
from hazardmill.llm.batches.outbox import Outbox
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
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
    """Return what sends the requests of a run together; None if each is sent by itself.

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
    if outbox is None:
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
        outbox,
        backend,
        lambda model: resources.batches(access, model, writer.run_id),
        prices=resources.prices(),
        budget=budget,
        rules=rules,
        sleep=resources.batch_sleep,
    )
    # Before anything is sent or written down.
    dispatch.open_providers(access.primary_models)
    return dispatch
