"""Limits to the silence of a hub and to its answers: huggingface_hub waits for ever, and takes answers as they are."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from hazardmill.errors import HubError

if TYPE_CHECKING:
    import httpx

LOOK_S: float = 60.0
"""Seconds without a word from the hub, after which a question that changes nothing is given up."""
SEND_S: float = 600.0
"""The same of what changes something: a hub may take its time over a commit."""
MOST_BYTES: int = 64 * 1024 * 1024
"""Most bytes of an answer that is no file, and of one that does not say how long it is."""
_SLOWEST: Final = 10_000
"""Bytes a second below which a hub is not answering but trickling; the first minute is not counted."""
_LEADING: Final = ("etag", "x-linked-etag", "x-repo-commit")
"""Headers that huggingface_hub makes paths of."""
_NAME: Final = re.compile(r'(?:W/)?"?[A-Za-z0-9_-][A-Za-z0-9_.-]*"?')
_LIMITS: Final = ("connect", "read", "write", "pool")


_LOOK: Final = "look at HF_ENDPOINT, and at what stands between here and the hub"


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
        client.event_hooks = {
            "request": [*hooks["request"], _limit],
            "response": [_check_answer, *hooks["response"]],
        }
        return client


def _check_answer(response: httpx.Response) -> None:
    """Refuse what leads elsewhere, and bound what will be read.

    Raises:
        HubError: The answer is one that no hub gives.
    """
    import httpx

    asked = response.request.url
    for name in _LEADING:
        if (said := response.headers.get(name)) is not None and not _NAME.fullmatch(said):
            raise HubError(f"the hub at {asked.host} names a file or commit as none can be named", remedy=_LOOK)
    of_the_api = asked.path.startswith("/api/")
    if of_the_api and response.has_redirect_location and asked.join(response.headers["location"]).host != asked.host:
        raise HubError(f"the hub at {asked.host} sends questions on to another host", remedy=_LOOK)
    if response.headers.get("content-encoding", "identity") != "identity":
        raise HubError(f"the hub at {asked.host} packs an answer that was to come unpacked", remedy=_LOOK)
    if not of_the_api and "content-length" in response.headers:
        return
    stream = response.stream

    class Bounded(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            size, began = 0, time.monotonic()
            for chunk in stream:  # type: ignore[union-attr]  # synchronous, for the client is
                size += len(chunk)
                if size > MOST_BYTES:
                    raise HubError(f"the hub at {asked.host} answers without end", remedy=_LOOK)
                if (took := time.monotonic() - began) > LOOK_S and size < took * _SLOWEST:
                    raise HubError(f"the hub at {asked.host} takes for ever to answer", remedy=_LOOK)
                yield chunk

        def close(self) -> None:
            stream.close()  # type: ignore[union-attr]

    response.stream = Bounded()


def _limit(request: httpx.Request) -> None:
    # A small answer could unpack to one that fills the memory.
    request.headers["accept-encoding"] = "identity"
    said = request.extensions.get("timeout") or {}
    patience = LOOK_S if request.method in ("GET", "HEAD") else SEND_S
    limits = {name: said.get(name) for name in _LIMITS}
    request.extensions["timeout"] = {name: patience if limit is None else limit for name, limit in limits.items()}
