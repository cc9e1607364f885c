"""A working file of rows that are written in any order and read back by key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal

from hazardmill.errors import StoreError

Row = dict[str, Any]


class Spool:
    """A file of rows with an index in memory, of some hundred bytes per row.

    It is written first, with ``put``; after ``seal`` it is read.

    Args:
        path: The file; an existing one is overwritten.

    Raises:
        StoreError: The file cannot be opened. All methods raise it if the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, list[tuple[int, int]]] = {}
        self._end = 0
        self._file: BinaryIO = self._open("wb")

    def put(self, key: str, row: Mapping[str, Any]) -> None:
        """Append a row of JSON values under a key, which may have other rows already."""
        line = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()
        try:
            self._file.write(line)
        except OSError as error:
            raise self._failure("written", error) from error
        self._places.setdefault(key, []).append((self._end, len(line)))
        self._end += len(line)

    def seal(self) -> None:
        """End writing; from now on rows can be read."""
        try:
            self._file.close()
        except OSError as error:
            raise self._failure("written", error) from error
        self._file = self._open("rb")

    def all(self, key: str) -> list[Row]:
        """Read the rows of a key, in the order in which they were written; none if the key is unknown."""
        try:
            return [self._at(*place) for place in self._places.get(key, ())]
        except OSError as error:
            raise self._failure("read", error) from error

    def last(self, key: str) -> Row:
        """Return the last row of a key.

        Raises:
            KeyError: The key has no row.
            StoreError: The file cannot be read.
        """
        try:
            return self._at(*self._places[key][-1])
        except OSError as error:
            raise self._failure("read", error) from error

    def count(self, key: str) -> int:
        """Return the number of rows of a key."""
        return len(self._places.get(key, ()))

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _at(self, start: int, length: int) -> Row:
        self._file.seek(start)
        row: Row = json.loads(self._file.read(length))
        return row

    def _open(self, mode: Literal["wb", "rb"]) -> BinaryIO:
        try:
            return self.path.open(mode)
        except OSError as error:
            raise self._failure("opened", error) from error

    def _failure(self, what: str, error: OSError) -> StoreError:
        return StoreError(
            f"the release's working file cannot be {what}: {error.strerror or error}",
            file=str(self.path),
            remedy="free some space on this disk, or name a folder that can be written",
        )
