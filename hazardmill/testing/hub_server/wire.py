"""One connection: heads first, bodies as they arrive, and all the ways in which an answer can fail to arrive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

import h11

from hazardmill.testing.hub_server.answers import HubAnswer
from hazardmill.testing.hub_server.repositories import HubRefusal
from hazardmill.testing.llm_server.wire import Connection


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request."""

    method: str
    path: str
    """As it was sent, escaped, without the query."""
    query: dict[str, str]
    headers: dict[str, str]
    """By lower-case name."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The unescaped words of the path; an escaped slash does not separate."""
        return tuple(unquote(word) for word in self.path.strip("/").split("/"))

    @property
    def length(self) -> int | None:
        """Length of the body in bytes; null if unknown."""
        told = self.headers.get("content-length", "")
        return int(told) if told.isdecimal() else None


class HubConnection(Connection):
    """The connection of one client. Bodies are read in pieces, because files can be large."""

    async def head(self) -> RequestHead | None:
        """Return the head of the next request; null if there will be none.

        Raises:
            HubRefusal: The input is not HTTP.
        """
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        elif self._http.our_state is not h11.IDLE:
            return None
        try:
            head = await self._event()
        except h11.RemoteProtocolError as error:
            if self.is_gone:
                # It hung up in the middle of a request, so nobody is left to be told.
                return None
            raise HubRefusal(error.error_status_hint, "this is not a readable HTTP request") from error
        except OSError:
            return None
        if not isinstance(head, h11.Request):
            return None
        self._wants_no_body = head.method == b"HEAD"
        path, _, query = head.target.decode("latin-1").partition("?")
        return RequestHead(
            method=head.method.decode("ascii"),
            path=path,
            query=dict(parse_qsl(query, keep_blank_values=True)),
            headers={name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers},
        )

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body, or what is left of it, in pieces.

        Raises:
            ConnectionResetError: The client disconnected before its end.
        """
        if self._http.their_state is not h11.SEND_BODY:
            return
        try:
            while isinstance(part := await self._event(), h11.Data):
                yield bytes(part.data)
        except h11.RemoteProtocolError as error:
            raise ConnectionResetError("the client went away in the middle of its request") from error
        if not isinstance(part, h11.EndOfMessage):
            raise ConnectionResetError("the client went away in the middle of its request")

    async def body(self) -> bytes:
        """Return the whole body.

        Raises:
            HubRefusal: It is larger than this server accepts, except for uploads.
            ConnectionError: The client disconnected before its end.
        """
        body = bytearray()
        async for chunk in self.chunks():
            body += chunk
            if len(body) > self._most_body:
                raise HubRefusal(413, f"the body is larger than {self._most_body} bytes")
        return bytes(body)

    async def half(self, length: int | None) -> None:
        """Read half of the body, or its first piece if the length is unknown."""
        seen = 0
        if length == 0:
            return
        async for chunk in self.chunks():
            seen += len(chunk)
            if length is None or seen >= length / 2:
                return

    async def answer(self, answer: HubAnswer) -> bool:
        """Send an answer; return whether all of it was written to the socket."""
        if self.is_gone:
            return False
        headers = [("content-type", answer.kind), ("content-length", str(answer.length)), *answer.headers.items()]
        data = self._http.send(h11.Response(status_code=answer.status, headers=headers)) or b""
        for chunk in () if self._wants_no_body else answer.chunks():
            if not await self._write(data + (self._http.send(h11.Data(data=chunk)) or b"")):
                return False
            data = b""
        return await self._write(data + (self._http.send(h11.EndOfMessage()) or b""))
