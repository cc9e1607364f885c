"""How long work will still take, by its pace so far."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from hazardmill.reporting.numbers import hours

_EVERY_S: Final = 2.0
"""Least number of seconds between two samples of the pace."""

_SAMPLES: Final = 50
"""Number of samples that the pace is taken from."""

_LATEST: Final = 5
"""Number of the latest samples that show whether the pace has changed for good."""

_SLOWER: Final = 4.0
"""How many times as slow as before work is that has changed its pace for good."""

_TOLERANCE: Final = 0.1
"""Share of the time left by which a new estimate must differ to replace the earlier one."""

_LEAST: Final = 1e-6
"""Least part of the work that can be left, in its unit."""


class TimeLeft:
    """Estimates how long work will still take, from the pace of its latest part.

    The pace is that of the last 50 samples, which are at least two seconds apart. What is done within two seconds of
    the beginning does not count, nor does what was done before the pace fell to less than a quarter: these are the
    answers that the ledger already had.

    The estimate counts down. It rises if it was wrong by a tenth, or if nothing gets done for longer than ever before.

    Args:
        total: All of the work, in any unit.
        clock: Returns the time, in seconds.
    """

    def __init__(self, total: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._clock = clock
        self._samples: deque[tuple[float, float]] = deque([(clock(), 0.0)], maxlen=_SAMPLES)
        self._updated = clock()
        self._end: float | None = None
        """When all will be done; null while the pace is unknown."""

    def skip(self, done: float) -> None:
        """Note how much of the work is done now, if that says nothing about the pace of the rest.

        Args:
            done: What is done, in the unit of the total.
        """
        self._updated, self._end = self._clock(), None
        self._samples.clear()
        self._samples.append((self._updated, done))

    def update(self, done: float) -> None:
        """Note how much of the work is done now, in the unit of the total."""
        now, (last, before) = self._clock(), self._samples[-1]
        if done <= before:
            return
        if now - last < _EVERY_S:
            self._samples[-1] = (last, done)
        else:
            self._samples.append((now, done))
        self._forget_faster_pace()
        self._updated = now
        began, earlier = self._samples[0]
        if done > earlier:
            seconds = (self._total - done) * (now - began) / (done - earlier)
            if self._end is None or abs(now + seconds - self._end) > _TOLERANCE * seconds:
                self._end = now + seconds

    def _forget_faster_pace(self) -> None:
        """Forget what came before the latest samples if it went so much faster that it was other work."""
        if len(self._samples) <= _LATEST + 1:
            return
        (began, none), (middle, some), (now, done) = (self._samples[at] for at in (0, -_LATEST - 1, -1))
        if (some - none) * (now - middle) > _SLOWER * (done - some) * (middle - began):
            self._samples = deque(list(self._samples)[-_LATEST - 1 :], maxlen=_SAMPLES)

    @property
    def seconds(self) -> float | None:
        """Seconds until all is done; null while the pace is unknown, and 0 if nothing is left."""
        (_, before), (_, done) = self._samples[0], self._samples[-1]
        # Shares of records may not quite add up.
        if self._total - done < _LEAST:
            return 0.0
        if self._end is None:
            return None
        now = self._clock()
        longest = max((later - sooner for (sooner, _), (later, _) in pairwise(self._samples)), default=0.0)
        overdue = max(now - self._updated - longest, 0.0)
        return max(self._end - now + overdue * (1 + (self._total - done) / (done - before)), _LEAST)

    @property
    def text(self) -> str:
        """The estimate in words, such as ``about 12 min left``; empty while it is unknown, and if nothing is left."""
        seconds = self.seconds
        return f"about {hours(max(seconds, 1.0) / 3600)} left" if seconds else ""
