"""HTTP/1.1 on one connection: requests in, answers out, and all the ways in which an answer can fail to arrive."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import h11

from hazardmill.testing.llm_server.chat_request import ChatRefusal

_CHUNK: Final = 64 * 1024
_HEADERS: Final = 32 * 1024
"""Maximum size of a request's head in bytes."""
_PARTING_S: Final = 2.0
"""Seconds that a client has to hang up after the last answer."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """One request as received.

    Attributes:
        method: HTTP method.
        body: The whole body.
    """

    method: str
    path: str
    """Without the query."""
    headers: dict[str, str]
    """By lower-case name."""
    body: bytes
    query: str = ""
    """Without the question mark."""


class Connection:
    """The connection of one client.

    Args:
        reader: What the client sends.
        writer: Where answers go.
        most_body: Maximum size of a request's body in bytes.
        most_by_path: The same for paths that have their own.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        most_body: int,
        most_by_path: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._most_body = most_body
        self._most_by_path = most_by_path
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEADERS)
        self._wants_no_body = False
        # Makes `drain` return when the last byte is written instead of when there is room for more.
        writer.transport.set_write_buffer_limits(high=0)

    async def receive(self) -> Incoming | None:
        """Return the next request; null if there will be none.

        Raises:
            ChatRefusal: The input is not HTTP, or too large.
        """
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        elif self._http.our_state is not h11.IDLE:
            return None
        try:
            head = await self._event()
            if not isinstance(head, h11.Request):
                return None
            path, _, query = head.target.decode("latin-1").partition("?")
            most = self._most_by_path.get(path, self._most_body)
            body = bytearray()
            while isinstance(part := await self._event(), h11.Data):
                body += part.data
                if len(body) > most:
                    raise ChatRefusal(413, f"the body is larger than {most} bytes", "too_large")
            if not isinstance(part, h11.EndOfMessage):
                return None
        except h11.RemoteProtocolError as error:
            if self.is_gone:
                # It hung up in the middle of a request, so nobody is left to be told.
                return None
            raise ChatRefusal(error.error_status_hint, "this is not a readable HTTP request") from error
        except OSError:
            return None
        self._wants_no_body = head.method == b"HEAD"
        return Incoming(
            method=head.method.decode("ascii"),
            path=path,
            headers={name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers},
            body=bytes(body),
            query=query,
        )

    async def _event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])))
            self._http.receive_data(await self._reader.read(_CHUNK))
        return event

    @property
    def is_gone(self) -> bool:
        """Whether the client has hung up."""
        return self._reader.at_eof() or self._reader.exception() is not None or self._writer.is_closing()

    async def send(self, status: int, body: bytes, *, kind: str = "application/json", **headers: str) -> bool:
        """Send a whole answer; return whether all of it was written to the socket."""
        return not self.is_gone and await self._write(self._answer(status, kind, headers, len(body), body))

    async def send_half(self, status: int, body: bytes) -> None:
        """Send the head of a whole answer and half of its body, then reset the connection."""
        if not self.is_gone:
            await self._write(self._answer(status, "application/json", {}, len(body), body[: len(body) // 2]))
        self.reset()

    async def flood(self, piece: bytes, pause: float) -> None:
        """Send a head, and then the same piece repeatedly until the client hangs up."""
        head = [("content-type", "application/json"), ("transfer-encoding", "chunked")]
        data = self._http.send(h11.Response(status_code=200, headers=head))
        while not self.is_gone and await self._write(data):
            data = self._http.send(h11.Data(data=piece))
            await asyncio.sleep(pause)
        self.reset()

    async def hold(self, seconds: float | None) -> None:
        """Send nothing until the client hangs up, or for ``seconds``, then reset the connection."""
        await self._read_away(seconds)
        self.reset()

    def reset(self) -> None:
        """Close the connection with RST, as a host does that has died."""
        with contextlib.suppress(OSError):
            # Linger for zero seconds: closing discards unsent data and sends RST.
            linger = struct.pack("ii", 1, 0)
            self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._writer.transport.abort()

    async def close(self) -> None:
        """Close the connection in good order."""
        with contextlib.suppress(OSError):
            if self._http.their_state is not h11.CLOSED and not self.is_gone:
                # Closing while the client still sends causes a reset, which can overtake the answer.
                self._writer.write_eof()
                await self._read_away(_PARTING_S)
            self._writer.close()
            await self._writer.wait_closed()

    async def _read_away(self, seconds: float | None) -> None:
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(seconds):
                while await self._reader.read(_CHUNK):
                    pass

    def _answer(self, status: int, kind: str, headers: dict[str, str], length: int, body: bytes) -> bytes:
        named = {"content-type": kind, "content-length": str(length)}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = self._http.send(h11.Response(status_code=status, headers=list(named.items()))) or b""
        if not self._wants_no_body:
            data += self._http.send(h11.Data(data=body)) or b""
        if len(body) == length:
            data += self._http.send(h11.EndOfMessage()) or b""
        return data

    async def _write(self, data: bytes | None) -> bool:
        try:
            self._writer.write(data or b"")
            await self._writer.drain()
        except OSError:
            return False
        return not self._writer.transport.is_closing()
