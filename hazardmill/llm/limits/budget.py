"""The budget of a run: money is reserved before a request is sent, and settled once its cost is known.

By our own count a budget is never exceeded: settled and reserved money together stay within the limit at every moment.
Sums are kept in whole picodollars and rounded up, so that rounding never adds up to an overspend. Money counts as spent
unless it is known not to be: a request of unknown cost keeps its reservation.
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
"""Picodollars per US dollar."""

_SLICES: Final = 100
"""A worker leases at least this fraction of the whole budget at a time: more slices mean more lock traffic, fewer
slices leave more money idle."""

_log = logging.getLogger(__name__)


class SharedBudget(Protocol):
    """A budget that several workers lease slices of. ``SharedBudgetFile`` implements it."""

    def lease(self, amount: int, /) -> int:
        """Lease up to ``amount`` picodollars; return what was granted, 0 if nothing is left."""
        ...

    def give_back(self, amount: int, /) -> None:
        """Return picodollars that were leased and not spent."""
        ...


class Budget:
    """What a run may spend. For the coroutines of one event loop.

    Args:
        limit_usd: Maximum spend in US dollars, by this run and everybody who spends from ``shared``.
        spent_usd: What the run has spent before, according to its ledger (``Ledger.spent_usd``).
        shared: Where money is leased from, if others spend from the same budget. It already accounts for ``spent_usd``.
        calibrated: Reserve prompts by the number of tokens per byte charged to this run so far, plus a margin, instead
            of one token per byte. More requests fit. A request that is denser than all earlier ones by more than the
            margin overruns its reservation.

    Raises:
        ValueError: The limit is not positive and finite, or the money spent is negative.
    """

    def __init__(
        self, limit_usd: float, spent_usd: float = 0.0, *, shared: SharedBudget | None = None, calibrated: bool = False
    ) -> None:
        if not (0 < limit_usd < math.inf and 0 <= spent_usd < math.inf):
            raise ValueError(f"a budget must be positive and finite, and spending at least 0; got {limit_usd}")
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
        """US dollars spent so far, including earlier spending and reservations of unknown cost."""
        return self._settled / PICODOLLARS

    @property
    def reserved_usd(self) -> float:
        """US dollars reserved for requests under way."""
        return self._reserved / PICODOLLARS

    @property
    def unknown_usd(self) -> float:
        """The part of ``spent_usd`` that was reserved in this process for requests of unknown cost."""
        return self._unknown / PICODOLLARS

    @property
    def overrun_usd(self) -> float:
        """By how many US dollars requests exceeded their reservations in total."""
        return self._overrun / PICODOLLARS

    def prompt_tokens(self, request: Request) -> int:
        """Return the number of tokens to reserve for a request's prompt.

        The request names the model that receives it.
        """
        length = prompt_bytes(request)
        return length if self._calibration is None else self._calibration.tokens(request.model, length)

    def learn(self, request: Request, usage: Usage) -> None:
        """Take in how many tokens the provider counted in a prompt."""
        if self._calibration is not None and usage.prompt_tokens is not None:
            self._calibration.learn(request.model, prompt_bytes(request), usage.prompt_tokens)

    async def reserve(self, usd: float) -> Reservation:
        """Reserve money for one request, waiting until other requests have settled if the rest does not suffice.

        Args:
            usd: Maximum cost of the request in US dollars.

        Returns:
            The reservation, to be settled when the cost is known.

        Raises:
            BudgetReached: No request is under way, and the rest does not suffice. From then on every reservation fails,
                however small.
        """
        amount = picodollars(usd)
        # Serve in order of arrival: a large request must not starve behind small ones.
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

    def reserve_now(self, usd: float) -> Reservation | None:
        """Reserve money for one request of a batch if the rest suffices now.

        Args:
            usd: Maximum cost of the request in US dollars.

        Returns:
            The reservation; null if the rest does not suffice.
        """
        amount = picodollars(usd)
        if amount and not self._fits(amount):
            return None
        self._reserved += amount
        return Reservation(self, amount, waited_for=False)

    def take_up(self, usd: float) -> Reservation:
        """Return the reservation of a request that an earlier process sent, and that counts as spent until now.

        Args:
            usd: What counts as spent for it: its maximum cost in US dollars.
        """
        amount = min(picodollars(usd), self._settled)
        self._settled -= amount
        self._reserved += amount
        return Reservation(self, amount, waited_for=False)

    def end(self, usd: float) -> BudgetReached:
        """Give back what was leased and not spent, and return the error that ends the run.

        Args:
            usd: Maximum cost of the next request in US dollars.

        Returns:
            The error, to be raised.
        """
        return self._end(picodollars(usd))

    def close(self) -> None:
        """Give back what was leased and not spent. Requests under way still count as spent."""
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
            f"the budget of {self.limit_usd:g} USD is reached: {self.spent_usd:.4f} USD has been spent{unknown}, "
            f"{left / PICODOLLARS:.4f} USD is left, and the next request could cost up to "
            f"{amount / PICODOLLARS:.4f} USD",
            remedy="resume the run with a larger budget: paid answers are kept",
        )

    def _settle(self, amount: int, usd: float | None, *, waited_for: bool) -> None:
        cost = amount if usd is None else picodollars(usd)
        self._reserved -= amount
        self._under_way -= waited_for
        self._settled += cost
        if usd is None:
            self._unknown += amount
        if cost > amount:
            self.overruns += 1
            self._overrun += cost - amount
            if self._shared is not None:
                # The money is spent, so lease it: other workers must not count on it.
                self._granted += self._shared.lease(max(0, self._settled + self._reserved - self._granted))
            _log.warning("overrun: a request cost %.6f USD, but %.6f were reserved for it", usd, amount / PICODOLLARS)
        self._changed.set()


class Reservation:
    """Money reserved for one request. It is returned by ``Budget.reserve`` and settled exactly once."""

    __slots__ = ("_amount", "_budget", "_waited_for")

    def __init__(self, budget: Budget, amount: int, *, waited_for: bool = True) -> None:
        self._budget: Budget | None = budget
        self._amount = amount
        # Whoever reserves waits for single requests, which settle in minutes, and not for batches.
        self._waited_for = waited_for

    def settle(self, usd: float | None) -> None:
        """Report the cost of the request. Only the first call counts.

        Args:
            usd: Cost in US dollars; null if unknown, in which case the whole reservation counts as spent.
        """
        budget, self._budget = self._budget, None
        if budget is not None:
            budget._settle(self._amount, usd, waited_for=self._waited_for)


class _Calibration:
    """The highest number of tokens per byte that was charged in this run, for each model."""

    _LEAST: Final = 20
    """Prompts to see before the calibration is used."""
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
        # One token per byte is enough, unless this provider has charged more.
        return math.ceil(length * (densest if densest > 1 else min(1.0, densest * self._MARGIN)))


def picodollars(usd: float) -> int:
    """Convert US dollars to whole picodollars, rounded up."""
    return math.ceil(usd * PICODOLLARS)
