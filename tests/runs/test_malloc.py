from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from hazardmill.runs import malloc


class Library:
    """A C library that has these functions."""

    def __init__(self, **functions: Any) -> None:
        self.__dict__.update(functions)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    for each in (malloc._glibc, malloc.set_thresholds):
        each.cache_clear()
    yield
    for each in (malloc._glibc, malloc.set_thresholds):
        each.cache_clear()


def test_large_pieces_go_back_at_once_and_the_rest_when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: dict[int, int] = {}
    trimmed: list[int] = []
    library = Library(mallopt=set_to.__setitem__, malloc_trim=trimmed.append)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    malloc.set_thresholds()
    # Numbers of M_TRIM_THRESHOLD and M_MMAP_THRESHOLD.
    assert set(set_to) == {-1, -3} and all(0 < size < 2**21 for size in set_to.values())
    assert trimmed == []
    malloc.trim()
    assert trimmed == [0], "nothing is kept in reserve"


@pytest.mark.parametrize("functions", [{}, {"malloc_trim": print}])
def test_with_another_c_library_nothing_happens(functions: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(**functions))
    malloc.set_thresholds()
    malloc.trim()
    assert malloc._glibc() is None


def test_where_there_is_no_library_to_ask_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: object) -> Library:
        raise TypeError("a name is needed")

    monkeypatch.setattr(ctypes, "CDLL", refused)
    malloc.set_thresholds()
    malloc.trim()
    assert malloc._glibc() is None


def test_whatever_takes_much_memory_is_done_in_one_thread_beside_the_loop() -> None:
    async def main() -> list[int]:
        return await asyncio.gather(*(malloc.in_one_thread(threading.get_ident) for _ in range(9)))

    (thread,) = {*asyncio.run(main()), *asyncio.run(main())}
    assert thread != threading.get_ident()
