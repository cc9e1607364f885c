"""Writing so that it stays written: fsync, rename into place, and errors that name the path."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hazardmill.errors import StoreError

Fault = Callable[[str], None]
"""Called with the name of each point at which a crash would be interesting; tests raise or kill there."""

_REMEDIES = {
    errno.ENOSPC: "free some space on this disk, then resume the run: nothing acknowledged is lost",
    errno.EDQUOT: "raise the quota or free some space, then resume the run: nothing acknowledged is lost",
    errno.EACCES: "make it readable and writable for this user",
    errno.EPERM: "make it readable and writable for this user",
    errno.EROFS: "put the store on a file system that can be written",
    errno.ENOTDIR: "choose a folder for the store, not a file",
    errno.EISDIR: "there should be a file: move the folder out of the store",
}


def no_fault(point: str) -> None:
    """The fault that never happens."""


def store_error(error: OSError, path: Path, doing: str) -> StoreError:
    """``error`` as one that says what was being done to which path, and what helps."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return StoreError(f"cannot {doing}: {reason}", file=str(path), remedy=_REMEDIES.get(error.errno or 0))


def is_full(error: StoreError) -> bool:
    """Whether there was no room for what was to be written."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def disk_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn an ``OSError`` inside into a ``StoreError`` about ``path``."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise store_error(error, path, doing) from error


def make_folder(folder: Path) -> None:
    """Create ``folder`` and its parents, durably."""
    if folder.is_dir():
        return
    with disk_errors(folder, "create the folder"):
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)


def is_same(descriptor: int, path: Path) -> bool:
    """Whether ``path`` still names the file or folder that is open as ``descriptor``."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def sync_folder(folder: Path) -> None:
    """Make renames and new names in ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Make the content of ``path`` durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` and make it durable; the name becomes durable with ``rename``."""
    with disk_errors(path, "write"):
        path.write_bytes(data)
        sync_file(path)


def rename(staged: Path, path: Path) -> None:
    """Put ``staged`` in the place of ``path``, atomically and durably."""
    make_folder(path.parent)
    with disk_errors(path, "rename into place"):
        staged.replace(path)
        sync_folder(path.parent)


def remove(path: Path) -> None:
    """Remove ``path`` if it is there."""
    with disk_errors(path, "remove"):
        path.unlink(missing_ok=True)
