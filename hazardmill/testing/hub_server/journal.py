"""Every request, in memory and, line by line, on disk. No body, no token and no other header is in it."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hazardmill.errors import InputError, StoreLocked
from hazardmill.testing.hub_server.faults import Endpoint

__all__ = ["Journal", "Request", "read_journal"]


@dataclass(frozen=True, slots=True)
class Request:
    """One request: what it asked, what it met, and what became of it."""

    number: int
    """Among all, from 1, in the order of arrival."""
    method: str
    path: str
    """Without the query: that of an upload holds a signature."""
    endpoint: str | None = None
    """Null where there is no such address."""
    time: int | None = None
    """How many requests of its endpoint there had been with it, from 1; null with it."""
    repository: str | None = None
    user: str | None = None
    """Name of the account that its token belongs to; null where it came without one, or with one of nobody."""
    fault: str | None = None
    status: int | None = None
    """HTTP status of the answer; null where there is none yet, or never will be."""
    done: bool = False
    """Whether something was changed by it."""
    written: bool | None = None
    """Whether a whole answer went into the socket; null while it is under way, and for good where the server died."""
    asked_at: float = 0.0
    """Seconds since 1970, when its head had arrived."""
    ended_at: float | None = None
    """When nothing more was to be sent."""

    @property
    def changes(self) -> bool:
        """Whether its method and address are of those that change something, done or not."""
        return self.endpoint in CHANGING


CHANGING = frozenset(
    {Endpoint.CREATE, Endpoint.LFS_PUT, Endpoint.COMMIT, Endpoint.TAG, Endpoint.SETTINGS},
)
"""Endpoints that change something."""


class Journal:
    """The requests of one server. With a file, each change of a request is a line handed to the system at once.

    A file that holds requests already is gone on with: numbers and times count on.

    Args:
        path: The file; null for memory only.
        on_change: Told of each request as it arrives, when it is done and before it is answered, and as it ends; in the
            server's thread; must not raise.

    Raises:
        InputError: The file holds something else.
        StoreLocked: Another server writes it.
    """

    def __init__(self, path: Path | None = None, on_change: Callable[[Request], None] | None = None) -> None:
        self._on_change = on_change
        self._descriptor: int | None = None
        self._requests: list[Request] = []
        if path is not None:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._requests = list(read_journal(path))
            except BlockingIOError as error:
                self.close()
                raise StoreLocked(
                    "another server writes this log", file=str(path), remedy="end it, or choose another file"
                ) from error
            except InputError:
                self.close()
                raise
        self._times = Counter(request.endpoint for request in self._requests)

    @property
    def requests(self) -> tuple[Request, ...]:
        """All requests so far, in the order of arrival."""
        return tuple(self._requests)

    def next_time(self, endpoint: str) -> int:
        """Count one more request of an endpoint."""
        self._times[endpoint] += 1
        return self._times[endpoint]

    def begin(self, method: str, path: str, **what: Any) -> Request:  # noqa: ANN401  # fields
        """Write down that the head of a request has arrived."""
        begun = Request(len(self._requests) + 1, method, path, asked_at=time.time(), **what)
        self._requests.append(begun)
        self._tell(begun)
        return begun

    def change(self, request: Request, **what: Any) -> Request:  # noqa: ANN401  # fields
        """Write down what has become known of a request."""
        changed = replace(request, **what)
        self._requests[request.number - 1] = changed
        self._tell(changed)
        return changed

    def end(self, request: Request, *, written: bool) -> Request:
        """Write down that nothing more will be sent."""
        return self.change(request, written=written, ended_at=time.time())

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _tell(self, request: Request) -> None:
        if self._descriptor is not None:
            # One write a line, with no buffer of ours: what is killed afterwards cannot take it back.
            os.write(self._descriptor, json.dumps(asdict(request), separators=(",", ":")).encode() + b"\n")
        if self._on_change is not None:
            self._on_change(request)


def read_journal(path: Path) -> tuple[Request, ...]:
    """The requests in a log file, each as its last line has it.

    Raises:
        InputError: A line is none of a journal's.
    """
    requests: dict[int, Request] = {}
    with path.open(encoding="utf-8", newline="\n") as lines:
        for place, line in enumerate(lines, start=1):
            try:
                request = Request(**json.loads(line))
                in_order = request.number in requests or request.number == len(requests) + 1
            except (ValueError, TypeError) as error:
                raise _foreign(path, place) from error
            if not in_order:
                raise _foreign(path, place)
            requests[request.number] = request
    return tuple(requests.values())


def _foreign(path: Path, line: int) -> InputError:
    return InputError(
        "this line is none of a hub_server log", file=str(path), line=line, remedy="choose another file for the log"
    )
