"""The jail: one separate, walled-in process for each piece of untrusted code, and only data comes back.

The jail fails closed, by ability: before the first draft a child with exactly the draft's layers tries to read, write,
connect, spawn and signal, and the jail opens only if every attempt fails. Which layers that took is secondary; it is
recorded in ``Jail.profile``, which every row carries. ``docs/decisions/0003-jail.md`` has the threat model.

Processes are forked from a zygote that has everything imported (``process/zygote.py``). Where a system does not allow
that, which is everywhere but on Linux, each draft gets a fresh process; only the minimal jail opens there.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import signal
import socket
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias

from hazardmill.errors import InputError, JailUnavailable, SandboxError
from hazardmill.sandbox import output
from hazardmill.sandbox.process import isolation
from hazardmill.sandbox.process.probe import ABILITIES
from hazardmill.sandbox.process.process import Child, ChildExit
from hazardmill.sandbox.process.zygote import ForkedChild, ZygoteClosed, Zygotes

Profile = Literal["auto", "full", "minimal"]

DRAFTS: Final = "hazardmill.sandbox.workloads.authoring"
"""The workload for code on our authoring module."""
PLANNERS: Final = "hazardmill.sandbox.workloads.planner"
"""The workload for code on Unified Planning and DESPITE's planner interface; it needs the extra ``up``."""
_FORKS: Final = sys.platform == "linux"
_MINIMAL_LAYERS: Final = ("rlimits",)
_MINIMAL_REMEDY: Final = (
    "use a machine whose kernel supports the missing isolation layers (see: hazardmill doctor), or use --jail minimal, "
    "but only for code that you trust"
)
# In the order of importance to a reader, not of application.
_SHOWN: Final = ("rlimits", "uid", "landlock", "seccomp", "netns")
_REASONS: Final = frozenset({"syntax", "exception", "memory", "not_a_task", "not_expressible"})
_MAX_NOTES: Final = 1_000

_AnyChild: TypeAlias = Child | ForkedChild


def _cores() -> int:
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Limits:
    """What one draft may use.

    Each is a number above zero; all but ``wall_seconds`` are whole ones.

    Raises:
        InputError: A limit is something else.
    """

    wall_seconds: float = 10.0
    """Seconds from the moment the walls stand."""
    cpu_seconds: int = 5
    memory_bytes: int = 512 * 1024 * 1024
    """Address space, including the interpreter's."""
    output_bytes: int = 1_000_000
    concurrency: int = field(default_factory=_cores)
    """Drafts that run at the same time; the others wait. A jail keeps the number that it was opened with."""

    def __post_init__(self) -> None:
        """Refuse limits that no draft could run under.

        Raises:
            InputError: A limit is not a positive number, or not a whole one where it counts something.
        """
        for name in self.__slots__:
            value = getattr(self, name)
            whole = name != "wall_seconds"
            if not 0 < value < math.inf or (whole and not isinstance(value, int)):
                number = "whole number" if whole else "number"
                raise InputError(f"{name}={value!r} is not a limit for a draft", remedy=f"give a {number} above zero")


@dataclass(frozen=True, slots=True)
class JailResult:
    """What the code gave.

    Attributes:
        value: The JSON values of a document, their shape unchecked.
    """

    value: dict[str, Any]
    notes: tuple[tuple[str, str], ...] = ()
    """What was left out or changed on the way to a document, if the workload reports it: per item a rule's name and a
    sentence. They may be the code's own words."""


@dataclass(frozen=True, slots=True)
class JailFailure:
    """Why the code gave nothing.

    ``message`` and ``mend`` may be the code's own words: they can be shown, but not believed.

    Attributes:
        message: What went wrong, printable.
        line: The line of the code that it is about, from 1; None where no line is known.
        mend: How to mend it; None where nothing can be advised.
    """

    reason: str
    """``syntax``, ``exception``, ``not_a_task``, ``not_expressible``, ``memory``, ``timeout``, ``output_too_large``,
    ``crashed`` or ``forged_output``."""
    message: str
    line: int | None
    mend: str | None


