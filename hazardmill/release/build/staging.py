"""The folder in which a release is made: beside the one asked for, of which it takes the place when it is whole."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hazardmill.errors import HazardmillError, StoreError, UsageError
from hazardmill.store.files.fsync_io import rename, sync_file
from hazardmill.store.files.locks import Lock


def check_free(out: Path) -> None:
    """Refuse a place where something is.

    Raises:
        UsageError: There is something.
    """
    if out.exists() or out.is_symlink():
        raise UsageError(f"there is something at {out} already", remedy="name a folder that is not there yet")


@contextmanager
def staged_beside(out: Path) -> Iterator[Path]:
    """A new folder beside ``out``, which nobody else builds in. What a killed build left there is removed.

    Raises:
        UsageError: Somebody else builds in it.
        StoreError: It cannot be made, or what is done under it meets a disk that refuses.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the folder cannot be made: {error.strerror or error}", file=str(out.parent)) from error
    place = out.with_name(f".{out.name}.lock")
    lock = Lock.acquire(place)
    if lock is None:
        raise UsageError(f"another build writes {out}", remedy="wait for it, or name another folder")
    staged = out.with_name(f".{out.name}.partial")
    try:
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir()
        yield staged
    except OSError as error:
        if isinstance(error, HazardmillError):
            raise
        raise StoreError(
            f"the release cannot be written: {error.strerror or error}",
            file=str(out),
            remedy="free some space on this disk, or name a folder that can be written",
        ) from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        place.unlink(missing_ok=True)
        lock.release()


def publish(staged: Path, out: Path) -> None:
    """Let the folder be seen whole or not at all, also after a power cut."""
    for path in sorted(staged.rglob("*")):
        if path.is_file():
            sync_file(path)
    check_free(out)
    rename(staged, out)
