"""A zygote from outside: a process that has imported everything, and forks a child for each piece of code.

``Zygote`` starts when it is first needed, and again if it is found dead; a child that died with it is forked once
more. ``Zygotes`` are several of a kind. ``ForkedChild`` has the interface of ``process.Child``; killing and reaping are
the zygote's work, because only a parent can do both without hitting another process.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from hazardmill.sandbox.process.fork_server import NO_CHILD, READY
from hazardmill.sandbox.process.process import EXIT_GRACE_SECONDS, ChildExit, read_output, start

_START_SECONDS: Final = 120.0
_REAP_SECONDS: Final = 60.0
_DYING_SECONDS: Final = 1.0
"""A process closes its sockets a moment before it has ended."""


class ZygoteEnded(ChildProcessError):
    """The zygote ended although nobody closed it, and the child with it: nothing is known about the code."""


class ZygoteClosed(ChildProcessError):
    """The zygote was closed, and its child with it."""


@dataclass(eq=False, slots=True)
class Serving:
    """The process of a zygote, and how to talk to it.

    Attributes:
        process: The process.
        control: Our end of the socket that orders go over.
    """

    process: subprocess.Popen[bytes]
    control: socket.socket
    closed: bool = False
    """Whether it was closed on purpose."""

    def has_ended(self) -> bool:
        """Return whether the process has ended, or does so within a second."""
        try:
            self.process.wait(_DYING_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True


class Zygote:
    """The parent of jailed children.

    Args:
        workload: Module that it imports and whose ``run`` its children call; see ``fork_server``.
    """

    def __init__(self, workload: str) -> None:
        self._workload = workload
        self._lock = threading.Lock()
        self._serving: Serving | None = None

    @property
    def pid(self) -> int | None:
        """Its process id; None while there is no process."""
        return None if self._serving is None else self._serving.process.pid

    def order(self, order: dict[str, Any], code: int, output: int, line: int) -> Serving:
        """Order a child to be forked.

        Args:
            order: The JSON values of a ``child_main.Order``.
            code: Descriptor from which the child reads the code.
            output: Descriptor to which it writes.
            line: Socket: the zygote writes the child's exit status there, and kills the child when the other end is
                shut down or closed. Instead of a status it may write why there is no child.

        Returns:
            The process that has the order.

        Raises:
            OSError: There is no zygote and none can be started.
        """
        message = json.dumps(order).encode()
        descriptors = [code, output, line]
        with self._lock:
            serving = self._serving
            if serving is None or serving.process.poll() is not None:
                serving = self._renew()
            try:
                socket.send_fds(serving.control, [message], descriptors)
            except ConnectionError:
                # It has just ended, so nothing has received the order.
                serving = self._renew()
                socket.send_fds(serving.control, [message], descriptors)
            return serving

    def abandon(self, serving: Serving) -> None:
        """Kill a process that no longer answers, and with it all its children, which die with their parent.

        Args:
            serving: What ``order`` returned; the zygote may have another process by now.
        """
        with self._lock:
            serving.process.kill()
            serving.process.wait()

    def close(self) -> None:
        """End the process and all its children. The zygote may be used again afterwards."""
        with self._lock:
            if self._serving is not None:
                self._serving.closed = True
            self._hang_up()

    def _renew(self) -> Serving:
        self._hang_up()
        self._serving = serving = self._start()
        serving.control.settimeout(_START_SECONDS)
        try:
            answer = serving.control.recv(4096)
        except TimeoutError:
            serving.process.kill()
            answer = b"the jail's fork server is not ready after %d s" % _START_SECONDS
        serving.control.settimeout(None)
        if answer != READY:
            self._hang_up()
            raise ChildProcessError(
                answer.decode("utf-8", "replace") or "the jail's fork server ended before it was ready"
            )
        return serving

    def _start(self) -> Serving:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            settings = {
                "control": theirs.fileno(),
                "parent": os.getpid(),
                "workload": self._workload,
                "path": importable(),
            }
            try:
                return Serving(
                    start("process.fork_server", json.dumps(settings), theirs.fileno(), subprocess.DEVNULL), ours
                )
            except BaseException:
                ours.close()
                raise

    def _hang_up(self) -> None:
        serving, self._serving = self._serving, None
        if serving is None:
            return
        # Closing alone is not noticed while another process holds this end: one that we forked meanwhile.
        with contextlib.suppress(OSError):
            serving.control.shutdown(socket.SHUT_RDWR)
        serving.control.close()
        try:
            serving.process.wait(_REAP_SECONDS)
        except subprocess.TimeoutExpired:
            serving.process.kill()
            serving.process.wait()


class Zygotes:
    """Zygotes of one workload. Each starts once all before it have children: one suffices for one draft at a time.

    Args:
        workload: See ``Zygote``.
        count: Most zygotes.
    """

    def __init__(self, workload: str, count: int) -> None:
        self._zygotes = [Zygote(workload) for _ in range(count)]
        self._children = [0] * count
        self._lock = threading.Lock()

    @property
    def pids(self) -> list[int]:
        """The ids of the processes that there are at present."""
        return [zygote.pid for zygote in self._zygotes if zygote.pid is not None]

    @contextlib.contextmanager
    def least_busy(self) -> Iterator[Zygote]:
        """Give the zygote with the fewest children, which counts one more within the block."""
        with self._lock:
            place = min(range(len(self._children)), key=self._children.__getitem__)
            self._children[place] += 1
        try:
            yield self._zygotes[place]
        finally:
            with self._lock:
                self._children[place] -= 1

    def close(self) -> None:
        """End all zygotes and all their children. They may be used again afterwards."""
        for zygote in self._zygotes:
            zygote.close()


class ForkedChild:
    """One child of a zygote, to be run once. ``kill`` may be called from another thread at any time.

    Args:
        zygotes: One of them becomes its parent.
        order: The JSON values of a ``child_main.Order``.
        code: The untrusted code.
        wall_seconds: Seconds it has, from the moment its walls stand.
        output_bytes: Most bytes it may write after the header.
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

    def run(self) -> ChildExit:
        """Have the child forked, wait until it ends or has to be killed, and leave nothing of it behind.

        A child whose zygote ended under it is forked once more, from a new one.

        Returns:
            How the child ended, and what it wrote.

        Raises:
            ZygoteClosed: The zygote was closed meanwhile.
            OSError: No process could be started, or two zygotes ended under this child.
        """
        with self._zygotes.least_busy() as zygote:
            try:
                return self._run(zygote)
            except ZygoteEnded:
                # No draft can end a zygote, so this one did not. If one could, the second attempt would fail too.
                return self._run(zygote)

    def kill(self) -> None:
        """Kill the child and all its descendants now, or as soon as it exists."""
        with self._lock:
            self._cancelled = True
            if self._ours is not None:
                _shut_down(self._ours)

    def _run(self, zygote: Zygote) -> ChildExit:
        if self._cancelled:
            return ChildExit(b"", b"", "cancelled", 0)
        ours, theirs = socket.socketpair()
        with ours:
            readable, writable = os.pipe()
            try:
                try:
                    serving = self._send(zygote, writable, theirs)
                finally:
                    os.close(writable)
                    theirs.close()
                with self._lock:
                    self._ours = ours
                    if self._cancelled:
                        _shut_down(ours)
                header, body, cause = read_output(
                    readable, self._wall_seconds, self._output_bytes, partial(_has_word, ours)
                )
            finally:
                os.close(readable)
            # A child that closed its output has a moment to end on its own: its status shows why it did.
            status = _status(ours, EXIT_GRACE_SECONDS) if cause == "ended" else None
            if status is None:
                _shut_down(ours)
                status = _status(ours, _REAP_SECONDS)
            with self._lock:
                self._ours = None
        if status is None and not serving.has_ended():
            zygote.abandon(serving)
            raise ChildProcessError("the jail's fork server did not answer, and was killed")
        if not status:
            raise _without_word(serving)
        return ChildExit(header, body, "cancelled" if self._cancelled else cause, _read_status(status))

    def _send(self, zygote: Zygote, writable: int, line: socket.socket) -> Serving:
        code = _code_descriptor(self._code)
        try:
            return zygote.order(self._order, code, writable, line.fileno())
        finally:
            os.close(code)


