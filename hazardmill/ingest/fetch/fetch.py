"""Fetch: a published file into a folder, checked against what its publisher says, or else against what came before.

Beside the files lies a hidden folder ``.fetched``: for each file the size and sha256 that were seen, so that a file
which changes is noticed even where nothing is published to check it by, and notes of downloads under way.
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
    errno.ENOSPC: "free some space, then run the same command again: it goes on where it stopped",
    errno.EDQUOT: "free some space or raise the quota, then run the same command again: it goes on where it stopped",
    errno.EACCES: "give a folder that this user may write, with --to",
    errno.EPERM: "give a folder that this user may write, with --to",
    errno.EROFS: "give a folder that can be written, with --to",
    errno.EEXIST: "give a folder, not a file, with --to",
    errno.ENOTDIR: "give a folder, not a file, with --to",
}


class FileState(FrozenModel):
    """What a file was when it was fetched."""

    address: str
    size: int
    sha256: str
    fetched_at: datetime


class FetchedFile(FrozenModel):
    """A file that is there, whole and checked. ``received`` counts the bytes that came over the network for it."""

    name: str
    path: Path
    address: str
    terms: str
    size: int
    sha256: str
    size_checked: bool
    """Whether the publisher's size was known to check it by."""
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
    """Put a published file into ``folder``, unless it is there already; goes on with what an earlier call left.

    Args:
        file: What to fetch.
        folder: Where to; made if need be.
        force: Replace a different file of that name, and accept one that its publisher has changed.
        watch: Told of progress.
        sleep: How to wait between attempts.

    Raises:
        SourceError: A different file is in the way, the download fails, what came is not what was published (it is
            then kept as ``NAME.bad``), or the disk cannot take it.
    """
    with _on_disk(folder):
        (folder / NOTES).mkdir(parents=True, exist_ok=True)
        lock = Lock.acquire(folder / NOTES / "lock")
        if lock is None:
            raise SourceError(
                "another process is fetching into this folder", file=str(folder), remedy="wait for it, or give another"
            )
        try:
            return _Fetching(file, folder).run(force=force, watch=watch, sleep=sleep)
        finally:
            lock.release()


class _Fetching:
    """One file and the places that belong to it."""

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
                f"{wrong}; what came is kept as {bad.name}",
                file=file.address,
                remedy="fetch it again; if it stays so, compare with the publisher's page and SOURCE.md",
            )
        # The record comes first: ended in between, the next fetch finds the part whole and as it was recorded.
        self._remember(size, sha256)
        self._part.replace(self._target)
        self._note.unlink(missing_ok=True)
        return self._fetched_file(size, sha256, received=download.received, already=False)

    def _is_different(self) -> bool:
        """Whether the file that is there may be another than the published one."""
        return self._target.is_file() and (self._file.sha256 is None or _measure(self._target)[1] != self._file.sha256)

    def _already(self) -> FetchedFile:
        """The file that is there, if it is the one."""
        if not self._target.is_file():
            raise SourceError("there is a folder of this name", file=str(self._target), remedy="give another --to")
        size, sha256 = _measure(self._target)
        expected = self._file.sha256 or (self._seen.sha256 if self._seen else None)
        if expected is None:
            different = "a file of this name is there, and nothing says that it is the published one"
        elif sha256 != expected:
            whose = "SOURCE.md says" if self._file.sha256 else "it had when it was fetched"
            different = f"the file that is there has sha256 {sha256}, and not {expected}, which {whose}"
        else:
            self._remember(size, sha256)
            return self._fetched_file(size, sha256, received=0, already=True)
        raise SourceError(different, file=str(self._target), remedy="move it away, or replace it with --force")

    def _wrong(self, size: int, sha256: str, *, force: bool) -> str | None:
        """What speaks against the bytes that came."""
        problem = whole_file_problem(self._part)
        if problem is not None and problem.reason in _NO_DATA:
            return f"instead of the file: {problem.message}"
        if self._file.size not in (None, size):
            return f"{size} bytes came, and SOURCE.md says {self._file.size}"
        if self._file.sha256 not in (None, sha256):
            return f"what came has sha256 {sha256}, and SOURCE.md says {self._file.sha256}"
        seen = self._seen
        if self._file.sha256 is None and seen is not None and seen.sha256 != sha256 and not force:
            return (
                f"what came has sha256 {sha256} ({size} bytes), and the same file had {seen.sha256} ({seen.size}"
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
    """Turn what the disk refuses into an error that says what helps."""
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
