"""What an answer over HTTP may be: so many bytes, in an encoding that was asked for, from the host that was asked.

The limits are hooks on the HTTP client, so they hold whatever transport it has, for answers of every status, and
before anything of an answer is kept. litellm makes its clients in two places; ``limit_litellm`` puts the hooks there.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import httpx

from hazardmill.errors import AnswerTooLarge, ProviderDown, ProviderError, RedirectRefused

_ACCEPTED: Final = "gzip, deflate"
"""Encodings that are asked for: those that can be unpacked a piece at a time."""
_PIECE: Final = 64 * 1024
_PORTS: Final = {"http": 80, "https": 443}


class AnswerLimits:
    """The limits of one attempt.

    Args:
        most_bytes: Most bytes of an answer, unpacked.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.status: int | None = None
        """Of the last answer that came. Libraries make up one where they cannot read the body."""
        self.broken: ProviderError | None = None
        """What an answer broke a limit with. Libraries make errors of their own of what hooks raise."""

    def refuse(self, error: ProviderError) -> Exception:
        """Keep what is wrong with an answer; returns what ends its reading."""
        self.broken = error
        return _AnswerRefused(error.message)


class _AnswerRefused(Exception):
    """Ends the reading of an answer."""


_LIMITS: ContextVar[AnswerLimits | None] = ContextVar("answer_limits", default=None)


@contextmanager
def limit_answers(limits: AnswerLimits) -> Iterator[AnswerLimits]:
    """Hold the answers to requests that are made within the block to limits."""
    token = _LIMITS.set(limits)
    try:
        yield limits
    finally:
        _LIMITS.reset(token)


def limit_litellm() -> None:
    """Have every asynchronous HTTP client that litellm makes hold answers to limits."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from litellm.llms.openai.common_utils import BaseOpenAILLM

    if getattr(AsyncHTTPHandler.create_client, "__wrapped__", None) is None:
        handler: Any = AsyncHTTPHandler
        handler.create_client = _with_hooks(handler.create_client)
        provider: Any = BaseOpenAILLM
        provider._get_async_http_client = staticmethod(_with_hooks(provider._get_async_http_client))


def _with_hooks(make: Callable[..., httpx.AsyncClient]) -> Callable[..., httpx.AsyncClient]:
    @functools.wraps(make)
    def make_with_hooks(*args: Any, **named: Any) -> httpx.AsyncClient:  # noqa: ANN401  # passed on as they are
        client = make(*args, **named)
        hooks = client.event_hooks
        # A client that somebody gave to litellm comes back each time.
        if _on_response not in hooks["response"]:
            client.event_hooks = {
                "request": [*hooks["request"], _on_request],
                "response": [_on_response, *hooks["response"]],
            }
        return client

    return make_with_hooks


async def _on_request(request: httpx.Request) -> None:
    if _LIMITS.get() is not None:
        request.headers["accept-encoding"] = _ACCEPTED


async def _on_response(response: httpx.Response) -> None:
    """Refuse what leads elsewhere, and bound what will be read.

    Raises:
        _AnswerRefused: The answer breaks a limit.
    """
    if (limits := _LIMITS.get()) is None:
        return
    limits.status = response.status_code
    if response.has_redirect_location:
        _check_redirect(response, limits)
    unpack = _unpacker(response.headers.get("content-encoding", ""), limits)
    response.headers.pop("content-encoding", None)
    response.stream = _BoundedStream(response.stream, unpack, limits)


class _BoundedStream(httpx.AsyncByteStream):
    """The body of an answer, unpacked, which ends with an error where it gets too long."""

    def __init__(self, packed: Any, unpack: Callable[[bytes], Iterator[bytes]], limits: AnswerLimits) -> None:  # noqa: ANN401  # of a synchronous client it is another class
        self._packed = packed
        self._unpack = unpack
        self._limits = limits

    async def __aiter__(self) -> AsyncIterator[bytes]:
        packed = unpacked = 0
        async for chunk in self._packed:
            packed += len(chunk)
            for piece in self._unpack(chunk):
                unpacked += len(piece)
                if max(packed, unpacked) > self._limits.most_bytes:
                    raise self._limits.refuse(_too_large(self._limits))
                yield piece

    async def aclose(self) -> None:
        await self._packed.aclose()


def _check_redirect(response: httpx.Response, limits: AnswerLimits) -> None:
    """Let a redirect pass that stays with the host that was asked: what was asked is for nobody else."""
    asked = response.request.url
    try:
        to = asked.join(response.headers["location"])
    except Exception:
        raise limits.refuse(ProviderDown("the answer is a redirect to what is no address")) from None
    ports = [url.port or _PORTS.get(url.scheme) for url in (asked, to)]
    is_upgrade = (asked.scheme, to.scheme) == ("http", "https") and ports == [80, 443]
    if to.host == asked.host and (is_upgrade or (asked.scheme == to.scheme and ports[0] == ports[1])):
        return
    place = f"{to.scheme}://{to.host}" + ("" if to.port is None else f":{to.port}")
    raise limits.refuse(
        RedirectRefused(
            f"{asked.host} answers with a redirect to {place}, which was not asked",
            remedy="if you trust it with prompts and key, give its address with --api-base; else ask another provider",
        )
    )


def _unpacker(encoding: str, limits: AnswerLimits) -> Callable[[bytes], Iterator[bytes]]:
    """What makes of packed bytes unpacked ones, never many at once."""
    named = [word for word in encoding.lower().replace(" ", "").split(",") if word not in ("", "identity")]
    if not named:
        return lambda chunk: iter((chunk,))
    if named not in (["gzip"], ["x-gzip"], ["deflate"]):
        raise limits.refuse(
            ProviderDown(
                f"the answer is packed as {encoding[:40]!r}, which was not asked for",
                remedy="look at what stands between here and the provider",
            )
        )
    # Gzip, or zlib's own format, by its first bytes; what is called deflate may also come with no header at all.
    unpacker = zlib.decompressobj(47)
    begun = False

    def unpack(chunk: bytes) -> Iterator[bytes]:
        nonlocal unpacker, begun
        while True:
            try:
                piece = unpacker.decompress(chunk, _PIECE)
            except zlib.error:
                if begun or named != ["deflate"]:
                    error = ProviderDown("the answer is not packed as it says", remedy="try again later")
                    raise limits.refuse(error) from None
                unpacker, begun = zlib.decompressobj(-15), True
                continue
            begun = True
            yield piece
            chunk = unpacker.unconsumed_tail
            if not chunk and len(piece) < _PIECE:
                return

    return unpack


def _too_large(limits: AnswerLimits) -> AnswerTooLarge:
    return AnswerTooLarge(
        f"the answer is longer than {limits.most_bytes:,} bytes, and was not read to its end",
        remedy="look at what answers there; if answers of this length are wanted, raise --max-answer-bytes",
    )
