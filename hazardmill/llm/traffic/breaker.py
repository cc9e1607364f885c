"""Stops asking a provider that has not answered anybody for a while, or that refuses whatever it is asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from hazardmill.errors import (
    BreakerOpen,
    ConnectionFailed,
    PromptRefused,
    ProviderDown,
    RequestRefused,
    UnusableAnswer,
)
from hazardmill.llm.requests import Request

_FAILURES: Final = (ProviderDown, ConnectionFailed)
_SIGNS_OF_LIFE: Final = (RequestRefused, UnusableAnswer)
"""Errors that a provider must be up to give."""


class Breaker:
    """Opens after enough attempts in a row that came to nothing, over all requests, and stays open.

    ``ProviderDown`` and ``ConnectionFailed`` count. An answer ends the row, and so does a refusal, for whoever refuses
    is up. ``RateLimited`` does neither: the limiter deals with it. What is under way when it opens may end, and its
    answers are kept; the next run has a breaker of its own, closed.

    One request that is refused says something of that request. Refused for so many records in a row, with no answer
    between, it says that something is wrong with all requests of the stage, and opens the breaker too.

    Args:
        failures: Attempts in a row that open it.
        seconds: Least time from the first of them to the last, so that a hiccup under many requests at once does not.
        refusals: Different records in a row that open it, where each had a request of one stage refused.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        failures: int = 20,
        seconds: float = 30.0,
        *,
        refusals: int = 10,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._failures = failures
        self._seconds = seconds
        self._refusals = refusals
        self._refused: dict[str, set[str]] = {}
        self._clock = clock
        self._in_a_row = 0
        self._first = 0.0
        self._reason: str | None = None
        self._remedy = "look at the provider's status and the network, then resume the run: what was paid for is kept"
        self._opened = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Whether nothing more is to be sent."""
        return self._reason is not None

    async def wait_until_open(self) -> None:
        """Returns when it opens."""
        await self._opened.wait()

    def check(self) -> None:
        """Let a request pass.

        Raises:
            BreakerOpen: Nothing more is to be sent.
        """
        if self._reason is not None:
            raise BreakerOpen(self._reason, remedy=self._remedy)

    def note(self, error: BaseException | None, request: Request | None = None) -> None:
        """Take in how one attempt ended: in an answer (null) or an error. By the request refusals are told apart."""
        if request is not None:
            self._note_refusal(error, request)
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

    def _note_refusal(self, error: BaseException | None, request: Request) -> None:
        refused = self._refused.setdefault(request.stage, set())
        if error is None:
            refused.clear()
        elif isinstance(error, PromptRefused):
            refused.add(request.record_id or "")
            if not self.is_open and len(refused) >= self._refusals:
                self._reason = (
                    f"the {request.stage} requests of {len(refused)} records in a row were refused; "
                    f"the last: {error.message}"
                )
                self._remedy = (
                    "look for what is wrong with all of them, such as a parameter that this model does not take, "
                    "and start a child run"
                )
                self._opened.set()
