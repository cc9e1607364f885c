"""``killed_run`` with points at its writes, fsyncs and requests, of a command or of the flow ``generate``.

It takes its jobs as ``killed_run.serve`` says. Words are those of a command, or ``flow`` and the flow's parameters as
JSON. The points, each numbered by its passing:

- ``write``: ``os.write`` to a file (the journal), before it, and ``torn`` in its middle;
- ``file``: a file written whole (parts, manifests, pages), before it, and ``torn`` in its middle;
- ``fsync``: before and after it, of files and of folders;
- ``request``: before and after a call of the backend;
- ``provider``: before and after each call about a batch, or each use of an exchange folder.

The backend is the offline author as a provider would be: it takes a moment to an answer, so that several requests are
under way, and is said to cost money, so that the ledger notes each request before it is sent.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from e2e.killed_run import Points, die, send_output_to_files, serve, work

if TYPE_CHECKING:
    from hazardmill.llm.requests import Completion, Request

KINDS = {
    "write": ("write.before", "write.torn", "file.before", "file.torn"),
    "fsync": ("fsync.before", "fsync.after"),
    "request": ("request.before", "request.after"),
}
"""Points of requests that are sent one by one."""

KINDS_OF_BATCHES = {
    "write": KINDS["write"],
    "fsync": KINDS["fsync"],
    "provider": tuple(
        f"{call}.{side}" for call in ("upload", "create", "look", "download") for side in ("before", "after")
    ),
}
"""Points of requests that travel together; an exchange folder has no upload."""
LATENCY_S = 0.01
SOON_S = 0.05


def begin(report: Path, points: Points) -> None:
    """In the worker: lay the points, and have it noted which requests were sent."""
    send_output_to_files(report)
    lay_writes(points)
    lay_requests(report.with_suffix(".asked"), points)
    lay_batches(points)


def lay_writes(points: Points) -> None:
    """Put points at everything that this process, and no process of a jail, writes to files."""
    import pyarrow.parquet as pq

    worker, write, fsync = os.getpid(), os.write, os.fsync

    def writes(descriptor: int, data: Any) -> int:
        if os.getpid() != worker or not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return write(descriptor, data)
        points.pass_by("write.before")
        if points.reaches("write.torn"):
            write(descriptor, bytes(data)[: len(data) // 2])
            die()
        return write(descriptor, data)

    def syncs(descriptor: int) -> None:
        points.pass_by("fsync.before")
        fsync(descriptor)
        points.pass_by("fsync.after")

    def around_whole(owner: Any, name: str, place: int) -> None:
        """Points around a function that writes the file that its argument at a place names."""
        original = getattr(owner, name)

        @functools.wraps(original)
        def write_whole(*args: Any, **kwargs: Any) -> Any:
            points.pass_by("file.before")
            result = original(*args, **kwargs)
            if points.reaches("file.torn"):
                os.truncate(args[place], Path(args[place]).stat().st_size // 2)
                die()
            return result

        setattr(owner, name, write_whole)

    os.write, os.fsync = writes, syncs
    around_whole(pq, "write_table", 1)
    around_whole(Path, "write_bytes", 0)
    around_whole(Path, "write_text", 0)


def lay_requests(file: Path, points: Points) -> None:
    """Put points around calls of the backend, and note in a file each request that it saw."""
    from hazardmill.testing.offline_author.backend import OfflineBackend

    notes = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    note: Callable[[bytes], int] = functools.partial(_WRITE, notes)
    complete = OfflineBackend.complete

    async def answers(backend: OfflineBackend, request: Request) -> Completion:
        points.pass_by("request.before")
        # One write to the system: what a kill leaves is what had been so.
        note(f"{request.identity(backend.name, backend.host)}\n".encode())
        await asyncio.sleep(LATENCY_S)
        completion = await complete(backend, request)
        points.pass_by("request.after")
        return completion

    OfflineBackend.complete, OfflineBackend.metered = answers, True


def lay_batches(points: Points) -> None:
    """Put points around every call about a batch, and let nobody wait long for one."""
    import litellm

    from hazardmill.llm.batches.exchange.folder import ExchangeFolder
    from hazardmill.runs.resources import REAL

    for name, point in {
        "acreate_file": "upload",
        "acreate_batch": "create",
        "aretrieve_batch": "look",
        "afile_content": "download",
    }.items():
        points.around(litellm, name, point)
    points.around(ExchangeFolder, "create", "create")
    points.around(ExchangeFolder, "status", "look")
    points.around(ExchangeFolder, "_answers", "download")

    async def soon(seconds: float) -> None:
        await asyncio.sleep(min(seconds, SOON_S))

    object.__setattr__(REAL, "batch_sleep", soon)


_WRITE = os.write
"""What is noted is no point."""


def do(words: list[str]) -> int:
    if words[0] != "flow":
        return work(words)
    from flows.generate import generate

    asyncio.run(generate(**json.loads(words[1])))
    return 0


def main() -> None:
    # What every worker needs.
    from flows import generate  # noqa: F401
    from hazardmill.cli.run import work  # noqa: F401
    from hazardmill.llm.backends.litellm import load_litellm

    load_litellm()

    serve(begin, do)


if __name__ == "__main__":
    main()
