"""The money of a run: reserved before a request is sent, settled when it is known what it cost.

By our own count a budget is never overshot: settled and reserved money together stay within the limit at every moment.
Sums are kept in whole picodollars, rounded against us, so that no rounding adds up. What is not known to have been
spent counts as spent: a request whose cost nobody told keeps its reservation.
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import Final, Protocol

from hazardmill.errors import BudgetReached
from hazardmill.llm.prices import prompt_bytes
from hazardmill.llm.requests import Request, Usage

PICODOLLARS: Final = 10**12
"""In one USD."""

_SLICES: Final = 100
"""A worker leases at least this part of the whole budget at a time: so often it asks, so much may lie idle."""

_log = logging.getLogger(__name__)


class SharedBudget(Protocol):
    """Where several workers take slices of one budget from."""

    def lease(self, amount: int, /) -> int:
        """Take up to ``amount`` picodollars out; returns what was granted, 0 if nothing is left."""
        ...

    def give_back(self, amount: int, /) -> None:
        """Put picodollars back that were leased and not spent."""
        ...


class Budget:
    """What a run may spend. For the coroutines of one event loop.

    Args:
        limit_usd: Most that may be spent, by this run's own ledger and by everybody who spends from ``shared``.
        spent_usd: What the run's ledger holds already (``Ledger.spent_usd``).
        shared: Where money is leased from, if others spend from the same budget; it knows of ``spent_usd`` already.
        calibrated: Reserve prompts by the tokens a byte that this run was charged for so far, with a margin, instead
            of a token a byte. More requests fit; one denser than all before by more than the margin overruns.

    Raises:
        ValueError: The limit is not positive and finite, or the money spent is negative.
    """

    def __init__(
        self, limit_usd: float, spent_usd: float = 0.0, *, shared: SharedBudget | None = None, calibrated: bool = False
    ) -> None:
        if not (0 < limit_usd < math.inf and 0 <= spent_usd < math.inf):
            raise ValueError(f"a budget is a positive number of USD, and what is spent none below 0; got {limit_usd}")
        self.limit_usd = limit_usd
        self.overruns = 0
        """Requests that cost more than was reserved for them."""
        self._limit = picodollars(limit_usd)
        self._shared = shared
        self._settled = picodollars(spent_usd)
        self._granted = self._limit if shared is None else self._settled
        self._reserved = 0
        self._under_way = 0
        self._unknown = 0
        self._overrun = 0
        self._reached: BudgetReached | None = None
        self._calibration = _Calibration() if calibrated else None
        self._gate = asyncio.Lock()
        self._changed = asyncio.Event()

    @property
    def spent_usd(self) -> float:
        """Settled so far, reservations of unknown cost and what was spent before included."""
        return self._settled / PICODOLLARS

    @property
    def reserved_usd(self) -> float:
        """Reserved for requests under way."""
        return self._reserved / PICODOLLARS

    @property
    def unknown_usd(self) -> float:
        """Of what is spent, the reservations kept in this process because nobody told what the request cost."""
        return self._unknown / PICODOLLARS

    @property
    def overrun_usd(self) -> float:
        """By how much requests cost more than was reserved for them."""
        return self._overrun / PICODOLLARS

    def prompt_tokens(self, request: Request) -> int:
        """Tokens to reserve for the prompt of ``request``, with the model that it is sent to."""
        length = prompt_bytes(request)
        return length if self._calibration is None else self._calibration.tokens(request.model, length)

    def learn(self, request: Request, usage: Usage) -> None:
        """Take in how many tokens the provider counted in a prompt."""
        if self._calibration is not None and usage.prompt_tokens is not None:
            self._calibration.learn(request.model, prompt_bytes(request), usage.prompt_tokens)

    async def reserve(self, usd: float) -> Reservation:
        """Set money aside for one request, once it is there: what others do not use of theirs may make room.

        Raises:
            BudgetReached: Nothing is under way, and what is left does not suffice. It stays so: nothing more is
                sent, however little it may cost.
        """
        amount = picodollars(usd)
        # In order of arrival: a large request must not starve behind small ones.
        async with self._gate:
            while amount and not self._fits(amount):
                if not self._under_way:
                    self._reached = self._reached or self._end(amount)
                if self._reached is not None:
                    raise BudgetReached(self._reached.message, remedy=self._reached.remedy)
                self._changed.clear()
                await self._changed.wait()
            self._reserved += amount
            self._under_way += 1
        return Reservation(self, amount)

    def close(self) -> None:
        """Give back what was leased and not spent. What is under way still counts as spent."""
        idle = self._granted - self._settled - self._reserved
        if self._shared is not None and idle > 0:
            self._granted -= idle
            self._shared.give_back(idle)

    def _fits(self, amount: int) -> bool:
        if self._reached is not None:
            return False
        missing = self._settled + self._reserved + amount - self._granted
        if missing > 0 and self._shared is not None:
            granted = self._shared.lease(max(missing, self._limit // _SLICES))
            self._granted += granted
            missing -= granted
        return missing <= 0

    def _end(self, amount: int) -> BudgetReached:
        left = max(0, self._granted - self._settled)
        self.close()
        unknown = f", {self.unknown_usd:.4f} of it for requests of unknown cost" if self._unknown else ""
        return BudgetReached(
            f"the budget of {self.limit_usd:g} USD is reached: {self.spent_usd:.4f} USD are spent{unknown}, and with "
            f"{left / PICODOLLARS:.4f} USD left the next request may cost up to {amount / PICODOLLARS:.4f}",
            remedy="resume the run with a larger budget: what was paid for is kept",
        )

    def _settle(self, amount: int, usd: float | None) -> None:
        cost = amount if usd is None else picodollars(usd)
        self._reserved -= amount
        self._under_way -= 1
        self._settled += cost
        if usd is None:
            self._unknown += amount
        if cost > amount:
            self.overruns += 1
            self._overrun += cost - amount
            if self._shared is not None:
                # It is spent, whoever leased it: others must not count on it.
                self._granted += self._shared.lease(max(0, self._settled + self._reserved - self._granted))
            _log.warning("overrun: a request cost %.6f USD, and %.6f were reserved for it", usd, amount / PICODOLLARS)
        self._changed.set()


class Reservation:
    """Money set aside for one request."""

    __slots__ = ("_amount", "_budget")

    def __init__(self, budget: Budget, amount: int) -> None:
        self._budget: Budget | None = budget
        self._amount = amount

    def settle(self, usd: float | None) -> None:
        """Say what the request cost; null if that is unknown: then all of it counts as spent. Only the first counts."""
        budget, self._budget = self._budget, None
        if budget is not None:
            budget._settle(self._amount, usd)


class _Calibration:
    """Tokens a byte, of each model the most that was charged in this run."""

    _LEAST: Final = 20
    """Prompts to have seen before anything is concluded."""
    _MARGIN: Final = 1.25

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._densest: dict[str, float] = {}

    def learn(self, model: str, length: int, tokens: int) -> None:
        if length:
            self._seen[model] = self._seen.get(model, 0) + 1
            self._densest[model] = max(self._densest.get(model, 0.0), tokens / length)

    def tokens(self, model: str, length: int) -> int:
        if self._seen.get(model, 0) < self._LEAST:
            return length
        densest = self._densest[model]
        # A token a byte is enough, unless this very provider has shown that it is not.
        return math.ceil(length * (densest if densest > 1 else min(1.0, densest * self._MARGIN)))


def picodollars(usd: float) -> int:
    """USD as whole picodollars, rounded up."""
    return math.ceil(usd * PICODOLLARS)
