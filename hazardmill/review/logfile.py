"""A file to which whole lines are appended: under a lock, and on disk before anybody is told that they are.

A process that is killed while it writes leaves a line without an end, of which nobody was told: readers pass over it,
and the next writer takes it away. Every other damage is an error with its line: no work of people is passed over.
"""

from __future__ import annotations

import fcntl
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
from hazardmill.review.rows import ID_LENGTH, Row
from hazardmill.store.durable import guarded, make_folder, sync_folder

R = TypeVar("R", bound=Row)

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
        self._file: tuple[int, int] | None = None
        self.reloads = 0
        """How often it was read from its beginning, because the file was another one."""

    def rows(self) -> Sequence[R]:
        """Every row, in the order of the file.

        Raises:
            InputError: A line is damaged, or was altered.
            StoreError: The file cannot be read.
        """
        with self._mutex:
            if not self.path.exists():
                self._forget(None)
                return ()
            with guarded(self.path, "read"), self.path.open("rb") as file:
                tail, _ = self._catch_up(file.fileno())
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
            descriptor = self._locked()
            try:
                tail, size = self._catch_up(descriptor)
                if self._last(tail) is not None:
                    self._write(descriptor, b"\n", size)
                elif tail:
                    with guarded(self.path, "write"):
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

    def _locked(self) -> int:
        while True:
            with guarded(self.path, "open for writing"):
                new = not self.path.exists()
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                    if new:
                        sync_folder(self.path.parent)
                    if self.path.exists() and _identity(descriptor) == _identity(self.path):
                        return descriptor
                except BaseException:
                    os.close(descriptor)
                    raise
                # Put aside while we waited, as by a checkout: the one that is there now is meant.
                os.close(descriptor)

    def _write(self, descriptor: int, data: bytes, size: int) -> None:
        with guarded(self.path, "write"):
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(descriptor, left) :]
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, size)
                raise

    def _catch_up(self, descriptor: int) -> tuple[bytes, int]:
        """Read what is new; gives what stands behind the last line end, and the size."""
        file, size = _identity(descriptor), os.fstat(descriptor).st_size
        if file != self._file or size < self._offset:
            self._forget(file)
        data = os.pread(descriptor, size - self._offset, self._offset) if size > self._offset else b""
        whole, end, tail = data.rpartition(b"\n")
        # One by one: if a line is wrong, those before it are read, and the next reading fails at the same one.
        for line in whole.split(b"\n") if end else ():
            self._rows.append(read_line(line, self.path, len(self._rows) + 1, self._read))
            self._offset += len(line) + 1
        return tail, size

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


def _identity(of: int | Path) -> tuple[int, int]:
    status = os.fstat(of) if isinstance(of, int) else of.stat()
    return status.st_dev, status.st_ino
