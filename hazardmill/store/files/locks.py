"""Advisory locks between processes. The operating system releases them when their process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from hazardmill.store.files.fsync_io import disk_errors, is_same, make_folder

_PATIENCE_S = 0.2


class HeldLock(Protocol):
    """A lock that is held until it is released."""

    def release(self) -> None:
        """Release the lock. Releasing it twice is harmless."""

    def is_in_place(self) -> bool:
        """Whether the locked file is still the one with that name."""


class Lock:
    """An exclusive lock on a file, held from ``acquire`` until ``release``.

    The file is created if missing, and is never removed. A forked child releases its copy, so that the lock does not
    outlive a killed parent.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor: int | None = descriptor
        self._path = path
        _held.add(self)

    @classmethod
    def acquire(cls, path: Path) -> Lock | None:
        """Acquire the lock on ``path``.

        Returns:
            The lock; null if another holder keeps it for longer than 0.2 s, the time that a probe may take.

        Raises:
            StoreError: The file cannot be created or locked.
        """
        make_folder(path.parent)
        with disk_errors(path, "lock"):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            until = time.monotonic() + _PATIENCE_S
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return cls(descriptor, path)
                except BlockingIOError:
                    if time.monotonic() > until:
                        os.close(descriptor)
                        return None
                    time.sleep(0.01)

    def release(self) -> None:
        """Release the lock. Releasing it twice is harmless."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def is_in_place(self) -> bool:
        """Whether the locked file is still the one with that name."""
        return self._descriptor is not None and is_same(self._descriptor, self._path)


_held: weakref.WeakSet[Lock] = weakref.WeakSet()


def _forget_in_child() -> None:
    # A forked child shares its parent's lock: unless it releases it, the lock outlives a killed parent.
    for lock in list(_held):
        lock.release()


os.register_at_fork(after_in_child=_forget_in_child)


def is_held(path: Path) -> bool:
    """Whether any process, including this one, holds the exclusive lock on ``path``."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the exclusive lock on ``path`` for the block, waiting for it as long as it takes.

    Raises:
        StoreError: The file cannot be created or locked.
    """
    with disk_errors(path, "lock"):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        with disk_errors(path, "lock"):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def share(path: Path) -> Iterator[None]:
    """Keep exclusive holders of ``path`` out for the block.

    Writes nothing: if there is no lock file, nobody has ever locked it.

    Raises:
        StoreError: The file cannot be locked.
    """
    with disk_errors(path, "lock"):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            descriptor = None
    if descriptor is None:
        yield
        return
    try:
        with disk_errors(path, "lock"):
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)
