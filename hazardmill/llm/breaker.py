"""Stops asking a provider that has not answered anybody for a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from hazardmill.errors import BreakerOpen, ConnectionFailed, ProviderDown, RequestRefused, UnusableAnswer

_FAILURES: Final = (ProviderDown, ConnectionFailed)
_SIGNS_OF_LIFE: Final = (RequestRefused, UnusableAnswer)
"""Errors that a provider must be up to give."""


class Breaker:
    """Opens after enough attempts in a row that came to nothing, over all requests, and stays open.

    ``ProviderDown`` and ``ConnectionFailed`` count. An answer ends the row, and so does a refusal, for whoever refuses
    is up. ``RateLimited`` does neither: the limiter deals with it. What is under way when it opens may end, and its
    answers are kept; the next run has a breaker of its own, closed.

    Args:
        failures: Attempts in a row that open it.
        seconds: Least time from the first of them to the last, so that a hiccup under many requests at once does not.
        clock: Seconds, monotonic.
    """

    def __init__(
        self, failures: int = 20, seconds: float = 30.0, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._failures = failures
        self._seconds = seconds
        self._clock = clock
        self._in_a_row = 0
        self._first = 0.0
        self._reason: str | None = None
        self._opened = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Whether nothing more is to be sent."""
        return self._reason is not None

    async def opened(self) -> None:
        """Returns when it opens."""
        await self._opened.wait()

    def check(self) -> None:
        """Let a request pass.

        Raises:
            BreakerOpen: Nothing more is to be sent.
        """
        if self._reason is not None:
            raise BreakerOpen(
                self._reason,
                remedy="look at the provider's status and the network, then resume the run: what was paid for is kept",
            )

    def note(self, error: BaseException | None) -> None:
        """Take in how one attempt ended: in an answer (null) or an error."""
        if error is None or isinstance(error, _SIGNS_OF_LIFE):
            self._in_a_row = 0
        elif isinstance(error, _FAILURES):
            self._in_a_row += 1
            if self._in_a_row == 1:
                self._first = self._clock()
            lasted = self._clock() - self._first
            if not self.is_open and self._in_a_row >= self._failures and lasted >= self._seconds:
                self._reason = (
                    f"{self._in_a_row} attempts in a row came to nothing in {lasted:.0f} s; the last: {error.message}"
                )
                self._opened.set()
