"""Batches at Anthropic: the Message Batches API.

https://platform.claude.com/docs/en/api/messages/batches
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar, Final
from urllib.parse import quote

from hazardmill.errors import ProviderDown, ProviderError, RequestRefused
from hazardmill.llm.batches.litellm_exchange import WireRequest
from hazardmill.llm.batches.native_batches import LineAnswer, NativeBatches
from hazardmill.llm.batches.provider import BatchLimits, BatchLine, BatchState, BatchStatus, LineResult
from hazardmill.llm.requests import Request

_VERSION: Final = "2023-06-01"
_BETA: Final = "anthropic-beta"

_STATUSES: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""HTTP status of each type of error (https://platform.claude.com/docs/en/api/errors); all others have 500."""

_UNANSWERED: Final = {
    "expired": "the batch expired before this line was answered",
    "canceled": "the batch was cancelled before this line was answered",
}


class AnthropicBatches(NativeBatches):
    """Batches of Claude models.

    A batch has no name and no metadata, and the ids of its lines can be read only with its results. So a batch whose id
    was lost cannot be told from others of the same size while it runs, and ``can_find`` is false. The ids of lines
    cannot carry a name, because ours fill the 64 characters that they may have.
    """

    provider: ClassVar[str] = "anthropic"
    limits: ClassVar[BatchLimits] = BatchLimits(requests=100_000, bytes=256_000_000)
    can_find: ClassVar[bool] = False
    _key_variables: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_KEY",)
    _base_variables: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL")
    _default_base: ClassVar[str] = "https://api.anthropic.com"
    _id_field: ClassVar[str] = "custom_id"

    async def create(self, name: str, lines: Sequence[BatchLine]) -> str:
        """Create a batch; the name goes nowhere.

        If this raises an error that is retryable, the batch may exist and be paid for all the same.

        Args:
            name: Not used.
            lines: The requests.

        Returns:
            The provider's id of the batch.

        Raises:
            ProviderError: The batch was refused, or it is not known whether it was created.
            ProviderDown: The answer has no id, so that the batch is lost.
        """
        entries, wires = await self._entries(lines)
        # They choose features, such as structured answers, and a batch has one set of them.
        betas = {beta.strip() for wire in wires for beta in wire.headers.get(_BETA, "").split(",")} - {""}
        content = b'{"requests":[' + b",".join(entries) + b"]}"
        headers = {_BETA: ",".join(sorted(betas))} if betas else {}
        _, batch = await self._api.ask("POST", self._address(), content=content, headers=headers)
        batch_id = batch.get("id")
        if not isinstance(batch_id, str) or not batch_id:
            raise ProviderDown(f"{self.provider}: the answer has no id of a batch")
        return batch_id

    async def find(self, name: str) -> str | None:
        """Refuse: batches have no names.

        Raises:
            RequestRefused: Always.
        """
        raise RequestRefused(
            f"{self.provider}: batches have no names, so {name!r} cannot be looked for",
            remedy="look at the list of batches in the provider's console",
        )

    async def status(self, batch_id: str) -> BatchStatus:
        """Ask how a batch is doing. While it runs, Anthropic counts no lines."""
        _, batch = await self._api.ask("GET", self._address(batch_id))
        counts = batch.get("request_counts")
        counts = counts if isinstance(counts, dict) else {}
        answered = sum(_count(counts, kind) for kind in ("succeeded", "errored", "canceled", "expired"))
        if batch.get("processing_status") != "ended":
            return BatchStatus(BatchState.RUNNING, answered or None)
        state = BatchState.ENDED
        if _count(counts, "expired"):
            state = BatchState.EXPIRED
        elif _count(counts, "canceled"):
            state = BatchState.CANCELLED
        return BatchStatus(state, answered)

    async def results(
        self, batch_id: str, lines: Sequence[BatchLine], total: int | None = None
    ) -> AsyncIterator[LineResult]:
        """Yield what became of the lines of a batch in a final state, as they arrive.

        Raises:
            ProviderError: The results cannot be read, or were deleted: they are kept for 29 days.
        """
        # Not the address in results_url: it may name another host, which must not see the key.
        async for result in self._download(f"{self._address(batch_id)}/results", lines, total):
            yield result

    async def cancel(self, batch_id: str) -> None:
        """Ask the provider to stop a batch; it may take minutes."""
        await self._api.ask("POST", f"{self._address(batch_id)}/cancel")

    def _address(self, batch_id: str | None = None) -> str:
        base = self._base().removesuffix("/v1/messages")
        return f"{base}/v1/messages/batches" + ("" if batch_id is None else f"/{quote(batch_id, safe='')}")

    def _auth(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": _VERSION, "content-type": "application/json"}

    def _entry(self, line: BatchLine, wire: WireRequest) -> bytes:
        return b'{"custom_id":%b,"params":%b}' % (json.dumps(line.custom_id).encode(), wire.body)

    def _answer(self, entry: dict[str, Any], request: Request) -> LineAnswer | ProviderError | None:
        result = entry.get("result")
        if not isinstance(result, dict):
            return None
        kind, said = result.get("type"), result.get("error")
        if kind == "succeeded":
            return LineAnswer(200, result.get("message"))
        if kind in _UNANSWERED:
            return ProviderDown(f"{request.model}: {_UNANSWERED[kind]}", remedy="send it again")
        if kind != "errored" or not isinstance(said, dict):
            return None
        # The documentation shows the error both as it is and inside the object that the ordinary API sends.
        inner = said.get("error")
        error = inner if isinstance(inner, dict) else said
        body = {"type": "error", "error": error}
        return LineAnswer(_STATUSES.get(str(error.get("type")), 500), body)


def _count(counts: dict[str, Any], kind: str) -> int:
    value = counts.get(kind)
    return value if isinstance(value, int) else 0
