"""Every request, in memory and, line by line, on disk. No body, no token and no other header is in it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hazardmill.testing.hub_server.faults import Endpoint
from hazardmill.testing.requests_log import LoggedRequest, RequestsLog, read_log

__all__ = ["HubJournal", "JournaledRequest", "read_journal"]


@dataclass(frozen=True, slots=True)
class JournaledRequest(LoggedRequest):
    """One request: what it asked, what it met, and what became of it."""

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


class HubJournal(RequestsLog[JournaledRequest]):
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

    def __init__(self, path: Path | None = None, on_change: Callable[[JournaledRequest], None] | None = None) -> None:
        super().__init__(read_journal, path, on_change)
        self._times = Counter(request.endpoint for request in self._rows)

    @property
    def requests(self) -> tuple[JournaledRequest, ...]:
        """All requests so far, in the order of arrival."""
        return tuple(self._rows)

    def next_time(self, endpoint: str) -> int:
        """Count one more request of an endpoint."""
        self._times[endpoint] += 1
        return self._times[endpoint]

    def begin(self, method: str, path: str, **what: Any) -> JournaledRequest:  # noqa: ANN401  # fields
        """Write down that the head of a request has arrived."""
        return self.add(JournaledRequest(self.next_number, method, path, asked_at=time.time(), **what))


def read_journal(path: Path) -> tuple[JournaledRequest, ...]:
    """The requests in a log file, each as its last line has it.

    Raises:
        InputError: A line is none of a journal's.
    """
    return read_log(path, JournaledRequest, "a hub_server")
