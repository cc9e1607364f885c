"""Proving in processes that can be killed: the second safety net below the bounds that are computed beforehand.

A task is refused by what is computed from its document (``semantics.ground_size``, ``search.budget``). Should a bound
be wrong, the process that proves is killed by its own limits, and the draft has the reason ``killed``: a bug to
report, because where it strikes depends on the machine.

A process is started when there is work and none is idle, and then kept: starting one takes longer than most proofs.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import pickle
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Final, ParamSpec, TypeVar, cast

from hazardmill.errors import ProofKilled, SandboxError
from hazardmill.formalism.search.budget import DRAFT_LIMIT, most_bytes
from hazardmill.sandbox.process.process import start
from hazardmill.sandbox.process.zygote import importable
from hazardmill.sandbox.workloads.proving import MOST_ANSWER, OUT_OF_MEMORY, READY, TOO_LONG_AN_ANSWER

_MODULES: Final = ("hazardmill.formalism.proofs.draft_proof", "hazardmill.sandbox.check")
_MEMORY: Final = 512 * 2**20
"""Bytes beside twice what searches may keep by computation."""
_SECONDS: Final = 60
"""Processor time at the limit of drafts: several times what the largest of them takes."""

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


class Provers:
    """Proving processes, at most one per core. Threads may share one.

    Args:
        memory: Bytes that a piece of work may take; None for what follows from its limit.
        seconds: Seconds of processor time that it may take; None for what follows from its limit.
    """

    def __init__(self, memory: int | None = None, seconds: int | None = None) -> None:
        self._memory = memory
        self._seconds = seconds
        self._room = threading.BoundedSemaphore(os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._idle: list[_Prover] = []

    def run(self, limit: int, work: Callable[Asked, Answer], *args: Asked.args, **named: Asked.kwargs) -> Answer:
        """Do a piece of work in a proving process. Exceptions that it raises there are raised here.

        Waits while there is a piece of work for every core already.

        Args:
            limit: Most expansions of its searches, from which its memory and time follow.
            work: A module-level function; arguments and result must be picklable.
            args: Its arguments.
            named: Its keyword arguments.

        Returns:
            What ``work`` returned there.

        Raises:
            ProofKilled: It took more than it may, so its process was killed.
            SandboxError: No process can be started.
        """
        memory = self._memory or _MEMORY + 2 * most_bytes(limit)
        seconds = self._seconds or _SECONDS * max(1, -(-limit // DRAFT_LIMIT))
        function = functools.partial(work, **named) if named else work
        request = pickle.dumps((function, args, memory, seconds), pickle.HIGHEST_PROTOCOL)
        with self._room:
            answer = self._ask(request, memory, seconds)
        worked, value = pickle.loads(answer)
        if not worked:
            raise value
        return cast("Answer", value)

    def close(self) -> None:
        """End the processes that are idle. It may be used again afterwards."""
        with self._lock:
            idle, self._idle = self._idle, []
        for prover in idle:
            prover.end()

    def _ask(self, request: bytes, memory: int, seconds: int) -> bytes:
        while True:
            prover, fresh = self._take_prover()
            try:
                answer = prover.ask(request)
            except (EOFError, OSError):
                status = prover.end()
                # A process that has grown ends after its answer, which may be just now: the request goes to another.
                if not fresh and status == 0:
                    continue
                raise _kill_error(status, memory, seconds) from None
            except BaseException:
                prover.end()
                raise
            with self._lock:
                self._idle.append(prover)
            return answer

    def _take_prover(self) -> tuple[_Prover, bool]:
        """Return an idle process or a fresh one, and whether it is fresh."""
        while True:
            with self._lock:
                prover = self._idle.pop() if self._idle else None
            if prover is None:
                return _Prover(), True
            if prover.alive:
                return prover, False
            prover.end()


class _Prover:
    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            settings = json.dumps({"line": theirs.fileno(), "path": importable(), "modules": _MODULES})
            try:
                self._process = start("workloads.proving", settings, theirs.fileno(), subprocess.DEVNULL)
            except OSError as error:
                ours.close()
                raise _start_error(error.strerror or str(error)) from error
        self._line = Connection(ours.detach())
        try:
            ready = self._line.recv_bytes()
        except (EOFError, OSError):
            raise _start_error(f"it ended with status {self.end()}") from None
        except BaseException:
            self.end()
            raise
        assert ready == READY

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: bytes) -> bytes:
        self._line.send_bytes(request)
        return self._line.recv_bytes()

    def end(self) -> int:
        """End the process; return its exit status if it had already ended."""
        self._line.close()
        # A process whose line is closed ends on its own, unless it is at work.
        try:
            return self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def _start_error(why: str) -> SandboxError:
    return SandboxError(
        f"no process for proving can be started: {why}",
        remedy="check that there is enough memory and that more processes are allowed",
    )


def _kill_error(status: int, memory: int, seconds: int) -> ProofKilled:
    how = {
        OUT_OF_MEMORY: f"it took more than {memory // 2**20} MB",
        TOO_LONG_AN_ANSWER: f"its result is longer than {MOST_ANSWER // 2**20} MB",
        -signal.SIGXCPU: f"it took more than {seconds} s of processor time",
        -signal.SIGKILL: "the system ended it, which happens when memory is short",
    }.get(status, f"its process ended with status {status}")
    return ProofKilled(
        f"proving the task was stopped: {how}. No draft should get this far: this is a bug in hazardmill",
        remedy="use fewer objects, parameters or fluents; and please report the task with this message",
    )


@functools.cache
def provers() -> Provers:
    """Return the proving processes that everything in this process shares; they end with it.

    A process forked from this one gets its own.
    """
    shared = Provers()
    atexit.register(shared.close)
    with contextlib.suppress(AttributeError):  # a system without fork
        os.register_at_fork(after_in_child=provers.cache_clear)
    return shared