class Jail:
    """Runs untrusted code. Threads and event loops may share one.

    Args:
        profile: ``full`` holds against every ability or is refused; ``auto``, the default everywhere, is the same
            today; ``minimal`` is a separate process with an empty environment and rlimits, for your own code.
        limits: What one draft may use; None for the defaults.
        workload: The module that runs drafts (``DRAFTS``, ``PLANNERS``; see ``process/fork_server.py``).

    Attributes:
        limits: What one draft may use.
        layers: The layers that every draft runs behind.
        missing: Why each other layer is not there, for ``doctor``.
        profile: Kind and active layers: ``fork:rlimits+uid+landlock+seccomp+netns``. Goes into every row.

    Raises:
        JailUnavailable: Code in the jail could still do something forbidden, or that could not be tested.
    """

    def __init__(self, profile: Profile = "auto", limits: Limits | None = None, *, workload: str = DRAFTS) -> None:
        self.limits = limits or Limits()
        self._workload = workload
        self._at_a_time = self.limits.concurrency
        self._room = threading.BoundedSemaphore(self._at_a_time)
        self._zygotes = Zygotes(workload, min(_cores(), self._at_a_time)) if _FORKS else None
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._abilities: dict[str, bool] | None = None
        self.layers: tuple[str, ...] = _MINIMAL_LAYERS
        self.missing: dict[str, str] = {}
        kind = "minimal" if profile == "minimal" else "fork" if _FORKS else "spawn"
        if profile != "minimal":
            try:
                self._hold()
            except BaseException:
                self.close()
                raise
        self.profile = f"{kind}:{_join(self.layers)}"

    def _hold(self) -> None:
        """Find the layers that this system allows, and make sure that nothing forbidden can be done behind them."""
        self.layers, self.missing, self._abilities = self._probe(isolation.ORDER)
        leaks = [ability for ability, succeeded in self._abilities.items() if succeeded]
        if leaks:
            absent = "; ".join(f"{name}: {why}" for name, why in self.missing.items())
            raise JailUnavailable(
                f"jailed code could still {', '.join(leaks)}" + (f" (missing layers: {absent})" if absent else ""),
                remedy=_MINIMAL_REMEDY,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the threads of ``run_async``, and the zygotes. The jail may be used again afterwards."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()
        if self._zygotes is not None:
            self._zygotes.close()

    def abilities(self) -> dict[str, bool]:
        """Return what code in this jail can do: ``read``, ``write``, ``connect``, ``spawn``, ``signal``.

        Each is really tried, once per jail.

        Raises:
            JailUnavailable: It could not be tried.
        """
        if self._abilities is None:
            self._abilities = self._probe(self.layers)[2]
        return dict(self._abilities)

    def run(self, code: str) -> JailResult | JailFailure:
        """Run one draft in a process of its own; on return that process and all it started are gone.

        Where ``limits.concurrency`` drafts are running already, it waits for its turn.

        Returns:
            What the code gave, or why it gave nothing.

        Raises:
            SandboxError: The jail failed, which says nothing about the code.
        """
        child = self._child(code)
        return child if isinstance(child, JailFailure) else self._read_exit(self._complete(child))

    async def run_async(self, code: str) -> JailResult | JailFailure:
        """Run one draft in its turn, without blocking the event loop.

        Cancelling kills the draft's process, or keeps it from starting.

        Returns:
            What the code gave, or why it gave nothing.

        Raises:
            SandboxError: The jail failed, which says nothing about the code.
        """  # noqa: DOC501  # a cancellation is only passed on
        child = self._child(code)
        if isinstance(child, JailFailure):
            return child
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._at_a_time, thread_name_prefix="jail")
            running = asyncio.wrap_future(self._threads.submit(self._complete, child))
        try:
            ended = await running
        except asyncio.CancelledError:
            child.kill()
            raise
        return self._read_exit(ended)

    def _complete(self, child: _AnyChild) -> ChildExit:
        with self._room:
            try:
                return child.run()
            except ZygoteClosed as error:
                raise SandboxError(
                    "the jail was closed while the draft ran", remedy="close it after the last draft has returned"
                ) from error
            except OSError as error:
                raise SandboxError(
                    f"no jailed process could be started: {error}", remedy="see the limits on processes and memory"
                ) from error

    def _child(self, code: str) -> _AnyChild | JailFailure:
        try:
            encoded = code.encode("utf-8")
        except UnicodeEncodeError as error:
            line = code.count("\n", 0, error.start) + 1
            return JailFailure("syntax", "the code holds text that is not Unicode", line, "write plain UTF-8")
        order = self._order(self.layers, strict=True, probe=None)
        return self._start_child(order, encoded, self.limits.wall_seconds)

    def _start_child(self, order: dict[str, Any], code: bytes, wall_seconds: float) -> _AnyChild:
        output_bytes = self.limits.output_bytes
        if self._zygotes is None:
            return Child(order, code, wall_seconds=wall_seconds, output_bytes=output_bytes)
        return ForkedChild(self._zygotes, order, code, wall_seconds=wall_seconds, output_bytes=output_bytes)

    def _order(self, wanted: tuple[str, ...], *, strict: bool, probe: dict[str, Any] | None) -> dict[str, Any]:
        return {
            "workload": self._workload,
            "layers": wanted,
            "resources": {"cpu_seconds": self.limits.cpu_seconds, "memory_bytes": self.limits.memory_bytes},
            "strict": strict,
            "probe": probe,
        }

    def _probe(self, wanted: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str], dict[str, bool]]:
        try:
            with socket.create_server(("127.0.0.1", 0)) as listener:
                probe = {
                    "port": listener.getsockname()[1],
                    "read": [path for path in ("/etc/passwd", __file__) if Path(path).is_file()],
                    "write": [".", tempfile.gettempdir()],
                }
                order = self._order(wanted, strict=False, probe=probe)
                ended = self._start_child(order, b"", 10.0).run()
            header, body = output.parse(ended.header + b"\n"), output.parse(ended.body)
            tried = {ability: body["abilities"][ability] for ability in ABILITIES}
        except (OSError, output.MalformedOutput, LookupError, TypeError) as error:
            raise JailUnavailable(
                f"the isolation of the jail could not be tested: {error}", remedy=_MINIMAL_REMEDY
            ) from error
        return tuple(header["layers"]), header["missing"], tried

    def _read_exit(self, ended: ChildExit) -> JailResult | JailFailure:
        standing = _header(ended).get("layers")
        if standing != list(self.layers):
            raise SandboxError(
                f"the jail had the layers {list(self.layers)} at start and now has {standing}: no code was run",
                remedy="see hazardmill doctor",
            )
        limits = self.limits
        if ended.cause == "timeout":
            return _timeout_failure(f"it was still running after {limits.wall_seconds:g} s")
        if ended.cause == "overflow":
            return JailFailure(
                "output_too_large",
                f"it gave more than {limits.output_bytes} bytes",
                None,
                "write a smaller task: fewer objects, fluents and actions",
            )
        if ended.cause == "cancelled":
            raise SandboxError("the draft was cancelled")
        if not ended.body:
            return _crash_failure(ended.returncode, limits)
        try:
            return _report(output.parse(ended.body))
        except output.MalformedOutput as error:
            return _forgery_failure(str(error))