def importable() -> list[str]:
    """Return where a process of ours may import from: our own path, without the folder that we happen to stand in.

    That folder may hold the very code that is to be jailed, and the zygote imports outside the walls.
    """
    return [entry for entry in sys.path if Path(entry).is_absolute() and not _is_here(entry)]


def _is_here(folder: str) -> bool:
    try:
        return Path(folder).samefile(".")
    except OSError:  # there is no such folder, or our own has been deleted
        return False


def _code_descriptor(code: bytes) -> int:
    """Return a descriptor to read the code from: of a file, not a pipe, so that no child can block us by not reading.

    The child has closed it before the code runs.
    """
    try:
        descriptor = os.memfd_create("code")
    except (AttributeError, OSError):  # missing in this build, or it needs a flag that older kernels do not know
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    try:
        left = memoryview(code)
        while left:
            left = left[os.write(descriptor, left) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _has_word(line: socket.socket) -> bool:
    """Return whether there is a status to read, or the zygote has hung up."""
    poll = select.poll()
    poll.register(line, select.POLLIN)
    return bool(poll.poll(0))


def _status(line: socket.socket, seconds: float) -> bytes | None:
    """Return what the zygote reports of the child's end; empty if the zygote ended, None if nothing came in time."""
    line.settimeout(seconds)
    try:
        return line.recv(4096)
    except TimeoutError:
        return None


def _read_status(report: bytes) -> int:
    """Return the exit status in a report.

    Raises:
        ChildProcessError: The zygote could not fork.
    """
    if report.startswith(NO_CHILD):
        raise ChildProcessError(report.removeprefix(NO_CHILD).decode("utf-8", "replace"))
    return int(report)


def _without_word(serving: Serving) -> ChildProcessError:
    """Return the error for a zygote that hung up without reporting a status."""
    if serving.closed:
        return ZygoteClosed("it was closed")
    if serving.has_ended():
        return ZygoteEnded("the jail's fork server ended while it ran the draft, and so did the next one")
    return ChildProcessError("the jail's fork server could not accept a request")


def _shut_down(line: socket.socket) -> None:
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_WR)
