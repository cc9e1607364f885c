"""Connections of the app: how long each may keep it waiting, and how many it accepts.

A visitor who opens a connection and sends nothing costs nothing but a place. Such visitors could take all places from
reviewers, so a connection that waits for its visitor has a deadline. When all places are taken, the connection that has
waited longest for its visitor makes room for a new one. A request that is being answered is never cut off for another.
"""

from __future__ import annotations

import asyncio
import ipaddress
from dataclasses import dataclass
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_IPV6_NETWORK: Final = 64
"""Leading bits of an IPv6 address that count as one visitor: whoever has one address has all with the same prefix."""

_CLOSE: Final = b"Connection: close\r\nContent-Length: 0\r\n\r\n"
_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\n" + _CLOSE
_FULL: Final = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n" + _CLOSE


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How long a visitor may take, in seconds, and how many connections there may be.

    Attributes:
        head_s: Seconds until the head of a request is complete, from the connection or the previous answer.
        body_s: Seconds until its body is complete, which has at most 128 kB.
        read_s: Seconds until an answer that waits for its reader is read.
        per_origin: Connections per origin; a browser opens six.
        total: Connections in all; below the number at which the server would refuse requests.
    """

    head_s: float = 10.0
    body_s: float = 30.0
    read_s: float = 120.0
    per_origin: int = 40
    total: int = 160


def origin(host: str) -> str:
    """Return the address or network that counts as one visitor.

    Args:
        host: Address of the client.

    Returns:
        The address itself, for IPv6 the network of its first 64 bits, and ``host`` if it is not an IP address.
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _IPV6_NETWORK), strict=False))


def protocol(patience: ConnectionLimits) -> type[PatientProtocol]:
    """Return the protocol class with these limits; uvicorn makes one instance per connection.

    Args:
        patience: The limits.
    """
    return type("PatientProtocol", (PatientProtocol,), {"patience": patience})


class PatientProtocol(H11Protocol):
    """HTTP on one connection, with deadlines for everything that its visitor has to do.

    Attributes:
        patience: The limits.
        origin: The address or network that the connection counts for.
    """

    patience = ConnectionLimits()

    _deadline: asyncio.TimerHandle | None = None
    _waits_for: object = None
    """What the current deadline is for."""

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401  # as in uvicorn
        """Accept the connection, or refuse it if every place is taken by a request that is being answered."""
        super().connection_made(transport)
        self.origin = origin(self.client[0] if self.client else "")
        alike = [other for other in self.connections if getattr(other, "origin", None) == self.origin]
        for among, most in ((alike, self.patience.per_origin), (list(self.connections), self.patience.total)):
            if len(among) > most and not self._make_room(among):
                transport.write(_FULL)
                transport.close()
                break
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline."""
        super().connection_lost(exc)
        self._wait(None, 0)

    def data_received(self, data: bytes) -> None:
        """Process incoming bytes, and set the deadline for what the visitor has to do next."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Continue with the next request, and set the deadline for its head."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Set the deadline for a visitor who does not read the answer."""
        super().pause_writing()
        self._wait("reader", self.patience.read_s)

    def resume_writing(self) -> None:
        """Set the next deadline: the visitor reads again."""
        super().resume_writing()
        self._wait(None, 0)
        self._watch()

    @property
    def waits_since(self) -> float | None:
        """When the current deadline began, by the clock of the loop; ``None`` while a request is being answered."""
        return None if self._deadline is None else self._began

    def end(self) -> None:
        """Close the connection at once; anything still to be sent is lost."""
        self.connections.discard(self)
        self.transport.abort()

    def _watch(self) -> None:
        """Set the deadline for what the visitor has to do now."""
        if self.conn.their_state is h11.SEND_BODY:
            self._wait(self.cycle, self.patience.body_s)
        elif self._waits_for != "reader":
            answered = self.cycle is None or self.cycle.response_complete
            # A running deadline is not renewed: sending a byte now and then does not make a request.
            self._wait(("head", self.cycle) if answered else None, self.patience.head_s)

    def _wait(self, what: object, seconds: float) -> None:
        if what == self._waits_for:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        self._waits_for, self._deadline = what, None
        if what is not None:
            self._began = self.loop.time()
            self._deadline = self.loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        if self._waits_for != "reader" and self.transport.get_write_buffer_size():
            # The previous answer is still being sent: it gets the time for reading an answer.
            self._wait("reader", self.patience.read_s)
            return
        begun = self.conn.their_state is h11.SEND_BODY or self.conn.trailing_data[0]
        if begun and self._waits_for != "reader" and not self.transport.is_closing():
            self.transport.write(_TOO_SLOW)
            self.transport.close()
        else:
            self.end()

    @staticmethod
    def _make_room(among: list[Any]) -> bool:
        """End the connection that has waited longest for its visitor; return False if none waits."""
        waiting = [other for other in among if getattr(other, "waits_since", None) is not None]
        if waiting:
            min(waiting, key=lambda other: other.waits_since).end()
        return bool(waiting)
