"""Keeps the memory of a long run flat, by returning freed memory to the system.

The rows of a wave take as much memory as everything else that a run holds. Allocators keep what a thread freed for
that thread, the more the larger the pieces were. If parts were made in whichever thread is free, each thread would
after some waves hold on to as much as a wave takes.
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
"""Parameters of ``mallopt``, from glibc's ``malloc.h``."""

_LARGE_BYTES: Final = 256 * 1024

_thread: Final = ThreadPoolExecutor(1, thread_name_prefix="wave-ends")


async def in_one_thread(work: Callable[[], T]) -> T:
    """Run memory-hungry work beside the event loop, in one thread that the whole process shares for it.

    Returns:
        What ``work`` returns.
    """
    return await asyncio.get_running_loop().run_in_executor(_thread, work)


@cache
def set_thresholds() -> None:
    """Make glibc take large pieces from the system and return them, and release small ones once there are enough.

    This holds for the whole process from now on: setting a threshold also stops glibc from raising it.
    """
    libc = _glibc()
    if libc is not None:
        libc.mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
        libc.mallopt(_TRIM_THRESHOLD, 4 * _LARGE_BYTES)


def trim() -> None:
    """Return to the system what this process has freed. Takes some milliseconds."""
    libc = _glibc()
    if libc is not None:
        libc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    """Return the C library; None if it is not glibc, or cannot be called."""
    try:
        libc = ctypes.CDLL(None)
        return libc if libc.malloc_trim and libc.mallopt else None
    except (OSError, TypeError, AttributeError):
        return None
