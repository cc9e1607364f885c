"""A limit to silence: huggingface_hub's client waits for ever, and most of its calls name no limit of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import httpx

LOOK_S: float = 60.0
"""Seconds without a word from the hub, after which a question that changes nothing is given up."""
SEND_S: float = 600.0
"""The same of what changes something: a hub may take its time over a commit."""
_LIMITS: Final = ("connect", "read", "write", "pool")


def give_up_on_silence() -> None:
    """Give every request of huggingface_hub in this process that has no time limit one.

    A limit on its present client would not do: some calls ask for none in so many words, and after a failed connection
    it makes itself another client.
    """
    from huggingface_hub import set_client_factory
    from huggingface_hub.utils import _http

    # What somebody set (a proxy, certificates) stays in use. There is no public way to ask what it is.
    current = getattr(_http, "_GLOBAL_CLIENT_FACTORY", _http.default_client_factory)
    if not isinstance(current, _Limited):
        set_client_factory(_Limited(current))


class _Limited:
    def __init__(self, make: Callable[[], httpx.Client]) -> None:
        self._make = make

    def __call__(self) -> httpx.Client:
        client = self._make()
        hooks = client.event_hooks
        client.event_hooks = {**hooks, "request": [*hooks["request"], _limit]}
        return client


def _limit(request: httpx.Request) -> None:
    said = request.extensions.get("timeout") or {}
    patience = LOOK_S if request.method in ("GET", "HEAD") else SEND_S
    limits = {name: said.get(name) for name in _LIMITS}
    request.extensions["timeout"] = {name: patience if limit is None else limit for name, limit in limits.items()}
