"""Processes that write to a store, forked by one that has imported all they need: to import it takes half a second.

``Children`` starts that one, which is this module run by itself with a socket as its standard input and the names of
further modules that its children need. A child is a real
process: it is killed, and says what it says, as any other.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
PATH = os.pathsep.join([str(TESTS.parent), str(TESTS)])


class Child:
    """A process that was started; used like ``subprocess.Popen`` with pipes of text."""

    def __init__(self, out: int, err: int, ended: int) -> None:
        self.stdout, self.stderr, self._ended = (os.fdopen(each) for each in (out, err, ended))
        self.pid = int(self._ended.readline())
        self.returncode: int | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.wait()
        self._close()

    def _close(self) -> None:
        for file in (self.stdout, self.stderr, self._ended):
            file.close()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = int(self._ended.readline())
        return self.returncode

    def poll(self) -> int | None:
        if self.returncode is None:
            # What is in the buffer already was written just before the other end was closed: that is something to read.
            ready, _, _ = select.select([self._ended], [], [], 0)
            return self.wait() if ready else None
        return self.returncode

    def communicate(self) -> tuple[str, str]:
        """All that it says, once it has ended; that has to fit in a pipe."""
        self.wait()
        said = self.stdout.read(), self.stderr.read()
        self._close()
        return said


class Children:
    """Starts children that run ``store.child_writer``.

    Args:
        modules: What they need besides.
    """

    def __init__(self, *modules: str) -> None:
        self._socket, other = socket.socketpair()
        environment = {**os.environ, "PYTHONPATH": PATH}
        self._server = subprocess.Popen(
            [sys.executable, "-m", "store.children", *modules], stdin=other, env=environment
        )
        other.close()

    def start(self, *words: object, environment: Mapping[str, str] | None = None) -> Child:
        """Start a child with these words of a command, and with changes of the environment."""
        pipes = [os.pipe() for _ in range(3)]
        order = [[str(word) for word in words], dict(environment or {})]
        socket.send_fds(self._socket, [json.dumps(order).encode()], [w for _, w in pipes])
        for _, writes in pipes:
            os.close(writes)
        return Child(*(reads for reads, _ in pipes))

    def stop(self) -> None:
        self._socket.close()
        self._server.wait()


def serve(orders: socket.socket, run: Callable[..., int]) -> None:
    """Fork a process per order, which forks the child and waits for it."""
    while True:
        order, files, _, _ = socket.recv_fds(orders, 2**16, 3)
        _reap(0 if not order else os.WNOHANG)
        if not order:
            return
        if os.fork() == 0:
            orders.close()
            os.open(os.devnull, os.O_RDONLY)
            words, environment = json.loads(order)
            os.environ.update(environment)
            _watch(files, run, words)
        for each in files:
            os.close(each)


def _reap(options: int) -> None:
    try:
        while os.waitpid(-1, options) != (0, 0):
            pass
    except ChildProcessError:
        pass


def _watch(files: list[int], run: Callable[..., int], words: list[Any]) -> None:
    out, err, ended = files
    child = os.fork()
    if child == 0:
        os.close(ended)
        os.dup2(out, 1)
        os.dup2(err, 2)
        status = 1
        try:
            status = run(*words)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            os._exit(status)
    for each in (out, err):
        os.close(each)
    os.write(ended, f"{child}\n".encode())
    _, status = os.waitpid(child, 0)
    os.write(ended, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


if __name__ == "__main__":
    from store.child_writer import run

    for each in sys.argv[1:]:
        importlib.import_module(each)
    serve(socket.socket(fileno=0), run)
