"""A file to which whole lines are appended: under a lock, and on disk before anybody is told that they are.

A process that is killed while it writes leaves a line without an end, of which nobody was told: readers pass over it,
and the next writer takes it away. Every other damage is an error with its line: no work of people is passed over. That
holds for what was read before, too: whoever has a file open notices that its lines were altered.
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
"""Bytes of a line: a note and a plan fit many times over."""

_ALTERED: Final = "get the file as it was written, as from git; a decision is changed by another one, never by editing"


class LogFile(Generic[R]):
    """One such file. Reading again reads what was appended since; objects of several processes may share a file."""

    def __init__(self, path: Path, read: Callable[[Any], R]) -> None:
        """Open nothing yet.

        Args:
            path: The file; it need not be there.
            read: Makes a row of JSON values; raises ``ValidationError``.
        """
        self.path = path
        self._read = read
        self._mutex = threading.RLock()
        self._rows: list[R] = []
        self._offset = 0
        self._hash = hashlib.sha256()
        """Of the lines that were read."""
        self._file: tuple[int, int] | None = None
        self._state: tuple[int, int, int] | None = None
        """Size and times of the file when it was read to its end."""
        self.reloads = 0
        """How often it was read from its beginning, because the file was another one."""

    def rows(self) -> Sequence[R]:
        """Every row, in the order of the file.

        Raises:
            InputError: A line is damaged, or was altered; or there is a link in the place of the file.
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
            # Whole, but for its line end: it counts.
            last = self._last(tail)
            return self._rows if last is None else (*self._rows, last)

    @contextmanager
    def appending(self) -> Iterator[Callable[[Sequence[R]], None]]:
        """Hold the file's lock; gives a function that appends rows durably. ``rows`` are those before it meanwhile.

        Raises:
            InputError: As ``rows``.
            StoreError: The file cannot be written; it is as it was.
        """
        make_folder(self.path.parent)
        with self._mutex:
            descriptor = self._open_locked()
            try:
                # Whatever the file's times say: nobody appends to what was altered.
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
            # Put aside while we waited, as by a checkout: the one that is there now is meant.
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
        """Read what is new; gives what stands behind the last line end, and the size.

        What was read before is looked at again where the file has changed, or ``anew``: an editor may write into the
        file, and a reader that goes on behind the place would go on from lines that are no longer so.
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
        # One by one: if a line is wrong, those before it are read, and the next reading fails at the same one.
        for line in whole.split(b"\n") if end else ():
            self._rows.append(read_line(line, self.path, len(self._rows) + 1, self._read))
            self._offset += len(line) + 1
            self._hash.update(line + b"\n")
        # Only now: of a file with a line that is wrong all is looked at again each time.
        self._state = state
        return tail, size

    def _is_as_it_was(self, descriptor: int) -> bool:
        """Whether the lines that were read are still there, byte for byte."""
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
    """The row of a line.

    Raises:
        InputError: It is none, or was altered after it was written.
    """

    def wrong(message: str) -> InputError:
        return InputError(message, file=str(path), line=number, remedy=_ALTERED)

    if len(line) > MAX_LINE:
        raise wrong(f"a line of over {MAX_LINE} bytes")
    try:
        value = json.loads(line)
        row = read(value)
    except InputError as error:
        raise InputError(error.message, file=str(path), line=number, remedy=error.remedy) from error
    except ValidationError as error:
        raise wrong(first_problem(error)) from error
    except (ValueError, RecursionError) as error:
        raise wrong(f"no JSON: {error}") from error
    # Of values as they were written: at 40,000 lines this takes a tenth of what asking the row does.
    if content_hash({name: part for name, part in value.items() if name != "id"})[:ID_LENGTH] != row.id:
        raise wrong("its id does not fit: it was altered after it was written")
    return row


def first_problem(error: ValidationError) -> str:
    """The first thing that is wrong with a value, and where in it."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])
