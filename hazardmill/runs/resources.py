"""What runs open to work with: backend, client, limiter, prices and jail. Others can be given in their place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hazardmill.llm.access import ModelAccess
from hazardmill.llm.client import Client
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import Backend
from hazardmill.runs.backend import open_backend, open_limiter
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store


@dataclass(frozen=True)
class ModelResources:
    """How a run opens what it asks models with. By default the real ones, as its access to models names them."""

    backend: Callable[[ModelAccess, Store], Backend] = open_backend
    """The backend that answers; raises ``SettingsError`` where it cannot be asked."""
    client: Callable[..., Client] = Client
    """The client that asks it: called as ``Client`` is, with backend and ledger."""
    limiter: Callable[[ModelAccess], Limiter] = open_limiter
    """What keeps requests within the run's limits; called in the event loop that asks."""
    prices: Callable[[], Prices] = Prices.load
    """What models cost."""


@dataclass(frozen=True)
class RunResources(ModelResources):
    """How a generation run opens what it works with. By default the real ones, as its configuration names them.

    A run opens its backend and its jail once when it is started or resumed, to find out whether they can work, and
    everything for each session.
    """

    jail: Callable[..., Jail] = Jail
    """Where code of drafts runs: called with ``profile``, and entered and left."""


REAL = RunResources()
"""What the configuration of a run names, or its access to models."""
