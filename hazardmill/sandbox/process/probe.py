"""What the jail must make impossible, really tried from inside: the test that decides whether it holds.

A layer that reports success is not yet a wall that holds; only the second matters. Everything needed is imported
before the walls stand, so that an attempt fails because it is forbidden and not because something is missing.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Final

ABILITIES: Final = ("read", "write", "connect", "spawn", "signal")
"""Read a file, create one, reach a listener on loopback, start a process, signal the process that launched this."""


def abilities(port: int, read: list[str], write: list[str], parent: int) -> dict[str, bool]:
    """Try each forbidden thing, harmlessly.

    Args:
        port: A loopback TCP port with a listener.
        read: Files that exist.
        write: Folders that exist.
        parent: Id of the process to signal.

    Returns:
        For each of ``ABILITIES``, whether an attempt succeeded.
    """
    attempts: dict[str, list[Callable[[], None]]] = {
        "read": [partial(_read, path) for path in read],
        "write": [partial(_create, folder) for folder in write],
        "connect": [partial(_connect, port)],
        "spawn": [_spawn],
        "signal": [partial(os.kill, parent, 0)],
    }
    return {ability: any([_succeeds(attempt) for attempt in tries]) for ability, tries in attempts.items()}


def _succeeds(attempt: Callable[[], None]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def _read(path: str) -> None:
    os.close(os.open(path, os.O_RDONLY))


def _create(folder: str) -> None:
    path = f"{folder}/hazardmill-probe-{os.getpid()}"
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.unlink(path)  # noqa: PTH108  # pathlib stays out of the jailed process: it costs start-up time


def _connect(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        client.settimeout(2)
        client.connect(("127.0.0.1", port))


def _spawn() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
