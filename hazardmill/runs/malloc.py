"""Keeps the memory of a long run flat: what was freed goes back to the system.

The rows of a batch take as much as all else that a run holds. Allocators keep what a thread freed for that thread, the
more the larger the pieces were: made parts in whichever thread is free, after some batches each thread would hold on to
as much as a batch takes.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final, TypeVar

T = TypeVar("T")

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""Names of settings in glibc's ``malloc.h``."""

_LARGE_BYTES: Final = 256 * 1024

_thread: Final = ThreadPoolExecutor(1, thread_name_prefix="batch-ends")


async def in_one_thread(work: Callable[[], T]) -> T:
    """Do what takes much memory beside the event loop, in a thread that all of this process share for that."""
    return await asyncio.get_running_loop().run_in_executor(_thread, work)


@cache
def set_thresholds() -> None:
    """Have large pieces come from the system and go back to it, and small ones once there are enough of them.

    For the whole process, and from now on: setting a threshold is what stops glibc from raising it.
    """
    libc = _glibc()
    if libc is not None:
        libc.mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
        libc.mallopt(_TRIM_THRESHOLD, 4 * _LARGE_BYTES)


def trim() -> None:
    """Give back what this process has freed in between. Takes some milliseconds."""
    libc = _glibc()
    if libc is not None:
        libc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    """The C library; null if it is another one, or none that can be asked."""
    try:
        libc = ctypes.CDLL(None)
        return libc if libc.malloc_trim and libc.mallopt else None
    except (OSError, TypeError, AttributeError):
        return None
