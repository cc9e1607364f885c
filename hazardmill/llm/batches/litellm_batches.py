"""Batches through litellm, at providers that have OpenAI's files and batches or that litellm makes look like it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from tempfile import TemporaryFile
from typing import IO, Any, ClassVar, Final, TypeVar

from hazardmill.errors import ModelRefused, PromptRefused, ProviderDown, ProviderError, RequestRefused, SettingsError
from hazardmill.llm.backends.hosts import host_of, is_loopback
from hazardmill.llm.backends.litellm import NO_KEY, attempt, close_connections, load_litellm
from hazardmill.llm.backends.litellm_format import provider_of
from hazardmill.llm.batches.line_format import BATCH_NAME, ENDPOINT, ResultReader, request_line
from hazardmill.llm.batches.provider import BatchLimits, BatchLine, BatchState, BatchStatus, LineResult
from hazardmill.llm.redact import keep_secret, scrub, secrets_in_address

T = TypeVar("T")

LITELLM_LIMITS: Final = {
    # https://platform.openai.com/docs/api-reference/batch/create: input_file_id
    "openai": BatchLimits(requests=50_000, bytes=200_000_000),
    # https://learn.microsoft.com/azure/ai-services/openai/quotas-limits: batch limits
    "azure": BatchLimits(requests=100_000, bytes=200_000_000),
    # https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/batch-prediction-gemini: one file of 1 GB
    "vertex_ai": BatchLimits(requests=200_000, bytes=1_000_000_000),
    # https://docs.x.ai/docs/guides/batch-api: more than 100,000 may be throttled, and 25 MB may be added at once
    "xai": BatchLimits(requests=100_000, bytes=25_000_000),
    # No limits of their own are known of these; clients expect those of OpenAI, whose API they follow.
    "hosted_vllm": BatchLimits(requests=50_000, bytes=200_000_000),
    "litellm_proxy": BatchLimits(requests=50_000, bytes=200_000_000),
}
"""The providers that are asked through litellm, and their limits."""

_FALLS_BACK: Final = {
    "hosted_vllm": ("HOSTED_VLLM_API_BASE", "HOSTED_VLLM_API_KEY"),
    "litellm_proxy": ("LITELLM_PROXY_API_BASE", "LITELLM_PROXY_API_KEY"),
}
"""Variables with address and key of the providers for which litellm's batches, unlike its single requests, would
otherwise send our requests to OpenAI, and OpenAI's key to them."""
_FINDS_NOTHING: Final = frozenset({"vertex_ai"})
"""Providers that do not keep our name of a batch."""
_STREAMS: Final = frozenset({"openai", "hosted_vllm", "litellm_proxy", "vertex_ai"})
"""Providers whose files litellm hands over piece by piece."""
_WAITS_FOR_BATCHES: Final = {"litellm_metadata": {"batch_ignore_default_logging": True}}
"""Without this, litellm downloads the results of a batch again in the background at each question about it."""

_STATES: Final = {
    "validating": BatchState.RUNNING,
    "in_progress": BatchState.RUNNING,
    "finalizing": BatchState.RUNNING,
    "cancelling": BatchState.RUNNING,
    "completed": BatchState.ENDED,
    "failed": BatchState.FAILED,
    "expired": BatchState.EXPIRED,
    "cancelled": BatchState.CANCELLED,
}
_PAGE: Final = 100
_MOST_PAGES: Final = 1000
_SMALL: Final = 16 * 1024 * 1024
"""Maximum size in bytes of an answer that is no file; a page of batches is the largest."""
_LARGEST_FILE: Final = 8 * 1024**3
_SLOWEST: Final = 128 * 1024
"""Bytes per second that a transfer must make, beyond the time that any call may take."""
_LONGEST_MESSAGE: Final = 600

_NO_BATCHES: Final = (
    "check that the address and the account support batches for this model; without --batch, requests are sent one by "
    "one"
)
_OTHER_ACCOUNT: Final = "check that the address and the key are those with which the batch was made"

logger = logging.getLogger(__name__)


