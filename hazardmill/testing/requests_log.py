"""The log of the requests to a test server, in memory and, as JSON lines, on disk."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from hazardmill.errors import InputError, StoreLocked


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One request. Subclasses add what a server logs, including ``written`` and ``ended_at``."""

    number: int
    """Number among all requests, from 1, in the order of arrival."""


_BEGAN: Final = time.time() - time.monotonic()


def log_time() -> float:
    """Return seconds since 1970 by a clock that nobody sets meanwhile, so that differences are what they seem."""
    return _BEGAN + time.monotonic()


RowT = TypeVar("RowT", bound=LoggedRequest)


class RequestsLog(Generic[RowT]):
    """The log of one server. With a file, each change of a request is written as a line at once.

    An existing file is continued: numbers count on.

    Args:
        read: Reads such a file.
        path: The file; null for memory only.
        on_change: Called with each request whenever it is added or changed; must not raise.

    Raises:
        InputError: The file holds something else.
        StoreLocked: Another server writes the file.
    """

    def __init__(
        self, read: Callable[[Path], tuple[RowT, ...]], path: Path | None, on_change: Callable[[RowT], None] | None
    ) -> None:
        self._on_change = on_change
        self._descriptor: int | None = None
        self._rows: list[RowT] = []
        if path is not None:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._rows = list(read(path))
                _check_end(self._descriptor, path)
            except BlockingIOError as error:
                self.close()
                raise StoreLocked(
                    "another server is writing this log",
                    file=str(path),
                    remedy="stop that server, or choose another file",
                ) from error
            except InputError:
                self.close()
                raise

    @property
    def next_number(self) -> int:
        """Number of the next request."""
        return len(self._rows) + 1

    def add(self, row: RowT) -> RowT:
        """Log that a request has arrived. Its number must be the next one."""
        self._rows.append(row)
        self._tell(row)
        return row

    def change(self, row: RowT, **what: Any) -> RowT:  # noqa: ANN401  # fields
        """Log new facts about a request; return the changed row."""
        changed = replace(row, **what)
        self._rows[row.number - 1] = changed
        self._tell(changed)
        return changed

    def end(self, row: RowT, *, written: bool) -> RowT:
        """Log that nothing more will be sent."""
        return self.change(row, written=written, ended_at=log_time())

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _tell(self, row: RowT) -> None:
        if self._descriptor is not None:
            # One unbuffered write per line, so that a kill afterwards cannot lose it.
            line = json.dumps(asdict(row), separators=(",", ":"))
            os.write(self._descriptor, line.encode() + b"\n")
        if self._on_change is not None:
            self._on_change(row)


def read_log(path: Path, row_of: Callable[..., RowT], whose: str) -> tuple[RowT, ...]:
    """Return the requests of a log file; the last line of each request counts.

    A server may be writing meanwhile: a last line without an end is not there yet.

    Args:
        path: The file.
        row_of: Makes a row from its fields.
        whose: The server with its article, for the message.

    Raises:
        InputError: A line does not belong to such a log.
    """  # _foreign makes an InputError  # noqa: DOC501  # _foreign makes an InputError
    rows: dict[int, RowT] = {}
    with path.open(encoding="utf-8", newline="\n") as lines:
        for place, line in enumerate(lines, start=1):
            if not line.endswith("\n"):
                break
            try:
                row = row_of(**json.loads(line))
                in_order = row.number in rows or row.number == len(rows) + 1
            except (ValueError, TypeError) as error:
                raise _foreign(path, place, whose) from error
            if not in_order:
                raise _foreign(path, place, whose)
            rows[row.number] = row
    return tuple(rows.values())


def _check_end(descriptor: int, path: Path) -> None:
    """Refuse to continue a file whose last line was cut off: the next one would be lost with it."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        raise InputError(
            "the last line of the log is cut off", file=str(path), remedy="remove that line, or choose another file"
        )


def _foreign(path: Path, line: int, whose: str) -> InputError:
    return InputError(
        f"this line does not belong to {whose} log", file=str(path), line=line, remedy="choose another file for the log"
    )
