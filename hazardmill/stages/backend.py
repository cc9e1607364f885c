"""Which backend a run's configuration means."""

from __future__ import annotations

from hazardmill.llm.requests import Backend
from hazardmill.stages.config import RunConfig
from hazardmill.store.store import Store


def open_backend(config: RunConfig, store: Store) -> Backend:
    """The backend of a run.

    Args:
        config: Of the run.
        store: Where the run writes; a replay answers from its ledger unless ``config.replay_store`` names another.

    Raises:
        StoreError: There is no store at ``config.replay_store``.
        SettingsError: ``config.api_base`` is no address.
    """
    name = config.replay_backend if config.backend == "replay" else config.backend
    backend = _live(name, config)
    if config.backend != "replay":
        return backend
    from hazardmill.llm.backends.replay import ReplayBackend

    replayed = store if config.replay_store is None else Store.open(config.replay_store)
    return ReplayBackend(replayed, backend.name, backend.host)


def _live(name: str, config: RunConfig) -> Backend:
    if name == "offline":
        from hazardmill.llm.backends.offline.backend import OfflineBackend

        return OfflineBackend()
    from hazardmill.llm.backends.litellm import LitellmBackend

    return LitellmBackend(api_base=config.api_base)