class LitellmBatches:
    """Makes batches at a provider by litellm's functions, one attempt per call, with errors translated to ours.

    Args:
        model: The model of all requests, ``provider/model``, of a provider in ``LITELLM_LIMITS``.
        api_base: Address of the API; null for the provider's own.
        api_key: The key; null for the one in the provider's environment variable.
        timeout_s: Seconds per call, from the connection to the last byte; for files, more by their size.
        max_answer_bytes: Maximum size of one answer in bytes.

    Raises:
        SettingsError: ``api_base`` is not an address, or is missing where the provider has none of its own.
    """

    name: ClassVar[str] = "litellm"

    def __init__(
        self, model: str, *, api_base: str | None, api_key: str | None = None, timeout_s: float, max_answer_bytes: int
    ) -> None:
        self._model = model
        self._provider = provider_of(model)
        if self._provider in _FALLS_BACK:
            address, key = _FALLS_BACK[self._provider]
            api_base = api_base or os.environ.get(address) or None
            api_key = api_key or os.environ.get(key) or NO_KEY
            if api_base is None:
                raise SettingsError(
                    f"{self._provider} has no address of its own", remedy=f"give one with --api-base, or set {address}"
                )
        self._api_base = api_base
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._max_answer_bytes = max_answer_bytes
        keep_secret(None if api_key == NO_KEY else api_key, *secrets_in_address(api_base or ""))
        self._local = api_base is not None and is_loopback(host_of(api_base))

    @property
    def limits(self) -> BatchLimits:
        """The largest batch."""
        return LITELLM_LIMITS[self._provider]

    @property
    def can_find(self) -> bool:
        """Whether the provider keeps our name of a batch, and lists its batches."""
        return self._provider not in _FINDS_NOTHING

    def size(self, line: BatchLine) -> int:
        """Return how many bytes of the file of requests are used per line like this.

        Raises:
            RequestRefused: The request sets a parameter that it must not set, or litellm refuses one.
        """
        return len(self._line(line))

    def _line(self, line: BatchLine) -> bytes:
        return request_line(line, with_key=self._local)

    async def create(self, name: str, lines: Sequence[BatchLine]) -> str:
        """Upload the requests and create a batch of them.

        Args:
            name: Our name of the batch, at most 64 characters.
            lines: The requests, all to one model, with different ids.

        Returns:
            The provider's id of the batch.

        Raises:
            ProviderError: A call failed. After a retryable error, the batch may exist all the same.
        """
        content = b"".join(map(self._line, lines))
        metadata = {BATCH_NAME: name}
        if self._provider == "xai":
            # All that it keeps.
            metadata["name"] = name

        async def upload() -> str:
            file = (f"{name}.jsonl", content)
            return _id((await self._litellm.acreate_file(file=file, purpose="batch", **self._where)).id)

        async def create() -> str:
            batch = await self._litellm.acreate_batch(
                completion_window="24h", endpoint=ENDPOINT, input_file_id=file_id, metadata=metadata, **self._where
            )
            return _id(batch.id)

        file_id = await self._call(upload, _NO_BATCHES, timeout_s=self._timeout_s + len(content) / _SLOWEST)
        return await self._call(create, _NO_BATCHES)

    async def find(self, name: str) -> str | None:
        """Return the provider's id of the newest batch of that name; null if the provider has none.

        Raises:
            ProviderDown: The provider's list does not end.
            ProviderError: A call failed.
        """
        seen: set[str | None] = {None}
        after: str | None = None
        while len(seen) <= _MOST_PAGES:
            found, after = await self._call(partial(self._find_in_page, name, after), _OTHER_ACCOUNT)
            if found is not None or after is None:
                return found
            if after in seen:
                break
            seen.add(after)
        raise ProviderDown(
            f"{self._model}: the list of batches does not end", remedy="check the provider's list of batches"
        )

    async def _find_in_page(self, name: str, after: str | None) -> tuple[str | None, str | None]:
        """Return the id of the batch, and what the next page comes after; null where there is none."""
        page = await self._litellm.alist_batches(after=after, limit=_PAGE, **self._where)
        batches = list(page.data or ())
        for batch in batches:
            metadata = batch.metadata or {}
            if name in (metadata.get(BATCH_NAME), self._provider == "xai" and metadata.get("name")):
                return _id(batch.id), None
        if not (batches and page.has_more):
            return None, None
        return None, getattr(page, "next_page_token", None) or _id(batches[-1].id)

    async def status(self, batch_id: str) -> BatchStatus:
        """Ask how a batch is doing.

        Returns:
            Its state; counts are null if the provider has none.

        Raises:
            ProviderError: The call failed, or the batch is in a state that is not known.
        """
        return await self._call(lambda: self._status(batch_id), _OTHER_ACCOUNT)

    async def _status(self, batch_id: str) -> BatchStatus:
        batch = await self._retrieve(batch_id)
        counts = batch.request_counts
        mistakes = getattr(batch.errors, "data", None) or ()
        said = "; ".join(str(each.message) for each in mistakes if each.message)
        return BatchStatus(
            _STATES[batch.status],
            answered=None if counts is None else counts.completed + counts.failed,
            message=scrub(said)[:_LONGEST_MESSAGE] or None,
        )

    async def _retrieve(self, batch_id: str) -> Any:  # noqa: ANN401  # an untyped module
        return await self._litellm.aretrieve_batch(batch_id=batch_id, **_WAITS_FOR_BATCHES, **self._where)

    async def results(
        self, batch_id: str, lines: Sequence[BatchLine], total: int | None = None
    ) -> AsyncIterator[LineResult]:
        """Yield what became of the lines of a batch in a final state: first the answers, then the errors.

        Args:
            batch_id: The provider's id.
            lines: The lines whose results are wanted, as they were sent.
            total: Number of all lines of the batch; null for that of ``lines``.

        Raises:
            ProviderError: A call failed, possibly after some results.
        """

        async def files() -> list[str]:
            batch = await self._retrieve(batch_id)
            if self._provider == "xai":
                # Its results have the id of the batch, which litellm names only if all requests have one.
                return [_id(batch.id)]
            # Either is missing if it would be empty; providers with one file for both name it twice.
            return list(dict.fromkeys(filter(None, (batch.output_file_id, batch.error_file_id))))

        reader = ResultReader(self._model, max_answer_bytes=self._max_answer_bytes)
        # Twice, because a line may be there twice, and is longer than its answer.
        count = max(total or len(lines), 1)
        most = min(2 * count * self._max_answer_bytes, _LARGEST_FILE)
        for file_id in await self._call(files, _OTHER_ACCOUNT):
            with TemporaryFile() as file:
                await self._download(file_id, file, most)
                file.seek(0)
                for result in reader.read(file):
                    yield result
        if reader.unreadable:
            logger.warning("%s: %d lines of batch %s cannot be read", self._model, reader.unreadable, scrub(batch_id))

    async def _download(self, file_id: str, file: IO[bytes], most: int) -> None:
        deadline = asyncio.timeout(self._timeout_s)
        begin = asyncio.get_running_loop().time()

        async def download() -> None:
            if self._provider not in _STREAMS:
                file.write((await self._litellm.afile_content(file_id=file_id, **self._where)).content)
                return
            streamed = await self._litellm.afile_content(file_id=file_id, stream=True, **self._where)
            async for piece in streamed.stream_iterator:
                file.write(piece)
                deadline.reschedule(begin + self._timeout_s + file.tell() / _SLOWEST)

        await self._call(download, _OTHER_ACCOUNT, most_bytes=most, deadline=deadline)

    async def cancel(self, batch_id: str) -> None:
        """Ask the provider to stop a batch.

        Raises:
            ProviderError: The call failed; not retryable if the batch has ended.
        """
        await self._call(lambda: self._litellm.acancel_batch(batch_id=batch_id, **self._where), _OTHER_ACCOUNT)

    async def close(self) -> None:
        """Close litellm's connections, including those of other backends in this process."""
        await close_connections()

    @property
    def _litellm(self) -> Any:  # noqa: ANN401  # an untyped module
        return load_litellm()

    @property
    def _where(self) -> dict[str, Any]:
        """What each call is given: whom to ask, and that litellm must not repeat it."""
        where: dict[str, Any] = {
            "custom_llm_provider": self._provider,
            "max_retries": 0,
            "timeout": self._timeout_s,
        }
        if self._api_base is not None:
            where["api_base"] = self._api_base
        if self._api_key is not None:
            where["api_key"] = self._api_key
        elif self._local and not self._litellm.validate_environment(self._model)["keys_in_environment"]:
            # Local servers need no key, but the client libraries do.
            where["api_key"] = NO_KEY
        return where

    async def _call(
        self,
        ask: Callable[[], Awaitable[T]],
        remedy: str,
        *,
        timeout_s: float | None = None,
        most_bytes: int = _SMALL,
        deadline: asyncio.Timeout | None = None,
    ) -> T:
        """Make one call; a refusal of it is one of the batch, and not of a model or a prompt."""
        failure: ProviderError
        try:
            return await attempt(
                ask, self._model, timeout_s=timeout_s or self._timeout_s, most_bytes=most_bytes, deadline=deadline
            )
        except (ModelRefused, PromptRefused) as error:
            failure = RequestRefused(error.message, remedy=remedy)
        raise failure


def _id(said: object) -> str:
    if not isinstance(said, str) or not said:
        raise TypeError("the answer has no id")
    return said
