"""Connections that keep the app waiting: none of them locks reviewers out. Real sockets, a real server."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn

from hazardmill.review.app import serve as serving
from hazardmill.review.app.connections import ConnectionLimits, origin, protocol
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import load_pool

from ..support import make_folder, make_store
from .server import Server

HALF_A_HEAD = b"GET /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
HALF_A_BODY = b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nreviewer=a"
NOTHING = b""
UPGRADE = (
    b"GET /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@contextlib.contextmanager
def waiting(
    port: int, number: int, sent: bytes, source: Callable[[int], str] = lambda _: "127.0.0.1"
) -> Iterator[None]:
    """So many connections, each of which has sent this much and no more."""
    with contextlib.ExitStack() as stack:
        for each in range(number):
            connection = socket.create_connection(("127.0.0.1", port), timeout=10, source_address=(source(each), 0))
            stack.enter_context(connection)
            # One that was closed already, to make room for another, takes nothing more.
            with contextlib.suppress(ConnectionError):
                connection.sendall(sent)
        yield


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(f"{url}/sign-in", timeout=20) as page:
            return int(page.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


@pytest.fixture
def server(tmp_path: Path, project: Path, log: Path) -> Iterator[Server]:
    store, review = make_store(tmp_path / "store", 2), make_folder(tmp_path / "review", project)
    give_tasks(review, load_pool(store), Wish(("ada",), per_task=1, calibration=0, repeats=0))
    made = Server(store.path, review.path, log)
    made.start()
    yield made
    made.kill()


@pytest.mark.full
@pytest.mark.parametrize("sent", [HALF_A_HEAD, HALF_A_BODY, NOTHING, UPGRADE], ids=["head", "body", "idle", "upgrade"])
@pytest.mark.parametrize(
    "source", [lambda _: "127.0.0.1", lambda each: f"127.0.1.{1 + each % 250}"], ids=["one address", "many addresses"]
)
def test_connections_that_wait_lock_nobody_out(server: Server, sent: bytes, source: Callable[[int], str]) -> None:
    with waiting(server.port, 220, sent, source):
        assert [status(server.url) for _ in range(5)] == [200] * 5


@pytest.mark.full
def test_who_goes_away_in_the_middle_of_a_form_is_no_failure_of_the_server(server: Server, log: Path) -> None:
    with urllib.request.urlopen(f"{server.url}/sign-in", timeout=20) as page:
        cookie = page.headers["Set-Cookie"].partition(";")[0]
    head = (
        f"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nCookie: {cookie}\r\nExpect: 100-continue\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100 "), "the app reads the body"
        connection.sendall(b"reviewer=a")
    assert status(server.url) == 200
    server.stop()
    assert "Traceback" not in log.read_text(), log.read_text()


@dataclass
class Served:
    port: int
    connections: Callable[[], int]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """An app that reads what comes and answers with so many bytes, under limits of a test's choice."""
    with contextlib.ExitStack() as stack:

        def serve(answer: bytes = b"read", **limits: float) -> Served:
            async def app(scope, receive, send):
                while scope["type"] == "http":
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return
                    if not message.get("more_body"):
                        break
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": answer})

            config = serving.configuration(app, protocol(ConnectionLimits(**limits)))
            config.lifespan = "off"
            server = uvicorn.Server(config)
            listening = stack.enter_context(serving.listen("127.0.0.1", 0))
            listening.listen()
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
            thread.start()
            stack.callback(thread.join)
            stack.callback(lambda: setattr(server, "should_exit", True))
            until(lambda: server.started)
            return Served(listening.getsockname()[1], lambda: len(server.server_state.connections))

        yield serve


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.005)


def connected(served: Served) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", served.port), timeout=20)
    return connection


def everything(connection: socket.socket) -> bytes:
    data = b""
    with contextlib.suppress(ConnectionError):
        while more := connection.recv(65536):
            data += more
    return data


@pytest.mark.full
@pytest.mark.parametrize("drips", [False, True])
def test_a_head_that_does_not_come_to_its_end_in_time_is_ended(served, drips: bool) -> None:
    app = served(head_s=0.3)
    with connected(app) as connection:
        began = time.monotonic()
        connection.sendall(HALF_A_HEAD)
        if drips:
            # A byte now and then makes no difference: the time is that of the whole head.
            connection.settimeout(0.05)
            with contextlib.suppress(ConnectionError):
                while True:
                    connection.sendall(b"x")
                    with contextlib.suppress(TimeoutError):
                        if connection.recv(1):
                            break
            connection.settimeout(20)
        else:
            assert everything(connection).startswith(b"HTTP/1.1 408 ")
        assert 0.2 < time.monotonic() - began < 15
    until(lambda: app.connections() == 0)


@pytest.mark.full
def test_a_connection_that_sends_nothing_is_closed_without_a_word(served) -> None:
    app = served(head_s=0.3)
    with connected(app) as connection:
        assert everything(connection) == b""


@pytest.mark.full
def test_a_body_that_does_not_come_to_its_end_in_time_is_ended(served) -> None:
    app = served(head_s=15, body_s=0.3)
    with connected(app) as connection:
        connection.sendall(HALF_A_BODY)
        assert everything(connection).startswith(b"HTTP/1.1 408 ")
    until(lambda: app.connections() == 0)


@pytest.mark.full
@pytest.mark.parametrize("size", [300_000, 30_000_000], ids=["in a buffer", "too large for it"])
def test_an_answer_that_nobody_reads_is_given_up(served, size: int) -> None:
    app = served(b"x" * size, head_s=0.2, read_s=0.3)
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(socket.socket())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(20)
        connection.connect(("127.0.0.1", app.port))
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        until(lambda: app.connections() == 1)
        until(lambda: app.connections() == 0)


@pytest.mark.full
def test_whole_requests_are_answered_and_the_one_after_them_has_a_deadline_too(served) -> None:
    app = served(head_s=2)
    with connected(app) as connection:
        for _ in range(3):
            connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
            connection.sendall(b"cd")
            answer = b""
            while not answer.endswith(b"0\r\n\r\n"):
                answer += connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200 OK")
        connection.sendall(HALF_A_HEAD)
        assert everything(connection).startswith(b"HTTP/1.1 408 ")


@pytest.mark.full
def test_the_connection_that_waits_longest_makes_room(served) -> None:
    app = served(per_origin=3)
    with contextlib.ExitStack() as stack:
        first, *others = [stack.enter_context(connected(app)) for _ in range(3)]
        until(lambda: app.connections() == 3)
        last = stack.enter_context(connected(app))
        assert everything(first) == b""
        for connection in (*others, last):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b"200 OK" in connection.recv(65536)


def test_addresses_of_one_network_are_one_origin() -> None:
    assert origin("192.0.2.1") != origin("192.0.2.2")
    assert origin("::ffff:192.0.2.1") == origin("192.0.2.1")
    assert origin("2001:db8::1") == origin("2001:db8::ffff:2") != origin("2001:db8:0:1::1")
    assert origin("fe80::1%eth0") == origin("fe80::2")
    assert origin("testclient") == "testclient"
