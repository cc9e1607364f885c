"""Opening the files that people name: regular ones, and never a wait for something that only looks like one.

Standard library only. A link to a regular file is one; a folder, a pipe, a socket and a device are none, whatever
they are called.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Iterable, Iterator
from enum import StrEnum
from io import BufferedReader
from pathlib import Path
from typing import Final

from hazardmill.errors import InputError
from hazardmill.text.printable import printable

_LOG: Final = logging.getLogger(__name__)

MOST_BYTES: Final = 64_000_000
"""Of a file that is read whole: those of the largest task that is accepted have less."""


class FileKind(StrEnum):
    """What stands under a name, links followed. The value ends the sentence "it is ..."."""

    REGULAR = "a regular file"
    FOLDER = "a folder"
    PIPE = "a named pipe (FIFO)"
    SOCKET = "a socket"
    DEVICE = "a device"
    MISSING = "not there"
    LINK = "a link"
    """Only where links are not followed."""
    DANGLING = "a link to something that is not there"
    LOOP = "a link that leads back to itself"
    UNREADABLE = "out of reach"
    """Nobody can say what it is: a folder on the way is closed, or a name is too long."""


class NotARegularFile(OSError):
    """There is something of this name, and it is no file that one reads from beginning to end.

    Args:
        path: What was to be opened.
        kind: What it is.
    """

    def __init__(self, path: Path, kind: FileKind) -> None:
        super().__init__(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
        self.kind = kind

    def __reduce__(self) -> tuple[type[NotARegularFile], tuple[Path, FileKind]]:
        """An OSError is pickled by its own arguments, which are not these."""
        return type(self), (Path(self.filename), self.kind)


def kind_of(path: Path) -> FileKind:
    """What stands under a name. Never an error, and nothing is opened."""
    try:
        return _kind(path.stat().st_mode)
    except FileNotFoundError:
        return FileKind.DANGLING if path.is_symlink() else FileKind.MISSING
    except NotADirectoryError:
        return FileKind.MISSING
    except (OSError, ValueError) as error:
        return FileKind.LOOP if getattr(error, "errno", None) == errno.ELOOP else FileKind.UNREADABLE


def open_regular(path: Path, *, follow: bool = True) -> BufferedReader:
    """A regular file, open for reading.

    What it is shows before it is opened, because opening a device may do something, and again afterwards, because
    another may have taken its place: not even then does this wait for somebody to write into a pipe.

    Args:
        path: The file.
        follow: Whether a link to a regular file is one.

    Raises:
        NotARegularFile: It is a folder, a pipe, a socket, a device, or a link that is not followed.
        OSError: It is not there, or cannot be read.
    """
    _require_regular(path, (os.stat if follow else os.lstat)(path))
    stay = 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | stay)
    try:
        _require_regular(path, os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, most: int = MOST_BYTES, *, follow: bool = True) -> bytes:
    """What is in a regular file, as long as it was when it was opened.

    Args:
        path: The file.
        most: Most bytes that it may have.
        follow: Whether a link to a regular file is one.

    Raises:
        NotARegularFile: As ``open_regular``.
        OSError: It is not there, cannot be read, or is too large.
    """
    with open_regular(path, follow=follow) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes, and at most {most:,} are read", str(path))
        return file.read(size)


def walk_folders(root: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """As ``os.walk``, in the order of names and without hidden folders.

    Yields:
        Each folder, the folders in it, and whatever else is in it. Links are not entered, which is logged.

    Raises:
        InputError: A folder cannot be listed.
    """
    for place, folders, files in os.walk(root, onerror=_raise_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        warn_of_links(Path(place), folders)
        yield Path(place), folders, sorted(files)


def warn_of_links(place: Path, folders: Iterable[str]) -> None:
    """Log which of the folders in ``place`` are links: whoever walks does not enter them, and says so.

    Links may lead back to where they are, or out of what was named.
    """
    for name in folders:
        if (place / name).is_symlink():
            _LOG.warning("%s is a link and is not entered: name what it points to", printable(str(place / name)))


def _raise_unreadable(error: OSError) -> None:
    raise InputError(
        f"the folder cannot be read: {error.strerror or error}",
        file=str(error.filename),
        remedy="check its permissions, or leave it out",
    ) from error


def _require_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotARegularFile(path, _kind(status.st_mode))


def _kind(mode: int) -> FileKind:
    kinds = {
        stat.S_IFREG: FileKind.REGULAR,
        stat.S_IFDIR: FileKind.FOLDER,
        stat.S_IFIFO: FileKind.PIPE,
        stat.S_IFSOCK: FileKind.SOCKET,
        stat.S_IFLNK: FileKind.LINK,
    }
    return kinds.get(stat.S_IFMT(mode), FileKind.DEVICE)
