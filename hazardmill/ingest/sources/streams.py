"""Input from a pipe: kept in a temporary file while it is read, because sources look at a file more than once."""

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
"""Name of a stream's file in records and rejects."""
MAX_STREAM: Final = 8 << 30
"""Maximum number of bytes of a stream."""
_ASKED_FOR: Final = re.compile(r"-|/dev/stdin|/(?:dev|proc/self)/fd/[0-9]+")
_PIECE: Final = 1 << 20


def is_stream(path: Path) -> bool:
    """Whether a path means a stream: ``-``, ``/dev/stdin``, or a descriptor as a shell passes for ``<(command)``."""
    return _ASKED_FOR.fullmatch(str(path)) is not None


@contextlib.contextmanager
def as_file(path: Path) -> Iterator[Path]:
    """Provide a path as a file: the path itself, or for a stream a temporary file with its content.

    Args:
        path: A path, or one that ``is_stream`` accepts.

    Yields:
        The path of the file. A temporary file is removed afterwards.

    Raises:
        InputError: There is no such stream, it is a device, it is too long, or no space is left.
        HazardmillError: The body raised it; where it named the temporary file, it names ``path`` instead.
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
                remedy="save it to a file first, and give that file",
            ) from error
        try:
            yield kept
        except HazardmillError as error:
            # The temporary file is gone by the time the message is read.
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
    # Some devices never end, and others have nothing to read.
    raise OSError(errno.EINVAL, "it is neither a pipe nor a file")


def _copy(stream: BinaryIO, file: BinaryIO) -> None:
    while piece := stream.read(_PIECE):
        if file.tell() + len(piece) > MAX_STREAM:
            raise OSError(errno.EFBIG, f"it has more than {MAX_STREAM} bytes")
        file.write(piece)
