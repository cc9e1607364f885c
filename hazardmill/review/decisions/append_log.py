"""A file to which whole lines are appended: under a lock, and acknowledged only once they are on disk.

A process that is killed while it writes leaves an incomplete last line, which was never acknowledged: readers skip it,
and the next writer removes it. Any other damage is an error that names the line, because no work of people may be
skipped silently. This includes lines that were read before: a process that has a file open notices when they are
altered.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from pydantic import ValidationError

from hazardmill.errors import InputError
from hazardmill.records import content_hash
from hazardmill.review.events import ID_LENGTH, ReviewEvent
from hazardmill.review.regular import open_regular
from hazardmill.store.files.fsync_io import disk_errors, is_same, make_folder, sync_folder

R = TypeVar("R", bound=ReviewEvent)

MAX_LINE: Final = 100_000
"""Largest number of bytes of a line: a note and a plan fit many times over."""

_ALTERED: Final = (
    "restore the file as it was written, for instance from git; change a decision by making another, never by editing"
)


class LogFile(Generic[R]):
    """One append-only file of events. Reading again reads only what was appended since.

    Several threads may share an object, and several objects, in any processes, may share a file: writers hold an
    exclusive lock on the file itself. Before anything is appended, all lines read so far are compared with their hash.

    Attributes:
        path: The file; it need not exist.
        reloads: How often the file was read again from its beginning, because it was replaced or altered.
    """

    def __init__(self, path: Path, read: Callable[[Any], R]) -> None:
        """Remember the path; nothing is opened yet.

        Args:
            path: The file; it need not exist.
            read: Makes a row from JSON values, or raises ``ValidationError`` or ``InputError``.
        """
        self.path = path
        self._read = read
        self._mutex = threading.RLock()
        self._rows: list[R] = []
        self._offset = 0
        self._hash = hashlib.sha256()
        """Hash of the lines that were read."""
        self._file: tuple[int, int] | None = None
        self._state: tuple[int, int, int] | None = None
        """Size and times of the file when it was last read to its end."""
        self.reloads = 0

    def rows(self) -> Sequence[R]:
        """Return every row, in the order of the file; empty if there is no file.

        Raises:
            InputError: A line is damaged or was altered, or the file is a link or not a regular file.
            StoreError: The file cannot be read.
        """
        with self._mutex:
            try:
                descriptor = open_regular(self.path)
            except FileNotFoundError:
                self._forget(None)
                return ()
            try:
                tail, _ = self._catch_up(descriptor)
            finally:
                os.close(descriptor)
            # A last line that lacks only its line end is complete: it counts.
            last = self._last(tail)
            return self._rows if last is None else (*self._rows, last)

    @contextmanager
    def appending(self) -> Iterator[Callable[[Sequence[R]], None]]:
        """Hold the lock of the file; yields a function that appends rows and returns once they are on disk.

        While the lock is held, nobody else can append, and ``rows`` returns everything that was appended before.

        Yields:
            The function; if it raises, the file is as it was.

        Raises:
            InputError: As for ``rows``.
            StoreError: The file cannot be written.
        """
        make_folder(self.path.parent)
        with self._mutex:
            descriptor = self._open_locked()
            try:
                # Hash the file whatever its times say: nothing may be appended to a file that was altered.
                tail, size = self._catch_up(descriptor, anew=True)
                if self._last(tail) is not None:
                    self._write(descriptor, b"\n", size)
                elif tail:
                    with disk_errors(self.path, "write"):
                        os.ftruncate(descriptor, size - len(tail))
                self._catch_up(descriptor)

                def append(rows: Sequence[R]) -> None:
                    data = "".join(f"{row.line()}\n" for row in rows).encode()
                    if data:
                        self._write(descriptor, data, os.fstat(descriptor).st_size)
                        self._catch_up(descriptor)

                yield append
            finally:
                os.close(descriptor)

    def _open_locked(self) -> int:
        while True:
            new = not self.path.exists()
            descriptor = open_regular(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                with disk_errors(self.path, "open for writing"):
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                    if new:
                        sync_folder(self.path.parent)
                    if is_same(descriptor, self.path):
                        return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            # The file was replaced while we waited, for instance by a checkout: lock the one that is there now.
            os.close(descriptor)

    def _write(self, descriptor: int, data: bytes, size: int) -> None:
        with disk_errors(self.path, "write"):
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(descriptor, left) :]
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, size)
                raise

    def _catch_up(self, descriptor: int, *, anew: bool = False) -> tuple[bytes, int]:
        """Read what is new.

        The part read before is hashed again if the file has changed, or if ``anew``: an editor may have written into
        it, and a reader that only continued behind it would keep rows that are no longer there.

        Returns:
            The bytes behind the last line end, and the size of the file.
        """
        with disk_errors(self.path, "read"):
            status = os.fstat(descriptor)
            file, size = (status.st_dev, status.st_ino), status.st_size
            state = (size, status.st_mtime_ns, status.st_ctime_ns)
            if (
                file != self._file
                or size < self._offset
                or ((anew or state != self._state) and not self._is_as_it_was(descriptor))
            ):
                self._forget(file)
            data = os.pread(descriptor, size - self._offset, self._offset) if size > self._offset else b""
        whole, end, tail = data.rpartition(b"\n")
        # Line by line: if one is damaged, those before it are kept, and the next reading fails at the same line.
        for line in whole.split(b"\n") if end else ():
            self._rows.append(read_line(line, self.path, len(self._rows) + 1, self._read))
            self._offset += len(line) + 1
            self._hash.update(line + b"\n")
        # Only now: a file with a damaged line is hashed again at each reading.
        self._state = state
        return tail, size

    def _is_as_it_was(self, descriptor: int) -> bool:
        """Return whether the lines read before are still there, byte for byte."""
        found = hashlib.sha256(os.pread(descriptor, self._offset, 0))
        return found.digest() == self._hash.digest()

    def _last(self, tail: bytes) -> R | None:
        if not tail:
            return None
        try:
            return read_line(tail, self.path, len(self._rows) + 1, self._read)
        except InputError:
            return None

    def _forget(self, file: tuple[int, int] | None) -> None:
        if self._file is not None:
            self.reloads += 1
        self._rows, self._offset, self._file = [], 0, file
        self._hash, self._state = hashlib.sha256(), None


def read_line(line: bytes, path: Path, number: int, read: Callable[[Any], R]) -> R:
    """Return the row of a line, after checking that the hash in it matches.

    Args:
        line: The line without its end, at most ``MAX_LINE`` bytes.
        path: The file, for errors.
        number: Number of the line from 1, for errors.
        read: Makes a row from JSON values.

    Raises:
        InputError: It is not a line of this file, or it was altered after it was written; names file and line.
    """  # wrong makes an InputError  # noqa: DOC501  # wrong makes an InputError

    def wrong(message: str) -> InputError:
        return InputError(message, file=str(path), line=number, remedy=_ALTERED)

    if len(line) > MAX_LINE:
        raise wrong(f"the line has over {MAX_LINE} bytes")
    try:
        value = json.loads(line)
        row = read(value)
    except InputError as error:
        raise InputError(error.message, file=str(path), line=number, remedy=error.remedy) from error
    except ValidationError as error:
        raise wrong(first_problem(error)) from error
    except (ValueError, RecursionError) as error:
        raise wrong(f"the line is not JSON: {error}") from error
    # Hash the values as read: for 40,000 lines this takes a tenth of the time of dumping the rows again.
    if content_hash({name: part for name, part in value.items() if name != "id"})[:ID_LENGTH] != row.id:
        raise wrong("its id does not match: it was altered after it was written")
    return row


def first_problem(error: ValidationError) -> str:
    """Return the first problem of a value, preceded by the field in which it was found."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])