def _header(ended: ChildExit) -> dict[str, Any]:
    try:
        return output.parse(ended.header + b"\n")
    except output.MalformedOutput:
        raise SandboxError(
            f"a jailed process ended before its jail was complete ({ended.cause}, status {ended.returncode})",
            remedy="check that memory_bytes is enough for the interpreter and the library that drafts import",
        ) from None


def _report(report: dict[str, Any]) -> JailResult | JailFailure:
    """Read a report field by field: the code may have written it."""
    if {"document"} <= set(report) <= {"document", "notes"} and isinstance(report["document"], dict):
        notes = report.get("notes", [])
        if not _are_notes(notes):
            return _forgery_failure("its notes have the wrong shape")
        return JailResult(report["document"], tuple((rule, output.printable(text)) for rule, text in notes))
    if set(report) != {"reason", "message", "line", "remedy"} or report["reason"] not in _REASONS:
        return _forgery_failure("its report has parts that no report has")
    message, line, remedy = report["message"], report["line"], report["remedy"]
    if not isinstance(message, str) or not isinstance(remedy, str | None) or not _is_line(line):
        return _forgery_failure("its report has values that no report has")
    return JailFailure(
        report["reason"], output.printable(message), line, remedy if remedy is None else output.printable(remedy)
    )


def _are_notes(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= _MAX_NOTES
        and all(isinstance(note, list) and len(note) == 2 and all(isinstance(p, str) for p in note) for note in value)
        and all(re.fullmatch(r"[a-z_]{1,40}", note[0]) for note in value)
    )


def _is_line(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**7)


def _forgery_failure(what: str) -> JailFailure:
    return JailFailure(
        "forged_output",
        f"what came out of the jail is not a report: {output.printable(what)}",
        None,
        "only declare the task; write to no descriptor and leave the interpreter alone",
    )


def _timeout_failure(what: str) -> JailFailure:
    return JailFailure("timeout", what, None, "declare the task and return: no waiting, no search, no endless loop")


def _crash_failure(status: int, limits: Limits) -> JailFailure:
    if -status == signal.SIGXCPU:
        return _timeout_failure(f"it used more than {limits.cpu_seconds} s of CPU time")
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return JailFailure(
        "crashed", f"the process ended without a report ({how})", None, "do not end the interpreter from the task"
    )


def _join(names: tuple[str, ...]) -> str:
    return "+".join(name for name in _SHOWN if name in names) or "none"
