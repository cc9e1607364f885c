"""A zygote from outside: a process that has imported everything, and forks a child for each piece of code.

``Zygote`` starts when it is first needed, and again should it ever be found dead. ``Zygotes`` are several of a kind.
``ForkedChild`` has the face of ``process.Child``; killing and reaping are the zygote's, because only a parent can do
both without hitting a stranger.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hazardmill.sandbox.forking import NO_CHILD, READY
from hazardmill.sandbox.process import EXIT_GRACE_SECONDS, Ended, read_output, start

_START_SECONDS: Final = 120.0
_REAP_SECONDS: Final = 60.0


class Zygote:
    """The parent of jailed children.

    Args:
        workload: Module that it imports and whose ``run`` its children call; see ``forking``.
    """

    def __init__(self, workload: str) -> None:
        self._workload = workload
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """Its process, while there is one."""
        return None if self._process is None else self._process.pid

    def order(self, order: dict[str, Any], code: int, output: int, line: int) -> subprocess.Popen[bytes]:
        """Have a child forked.

        Args:
            order: As for ``walled.live``.
            code: Descriptor that the child reads the code from.
            output: Descriptor that it writes to.
            line: Socket: the zygote writes the child's exit status there, and kills the child when the other end is
                shut down or closed. Instead of a status it may write why there is no child.

        Returns:
            The process that has the order, for ``abandon``.

        Raises:
            OSError: There is no zygote and none can be started.
        """
        message = json.dumps(order).encode()
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._renew()
            try:
                return self._send(message, [code, output, line])
            except ConnectionError:
                # It has just ended; that order went nowhere.
                self._renew()
                return self._send(message, [code, output, line])

    def abandon(self, process: subprocess.Popen[bytes]) -> None:
        """End a process that does not answer any more, and thereby every child it has: they die with it.

        Args:
            process: What ``order`` returned; there may be another one by now.
        """
        with self._lock:
            process.kill()
            process.wait()

    def close(self) -> None:
        """End it and every child it has. It may be used again."""
        with self._lock:
            self._hang_up()

    def _send(self, message: bytes, descriptors: list[int]) -> subprocess.Popen[bytes]:
        assert self._control is not None and self._process is not None
        socket.send_fds(self._control, [message], descriptors)
        return self._process

    def _renew(self) -> None:
        self._hang_up()
        self._start()

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        with theirs:
            settings = {
                "control": theirs.fileno(),
                "parent": os.getpid(),
                "workload": self._workload,
                "path": _importable(),
            }
            self._process = start("forking", json.dumps(settings), theirs.fileno(), stdin=subprocess.DEVNULL)
        ours.settimeout(_START_SECONDS)
        try:
            said = ours.recv(4096)
        except TimeoutError:
            self._process.kill()
            said = b"the zygote is not ready after %d s" % _START_SECONDS
        ours.settimeout(None)
        if said != READY:
            self._hang_up()
            raise ChildProcessError(said.decode("utf-8", "replace") or "the zygote ended before it was ready")

    def _hang_up(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(_REAP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None


class Zygotes:
    """Zygotes of one workload; each starts when all before it have children, so that one suffices for one at a time.

    Args:
        workload: See ``Zygote``.
        count: How many there may be.
    """

    def __init__(self, workload: str, count: int) -> None:
        self._zygotes = [Zygote(workload) for _ in range(count)]
        self._children = [0] * count
        self._lock = threading.Lock()

    @property
    def pids(self) -> list[int]:
        """The processes that there are."""
        return [zygote.pid for zygote in self._zygotes if zygote.pid is not None]

    @contextlib.contextmanager
    def least_busy(self) -> Iterator[Zygote]:
        """The zygote with the fewest children, which has one more within the block."""
        with self._lock:
            place = min(range(len(self._children)), key=self._children.__getitem__)
            self._children[place] += 1
        try:
            yield self._zygotes[place]
        finally:
            with self._lock:
                self._children[place] -= 1

    def close(self) -> None:
        """End them and every child they have. They may be used again."""
        for zygote in self._zygotes:
            zygote.close()


class ForkedChild:
    """One child of a zygote, to be run once. ``kill`` may be called from another thread at any time.

    Args:
        zygotes: One of them becomes its parent.
        order: What it is told.
        code: The untrusted code.
        wall_seconds: Time it has, from the moment its walls stand.
        output_bytes: Most it may write after the header.
    """

    def __init__(
        self, zygotes: Zygotes, order: dict[str, Any], code: bytes, *, wall_seconds: float, output_bytes: int
    ) -> None:
        self._zygotes = zygotes
        self._order = order
        self._code = code
        self._wall_seconds = wall_seconds
        self._output_bytes = output_bytes
        self._lock = threading.Lock()
        self._cancelled = False
        self._ours: socket.socket | None = None

    def run(self) -> Ended:
        """Have the child forked, wait until it ends or must be ended, and leave nothing of it behind.

        Raises:
            OSError: No process could be started, or the zygote itself ended.
        """
        if self._cancelled:
            return Ended(b"", b"", "cancelled", 0)
        with self._zygotes.least_busy() as zygote:
            return self._run(zygote)

    def kill(self) -> None:
        """End the child and all its descendants now, or as soon as it is there."""
        with self._lock:
            self._cancelled = True
            if self._ours is not None:
                _shut_down(self._ours)

    def _run(self, zygote: Zygote) -> Ended:
        ours, theirs = socket.socketpair()
        with ours:
            readable, writable = os.pipe()
            try:
                try:
                    process = self._send(zygote, writable, theirs)
                finally:
                    os.close(writable)
                    theirs.close()
                with self._lock:
                    self._ours = ours
                    if self._cancelled:
                        _shut_down(ours)
                header, body, cause = read_output(readable, self._wall_seconds, self._output_bytes)
            finally:
                os.close(readable)
            # A child that closed its output without a report has a moment to end by itself: its status tells why.
            waits = cause == "ended" and not body.endswith(b"\n")
            status = _status(ours, EXIT_GRACE_SECONDS) if waits else None
            if status is None:
                _shut_down(ours)
                status = _status(ours, _REAP_SECONDS)
            with self._lock:
                self._ours = None
        if status is None:
            zygote.abandon(process)
            raise ChildProcessError("the zygote does not answer, and has been ended")
        return Ended(header, body, "cancelled" if self._cancelled else cause, status)

    def _send(self, zygote: Zygote, writable: int, line: socket.socket) -> subprocess.Popen[bytes]:
        # A file and not a pipe: a child that does not read cannot hold us up.
        with tempfile.TemporaryFile() as code:
            code.write(self._code)
            code.seek(0)
            return zygote.order(self._order, code.fileno(), writable, line.fileno())


def _importable() -> list[str]:
    """Where a zygote may import from: as we do, but never from the folder that we happen to stand in.

    It may hold the very code that is to be jailed, and the zygote imports outside the walls.
    """
    return [entry for entry in sys.path if Path(entry).is_absolute() and not _is_here(entry)]


def _is_here(folder: str) -> bool:
    try:
        return Path(folder).samefile(".")
    except OSError:  # there is no such folder, or we stand in none
        return False


def _status(line: socket.socket, seconds: float) -> int | None:
    """The exit status that the zygote tells; None if it has not within that time.

    Raises:
        ChildProcessError: It tells that it could not fork, or there is none to tell anything.
    """
    line.settimeout(seconds)
    try:
        told = line.recv(4096)
    except TimeoutError:
        return None
    if told.startswith(NO_CHILD):
        raise ChildProcessError(told.removeprefix(NO_CHILD).decode("utf-8", "replace"))
    if not told:
        raise ChildProcessError("the zygote ended, or could take no order")
    return int(told)


def _shut_down(line: socket.socket) -> None:
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_WR)
