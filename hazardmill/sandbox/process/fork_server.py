"""Inside a zygote: import what code needs once, then fork a walled-in child per order.

Started by ``zygote.py`` in an isolated interpreter. Orders come over a socket, one message each, together with three
descriptors: the code, the output, and a line to whoever waits. The zygote itself never reads code, so nothing of one
child can reach the next.

A workload is a module with ``prepare() -> None``, called once before any wall stands, and ``run(code) -> bytes``,
called behind the walls; its answer is one line of JSON.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys

# The compiler needs it for identifiers and escapes beyond ASCII, and cannot load it once the walls stand.
import unicodedata
from collections.abc import Callable
from types import FrameType
from typing import Final, NoReturn

from hazardmill.sandbox.process import child_main, isolation

READY: Final = b"ready"
NO_CHILD: Final = b"no child: "
"""Sent over the line in place of an exit status, before the reason why there is no child."""
MAX_ORDER: Final = 65_536
DESCRIPTORS: Final = 3
"""Sent with each order: code, output, line."""

# Libraries of linear algebra start one thread per core when they are imported, and a process with threads cannot be
# forked safely.
_ONE_THREAD: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def main(settings_json: str) -> NoReturn:
    """Prepare, report that, and serve until the jail hangs up.

    Args:
        settings_json: ``control`` (descriptor of the socket), ``parent`` (process id of whoever holds the other end),
            ``workload`` (name of a module), ``path`` (where to import from).
    """
    settings = json.loads(settings_json)
    control = socket.socket(fileno=settings["control"])
    try:
        watched = _watch(settings["parent"])
        run = _prepare(settings["workload"], settings["path"])
    except BaseException as error:
        control.send(f"{type(error).__name__}: {error}".encode()[:1000])
        os._exit(1)
    control.send(READY)
    _Nursery(control, settings["parent"], watched, run).serve()


def _watch(parent: int) -> int | None:
    """Return a descriptor that becomes readable when the parent ends; None where the system has no such thing.

    The control socket alone does not show it: a process that the parent forked for its own purposes may hold it open.

    Raises:
        ProcessLookupError: The parent has ended already.
    """
    try:
        watched = os.pidfd_open(parent) if sys.platform == "linux" else None
    except (AttributeError, OSError):  # an older interpreter or kernel, or one that forbids it
        watched = None
    if os.getppid() != parent:
        raise ProcessLookupError("the process that started the jail's fork server has ended")
    return watched


def _prepare(workload: str, path: list[str]) -> Callable[[str], bytes]:
    sys.path += [entry for entry in path if entry not in sys.path]
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    nowhere = os.open(".", os.O_RDONLY)
    # Libraries look at the current folder, and some read settings in those above it: only root can put any into /.
    os.chdir("/")
    module = importlib.import_module(workload)
    unicodedata.normalize("NFKC", "")
    module.prepare()
    isolation.redirect_standard_streams()
    isolation.warm()
    os.fchdir(nowhere)
    os.close(nowhere)
    # Code may import what is loaded and nothing else, whether or not Landlock stands.
    sys.path.clear()
    os.environ.clear()
    _check_forkable(workload)
    # Everything up to here is frozen, so that a child's collector does not write to pages shared with the others.
    gc.collect()
    gc.freeze()
    run: Callable[[str], bytes] = module.run
    return run


def _check_forkable(workload: str) -> None:
    """Refuse what a fork would not copy: threads, which may hold locks, and memory that all children would share."""
    if sys.platform != "linux":
        return
    # No pathlib in a zygote: each child has to copy what it loads.
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208  # see above
    if threads > 1:
        raise RuntimeError(
            f"importing {workload} left {threads} threads running, but a process that forks must have only one"
        )
    # "7f00-7f10 rw-s 00000000 00:01 5 /some/file (deleted)", see proc_pid_maps(5).
    with open("/proc/self/maps", errors="replace") as maps:  # noqa: PTH123  # see above
        mappings = [line.split(maxsplit=5) for line in maps.read().splitlines()]
    shared = [mapping[-1] for mapping in mappings if set("ws") <= set(mapping[1])]
    if shared:
        raise RuntimeError(f"{workload} holds memory that its children would share: {', '.join(shared)}")


class _Nursery:
    """The living children, each with the line to whoever waits for it.

    Plain loops over a plain poll: each page that this writes to after a fork has to be copied first.
    """

    def __init__(self, control: socket.socket, parent: int, watched: int | None, run: Callable[[str], bytes]) -> None:
        self._control = control
        self._parent = parent
        self._watched = watched
        self._run = run
        self._poll = select.poll()
        self._lines: dict[int, socket.socket] = {}
        self._pids: dict[int, int] = {}
        """Process ids of the children whose lines are still watched, by the line's descriptor."""
        self._last: tuple[bytes, child_main.Order] | None = None

    def serve(self) -> NoReturn:
        readable, writable = os.pipe()
        os.set_blocking(writable, False)
        signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _nothing)
        control = self._control.fileno()
        for descriptor in (control, readable, self._watched):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)
        # Without a descriptor to watch, the parent is checked every second.
        patience = 1_000 if self._watched is None else None
        while True:
            ready = [descriptor for descriptor, _ in self._poll.poll(patience)]
            if self._watched in ready or (self._watched is None and os.getppid() != self._parent):
                self._end()
            for descriptor in ready:
                if descriptor in self._pids:
                    # Whoever waited has hung up.
                    _kill(self._pids[descriptor])
                    self._forget(descriptor)
            if readable in ready:
                os.read(readable, 4096)
                self._reap()
            # Last: the descriptors of a new order may have the numbers of those that have just been closed.
            if control in ready:
                self._take_order()

    def _take_order(self) -> None:
        message, received, _, _ = socket.recv_fds(self._control, MAX_ORDER, DESCRIPTORS)
        if not message:
            self._end()
        if len(received) != DESCRIPTORS:
            # Out of descriptors. Those that did not arrive are closed, by which the other side notices.
            for descriptor in received:
                os.close(descriptor)
            return
        code, output, number = received
        line = socket.socket(fileno=number)
        try:
            order = self._read(message)
            zygote = os.getpid()
            pid = os.fork()
            if pid == 0:
                _enter_child(order, zygote, code, output, self._run)
            self._lines[pid] = line
            self._pids[number] = pid
            self._poll.register(number, select.POLLIN)
        except OSError as error:
            with contextlib.suppress(OSError):
                line.send(NO_CHILD + str(error).encode()[:1000])
            line.close()
        finally:
            os.close(code)
            os.close(output)

    def _read(self, message: bytes) -> child_main.Order:
        """Return the order in a message. Nearly all orders of a jail are the same, so the last one is kept.

        An order to probe names places outside, which no draft may find in its memory: it is not kept.
        """
        if self._last is not None and self._last[0] == message:
            return self._last[1]
        order = child_main.Order.from_json(json.loads(message))
        if order.probe is None:
            self._last = message, order
        return order

    def _end(self) -> NoReturn:
        for pid in self._lines:
            _kill(pid)
        for pid in self._lines:
            os.waitpid(pid, 0)
        os._exit(0)

    def _reap(self) -> None:
        for pid in list(self._lines):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
                continue
            # What it forked ends with it. Its process id is not reused until it is reaped.
            _kill(pid)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            line = self._lines.pop(pid)
            if line.fileno() in self._pids:
                self._forget(line.fileno())
            with contextlib.suppress(OSError):
                line.send(b"%d" % status)
            line.close()

    def _forget(self, line: int) -> None:
        self._poll.unregister(line)
        del self._pids[line]


def _enter_child(order: child_main.Order, zygote: int, code: int, output: int, run: Callable[[str], bytes]) -> NoReturn:
    """Do what a child does from fork to end; it must never return into the loop of its parent."""
    try:
        # The handler of SIGCHLD may stay: it does nothing.
        signal.set_wakeup_fd(-1)
        os.setsid()
        text = b""
        while part := os.read(code, 65_536):
            text += part
        child_main.live(order, text.decode("utf-8"), output, zygote, run)
    finally:
        os._exit(1)


def _kill(pid: int) -> None:
    """Kill a child that is not reaped yet, and its process group, which it may not have created yet."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _nothing(number: int, frame: FrameType | None) -> None:
    """Take the signal, so that the descriptor of ``set_wakeup_fd`` is written."""
