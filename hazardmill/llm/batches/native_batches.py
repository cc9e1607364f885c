"""What batches over a provider's own API have in common: writing lines, reading results, errors."""

from __future__ import annotations

import asyncio
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from hazardmill.errors import AnswerTooLarge, ProviderDown, ProviderError, RequestRefused
from hazardmill.llm.backends.hosts import is_loopback
from hazardmill.llm.batches.batch_api import BatchApi, FileLine
from hazardmill.llm.batches.litellm_exchange import LitellmExchange, WireRequest
from hazardmill.llm.batches.provider import BatchLimits, BatchLine, LineResult
from hazardmill.llm.redact import keep_secret, scrub
from hazardmill.llm.requests import Request

_LONGEST_ID: Final = 200
_NO_KEY: Final = "none"


@dataclass(frozen=True, slots=True)
class LineAnswer:
    """What a provider says about one line, in the format of its ordinary API.

    Attributes:
        status: HTTP status that the ordinary API gives such an answer.
        body: The JSON object that it sends.
    """

    status: int
    body: object


class NativeBatches(ABC):
    """Batches over a provider's own HTTP API, for models that litellm can ask, but not in batches.

    Args:
        api_base: Address of the API as for ``LitellmBackend``; by default the provider's own.
        api_key: The key; by default that in the provider's environment variable.
        timeout_s: Seconds per call; for a download, seconds without a byte.
        max_answer_bytes: Maximum size of one line's answer in bytes, unpacked.

    Raises:
        SettingsError: ``api_base`` is not an address.
    """

    provider: ClassVar[str]
    """litellm's name of the provider, with which the names of its models begin."""
    limits: ClassVar[BatchLimits]
    can_find: ClassVar[bool]
    _key_variables: ClassVar[tuple[str, ...]]
    """Environment variables that may hold the key, the first one first."""
    _base_variables: ClassVar[tuple[str, ...]]
    """Environment variables that may hold the address of the API."""
    _default_base: ClassVar[str]
    _id_field: ClassVar[str]
    """The field of a line of results that says whose it is."""

    def __init__(
        self, api_base: str | None = None, api_key: str | None = None, *, timeout_s: float, max_answer_bytes: int
    ) -> None:
        keep_secret(api_key)
        self._api_base = api_base
        self._api_key = api_key
        self._exchange = LitellmExchange(api_base, timeout_s=timeout_s, max_answer_bytes=max_answer_bytes)
        self._max_answer_bytes = max_answer_bytes
        self._api = BatchApi(self.provider, self._call_headers, timeout_s=timeout_s, max_answer_bytes=max_answer_bytes)
        self._id_at_the_front = re.compile(rb'"%b"\s*:\s*"([^"\\]{1,200})"' % self._id_field.encode())

    @abstractmethod
    def _auth(self, key: str) -> dict[str, str]:
        """Return the headers that every call needs."""

    @abstractmethod
    def _entry(self, line: BatchLine, wire: WireRequest) -> bytes:
        """Return what stands for a line in the file of requests."""

    @abstractmethod
    def _answer(self, entry: dict[str, Any], request: Request) -> LineAnswer | ProviderError | None:
        """Return what a line of results says; null if it cannot be read."""

    def size(self, line: BatchLine) -> int:
        """Return the number of bytes of a line in what is sent, with the separator behind it."""
        return len(self._entry(line, self._write(line.request))) + 1

    async def close(self) -> None:
        """Release connections. Called once, in the event loop that sent the requests."""
        await self._api.close()

    async def _entries(self, lines: Sequence[BatchLine]) -> tuple[list[bytes], list[WireRequest]]:
        def write() -> tuple[list[bytes], list[WireRequest]]:
            wires = [self._write(line.request) for line in lines]
            return [self._entry(line, wire) for line, wire in zip(lines, wires, strict=True)], wires

        # A thousand lines take seconds.
        return await asyncio.to_thread(write)

    def _write(self, request: Request) -> WireRequest:
        if request.model.partition("/")[0] != self.provider:
            raise RequestRefused(
                f"{request.model} is not a model of {self.provider}", remedy=f"use a model named {self.provider}/..."
            )
        return self._exchange.write(request)

    def _call_headers(self) -> dict[str, str]:
        host = self._exchange.host
        key = (
            self._api_key
            or _in_environment(self._key_variables)
            or (_NO_KEY if host is not None and is_loopback(host) else None)
        )
        if key is None:
            raise RequestRefused(
                f"{self.provider}: there is no API key", remedy="check the provider's key in the environment"
            )
        return self._auth(key)

    def _base(self) -> str:
        """Return the address of the API without a slash at the end, as litellm finds it."""
        return (self._api_base or _in_environment(self._base_variables) or self._default_base).rstrip("/")

    async def _download(
        self, url: str, lines: Sequence[BatchLine], total: int | None = None
    ) -> AsyncIterator[LineResult]:
        """Yield what a file of results says; lines that cannot be read are left out."""
        asked = {line.custom_id: line.request for line in lines}
        async for line in self._api.download(url, total or len(lines)):
            if not line.is_whole:
                result = self._too_large(line, asked)
            else:
                result = await self._read(_parse(line.data), asked)
            if result is not None:
                yield result

    async def _read(self, entry: object, asked: dict[str, Request]) -> LineResult | None:
        custom_id = entry.get(self._id_field) if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(custom_id, str):
            return None
        request = asked.get(custom_id)
        if request is None:
            shown = scrub(custom_id)[:_LONGEST_ID]
            return LineResult(shown, error=ProviderDown(f"{self.provider}: {shown!r} is not the id of any line"))
        answer = self._answer(entry, request)
        if answer is None:
            return None
        if isinstance(answer, ProviderError):
            return LineResult(custom_id, error=answer)
        body = json.dumps(answer.body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        try:
            return LineResult(custom_id, await self._exchange.read(request, answer.status, body))
        except ProviderError as error:
            # It was answered, if in a way that nobody can use.
            return LineResult(custom_id, error=error, charged=answer.status == 200)

    def _too_large(self, line: FileLine, asked: dict[str, Request]) -> LineResult | None:
        found = self._id_at_the_front.search(line.data)
        custom_id = found[1].decode("utf-8", "replace") if found else ""
        if (request := asked.get(custom_id)) is None:
            return None
        message = f"{request.model}: the answer is longer than {self._max_answer_bytes:,} bytes, and was not read"
        remedy = "if such long answers are wanted, raise --max-answer-bytes"
        return LineResult(custom_id, error=AnswerTooLarge(message, remedy=remedy), charged=True)


def _in_environment(names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)


def _parse(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
