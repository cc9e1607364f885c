"""A batch as the server keeps it, and the lines of its files."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Final

from hazardmill.llm.batches.line_format import ENDPOINT

FINAL: Final = ("completed", "failed", "expired", "cancelled")
"""States of a batch that has ended."""
_DAY_S: Final = 24 * 60 * 60


@dataclass(slots=True)
class BatchJob:
    """One batch, from its creation to its end.

    Attributes:
        number: Number in the order of creation, from 1.
        name: What plans of faults know it by.
        attempt: One more than the number of earlier batches that held one of its lines.
        lines: The parsed requests.
    """

    id: str
    number: int
    name: str
    attempt: int
    input_file_id: str
    metadata: dict[str, str] | None
    lines: list[dict[str, Any]]
    mistake: str | None
    """Why the check of the requests fails; null if it does not."""
    created_at: float
    status: str = "validating"
    cancelling: bool = False
    output_file_id: str | None = None
    error_file_id: str | None = None
    completed: int = 0
    failed: int = 0
    ended_at: float | None = None
    task: asyncio.Task[None] | None = None
    errors: list[dict[str, Any]] = field(default_factory=list)

    @property
    def info(self) -> dict[str, Any]:
        """What the API says of the batch."""
        status = "cancelling" if self.cancelling and self.ended_at is None else self.status
        ended = None if self.ended_at is None else int(self.ended_at)
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": ENDPOINT,
            "errors": {"object": "list", "data": self.errors} if self.errors else None,
            "input_file_id": self.input_file_id,
            "completion_window": "24h",
            "status": status,
            "output_file_id": self.output_file_id,
            "error_file_id": self.error_file_id,
            "created_at": int(self.created_at),
            "expires_at": int(self.created_at) + _DAY_S,
            **{f"{name}_at": ended if status == name else None for name in FINAL},
            "request_counts": {"total": len(self.lines), "completed": self.completed, "failed": self.failed},
            "metadata": self.metadata,
        }


def read_requests(content: bytes) -> tuple[list[dict[str, Any]], str | None]:
    """Return the lines of a file of requests, and why the check of them fails; null if it does not.

    Args:
        content: The file, in OpenAI's format.
    """
    lines: list[dict[str, Any]] = []
    for number, text in enumerate(content.splitlines(), start=1):
        try:
            line = json.loads(text)
            if line["method"] != "POST" or line["url"] != ENDPOINT or not isinstance(line["body"], dict):
                return [], f"line {number} is not a request to {ENDPOINT}"
            lines.append(line | {"custom_id": str(line["custom_id"])})
        except (ValueError, TypeError, KeyError, RecursionError):
            return [], f"line {number} is not a request in JSON"
    if len({line["custom_id"] for line in lines}) < len(lines):
        return [], "two lines have the same custom_id"
    if len({str(line["body"].get("model")) for line in lines}) > 1:
        return [], "the lines ask different models"
    return lines, None if lines else "the file is empty"


def result_line(custom_id: str, response: tuple[int, object] | None, error: dict[str, str] | None = None) -> bytes:
    """Return a line of a file of answers or errors.

    Args:
        custom_id: Id of the request's line.
        response: Status and body; null if nobody worked on the request.
        error: Code and message, if there is no response.
    """
    said = {
        "id": f"batch_req_{custom_id[:24]}",
        "custom_id": custom_id,
        "response": response and {"status_code": response[0], "request_id": "req", "body": response[1]},
        "error": error,
    }
    return json.dumps(said).encode() + b"\n"
