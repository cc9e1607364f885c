"""What test servers have in common: their own thread and event loop, and a shutdown that leaves nothing open."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Generic, Protocol, Self, TypeVar

import click

from hazardmill.testing.requests_log import RequestsLog

_HOST: Final = "127.0.0.1"
_BACKLOG: Final = 1024
_ENDS: Final = (signal.SIGINT, signal.SIGTERM)


class Closable(Protocol):
    """A connection, as far as it must be known to close it."""

    def reset(self) -> None:
        """Close it with RST."""
        ...

    async def close(self) -> None:
        """Close it in good order."""
        ...


T = TypeVar("T")
JournalT = TypeVar("JournalT", bound=RequestsLog[Any])
ConnectionT = TypeVar("ConnectionT", bound=Closable)


class LoopbackServer(ABC, Generic[JournalT, ConnectionT]):
    """A server on 127.0.0.1 in a thread of its own. It runs for the duration of its ``with`` block.

    Args:
        name: Name of the thread.
        journal: The journal until the block begins.
        port: Port to listen on; 0 for any free one.
    """

    def __init__(self, name: str, journal: JournalT, port: int) -> None:
        self._name = name
        self._journal = journal
        self._wanted_port = port
        self._port: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._thread: threading.Thread | None = None
        self._connections: dict[asyncio.Task[None], ConnectionT] = {}

    @abstractmethod
    def _open_journal(self) -> JournalT:
        """Return the journal for a block that begins. If this raises, the block does not begin."""

    @abstractmethod
    def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> ConnectionT:
        """Return the connection of a client."""

    @abstractmethod
    async def _answer_all(self, connection: ConnectionT) -> None:
        """Answer the requests of one connection, one after the other, until there are no more.

        Raises:
            ConnectionError: The client is gone, or is to be disconnected.
        """

    @property
    def address(self) -> str:
        """The address to give to clients: ``http://127.0.0.1:<port>``."""
        if self._port is None:
            raise RuntimeError("the server is not running: use it as a context manager")
        return f"http://{_HOST}:{self._port}"

    def _look(self, look: Callable[[], T]) -> T:
        """Return the result of ``look``, called in the server's thread while that runs."""
        loop = self._loop
        if loop is None or threading.current_thread() is self._thread:
            return look()

        async def look_there() -> T:
            return look()

        # Not in the caller's thread: in the server's thread, nothing runs between an answer's last byte and its
        # last line in the journal.
        return asyncio.run_coroutine_threadsafe(look_there(), loop).result()

    def __enter__(self) -> Self:
        if self._thread is not None:
            raise RuntimeError("the server is already running")
        self._journal = self._open_journal()
        ready = threading.Event()
        failed: list[BaseException] = []

        def run() -> None:
            try:
                asyncio.run(self._serve(ready.set))
            except BaseException as error:
                failed.append(error)
            finally:
                ready.set()

        self._thread = threading.Thread(target=run, name=self._name, daemon=True)
        self._thread.start()
        ready.wait()
        if failed:
            self._thread = None
            self._journal.close()
            raise failed[0]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop: requests under way are cut off, and are in the journal as not written."""
        thread, loop = self._thread, self._loop
        if thread is not None and loop is not None:
            loop.call_soon_threadsafe(self._stop.set)
            thread.join()
        self._thread = None
        self._journal.close()

    async def _serve(self, ready: Callable[[], object]) -> None:
        """Serve until stopped; ``ready`` is called once the address is known."""
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._connect, _HOST, self._wanted_port, backlog=_BACKLOG)
        self._loop, self._port = asyncio.get_running_loop(), server.sockets[0].getsockname()[1]
        ready()
        try:
            await self._stop.wait()
        finally:
            server.close()
            connections = dict(self._connections)
            for task in connections:
                task.cancel()
            await asyncio.gather(*connections, return_exceptions=True)
            for connection in connections.values():
                # Again, for those that were cancelled before they had begun.
                connection.reset()
            await server.wait_closed()
            self._loop = self._port = None

    def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = self._connection(reader, writer)
        if self._stop.is_set():
            connection.reset()
            return
        task = asyncio.ensure_future(self._converse(connection))
        self._connections[task] = connection
        task.add_done_callback(lambda done: self._connections.pop(done, None))

    async def _converse(self, connection: ConnectionT) -> None:
        try:
            await self._answer_all(connection)
        except ConnectionError:
            # The client is gone, or was thrown out by a fault; the journal says so.
            connection.reset()
            return
        except BaseException:
            connection.reset()
            raise
        await connection.close()


def serve_until_ended(server: LoopbackServer[Any, Any]) -> None:
    """Serve as a command does: print the address as the first line, and stop at SIGINT or SIGTERM.

    Args:
        server: The server; not running yet.
    """
    # Block the signals before the server's thread starts, so that neither thread is ended by them.
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    with server:
        click.echo(server.address)
        sys.stdout.flush()
        signal.sigwait(_ENDS)
