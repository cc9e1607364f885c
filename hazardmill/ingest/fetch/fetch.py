"""Fetch: downloads a published file and checks it against its publisher's data, or else against an earlier download.

A hidden folder ``.fetched`` next to the files holds the size and sha256 of each file as fetched, so that a change is
noticed even if the publisher gives no checksum, and notes on downloads under way.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from hazardmill.errors import SourceError, StoreError
from hazardmill.ingest.fetch.catalogue import PublishedFile
from hazardmill.ingest.fetch.download import Download, Watch
from hazardmill.ingest.sources import whole_file_problem
from hazardmill.records import FrozenModel
from hazardmill.store.files.locks import Lock

NOTES: Final = ".fetched"
_NO_DATA: Final = frozenset({"html_page", "lfs_pointer", "empty_file"})
_REMEDIES: Final = {
    errno.ENOSPC: "free some space, then run the same command again: it continues where it stopped",
    errno.EDQUOT: "free some space or raise the quota, then run the same command again: it continues where it stopped",
    errno.EACCES: "choose a folder that this user may write, with --to",
    errno.EPERM: "choose a folder that this user may write, with --to",
    errno.EROFS: "choose a folder that can be written, with --to",
    errno.EEXIST: "give a folder, not a file, with --to",
    errno.ENOTDIR: "give a folder, not a file, with --to",
}


class FileState(FrozenModel):
    """A file as it was when it was fetched.

    Attributes:
        size: Size in bytes.
        sha256: SHA-256 (hex).
        fetched_at: Time of the download, in UTC.
    """

    address: str
    size: int
    sha256: str
    fetched_at: datetime


class FetchedFile(FrozenModel):
    """A file that is complete and checked.

    Attributes:
        path: Where it is.
        size: Size in bytes.
        sha256: SHA-256 (hex).
        sha256_checked: Whether the publisher's sha256 was known and compared.
        received: Bytes that came over the network for it.
        already_there: Whether it existed before.
        unpack: The command that unpacks it; null if it is not packed.
    """

    name: str
    path: Path
    address: str
    terms: str
    size: int
    sha256: str
    size_checked: bool
    """Whether the publisher's size was known and compared."""
    sha256_checked: bool
    received: int
    already_there: bool
    unpack: str | None


