"""One set of zygotes for all jails that the tests of a package open: to start one is most of what opening a jail takes.

A zygote forks a child for each piece of code and keeps nothing of it, so that jails may share it; whether that is so
is tested in ``sandbox``, where each jail has its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hazardmill.sandbox import jail
from hazardmill.sandbox.process.zygote import Zygotes


class _Shared(Zygotes):
    users = 0
    """Jails that have them and were not closed."""

    def close(self) -> None:
        """Count a jail less; the next one uses them."""
        self.users -= 1


@contextmanager
def shared_zygotes() -> Iterator[None]:
    """Within the block, jails with the same workload and import path have the same zygotes."""

    def of(workload: str, count: int) -> _Shared:
        key = (workload, count, *sys.path)
        if key not in _shared:
            _shared[key] = _Shared(workload, count)
        _shared[key].users += 1
        return _shared[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jail, "Zygotes", of)
        yield
    left = sum(max(zygotes.users, 0) for zygotes in _shared.values())
    _close()
    assert left == 0, f"{left} jails were opened and never closed"


_shared: dict[tuple[object, ...], _Shared] = {}


def _close() -> None:
    while _shared:
        Zygotes.close(_shared.popitem()[1])


@pytest.fixture(scope="package", autouse=True)
def _shared_zygotes() -> Iterator[None]:
    with shared_zygotes():
        yield


@pytest.fixture
def own_zygotes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every jail has zygotes of its own and no others are there, for tests that count processes."""
    _close()
    monkeypatch.setattr(jail, "Zygotes", Zygotes)
