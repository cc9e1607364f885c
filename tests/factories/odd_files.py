"""Things that lie where a file is expected, and are none: every source must refuse them without waiting for them."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HUGE = 100 << 30
"""Bytes of a file that is nearly all hole, and takes no room."""


@dataclass(frozen=True)
class OddThing:
    """Something to lay at a path where nothing is, and the reasons for which a source may refuse it."""

    name: str
    lay: Callable[[Path], object]
    reasons: tuple[str, ...]


def _socket(path: Path) -> None:
    # The path of a socket may be no longer than some hundred bytes.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{folder}/.s")
        (path.parent / ".s").rename(path)
    finally:
        os.close(folder)


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, HUGE)


def _closed(path: Path) -> None:
    path.write_bytes(b"nobody may read this\n")
    path.chmod(0)


def _closed_folder(path: Path) -> None:
    path.mkdir()
    path.chmod(0)


ODD_THINGS = (
    OddThing("pipe", os.mkfifo, ("not_a_file",)),
    OddThing("socket", _socket, ("not_a_file",)),
    OddThing("folder", Path.mkdir, ("not_a_file",)),
    OddThing("device", lambda path: path.symlink_to("/dev/zero"), ("not_a_file",)),
    OddThing("dangling link", lambda path: path.symlink_to(path.with_name("nothing")), ("dangling_link",)),
    OddThing("link to itself", lambda path: path.symlink_to(path.name), ("link_loop",)),
    OddThing("file of 100 GB", _huge, ("too_large",)),
)
"""Odd to everybody."""

CLOSED = (
    OddThing("file without permission", _closed, ("unreadable",)),
    OddThing("folder without permission", _closed_folder, ("unreadable", "not_a_file")),
)
"""Odd to everybody but the superuser, who may read all."""

_CAPABILITIES = 0x20080522
"""The version of the kernel's structure for capabilities that has room for all of them."""


def give_up_rights() -> None:
    """Be bound, from here on and for good, by the permissions of files, also as superuser. Linux only."""
    if ctypes.CDLL(None).capset(struct.pack("Ii", _CAPABILITIES, 0), bytes(24)) != 0:
        raise OSError("the rights of the superuser cannot be given up")