def fetch(
    file: PublishedFile,
    folder: Path,
    *,
    force: bool = False,
    watch: Watch | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> FetchedFile:
    """Download a published file to ``folder`` unless it already exists; continue an interrupted download.

    Args:
        file: The file.
        folder: Target folder; created if missing.
        force: Replace a different file with that name, and accept a file that its publisher has changed.
        watch: Called with the progress.
        sleep: Waits between attempts.

    Returns:
        The complete file, and what was checked of it.

    Raises:
        SourceError: A different file is in the way, the download fails, the content is not what was published (it is
            then kept as ``NAME.bad``), or the disk refuses.
    """
    with _on_disk(folder):
        (folder / NOTES).mkdir(parents=True, exist_ok=True)
        lock = Lock.acquire(folder / NOTES / "lock")
        if lock is None:
            raise SourceError(
                "another process is fetching into this folder",
                file=str(folder),
                remedy="wait for it to end, or choose another folder",
            )
        try:
            return _Fetching(file, folder).run(force=force, watch=watch, sleep=sleep)
        finally:
            lock.release()


class _Fetching:
    """One file and the paths that belong to it."""

    def __init__(self, file: PublishedFile, folder: Path) -> None:
        self._file = file
        self._target = folder / file.name
        self._part = folder / f"{file.name}.part"
        self._note = folder / NOTES / f"{file.name}.part"
        self._record = folder / NOTES / f"{file.name}.seen"
        self._seen = self._recall()

    def run(self, *, force: bool, watch: Watch | None, sleep: Callable[[float], None]) -> FetchedFile:
        file = self._file
        if self._target.exists() and not (force and self._is_different()):
            return self._already()
        download = Download(file.address, self._part, self._note, size=file.size, watch=watch, sleep=sleep)
        download.run()
        size, sha256 = _measure(self._part)
        wrong = self._wrong(size, sha256, force=force)
        if wrong is not None:
            bad = self._target.with_name(f"{file.name}.bad")
            self._part.replace(bad)
            download.forget()
            raise SourceError(
                f"{wrong}; the download is kept as {bad.name}",
                file=file.address,
                remedy="fetch it again; if that does not help, compare the file with the publisher's page and with "
                "SOURCE.md",
            )
        # Write the record first: after a crash in between, the next fetch finds a complete part that matches it.
        self._remember(size, sha256)
        self._part.replace(self._target)
        self._note.unlink(missing_ok=True)
        return self._fetched_file(size, sha256, received=download.received, already=False)

    def _is_different(self) -> bool:
        """Whether the existing file may differ from the published one."""
        return self._target.is_file() and (self._file.sha256 is None or _measure(self._target)[1] != self._file.sha256)

    def _already(self) -> FetchedFile:
        """Return the existing file if it is the published one."""
        if not self._target.is_file():
            raise SourceError(
                "a folder with this name already exists", file=str(self._target), remedy="choose another --to"
            )
        size, sha256 = _measure(self._target)
        expected = self._file.sha256 or (self._seen.sha256 if self._seen else None)
        if expected is None:
            different = "a file with this name exists, and nothing shows that it is the published one"
        elif sha256 != expected:
            whose = "SOURCE.md gives" if self._file.sha256 else "it had when it was fetched"
            different = f"the existing file has sha256 {sha256} instead of {expected}, which {whose}"
        else:
            self._remember(size, sha256)
            return self._fetched_file(size, sha256, received=0, already=True)
        raise SourceError(different, file=str(self._target), remedy="move it away, or replace it with --force")

    def _wrong(self, size: int, sha256: str, *, force: bool) -> str | None:
        """What is wrong with the downloaded bytes; null if nothing is."""
        problem = whole_file_problem(self._part)
        if problem is not None and problem.reason in _NO_DATA:
            return f"instead of the file: {problem.message}"
        if self._file.size not in (None, size):
            return f"{size} bytes arrived, but SOURCE.md gives {self._file.size}"
        if self._file.sha256 not in (None, sha256):
            return f"the download has sha256 {sha256}, but SOURCE.md gives {self._file.sha256}"
        seen = self._seen
        if self._file.sha256 is None and seen is not None and seen.sha256 != sha256 and not force:
            return (
                f"the download has sha256 {sha256} ({size} bytes), but the same file had {seen.sha256} ({seen.size}"
                f" bytes) on {seen.fetched_at:%Y-%m-%d}: its publisher has changed it (--force accepts that)"
            )
        return None

    def _recall(self) -> FileState | None:
        try:
            seen = FileState.model_validate_json(self._record.read_bytes())
        except (FileNotFoundError, ValidationError):
            return None
        return seen if seen.address == self._file.address else None

    def _remember(self, size: int, sha256: str) -> None:
        if self._seen is not None and self._seen.sha256 == sha256:
            return
        seen = FileState(address=self._file.address, size=size, sha256=sha256, fetched_at=datetime.now(UTC))
        staged = self._record.with_name(self._record.name + ".new")
        staged.write_text(seen.model_dump_json(), encoding="utf-8")
        staged.replace(self._record)

    def _fetched_file(self, size: int, sha256: str, *, received: int, already: bool) -> FetchedFile:
        file = self._file
        return FetchedFile(
            name=file.name,
            path=self._target,
            address=file.address,
            terms=file.terms,
            size=size,
            sha256=sha256,
            size_checked=file.size is not None,
            sha256_checked=file.sha256 is not None,
            received=received,
            already_there=already,
            unpack=file.unpack,
        )


def _measure(path: Path) -> tuple[int, str]:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return path.stat().st_size, digest


@contextmanager
def _on_disk(folder: Path) -> Iterator[None]:
    """Convert an error of the disk to one with a remedy."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise SourceError(
            f"the file cannot be written: {reason}",
            file=str(error.filename or folder),
            remedy=_REMEDIES.get(error.errno or 0),
        ) from error
