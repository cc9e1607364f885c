"""A jailed child process seen from outside: started, fed, watched, killed and reaped.

Nothing here interprets what the child writes; it only counts bytes and time.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, Literal

_BOOT: Final = (
    "import os, sys; os.fchdir(int(sys.argv[2])); os.close(int(sys.argv[2])); sys.path.insert(0, sys.argv[1]);"
    " from hazardmill.sandbox.{} import main; main(sys.argv[3])"
)
# Isolated as by -I, except for the one variable that we set: a task that iterates over a set must give the same
# document every time. The child clears it before any untrusted code runs.
ISOLATED: Final = ("-P", "-s", "-S")
ENVIRONMENT: Final = {"PYTHONHASHSEED": "0"}
PACKAGE_PARENT: Final = Path(__file__).resolve().parents[3]
_STARTUP_SECONDS: Final = 60.0
EXIT_GRACE_SECONDS: Final = 0.5
_LOOK_SECONDS: Final = 0.05
"""How often a silent child is looked at: its end shows here too, not only at the end of its output."""
_HEADER_BYTES: Final = 4_096
_CHUNK: Final = 65_536


@dataclass(frozen=True, slots=True)
class ChildExit:
    """How a child ended, and everything that it wrote, up to the cap and one chunk."""

    header: bytes
    """Its first line, without the newline, written before any untrusted code ran. Empty if it never came."""
    body: bytes
    cause: Literal["ended", "timeout", "overflow", "cancelled"]
    returncode: int
    """As in ``subprocess``: a negative one is a signal. Meaningless unless ``cause`` is ``ended``."""


class Child:
    """One child, to be run once. ``kill`` may be called from another thread at any time.

    Args:
        order: What ``single.main`` gets; ``output`` and ``parent`` are filled in here.
        code: The untrusted code.
        wall_seconds: Seconds it has, from the moment its walls stand.
        output_bytes: Most bytes it may write after the header.
    """

    def __init__(self, order: dict[str, Any], code: bytes, *, wall_seconds: float, output_bytes: int) -> None:
        self._order = order
        self._code = code
        self._wall_seconds = wall_seconds
        self._output_bytes = output_bytes
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = False

    def run(self) -> ChildExit:
        """Start the child, wait until it ends or has to be killed, and leave nothing of it behind.

        Returns:
            How the child ended, and what it wrote.

        Raises:
            OSError: No process could be started.
        """
        output = self._start()
        process = self._process
        assert process is not None
        try:
            has_ended = partial(_has_ended, process.pid)
            header, body, cause = read_output(output, self._wall_seconds, self._output_bytes, has_ended)
            if cause == "ended" and not body.endswith(b"\n"):
                _await_exit(has_ended, EXIT_GRACE_SECONDS)
        finally:
            os.close(output)
            self._end(process)
        return ChildExit(header, body, "cancelled" if self._cancelled else cause, process.returncode)

    def kill(self) -> None:
        """Kill the child and all its descendants now, or keep it from starting."""
        with self._lock:
            self._cancelled = True
            process = self._process
            # Its process id is not reused until it is reaped, so the signal cannot hit another process.
            if process is not None and process.returncode is None:
                _kill_group(process.pid)

    def _start(self) -> int:
        readable, writable = os.pipe()
        order = json.dumps({**self._order, "output": writable, "parent": os.getpid()})
        try:
            # A file, not a pipe: a child that does not read cannot block us.
            with tempfile.TemporaryFile() as code, self._lock:
                code.write(self._code)
                code.seek(0)
                self._process = start("process.single", order, writable, stdin=code)
                if self._cancelled:
                    _kill_group(self._process.pid)
        except BaseException:
            os.close(readable)
            raise
        finally:
            os.close(writable)
        return readable

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            _kill_group(process.pid)
            process.wait()


def start(module: str, argument: str, descriptor: int, stdin: IO[bytes] | int) -> subprocess.Popen[bytes]:
    """Start ``main(argument)`` of a module of this package in an isolated interpreter, with an empty environment.

    Its working folder is already deleted: nothing can be made there, and nothing is left behind by a process that is
    killed before it cleans up.

    Args:
        module: The module's name below ``hazardmill.sandbox``.
        argument: The argument of its ``main``.
        descriptor: The only descriptor that it keeps beside the standard three.
        stdin: Its standard input; standard output and error lead nowhere.

    Returns:
        The process, the leader of a new session.

    Raises:
        OSError: No process could be started.
    """
    nowhere = _nowhere()
    try:
        return subprocess.Popen(
            [sys.executable, *ISOLATED, "-c", _BOOT.format(module), str(PACKAGE_PARENT), str(nowhere), argument],
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            start_new_session=True,
            pass_fds=(descriptor, nowhere),
        )
    finally:
        os.close(nowhere)


def _nowhere() -> int:
    """Return a descriptor of an empty folder that has been deleted."""
    folder = tempfile.mkdtemp(prefix="hazardmill-jail-")
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    finally:
        Path(folder).rmdir()


def read_output(
    output: int, wall_seconds: float, output_bytes: int, has_ended: Callable[[], bool]
) -> tuple[bytes, bytes, Literal["ended", "timeout", "overflow"]]:
    """Read what a child writes, to its end or to the first limit.

    The output ends with the child, whoever else holds its pipe: a process that it left behind, or one that was forked
    in the launching process meanwhile. A newline does not end it: code can write one before its report.

    Args:
        output: Readable end of its pipe.
        wall_seconds: Seconds it has after the header.
        output_bytes: Most bytes that may come after the header.
        has_ended: Says whether the child has ended.

    Returns:
        The header, the rest, and why no more was read.
    """
    header = b""
    data = bytearray()
    deadline = time.monotonic() + _STARTUP_SECONDS
    gone = False
    poll = select.poll()
    poll.register(output, select.POLLIN)
    while True:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return header, bytes(data), "timeout"
        if not poll.poll(0 if gone else 1_000 * min(remaining, _LOOK_SECONDS)):
            if gone:
                return header, bytes(data), "ended"
            # Everything it wrote is in the pipe by now, and is read before this loop ends.
            gone = has_ended()
            continue
        chunk = os.read(output, _CHUNK)
        if not chunk:
            return header, bytes(data), "ended"
        data += chunk
        if not header and b"\n" in data:
            header, _, rest = bytes(data).partition(b"\n")
            data = bytearray(rest)
            # Starting up is our part and may be slow on a busy machine; the code's time begins here.
            deadline = time.monotonic() + wall_seconds
        if len(data) > (output_bytes if header else _HEADER_BYTES):
            return header, bytes(data), "overflow"


def _kill_group(pid: int) -> None:
    # The group exists until its leader is reaped; macOS refuses for one whose members have all ended.
    with contextlib.suppress(PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _await_exit(has_ended: Callable[[], bool], seconds: float) -> None:
    """Give a child that closed its output a moment to end on its own, so that its exit status shows why."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not has_ended():
        time.sleep(0.002)
