"""The providers of batches that a session has opened, and calls to them that are repeated after passing errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from hazardmill.errors import ProviderError
from hazardmill.llm.batches.provider import BatchProvider
from hazardmill.llm.batches.sent import SentBatch
from hazardmill.llm.ledger import Channel

CALLS: Final = 5
"""Attempts at a call to a provider, such as a look at a batch."""

OpenProvider = Callable[[Channel, str | None, str], BatchProvider]
"""Opens a provider of batches; called with channel and place, as ``BatchRules`` has them, and model."""

_T = TypeVar("_T")
_exponential = wait_exponential_jitter(initial=1, max=60, jitter=1)


class OpenProviders:
    """Opens providers of batches, each once.

    Args:
        open_provider: Opens one.
        sleep: Coroutine function that waits.
    """

    def __init__(self, open_provider: OpenProvider, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._open_provider = open_provider
        self._sleep = sleep
        self._providers: dict[tuple[Channel, str | None, str], BatchProvider] = {}

    def find(self, channel: Channel, place: str | None, model: str) -> BatchProvider:
        """Return the provider of a model's batches.

        Args:
            channel: ``batch`` or ``exchange``.
            place: Address of the provider, or the exchange folder; null is the provider's own address.
            model: The model.

        Raises:
            SettingsError: The provider has no batches.
        """  # the function given raises it
        key = (channel, place, model)
        if key not in self._providers:
            self._providers[key] = self._open_provider(*key)
        return self._providers[key]

    def that_has(self, batch: SentBatch) -> BatchProvider:
        """Return who has a batch, which an earlier session may have sent elsewhere than this one sends."""
        return self.find(batch.channel, batch.place, batch.model)

    async def call(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """Return the result of a call, repeated a few times after errors that another attempt may not meet.

        Args:
            call: Makes the call.

        Raises:
            ProviderError: The call failed for good, or too often.
        """  # the call raises it
        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, ProviderError) and error.retryable),
            stop=stop_after_attempt(CALLS),
            wait=_pause,
            sleep=self._sleep,
            reraise=True,
        )

        async def attempt() -> _T:
            return await call()

        return await retrying(attempt)

    async def close(self) -> None:
        """Release the connections of all providers."""
        for provider in self._providers.values():
            await provider.close()


def _pause(state: RetryCallState) -> float:
    error = None if state.outcome is None else state.outcome.exception()
    wanted = error.retry_after if isinstance(error, ProviderError) else None
    return _exponential(state) if wanted is None else wanted
