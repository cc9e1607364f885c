"""A process that does something to a store and may kill itself at a named point, and a keeper that says what it left.

It takes its jobs as ``serve`` says. ``words`` are those of a command of hazardmill, or ``compact STORE``. The worker
dies by SIGKILL when it comes to ``point`` for the ``occurrence``-th time; with the occurrence 0 it never does. The
keeper, its parent, becomes the parent of whatever the worker leaves behind, waits for it to end, and writes to
``report`` what it saw.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import inspect
import json
import os
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from patience import PATIENCE_S

_PR_SET_CHILD_SUBREAPER = 36


class Points:
    """Counts how often each point was passed, and dies at one of them."""

    def __init__(self, fatal: str, occurrence: int) -> None:
        self.passed: Counter[str] = Counter()
        self._fatal = (fatal, occurrence)
        self._lock = threading.Lock()

    def reaches(self, point: str) -> bool:
        """Whether this is where to die; counts."""
        with self._lock:
            self.passed[point] += 1
            return (point, self.passed[point]) == self._fatal

    def pass_by(self, point: str) -> None:
        if self.reaches(point):
            die()

    def around(self, owner: Any, name: str, point: str) -> None:
        """Points before and after each call of a function or method."""
        original = getattr(owner, name)

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            self.pass_by(f"{point}.before")
            result = original(*args, **kwargs)
            self.pass_by(f"{point}.after")
            return result

        @functools.wraps(original)
        async def await_call(*args: Any, **kwargs: Any) -> Any:
            self.pass_by(f"{point}.before")
            result = await original(*args, **kwargs)
            self.pass_by(f"{point}.after")
            return result

        setattr(owner, name, await_call if inspect.iscoroutinefunction(original) else call)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def lay_points(points: Points) -> None:
    """Put points into every stage of a run, and into every way of the store to the disk."""
    from hazardmill.generation import execute, refine
    from hazardmill.ingest import intake
    from hazardmill.llm.ledger import Ledger
    from hazardmill.runs import run, session
    from hazardmill.sandbox.process.zygote import Zygote
    from hazardmill.store import duckdb_views
    from hazardmill.store.files import fsync_io
    from hazardmill.store.schemas import TABLES
    from hazardmill.store.store import Store
    from hazardmill.store.writer import Writer
    from hazardmill.testing.offline_author.backend import OfflineBackend

    points.around(intake, "_record_row", "ingest.record")
    points.around(run, "take_in", "ingest.input")
    for stage in ("extract", "author", "execute", "judge"):
        points.around(refine, stage, stage)
    points.around(execute, "prove", "execute.prove")
    # After it, the draft's process is at work.
    points.around(Zygote, "order", "execute.jail")
    # After the one and before the other, an answer has come and is not written down.
    points.around(OfflineBackend, "complete", "llm.answer")
    points.around(Ledger, "hand_over", "llm.handed")
    # After it, what was handed over is on the disk.
    points.around(Ledger, "record", "llm.ledger")
    points.around(session.Session, "_commit", "commit")
    points.around(Writer, "roll", "roll")
    points.around(run.Run, "_change", "state")
    points.around(duckdb_views, "rename", "lens.rename")

    synced, write = fsync_io.sync_folder, os.write

    def sync_folder(folder: Path) -> None:
        if folder.name in TABLES:
            points.pass_by("part.rename.unsynced")
        elif folder.name == "manifests":
            points.pass_by("manifest.rename.unsynced")
        synced(folder)

    def torn(descriptor: int, data: Any) -> int:
        file = Path(f"/proc/self/fd/{descriptor}").readlink()
        if file.suffix == ".jsonl" and points.reaches("journal.torn"):
            write(descriptor, bytes(data)[: len(data) // 2])
            die()
        return write(descriptor, data)

    fsync_io.sync_folder, os.write = sync_folder, torn
    Store.__init__ = functools.partialmethod(Store.__init__, fault=points.pass_by)


def work(words: list[str]) -> int:
    from hazardmill.cli.main import main
    from hazardmill.store.store import Store

    if words[0] == "compact":
        Store(words[1]).compact()
        return 0
    sys.argv = ["hazardmill", *words]
    try:
        main()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 0


def children() -> list[int]:
    return [int(pid) for tasks in Path("/proc/self/task").iterdir() for pid in (tasks / "children").read_text().split()]


def wait_for_orphans() -> list[int]:
    """Wait for everything the worker left; what does not end by itself is ended and named."""

    def lost_patience(number: int, frame: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, lost_patience)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S / 4)
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return []
    except TimeoutError:
        left = children()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return left
    finally:
        signal.alarm(0)


def keep(
    report: Path,
    point: str,
    occurrence: int,
    words: list[str],
    begin: Callable[[Points], None],
    do: Callable[[list[str]], int] = work,
) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    points = Points(point, occurrence)
    worker = os.fork()
    if not worker:
        begin(points)
        status = do(words)
        report.with_suffix(".passed").write_text(json.dumps(points.passed))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    _, status = os.waitpid(worker, 0)
    seen = {"status": os.waitstatus_to_exitcode(status), "left": wait_for_orphans()}
    report.write_text(json.dumps(seen))


def send_output_to_files(report: Path) -> None:
    """In a worker of ``serve``: what it says goes to the report's ``.out`` and ``.err``."""
    for descriptor, name in ((0, os.devnull), (1, report.with_suffix(".out")), (2, report.with_suffix(".err"))):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)


def serve(begin: Callable[[Path, Points], None], do: Callable[[list[str]], int] = work) -> None:
    """Keep many workers, one after the other, forked from this process: what it has imported is imported once.

    Reads jobs from standard input, one JSON object a line: ``report``, ``point``, ``occurrence`` and ``words``. Answers
    with a line when the worker and all that it left have ended.

    Args:
        begin: Called in the worker with the report and the points, before its work.
        do: Its work, given the words; returns the exit code.
    """
    keeper = os.getpid()
    # Workers never look through what is there already, and so need no copies of its pages.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        job = json.loads(line)
        report = Path(job["report"])
        try:
            keep(report, job["point"], job["occurrence"], job["words"], functools.partial(begin, report), do)
        except BaseException:
            if os.getpid() == keeper:
                raise
            # A worker must not come back from here, and take over the keeper's jobs.
            traceback.print_exc()
            os._exit(70)
        print("done", flush=True)


def begin(report: Path, points: Points) -> None:
    """In the worker: send what it says to files, and lay the points."""
    send_output_to_files(report)
    lay_points(points)


def main() -> None:
    # What every worker needs.
    import duckdb  # noqa: F401

    from hazardmill.cli import main  # noqa: F401
    from hazardmill.cli.run import generate, resume  # noqa: F401
    from hazardmill.testing.offline_author import backend  # noqa: F401

    serve(begin)


if __name__ == "__main__":
    main()
