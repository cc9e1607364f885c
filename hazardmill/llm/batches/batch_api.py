"""HTTP calls to a provider's API of batches: bounded, without redirects and retries, with errors translated to ours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx

from hazardmill.errors import ConnectionFailed, ProviderDown, ProviderError, RequestRefused
from hazardmill.llm.backends.answer_limits import AnswerLimits, limit_answers, limit_client
from hazardmill.llm.backends.litellm_errors import TAKES_LONGER, translate_call
from hazardmill.llm.redact import scrub

_LARGEST_OBJECT: Final = 64 * 1024 * 1024
"""Maximum size in bytes of an answer that is one JSON object: some providers put the results of small batches in it."""
_HEAD: Final = 4096
"""How many bytes are kept of a line that is too long: enough to find whose it is."""
_LINE_FRAME: Final = 4096
"""How many bytes a line of results may have around its answer."""


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of a file of results.

    Attributes:
        data: The line without its line break; only its beginning if it is too long.
        is_whole: Whether it is all there.
    """

    data: bytes
    is_whole: bool = True


class BatchApi:
    """Calls one provider's API of batches.

    Args:
        provider: The provider, with which messages of errors begin.
        headers: Returns the headers of every call, with the key; may raise ``ProviderError``.
        timeout_s: Seconds per call; for a download, seconds without a byte.
        max_answer_bytes: Maximum size of one line's answer in bytes, unpacked.
    """

    def __init__(
        self, provider: str, headers: Callable[[], dict[str, str]], *, timeout_s: float, max_answer_bytes: int
    ) -> None:
        self._provider = provider
        self._headers = headers
        self._timeout_s = timeout_s
        self._line_bytes = max_answer_bytes + _LINE_FRAME
        self._open_client: httpx.AsyncClient | None = None

    async def ask(
        self, method: str, url: str, *, content: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[Mapping[str, str], dict[str, Any]]:
        """Make one call, and return the headers and the JSON object that it is answered with.

        Args:
            method: HTTP method.
            url: Address.
            content: Body to send; null for none.
            headers: Headers to send besides those of every call.

        Returns:
            The headers and the object. An empty body counts as an empty object.

        Raises:
            ProviderError: A subclass says what failed; it is retryable if another attempt may help.
        """
        limits = AnswerLimits(_LARGEST_OBJECT)
        deadline = asyncio.timeout(self._timeout_s)
        sent = self._headers() | dict(headers or {})
        try:
            async with deadline:
                response = await self._send(limits, method, url, content=content, headers=sent)
                body = await _read(response)
            return response.headers, _object(body)
        except Exception as error:
            failure = self._failure(error, limits, deadline)
        # Outside of the handler, because the original error may hold the key and would be attached as context.
        raise failure

    async def download(self, url: str, lines: int) -> AsyncIterator[FileLine]:
        """Yield the lines of a file as they arrive. Lines that are too long are cut off and passed on.

        Args:
            url: Address.
            lines: Number of lines that are expected. A file with more bytes than so many can have is not read on.

        Raises:
            ProviderError: As for ``ask``; lines may have been yielded before.
        """
        limits = AnswerLimits((lines + 1) * self._line_bytes)
        splitter = _LineSplitter(self._line_bytes)
        failure: ProviderError | None = None
        response: httpx.Response | None = None
        sent = self._headers()
        try:
            response = await self._send(limits, "GET", url, headers=sent)
            async for chunk in response.aiter_bytes():
                for line in splitter.split(chunk):
                    yield line
            if splitter.rest:
                # The last line may lack its line break; if it is half a line, it is no JSON.
                yield FileLine(bytes(splitter.rest))
        except Exception as error:
            failure = self._failure(error, limits)
        finally:
            if response is not None:
                await response.aclose()
        if failure is not None:
            raise failure

    async def close(self) -> None:
        """Close the connections."""
        if self._open_client is not None:
            await self._open_client.aclose()

    async def _send(self, limits: AnswerLimits, method: str, url: str, **sent: Any) -> httpx.Response:  # noqa: ANN401  # passed on as they are
        if self._open_client is None:
            self._open_client = httpx.AsyncClient(timeout=self._timeout_s)
            limit_client(self._open_client)
        client = self._open_client
        with limit_answers(limits):
            response = await client.send(client.build_request(method, url, **sent), stream=True)
        if response.status_code >= 300:
            text = (await _read(response)).decode("utf-8", "replace")
            if response.status_code < 400:
                raise RequestRefused(
                    f"{self._provider}: the answer is a redirect, which is not followed",
                    remedy="check the address of the API",
                )
            raise _StatusError(response.status_code, dict(response.headers), text)
        return response

    def _failure(
        self, error: Exception, limits: AnswerLimits, deadline: asyncio.Timeout | None = None
    ) -> ProviderError:
        if (broken := limits.broken) is not None:
            return type(broken)(scrub(f"{self._provider}: {broken.message}"), remedy=broken.remedy)
        if isinstance(error, ProviderError):
            return error
        if deadline is not None and deadline.expired():
            message = f"{self._provider}: no complete answer within {self._timeout_s:g} s"
            return ConnectionFailed(message, remedy=TAKES_LONGER)
        return translate_call(error, self._provider, limits.status)


class _StatusError(Exception):
    """An answer with an HTTP status that says that the call failed, in the shape of litellm's errors."""

    def __init__(self, status: int, headers: dict[str, str], text: str) -> None:
        super().__init__(text or f"HTTP status {status}")
        self.status_code = status
        self.litellm_response_headers = headers


class _LineSplitter:
    """Splits a stream of bytes at line breaks, and holds no more than one line."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._is_whole = True
        self.rest = bytearray()
        """The beginning of a line that has not ended yet; empty for one that is too long."""
        self._head = b""

    def split(self, chunk: bytes) -> Iterator[FileLine]:
        """Yield the lines that end in a chunk."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._append(end)
            if not self._is_whole:
                yield FileLine(self._head, is_whole=False)
            elif self.rest.strip():
                yield FileLine(bytes(self.rest))
            self.rest.clear()
            self._is_whole = True
        self._append(rest)

    def _append(self, piece: bytes) -> None:
        if not self._is_whole:
            return
        self.rest += piece
        if len(self.rest) > self._most_bytes:
            self._is_whole, self._head = False, bytes(self.rest[:_HEAD])
            self.rest.clear()


async def _read(response: httpx.Response) -> bytes:
    try:
        return await response.aread()
    finally:
        # Otherwise a body that breaks a limit would hold its connection.
        await response.aclose()


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body or b"{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ProviderDown("the answer is not a JSON object", remedy="check the address of the API")
    return found
