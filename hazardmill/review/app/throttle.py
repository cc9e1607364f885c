"""How often something may be done: one token bucket per key."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_KEYS: Final = 10_000
"""Largest number of keys in memory, so that a crowd of addresses cannot fill it."""


class Throttle:
    """Token buckets: a key may pass ``burst`` times at once, and then once every ``every_s`` seconds.

    Safe to use from several threads. At most 10,000 keys are remembered; the one used longest ago is dropped first.

    Args:
        burst: How often a key may pass at once.
        every_s: Seconds after which it may pass once more.
        clock: Returns the time in seconds; it must not go backwards.
    """

    def __init__(self, *, burst: int, every_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst = burst
        self._every_s = every_s
        self._clock = clock
        self._mutex = threading.Lock()
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """By key: tokens left, and when that was computed."""

    def wait_s(self, key: str) -> int:
        """Take a token of a key; return 0 if there was one, otherwise the seconds until there is one, rounded up."""
        with self._mutex:
            now = self._clock()
            left, at = self._filled.pop(key, (float(self._burst), now))
            left = min(self._burst, left + (now - at) / self._every_s)
            taken = left >= 1
            self._filled[key] = (left - 1 if taken else left, now)
            while len(self._filled) > _KEYS:
                self._filled.popitem(last=False)
            return 0 if taken else math.ceil((1 - left) * self._every_s)

    def forgive(self, key: str) -> None:
        """Fill the bucket of a key again."""
        with self._mutex:
            self._filled.pop(key, None)
