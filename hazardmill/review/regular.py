"""Open the files of a review: regular files in the folder itself, never the target of a link.

A review folder is shared through git, which keeps symbolic links. A link in the place of a file would make the app
write to, or show, a file elsewhere on the machine.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

from hazardmill.errors import InputError
from hazardmill.store.files.fsync_io import disk_errors

_REMEDY: Final = "put the file itself there, as it is in git: a review folder must not hold links, pipes or devices"
_LINKED: Final = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}
_IRREGULAR: Final = {errno.EISDIR, errno.ENXIO}


def open_regular(path: Path, flags: int = os.O_RDONLY, *, other_names: bool = False) -> int:
    """Return a descriptor of the regular file at ``path``, whose folder must not be a link either.

    Args:
        path: The file.
        flags: Flags as for ``os.open``.
        other_names: Whether the file may have other names (hard links), under which anything written would appear too.

    Raises:
        FileNotFoundError: There is no such file.
        InputError: It is a link, has another name, or is not a regular file.
        StoreError: It cannot be opened.
    """
    folder = _open(path.parent, os.O_RDONLY | os.O_DIRECTORY, None)
    try:
        # Without O_NONBLOCK, opening a pipe would wait for its other end.
        descriptor = _open(path, flags | os.O_NONBLOCK, folder)
    finally:
        os.close(folder)
    status = os.fstat(descriptor)
    wrong = None
    if not stat.S_ISREG(status.st_mode):
        wrong = "this is not a regular file"
    elif status.st_nlink > 1 and not other_names:
        wrong = "the file has another name elsewhere (hard link): what is written here would be written there"
    if wrong is not None:
        os.close(descriptor)
        raise InputError(wrong, file=str(path), remedy=_REMEDY)
    return descriptor


def read_regular(path: Path) -> bytes:
    """Return the content of the regular file at ``path``, which may have other names (hard links).

    Raises:
        FileNotFoundError: There is no such file.
        InputError: It is a link or not a regular file.
        StoreError: It cannot be opened or read.
    """
    descriptor = open_regular(path, other_names=True)
    with disk_errors(path, "read"), os.fdopen(descriptor, "rb") as file:
        return file.read()


def _open(path: Path, flags: int, folder: int | None) -> int:
    name = path if folder is None else path.name
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in _LINKED and path.is_symlink():
            message = f"this is a symbolic link, to {path.readlink()}"
        elif error.errno in _IRREGULAR:
            message = "this is not a regular file"
        else:
            with disk_errors(path, "open"):
                raise
        raise InputError(message, file=str(path), remedy=_REMEDY) from error
