"""``killed_run`` with points on either side of the wire, for many workers: they are forked from one warm process.

It takes its jobs as ``killed_run.serve`` says. litellm takes seconds to import, and is imported once.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from e2e.killed_run import Points, lay_points, send_output_to_files, serve

if TYPE_CHECKING:
    from hazardmill.llm.ledger import CallAttempt, PendingAttempt
    from hazardmill.llm.requests import Completion, Request


def begin(report: Path, points: Points) -> None:
    """In the worker: send what it says to files, and put points where ``killed_run`` has them and at each attempt."""
    from hazardmill.llm.backends.litellm import LitellmBackend

    send_output_to_files(report)
    # First, so that points lie outside: who dies after an answer was read has noted that it was.
    note_answers(report.with_suffix(".answers"))
    lay_points(points)
    points.around(LitellmBackend, "complete", "http")


def note_answers(file: Path) -> None:
    """Have it written down which answers were read, and which of them were handed over to the journal.

    One write to the system for each: what a kill leaves is what had been so.
    """
    from hazardmill.llm.backends.litellm import LitellmBackend
    from hazardmill.llm.ledger import Ledger

    notes = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    complete, hand_over = LitellmBackend.complete, Ledger.hand_over

    def note(what: str, request: Request) -> None:
        messages = [[message.role, message.content] for message in request.messages]
        os.write(notes, f"{json.dumps([what, json.dumps(messages)])}\n".encode())

    async def reads(backend: LitellmBackend, request: Request) -> Completion:
        completion = await complete(backend, request)
        note("read", request)
        return completion

    def hands_over(ledger: Ledger, attempt: CallAttempt, number: int | None = None) -> PendingAttempt:
        # Before, for the thread of the journal may have it on the disk at once.
        if attempt.completion is not None:
            note("handed over", attempt.request)
        return hand_over(ledger, attempt, number)

    LitellmBackend.complete, Ledger.hand_over = reads, hands_over


def import_clients() -> None:
    """Import litellm, and what it imports with the first request."""
    from hazardmill.llm.backends.litellm import load_litellm

    load_litellm()
    for late in ("_service_logger", "litellm_core_utils.default_encoding", "proxy._types"):
        importlib.import_module(f"litellm.{late}")
    importlib.import_module("openai.resources")


def main() -> None:
    # What every worker needs.
    import duckdb  # noqa: F401
    import rapidfuzz.process  # noqa: F401

    from hazardmill.cli import main  # noqa: F401
    from hazardmill.cli.run import generate, resume, work  # noqa: F401

    import_clients()
    serve(begin)


if __name__ == "__main__":
    main()
