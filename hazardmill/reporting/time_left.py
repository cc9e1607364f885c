"""How long work will still take, by its pace so far."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

from hazardmill.reporting.numbers import hours

_EVERY_S: Final = 2.0
"""Least number of seconds between two samples of the pace."""

_SAMPLES: Final = 50
"""Number of samples that the pace is taken from."""

_LEAST: Final = 1e-6
"""Least part of the work that can be left, in its unit."""


class TimeLeft:
    """Estimates how long work will still take, from the pace of its latest part.

    The pace is that of the last 50 samples, which are at least two seconds apart. What is done within two seconds of
    the beginning does not count: these are the answers that the ledger already had.

    Args:
        total: All of the work, in any unit.
        clock: Returns the time, in seconds.
    """

    def __init__(self, total: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._clock = clock
        self._samples: deque[tuple[float, float]] = deque([(clock(), 0.0)], maxlen=_SAMPLES)

    def update(self, done: float) -> None:
        """Note how much of the work is done now, in the unit of the total."""
        now, (last, _) = self._clock(), self._samples[-1]
        if now - last < _EVERY_S:
            self._samples[-1] = (last, done)
        else:
            self._samples.append((now, done))

    @property
    def seconds(self) -> float | None:
        """Seconds until all is done; null while the pace is unknown, and 0 if nothing is left."""
        (began, before), (_, done) = self._samples[0], self._samples[-1]
        # Shares of records may not quite add up.
        if self._total - done < _LEAST:
            return 0.0
        if done <= before:
            return None
        # Until now, not until the last sample: while nothing gets done, the estimate grows.
        return (self._total - done) * (self._clock() - began) / (done - before)

    @property
    def text(self) -> str:
        """The estimate in words, such as ``about 12 min left``; empty while it is unknown, and if nothing is left."""
        seconds = self.seconds
        return f"about {hours(max(seconds, 1.0) / 3600)} left" if seconds else ""
