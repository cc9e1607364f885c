"""How often somebody may do something: a bucket that fills slowly, one a key."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_KEYS: Final = 10_000
"""So many are remembered; a crowd of addresses must not fill the memory."""


class Throttle:
    """Lets a key through ``burst`` times at once, and again every ``every_s`` seconds."""

    def __init__(self, *, burst: int, every_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst = burst
        self._every_s = every_s
        self._clock = clock
        self._mutex = threading.Lock()
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """What is left, and when that was so."""

    def wait_s(self, key: str) -> int:
        """Take one; 0 if there was one, else the seconds until there is."""
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
        """Forget what a key took."""
        with self._mutex:
            self._filled.pop(key, None)
