"""What runs open to work with: backend, client, limiter, prices and jail. Tests can pass others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from hazardmill.llm.access import ModelAccess
from hazardmill.llm.batches.provider import BatchProvider
from hazardmill.llm.client import Client
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import Backend
from hazardmill.runs.backend import open_backend, open_batch_provider, open_limiter
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store


@dataclass(frozen=True)
class ModelResources:
    """How a run opens what it asks models with; by default as its access to models says.

    Attributes:
        backend: Opens the backend that answers; raises ``SettingsError`` if it cannot be asked.
        client: Makes the client that asks it; called as ``Client`` is, with backend and ledger.
        limiter: Makes what keeps requests within the run's limits; called in the event loop that asks.
        prices: Loads the prices of models.
        batches: Opens who takes the batches of one model; called with access, model and the run's id.
        batch_sleep: Waits between two looks at batches.
    """

    backend: Callable[[ModelAccess, Store], Backend] = open_backend
    client: Callable[..., Client] = Client
    limiter: Callable[[ModelAccess], Limiter] = open_limiter
    prices: Callable[[], Prices] = Prices.load
    batches: Callable[[ModelAccess, str, str], BatchProvider] = open_batch_provider
    batch_sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True)
class RunResources(ModelResources):
    """How a generation run opens what it works with; by default as its configuration says.

    A run opens its backend and its jail once when it is started or resumed, to find out whether they work, and
    everything for each session.

    Attributes:
        jail: Opens the jail for the code of drafts; called with ``profile``, and used as a context manager.
    """

    jail: Callable[..., Jail] = Jail


REAL: Final[RunResources] = RunResources()
"""The real ones, as the configuration of a run or its access to models says."""
