"""Limits on answers over HTTP: their size, their encoding, and the host they come from.

The limits are hooks on the HTTP client, so they hold for every transport and every status, and before any part of an
answer is kept. litellm makes its clients in three places; ``limit_litellm`` installs the hooks there.
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
"""Encodings that are requested: those that can be unpacked piece by piece."""
_PIECE: Final = 64 * 1024
_PORTS: Final = {"http": 80, "https": 443}


class AnswerLimits:
    """The limits of one attempt, and what came of it.

    Args:
        most_bytes: Maximum size of an answer in bytes, unpacked.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.status: int | None = None
        """HTTP status of the last answer that arrived. Libraries invent one if they cannot read the body."""
        self.broken: ProviderError | None = None
        """The error of the answer that broke a limit. Libraries replace what hooks raise by errors of their own."""
        self._clients: list[Any] = []

    def refuse(self, error: ProviderError) -> Exception:
        """Remember what is wrong with an answer, and return the exception that stops reading it."""
        self.broken = error
        return _AnswerRefused(error.message)

    def add_client(self, client: Any) -> None:  # noqa: ANN401  # of an optional library
        """Remember a client that litellm made for this attempt only, and will not close."""
        self._clients.append(client)

    async def close_clients(self) -> None:
        """Close the clients made for this attempt only."""
        while self._clients:
            await self._clients.pop().close()


class _AnswerRefused(Exception):
    """Ends the reading of an answer."""


_LIMITS: ContextVar[AnswerLimits | None] = ContextVar("answer_limits", default=None)


@contextmanager
def limit_answers(limits: AnswerLimits) -> Iterator[AnswerLimits]:
    """Apply limits to the answers to requests that are made within the block.

    Args:
        limits: The limits. Afterwards they hold the status and what broke a limit.

    Yields:
        The same limits.
    """
    token = _LIMITS.set(limits)
    try:
        yield limits
    finally:
        _LIMITS.reset(token)


def limit_litellm() -> None:
    """Install the limits in every asynchronous HTTP client that litellm makes from now on.

    Safe to call repeatedly. Outside of ``limit_answers`` the hooks change nothing.
    """
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from litellm.llms.openai.common_utils import BaseOpenAILLM
    from litellm.llms.openai.openai import OpenAIBatchesAPI, OpenAIFilesAPI

    if getattr(AsyncHTTPHandler.create_client, "__wrapped__", None) is None:
        handler: Any = AsyncHTTPHandler
        handler.create_client = _with_hooks(handler.create_client)
        provider: Any = BaseOpenAILLM
        provider._get_async_http_client = staticmethod(_with_hooks(provider._get_async_http_client))
        for api in (OpenAIBatchesAPI, OpenAIFilesAPI):
            maker: Any = api
            maker.get_openai_client = _with_hooks_in_client(maker.get_openai_client)


def _with_hooks(make: Callable[..., httpx.AsyncClient]) -> Callable[..., httpx.AsyncClient]:
    @functools.wraps(make)
    def make_with_hooks(*args: Any, **named: Any) -> httpx.AsyncClient:  # noqa: ANN401  # passed on as they are
        client = make(*args, **named)
        limit_client(client)
        return client

    return make_with_hooks


def _with_hooks_in_client(make: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap what makes OpenAI's client for files and batches, which is a new one for each call."""

    @functools.wraps(make)
    def make_with_hooks(*args: Any, **named: Any) -> Any:  # noqa: ANN401  # passed on as they are
        client = make(*args, **named)
        if isinstance(getattr(client, "_client", None), httpx.AsyncClient):
            limit_client(client._client)
            if (limits := _LIMITS.get()) is not None:
                limits.add_client(client)
        return client

    return make_with_hooks


def limit_client(client: httpx.AsyncClient) -> None:
    """Install the limits in an HTTP client. Outside of ``limit_answers`` they change nothing.

    Args:
        client: The client; it may have them already.
    """
    hooks = client.event_hooks
    # A client that was passed to litellm comes back each time.
    if _on_response not in hooks["response"]:
        client.event_hooks = {
            "request": [*hooks["request"], _on_request],
            "response": [_on_response, *hooks["response"]],
        }


async def _on_request(request: httpx.Request) -> None:
    if _LIMITS.get() is not None:
        request.headers["accept-encoding"] = _ACCEPTED


async def _on_response(response: httpx.Response) -> None:
    """Reject redirects to other hosts, and bound what will be read.

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
    """The body of an answer, unpacked; reading fails when it gets too long."""

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
    """Accept a redirect only within the host that was asked: the prompt is for nobody else."""
    asked = response.request.url
    try:
        to = asked.join(response.headers["location"])
    except Exception:
        raise limits.refuse(ProviderDown("the answer is a redirect to an invalid address")) from None
    ports = [url.port or _PORTS.get(url.scheme) for url in (asked, to)]
    is_upgrade = (asked.scheme, to.scheme) == ("http", "https") and ports == [80, 443]
    if to.host == asked.host and (is_upgrade or (asked.scheme == to.scheme and ports[0] == ports[1])):
        return
    place = f"{to.scheme}://{to.host}" + ("" if to.port is None else f":{to.port}")
    raise limits.refuse(
        RedirectRefused(
            f"{asked.host} redirects to another server, {place}",
            remedy="if you trust that server with your prompts and your key, pass its address with --api-base; or use "
            "another provider",
        )
    )


def _unpacker(encoding: str, limits: AnswerLimits) -> Callable[[bytes], Iterator[bytes]]:
    """Return a function that unpacks bytes piece by piece, never many at once."""
    named = [word for word in encoding.lower().replace(" ", "").split(",") if word not in ("", "identity")]
    if not named:
        return lambda chunk: iter((chunk,))
    if named not in (["gzip"], ["x-gzip"], ["deflate"]):
        raise limits.refuse(
            ProviderDown(
                f"the answer has the content encoding {encoding[:40]!r}, which was not requested",
                remedy="look for a proxy between here and the provider",
            )
        )
    # Recognizes gzip and zlib's own format by their first bytes; "deflate" may also come without any header.
    unpacker = zlib.decompressobj(47)
    begun = False

    def unpack(chunk: bytes) -> Iterator[bytes]:
        nonlocal unpacker, begun
        while True:
            try:
                piece = unpacker.decompress(chunk, _PIECE)
            except zlib.error:
                if begun or named != ["deflate"]:
                    error = ProviderDown("the answer does not match its content encoding", remedy="try again later")
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
        f"the answer is longer than {limits.most_bytes:,} bytes, and was not read to the end",
        remedy="check what answers at this address; if such long answers are wanted, raise --max-answer-bytes",
    )
