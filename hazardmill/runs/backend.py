"""Opens the backend and the limiter that a run's access to models asks for."""

from __future__ import annotations

from pathlib import Path

from hazardmill.errors import SettingsError
from hazardmill.ingest.sources import load_source
from hazardmill.llm.access import ModelAccess
from hazardmill.llm.backends.hosts import is_loopback
from hazardmill.llm.backends.litellm import LitellmBackend, load_litellm
from hazardmill.llm.backends.plugin import open_plugin_backend
from hazardmill.llm.batches.provider import BatchProvider
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.recordings import place_of
from hazardmill.llm.requests import Backend
from hazardmill.records import ProductKind
from hazardmill.resources import sources_folders
from hazardmill.store.store import Store

_KEY = "_API_KEY"
"""Suffix of variables that hold a key. Other ways of signing in, as clouds have, are not checked."""


def open_backend(access: ModelAccess, store: Store) -> Backend:
    """Return the backend of a run, which answers its requests.

    Args:
        access: How the run reaches its models.
        store: Where the run writes; a replay answers from its ledger unless ``access.replay_store`` names another.

    Raises:
        StoreError: There is no store at ``access.replay_store``.
        SettingsError: ``access.api_base`` is not an address, the provider of a model is unknown, or its key is not set.
        InputError: The backend of an installed package is not there, or cannot be used.
    """
    backend = answering_backend(access)
    # Whoever answers the files of an exchange folder has the keys.
    if access.backend == "litellm" and access.channel != "exchange":
        _refuse_unaskable(access, backend.host)
    if access.backend != "replay":
        return backend
    from hazardmill.llm.backends.replay import ReplayBackend

    replayed = store if access.replay_store is None else Store.open(access.replay_store)
    return ReplayBackend(replayed, backend.name, backend.host)


def open_batch_provider(access: ModelAccess, model: str, run_id: str) -> BatchProvider:
    """Return who takes the batches of one model of a run: its provider, or an exchange folder.

    Args:
        access: How the run reaches its models.
        model: The model, named as litellm names it.
        run_id: The run, which an exchange folder belongs to.

    Raises:
        SettingsError: The provider has no batches, or the folder belongs to another run or has another format.
    """
    if access.exchange is not None:
        from hazardmill.llm.batches.exchange.folder import ExchangeFolder

        return ExchangeFolder(
            access.exchange,
            model,
            run_id,
            exchange_format=access.exchange_format,
            max_answer_bytes=access.max_answer_bytes,
        )
    from hazardmill.llm.batches.providers import open_batches

    return open_batches(
        model,
        api_base=access.api_base,
        timeout_s=access.attempt_timeout,
        max_answer_bytes=access.max_answer_bytes,
    )


def open_limiter(access: ModelAccess) -> Limiter:
    """Return the limiter that keeps a run's requests within its limits.

    Sessions of this process share it if they ask the same models of one provider within the same limits: what one sent
    in the last minute counts for the next. Call it in the event loop that asks.
    """
    limits = (access.concurrency, access.requests_per_minute, access.tokens_per_minute)
    if not access.asks_provider:
        # No provider is asked, so there are no limits to keep.
        return Limiter(*limits)
    return Limiter.for_provider((access.api_base, access.all_models), *limits)


def answering_backend(access: ModelAccess) -> Backend:
    """Return the live backend whose answers a run uses; for a replay, the one whose answers are replayed.

    It is not checked whether the backend can be asked.

    Raises:
        SettingsError: ``access.api_base`` is not an address.
        UnknownName: No installed package has a backend of this name.
        PluginError: It belongs to an installed package, and cannot be used.
    """
    name = access.replay_backend if access.backend == "replay" else access.backend
    if name == "offline":
        from hazardmill.testing.offline_author.backend import OfflineBackend

        return OfflineBackend()
    if name == "recorded":
        from hazardmill.llm.backends.recorded import RecordedBackend

        return RecordedBackend(lambda source, kind: recording_of(source, access.recordings, kind))
    if name == "litellm":
        return LitellmBackend(
            api_base=access.api_base, timeout_s=access.attempt_timeout, max_answer_bytes=access.max_answer_bytes
        )
    return open_plugin_backend(name, access)


def recording_of(source: str, folder: Path | None, kind: ProductKind = "task") -> Path:
    """Return the path of a source's recorded answers: in ``folder``, or beside the source if that is None.

    Args:
        source: Name of the source.
        folder: Folder of recordings; None for those that come with the source.
        kind: What the answers are about.
    """
    if folder is not None:
        return folder / source / place_of(kind)
    # Dialogues have recorded answers, and no source that reads anything.
    home = sources_folders()[0] / source if kind == "hazard_task" else load_source(source).folder
    return home / place_of(kind)


def _refuse_unaskable(access: ModelAccess, host: str | None) -> None:
    """Find out without the network which requests must fail: unknown provider, or missing key."""
    litellm = load_litellm()
    keys: dict[str, list[str]] = {}
    for model in access.all_models:
        try:
            litellm.get_llm_provider(model, api_base=access.api_base)
        except litellm.BadRequestError:
            raise SettingsError(
                f"no provider is known for model {model!r}",
                remedy="name the model with its provider, as in deepseek/deepseek-chat; "
                "for an OpenAI-compatible server of your own, openai/NAME with --api-base",
            ) from None
        missing = [name for name in litellm.validate_environment(model)["missing_keys"] if name.endswith(_KEY)]
        # Servers on this machine need no key.
        if missing and not (host is not None and is_loopback(host)):
            keys[model] = missing
    if keys:
        wanted = "; ".join(f"{model} needs {' or '.join(names)}" for model, names in keys.items())
        raise SettingsError(
            f"a key is not set in the environment: {wanted}",
            remedy=f"export {next(iter(keys.values()))[0]}=..., "
            "or give --api-base with the address of a server on this machine",
        )
