"""Open the files that people name: only regular ones, and without ever waiting for something that looks like one.

A link to a regular file counts as one. A folder, a pipe, a socket and a device do not, whatever their names. This
module needs only the standard library.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from io import BufferedReader
from pathlib import Path
from typing import Final

from hazardmill.errors import InputError
from hazardmill.text.printable import printable

_LOG: Final = logging.getLogger(__name__)

MOST_BYTES: Final = 64_000_000
"""Largest file that is read whole, in bytes. The files of the largest acceptable task are smaller."""


class FileKind(StrEnum):
    """What a path leads to, links followed.

    The value ends a sentence that begins with "it is".
    """

    REGULAR = "a regular file"
    FOLDER = "a folder"
    PIPE = "a named pipe (FIFO)"
    SOCKET = "a socket"
    DEVICE = "a device"
    MISSING = "not there"
    LINK = "a link"
    """Occurs only where links are not followed."""
    DANGLING = "a link to something that is not there"
    LOOP = "a link that leads back to itself"
    UNREADABLE = "out of reach"
    """It is not known what it is: a folder on the way is closed, or a name is too long."""


class NotARegularFile(OSError):
    """The path exists, but is not a file that can be read from beginning to end.

    Args:
        path: The path that was to be opened.
        kind: What it leads to.
    """

    def __init__(self, path: Path, kind: FileKind) -> None:
        super().__init__(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
        self.kind = kind

    def __reduce__(self) -> tuple[type[NotARegularFile], tuple[Path, FileKind]]:
        """Pickle by our own arguments: an ``OSError`` would be rebuilt from its three."""
        return type(self), (Path(self.filename), self.kind)


def kind_of(path: Path) -> FileKind:
    """Return what a path leads to, without opening it.

    Never raises: what cannot be looked at is ``UNREADABLE``.
    """
    try:
        return _kind(path.stat().st_mode)
    except FileNotFoundError:
        return FileKind.DANGLING if path.is_symlink() else FileKind.MISSING
    except NotADirectoryError:
        return FileKind.MISSING
    except (OSError, ValueError) as error:
        return FileKind.LOOP if getattr(error, "errno", None) == errno.ELOOP else FileKind.UNREADABLE


def open_regular(path: Path, *, follow: bool = True) -> BufferedReader:
    """Open a regular file for reading.

    The kind is checked before opening, because opening a device may have an effect, and again afterwards, because
    another file may have taken its place meanwhile. Opening never blocks, not even on a pipe without a writer.

    Args:
        path: The file.
        follow: Whether a link to a regular file counts as one.

    Returns:
        The open file, in binary mode; the caller closes it.

    Raises:
        NotARegularFile: It is a folder, a pipe, a socket, a device, or a link that is not followed.
        OSError: It does not exist, or cannot be read.
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
    """Read a regular file whole.

    Args:
        path: The file.
        most: Maximum size in bytes.
        follow: Whether a link to a regular file counts as one.

    Returns:
        The content, up to the size that the file had when it was opened: what is appended meanwhile is not read.

    Raises:
        NotARegularFile: It is a folder, a pipe, a socket, a device, or a link that is not followed.
        OSError: It does not exist, cannot be read, or is larger than ``most``.
    """
    with open_regular(path, follow=follow) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes, and at most {most:,} are read", str(path))
        return file.read(size)


def file_stamp(path: Path) -> str:
    """Return size, times of modification and change (ns) and inode number of a file: other ones once it was written to.

    Raises:
        OSError: There is no such file, or it cannot be looked at.
    """
    status = path.stat()
    # Nobody can set the time of change, which copies and writes renew even where they keep the time of modification.
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def is_utf8_path(path: Path) -> bool:
    """Return whether other libraries, which take paths as UTF-8, find the same file as Python does."""
    try:
        return os.fsencode(path) == str(path).encode()
    except UnicodeEncodeError:
        return False


def encoding_remedy() -> str:
    """Return what to do about a path, or other text, that cannot be written as UTF-8 or as a file's name."""
    encoding = sys.getfilesystemencoding()
    if encoding == "utf-8":
        return "rename the file or folder, or correct the text, so that it is UTF-8"
    return (
        f"Python takes file names to be {encoding.upper()} here: set PYTHONUTF8=1, or a UTF-8 locale (LC_ALL=C.UTF-8)"
    )


def walk_folders(root: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Walk a folder as ``os.walk`` does, in order of names and without hidden folders.

    Links to folders are not entered; a warning is logged for each.

    Args:
        root: Where to begin.

    Yields:
        A folder, the names of the folders in it, and the names of everything else in it, hidden files included.

    Raises:
        InputError: A folder cannot be listed.
    """
    for place, folders, files in os.walk(root, onerror=_raise_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        warn_of_links(Path(place), folders)
        yield Path(place), folders, sorted(files)


def warn_of_links(place: Path, folders: Iterable[str]) -> None:
    """Log a warning for each folder in ``place`` that is a link, because walking does not enter it.

    Links may lead back to a folder above them, or out of the folder that was named.

    Args:
        place: The folder that is walked.
        folders: Names of the folders in it.
    """
    for name in folders:
        if (place / name).is_symlink():
            _LOG.warning(
                "%s is a symbolic link to a folder, and is not followed: to include that folder, pass its own path",
                printable(str(place / name)),
            )


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
