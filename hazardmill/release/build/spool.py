"""Rows put aside on disk in whatever order they come, and taken back by their key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal

from hazardmill.errors import StoreError

Row = dict[str, Any]


class Spool:
    """A file of rows, with the place of each in memory: some hundred bytes a row.

    Args:
        path: The file. One that is there is written over.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, list[tuple[int, int]]] = {}
        self._end = 0
        self._file: BinaryIO = self._open("wb")

    def put(self, key: str, row: Mapping[str, Any]) -> None:
        """Put one more row aside, of JSON values."""
        line = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()
        try:
            self._file.write(line)
        except OSError as error:
            raise self._failure("written", error) from error
        self._places.setdefault(key, []).append((self._end, len(line)))
        self._end += len(line)

    def seal(self) -> None:
        """Nothing comes any more: from now on rows are taken back."""
        try:
            self._file.close()
        except OSError as error:
            raise self._failure("written", error) from error
        self._file = self._open("rb")

    def all(self, key: str) -> list[Row]:
        """The rows of a key in the order in which they came."""
        try:
            return [self._at(*place) for place in self._places.get(key, ())]
        except OSError as error:
            raise self._failure("read", error) from error

    def last(self, key: str) -> Row:
        """The last row of a key.

        Raises:
            KeyError: There is none.
        """
        try:
            return self._at(*self._places[key][-1])
        except OSError as error:
            raise self._failure("read", error) from error

    def count(self, key: str) -> int:
        """How many rows a key has."""
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
