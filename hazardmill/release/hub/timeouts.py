"""Limits on how long a hub may be silent, and on its answers.

Without them huggingface_hub waits forever, and uses answers of any size and content.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from hazardmill.errors import HubError

if TYPE_CHECKING:
    import httpx

LOOK_S: float = 60.0
"""Seconds of silence after which a request that changes nothing is given up."""
SEND_S: float = 600.0
"""Seconds of silence after which a request that changes something is given up: a commit may take long."""
MOST_BYTES: int = 64 * 1024 * 1024
"""Maximum size of an answer of the API, and of a file whose length the hub does not announce."""
_SLOWEST: Final = 10_000
"""Minimum bytes per second of an answer, after the first minute; slower ones are given up."""
_LEADING: Final = ("etag", "x-linked-etag", "x-repo-commit")
"""Headers from which huggingface_hub makes file names: they must not lead out of its folder."""
_NAME: Final = re.compile(r'(?:W/)?"?[A-Za-z0-9_-][A-Za-z0-9_.-]*"?')
_LIMITS: Final = ("connect", "read", "write", "pool")


_LOOK: Final = "check HF_ENDPOINT, and any proxy between this machine and the hub"


def give_up_on_silence() -> None:
    """Give every request of huggingface_hub in this process a time limit, if it has none, and bound its answers.

    It replaces the factory of HTTP clients. A limit on the present client would not be enough: some calls explicitly
    ask for no limit, and after a failed connection huggingface_hub makes itself a new client. Calling it twice does no
    harm. A request over its limit raises ``HubError`` or an error of httpx.
    """
    from huggingface_hub import set_client_factory
    from huggingface_hub.utils import _http

    # A factory that was set before (for a proxy, certificates) stays in use. There is no public way to get it.
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
    """Refuse an answer that redirects or names files in a way that no hub does, and limit the size of its body.

    Raises:
        HubError: The answer is refused; or later, while it is read, it is too large or too slow.
    """
    import httpx

    asked = response.request.url
    for name in _LEADING:
        if (said := response.headers.get(name)) is not None and not _NAME.fullmatch(said):
            raise HubError(f"the hub at {asked.host} sends an impossible name of a file or commit", remedy=_LOOK)
    of_the_api = asked.path.startswith("/api/")
    if of_the_api and response.has_redirect_location and asked.join(response.headers["location"]).host != asked.host:
        raise HubError(f"the hub at {asked.host} redirects requests to another host", remedy=_LOOK)
    if response.headers.get("content-encoding", "identity") != "identity":
        raise HubError(
            f"the hub at {asked.host} compresses an answer, although the request asked for an uncompressed one",
            remedy=_LOOK,
        )
    if not of_the_api and "content-length" in response.headers:
        return
    stream = response.stream

    class Bounded(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            size, began = 0, time.monotonic()
            for chunk in stream:  # type: ignore[union-attr]  # synchronous, for the client is
                size += len(chunk)
                if size > MOST_BYTES:
                    raise HubError(f"an answer of the hub at {asked.host} is too large", remedy=_LOOK)
                if (took := time.monotonic() - began) > LOOK_S and size < took * _SLOWEST:
                    raise HubError(f"an answer of the hub at {asked.host} is too slow", remedy=_LOOK)
                yield chunk

        def close(self) -> None:
            stream.close()  # type: ignore[union-attr]

    response.stream = Bounded()


def _limit(request: httpx.Request) -> None:
    # No compression: a small answer could decompress to one that fills the memory.
    request.headers["accept-encoding"] = "identity"
    said = request.extensions.get("timeout") or {}
    patience = LOOK_S if request.method in ("GET", "HEAD") else SEND_S
    limits = {name: said.get(name) for name in _LIMITS}
    request.extensions["timeout"] = {name: patience if limit is None else limit for name, limit in limits.items()}
