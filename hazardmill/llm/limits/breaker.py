"""A circuit breaker: stops asking a model that has not answered for a while, or that refuses everything."""

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
"""Errors that show that the provider is up."""


class Breaker:
    """Opens after enough failed attempts in a row, over all requests, and stays open.

    ``ProviderDown`` and ``ConnectionFailed`` count as failures. An answer ends the row, and so does a refusal, because
    it shows that the provider is up. ``RateLimited`` does neither: the limiter deals with it. Requests under way when
    the breaker opens may finish, and their answers are kept. The next run has a new breaker, closed.

    A single refused request says something about that request. If requests of one stage are refused for many records in
    a row, with no answer between them, something is wrong with all requests of that stage, and the breaker opens too.

    Args:
        failures: Failed attempts in a row that open the breaker.
        seconds: Minimum time from the first failure to the last, so that a brief outage under many parallel requests
            does not open it.
        refusals: Number of different records in a row, each with a refused request of the same stage, that open it.
        clock: Monotonic clock in seconds.
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
        self._remedy = "check the provider's status and the network, then resume the run: paid answers are kept"
        self._opened = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Whether nothing more may be sent."""
        return self._reason is not None

    async def wait_until_open(self) -> None:
        """Wait until the breaker opens."""
        await self._opened.wait()

    def check(self) -> None:
        """Let a request pass if the breaker is closed.

        Raises:
            BreakerOpen: Nothing more may be sent.
        """
        if self._reason is not None:
            raise BreakerOpen(self._reason, remedy=self._remedy)

    def note(self, error: BaseException | None, request: Request | None = None) -> None:
        """Take in how one attempt ended.

        Args:
            error: What ended it; null for an answer.
            request: The request. Without it, refusals are not counted per record.
        """
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
                    f"{self._in_a_row} attempts in a row failed within {lasted:.0f} s; the last: {error.message}"
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
                    "look for a problem that they share, such as a parameter that this model does not accept, "
                    "then start a child run"
                )
                self._opened.set()
