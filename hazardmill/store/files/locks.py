"""Advisory locks between processes. The system frees them when their process ends, however it ends."""

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
    """What is held until it is released."""

    def release(self) -> None:
        """Let others have it. Doing so twice is harmless."""

    def is_in_place(self) -> bool:
        """Whether the file whose lock it is, is still the one of that name."""


class Lock:
    """An exclusive lock on ``path``, held from the moment ``acquire`` hands it out until ``release``."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor: int | None = descriptor
        self._path = path
        _held.add(self)

    @classmethod
    def acquire(cls, path: Path) -> Lock | None:
        """The lock on ``path``, or none if another holder keeps it for longer than a probe takes."""
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
        """Let others have it. Doing so twice is harmless."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def is_in_place(self) -> bool:
        """Whether the file whose lock it is, is still the one of that name."""
        return self._descriptor is not None and is_same(self._descriptor, self._path)


_held: weakref.WeakSet[Lock] = weakref.WeakSet()


def _forget_in_child() -> None:
    # A forked child shares its parent's lock: unless it lets go, the lock outlives a killed parent.
    for lock in list(_held):
        lock.release()


os.register_at_fork(after_in_child=_forget_in_child)


def is_held(path: Path) -> bool:
    """Whether some process (this one too) holds the exclusive lock on ``path``."""
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
    """Hold the lock on ``path``, waiting for it as long as it takes."""
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
    """Keep exclusive holders of ``path`` out. Writes nothing: where no lock file is, nobody ever locked."""
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
