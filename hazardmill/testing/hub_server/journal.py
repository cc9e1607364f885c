"""The journal of every request, in memory and, as JSON lines, on disk.

It holds no body, no token and no other header.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hazardmill.testing.hub_server.faults import Endpoint
from hazardmill.testing.requests_log import LoggedRequest, RequestsLog, log_time, read_log

__all__ = ["HubJournal", "JournaledRequest", "read_journal"]


@dataclass(frozen=True, slots=True)
class JournaledRequest(LoggedRequest):
    """One request: what it asked, its fault, and how it ended.

    Attributes:
        method: HTTP method.
        repository: ``ORG/NAME``; null if the path names none.
        fault: The fault, as in a script; null for none.
    """

    method: str
    path: str
    """Without the query, which holds a signature for uploads."""
    endpoint: str | None = None
    """Null if there is no such address."""
    time: int | None = None
    """Number of the request at its endpoint, from 1; null together with it."""
    repository: str | None = None
    user: str | None = None
    """Name of the account; null for a request without a token, or with an unknown one."""
    fault: str | None = None
    status: int | None = None
    """HTTP status of the answer; null if there is none yet, or never will be."""
    done: bool = False
    """Whether it changed something."""
    written: bool | None = None
    """Whether a whole answer was written to the socket; null while it is under way, and for good if the server died."""
    asked_at: float = 0.0
    """When its head had arrived, in seconds since 1970."""
    ended_at: float | None = None
    """When nothing more was to be sent, in seconds since 1970."""

    @property
    def changes(self) -> bool:
        """Whether its endpoint is one that changes something, whether or not it did."""
        return self.endpoint in CHANGING


CHANGING = frozenset(
    {Endpoint.CREATE, Endpoint.LFS_PUT, Endpoint.COMMIT, Endpoint.TAG, Endpoint.SETTINGS},
)
"""Endpoints that change something."""


class HubJournal(RequestsLog[JournaledRequest]):
    """The requests of one server. With a file, each change of a request is written as a line at once.

    An existing file is continued: numbers and times count on.

    Args:
        path: The file; null for memory only.
        on_change: Called in the server's thread with each request when it arrives, when it is done but not yet
            answered, and when it ends; must not raise.

    Raises:
        InputError: The file holds something else.
        StoreLocked: Another server writes the file.
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
        """Log that the head of a request has arrived."""
        return self.add(JournaledRequest(self.next_number, method, path, asked_at=log_time(), **what))


def read_journal(path: Path) -> tuple[JournaledRequest, ...]:
    """Return the requests of a log file; the last line of each request counts.

    Raises:
        InputError: A line does not belong to such a journal.
    """
    return read_log(path, JournaledRequest, "a hub_server")
