"""Input that comes from a pipe: kept in a file while it is read, because sources look at a file more than once."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from hazardmill.errors import HazardmillError, InputError

NAME: Final = "stdin"
"""What the file of a stream is called in records and rejects."""
MAX_STREAM: Final = 8 << 30
"""Bytes a stream may have."""
_ASKED_FOR: Final = re.compile(r"-|/dev/stdin|/(?:dev|proc/self)/fd/[0-9]+")
_PIECE: Final = 1 << 20


def is_stream(path: Path) -> bool:
    """Whether a path asks for a stream: ``-``, ``/dev/stdin``, or a number as ``<(command)`` of a shell gives it."""
    return _ASKED_FOR.fullmatch(str(path)) is not None


@contextlib.contextmanager
def as_file(path: Path) -> Iterator[Path]:
    """A path as one of a file: itself, or for a stream, a file that holds it as long as the context lasts.

    Raises:
        InputError: There is no such stream, it has no end that one could wait for, or no room is left.
    """
    if not is_stream(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="hazardmill-") as folder:
        kept = Path(folder) / NAME
        try:
            with _open(path) as stream, kept.open("wb") as file:
                _copy(stream, file)
        except OSError as error:
            raise InputError(
                f"the stream cannot be read: {error.strerror or error}",
                file=str(path),
                remedy="put it into a file first, and give that",
            ) from error
        try:
            yield kept
        except HazardmillError as error:
            # The file that holds it is gone by the time the message is read.
            if error.file is not None and Path(error.file).is_relative_to(folder):
                error.file = str(path)
            raise


def _open(path: Path) -> BinaryIO:
    number = re.search("[0-9]+", path.name)
    stream = os.fdopen(os.dup(int(number[0]) if number else 0), "rb")
    mode = os.fstat(stream.fileno()).st_mode
    if stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stream.isatty():
        return stream
    stream.close()
    # Some devices have no end, and the others nothing to read.
    raise OSError(errno.EINVAL, "it is neither a pipe nor a file")


def _copy(stream: BinaryIO, file: BinaryIO) -> None:
    while piece := stream.read(_PIECE):
        if file.tell() + len(piece) > MAX_STREAM:
            raise OSError(errno.EFBIG, f"it has more than {MAX_STREAM} bytes")
        file.write(piece)
