"""Durable writes: fsync, rename into place, and errors that name the path."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hazardmill.errors import StoreError

Fault = Callable[[str], None]
"""Called with the name of each point where a crash matters; tests raise or kill the process there."""

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
    """Do nothing: the default ``Fault``."""


def store_error(error: OSError, path: Path, doing: str) -> StoreError:
    """Return a ``StoreError`` for an ``OSError``, with the path and, where one is known, the remedy.

    Args:
        error: The error.
        path: The file or folder concerned.
        doing: What was attempted, to follow "cannot".
    """
    reason = os.strerror(error.errno) if error.errno else str(error)
    return StoreError(f"cannot {doing}: {reason}", file=str(path), remedy=_REMEDIES.get(error.errno or 0))


def is_full(error: StoreError) -> bool:
    """Whether the error means that there was no space left on the disk, or in the quota."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def disk_errors(path: Path, doing: str) -> Iterator[None]:
    """Convert an ``OSError`` raised in the block to a ``StoreError`` about ``path``.

    Args:
        path: The file or folder concerned.
        doing: What is attempted, to follow "cannot".

    Raises:
        StoreError: The block raised an ``OSError`` or a ``StoreError``.
    """  # noqa: DOC501  # the helper makes a StoreError
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise store_error(error, path, doing) from error


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, durably. An existing folder is left alone.

    Raises:
        StoreError: The folder cannot be created.
    """
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
    """Make renames and new names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Make the content of a file durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_file(path: Path, data: bytes) -> None:
    """Write a file and make its content durable; its name becomes durable with ``rename``.

    Raises:
        StoreError: The disk refuses.
    """
    with disk_errors(path, "write"):
        path.write_bytes(data)
        sync_file(path)


def rename(staged: Path, path: Path) -> None:
    """Move ``staged`` to ``path``, atomically and durably, replacing an existing file.

    Raises:
        StoreError: The disk refuses.
    """
    make_folder(path.parent)
    with disk_errors(path, "rename into place"):
        staged.replace(path)
        sync_folder(path.parent)


def remove(path: Path) -> None:
    """Remove a file if it exists.

    Raises:
        StoreError: The disk refuses.
    """
    with disk_errors(path, "remove"):
        path.unlink(missing_ok=True)
