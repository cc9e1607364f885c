"""The temporary folder in which a release or an export is built: beside the requested one, and renamed to it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hazardmill.errors import HazardmillError, StoreError, UsageError
from hazardmill.store.files.fsync_io import rename, sync_file
from hazardmill.store.files.locks import Lock


def check_free(out: Path) -> None:
    """Check that a path is free.

    Raises:
        UsageError: A file, a folder or a link exists there, even a link to nowhere.
    """
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out} already exists", remedy="name a folder that does not exist yet")


@contextmanager
def staged_beside(out: Path) -> Iterator[Path]:
    """Make an empty folder ``.NAME.partial`` beside ``out``, and remove it at the end.

    A lock beside it keeps other builds of ``out`` away. What a killed build left in the folder is removed first.

    Args:
        out: The requested folder, whose name and parent decide the place; parents are made.

    Yields:
        The folder. ``publish`` renames it before the context ends.

    Raises:
        UsageError: Another build holds the lock.
        StoreError: The folder cannot be made, or the body of the context raised ``OSError``.
    """  # noqa: DOC501  # an OSError that is already an error of hazardmill is passed on
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder cannot be made: {error.strerror or error}",
            file=str(out.parent),
            remedy="name a folder that can be written",
        ) from error
    place = out.with_name(f".{out.name}.lock")
    lock = Lock.acquire(place)
    if lock is None:
        raise UsageError(f"another build is writing {out}", remedy="wait for it to end, or name another folder")
    staged = out.with_name(f".{out.name}.partial")
    try:
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir()
        yield staged
    except OSError as error:
        if isinstance(error, HazardmillError):
            raise
        raise StoreError(
            f"the folder cannot be written: {error.strerror or error}",
            file=str(out),
            remedy="free some space on this disk, or name a folder that can be written",
        ) from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)
        place.unlink(missing_ok=True)
        lock.release()


def clear(staged: Path, *, keep: str) -> None:
    """Remove everything from a staged folder, except for one folder in it.

    Raises:
        OSError: Something cannot be removed.
    """
    for path in staged.iterdir():
        if path.is_dir() and path.name != keep:
            shutil.rmtree(path)
        elif not path.is_dir():
            path.unlink()


def publish(staged: Path, out: Path) -> None:
    """Rename a staged folder to its final name, so that it is visible as a whole or not at all.

    Every file is synced to disk first, and the rename afterwards: this holds after a power failure, too.

    Raises:
        UsageError: ``out`` has come into existence in the meantime.
        OSError: A file cannot be synced.
        StoreError: The folder cannot be renamed.
    """
    for path in sorted(staged.rglob("*")):
        if path.is_file():
            sync_file(path)
    check_free(out)
    rename(staged, out)
