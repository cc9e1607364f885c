"""The server: reads requests, applies the plan of faults, answers, and logs each request."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from hazardmill.testing.echoes import echoes
from hazardmill.testing.hub_server.answers import (
    Account,
    HubAnswer,
    Route,
    RoutedRequest,
    as_error,
    as_json,
    find_route,
)
from hazardmill.testing.hub_server.endpoints import Endpoints, interfere
from hazardmill.testing.hub_server.faults import (
    AFTER,
    LIES,
    STATUS,
    Endpoint,
    FaultPlan,
    HubFault,
    HubFaultKind,
    PlannedRequest,
)
from hazardmill.testing.hub_server.journal import HubJournal, JournaledRequest
from hazardmill.testing.hub_server.lies import apply_lie
from hazardmill.testing.hub_server.repositories import Hub, HubRefusal
from hazardmill.testing.hub_server.wire import HubConnection, RequestHead
from hazardmill.testing.serving import LoopbackServer

WRITE_TOKEN: Final = "hf_writes"
"""The default token with permission to write."""
READ_TOKEN: Final = "hf_reads"
"""The default token with permission to read only."""
TOKENS: Final = {WRITE_TOKEN: Account("mill", writes=True), READ_TOKEN: Account("reader", writes=False)}


class HubServer(LoopbackServer[HubJournal, HubConnection]):
    """A hub of datasets on 127.0.0.1 in a thread of its own, running for the duration of its ``with`` block.

    Set ``HF_ENDPOINT`` to its ``address``.

    Args:
        folder: Folder for everything; a later server on the same folder continues it.
        faults: The plan of faults; null for none. Must not raise.
        tokens: Accounts by token.
        log: File for the journal; null for memory only.
        on_change: Called in the server's thread with each request when it arrives, when it is done but not yet
            answered, and when it ends; must not raise.
        page: Maximum number of entries of a list per answer.
        max_body: Maximum size of a request's body in bytes, except for uploads.
        port: Port to listen on; 0 for any free one.

    Raises:
        OSError: The port is taken, or folder or log cannot be written.
        StoreLocked: Another server writes the log.
        InputError: The log holds something else.
    """

    def __init__(
        self,
        folder: Path,
        *,
        faults: FaultPlan | None = None,
        tokens: Mapping[str, Account] = TOKENS,
        log: Path | None = None,
        on_change: Callable[[JournaledRequest], None] | None = None,
        page: int = 1000,
        max_body: int = 256 * 1024 * 1024,
        port: int = 0,
    ) -> None:
        super().__init__("hub-server", HubJournal(), port)
        self.hub = Hub(folder)
        """The repositories, which tests may inspect and change behind the clients' backs."""
        self.faults = faults
        """May be changed while the server runs."""
        self._tokens = tokens
        self._log = log
        self._on_change = on_change
        self._endpoints = Endpoints(self.hub, secrets.token_bytes(32), page)
        self._max_body = max_body

    @property
    def requests(self) -> tuple[JournaledRequest, ...]:
        """All requests so far, in the order of arrival.

        An answer that a client has read completely has ended here too.
        """
        return self._look(lambda: self._journal.requests)

    def _open_journal(self) -> HubJournal:
        return HubJournal(self._log, self._on_change)

    def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> HubConnection:
        return HubConnection(reader, writer, self._max_body)

    async def _answer_all(self, connection: HubConnection) -> None:
        while (head := await self._head(connection)) is not None:
            await self._treat(connection, head)

    async def _head(self, connection: HubConnection) -> RequestHead | None:
        try:
            return await connection.head()
        except HubRefusal as refused:
            # Its end was not found, so nothing after it can be read either.
            await connection.answer(as_error(refused.status, refused.message, headers={"connection": "close"}))
            return None

    async def _treat(self, connection: HubConnection, head: RequestHead) -> None:
        route = find_route(head.method, head.parts)
        account = self._account(head)
        time = None if route is None else self._journal.next_time(route.endpoint)
        fault = None
        if route is not None and time is not None and self.faults is not None:
            fault = self.faults(PlannedRequest(route.endpoint, time, route.repository))
        request = self._journal.begin(
            head.method,
            head.path,
            endpoint=None if route is None else route.endpoint.value,
            time=time,
            repository=None if route is None else route.repository,
            user=account.name if isinstance(account, Account) else None,
            fault=None if fault is None else str(fault),
        )
        written = False
        try:
            if fault is not None and fault.kind is HubFaultKind.CUT:
                await connection.half(head.length)
                raise ConnectionResetError
            answer = await self._answer(connection, head, route, account, fault)
            told = fault is None or fault.kind is not HubFaultKind.CUT_AFTER
            request = self._journal.change(request, status=answer.status if told else None, done=answer.changed)
            if not told:
                raise ConnectionResetError
            if fault is not None and fault.kind is HubFaultKind.SLOW:
                await asyncio.sleep(fault.seconds or 0.0)
            if fault is not None and fault.kind is HubFaultKind.ENDLESS:
                await connection.flood(b" " * 65536, 0.0)
                raise ConnectionResetError
            written = await connection.answer(answer)
        finally:
            self._journal.end(request, written=written)

    async def _answer(
        self,
        connection: HubConnection,
        head: RequestHead,
        route: Route | None,
        account: Account | HubRefusal | None,
        fault: HubFault | None,
    ) -> HubAnswer:
        """Carry out a request, and return what to send."""
        try:
            if route is None:
                raise HubRefusal(404, "there is no such address on this hub")
            if isinstance(account, HubRefusal):
                raise account
            self._endpoints.admit(route.endpoint, route.repository, account)
            if fault is not None and fault.kind in STATUS and fault.kind not in AFTER:
                await self._drain(connection)
                return _fault_answer(fault)
            if fault is not None and fault.kind is HubFaultKind.ECHO:
                await self._drain(connection)
                return _echo(head)
            if route.endpoint is Endpoint.LFS_PUT:
                answer = await self._upload(connection, head, route)
            else:
                asking = RoutedRequest(
                    route,
                    head.method,
                    self.address,
                    head.path,
                    head.query,
                    head.headers,
                    await connection.body(),
                    account,
                )
                if fault is not None and fault.kind is HubFaultKind.OVERTAKEN:
                    interfere(self.hub, asking)
                answer = self._endpoints.answer(asking)
        except HubRefusal as refused:
            # An unread body would be taken for the next request.
            await self._drain(connection)
            return as_error(refused.status, refused.message, refused.code)
        if fault is not None and fault.kind is HubFaultKind.SERVER_ERROR_AFTER:
            failed = _fault_answer(fault)
            return HubAnswer(failed.status, failed.body, headers=failed.headers, changed=answer.changed)
        return apply_lie(answer, fault.kind) if fault is not None and fault.kind in LIES else answer

    async def _upload(self, connection: HubConnection, head: RequestHead, route: Route) -> HubAnswer:
        (oid,), repository = route.rest, route.repository or ""
        size = head.query.get("size", "")
        signature = self._endpoints.signature(repository, oid, int(size)) if size.isdecimal() else ""
        if not signature or not hmac.compare_digest(signature, head.query.get("signature", "")):
            raise HubRefusal(403, "this hub did not issue this upload address")
        await self.hub.receive(oid, int(size), connection.chunks())
        return as_json({}, changed=True)

    async def _drain(self, connection: HubConnection) -> None:
        async for _ in connection.chunks():
            pass

    def _account(self, head: RequestHead) -> Account | HubRefusal | None:
        sent = head.headers.get("authorization")
        if sent is None:
            return None
        for token, account in self._tokens.items():
            if hmac.compare_digest(sent.encode(), f"Bearer {token}".encode()):
                return account
        return HubRefusal(401, "Invalid credentials in Authorization header")


def _fault_answer(fault: HubFault) -> HubAnswer:
    headers = {} if fault.seconds is None else {"retry-after": f"{fault.seconds:g}"}
    return as_error(STATUS[fault.kind], f"this is the fault {fault}", headers=headers)


def _echo(head: RequestHead) -> HubAnswer:
    forms = echoes(head.headers.get("authorization", "").removeprefix("Bearer "))
    return as_error(400, "; ".join(forms.values()), headers={"x-request-id": forms["plain"]})
