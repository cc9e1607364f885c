"""How the app is served: which addresses may be bound, and what is required before strangers can reach it."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Final

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from hazardmill.errors import HazardmillError, UsageError
from hazardmill.review.app.auth import LOCAL_HOSTS, Doors, Rules
from hazardmill.review.app.connections import ConnectionLimits, PatientProtocol, protocol
from hazardmill.review.app.factory import create_app
from hazardmill.review.app.keys import session_key
from hazardmill.review.app.sessions import Sessions
from hazardmill.review.app.tokens import Tokens
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.service import ReviewService
from hazardmill.store.store import Store

LOOK_S: Final = 30.0
"""Seconds between two checks whether the store has changed."""

_LOG: Final = logging.getLogger("hazardmill.review")


def rules_for(
    folder: ReviewFolder, bind: str, names: Sequence[str] = (), reviewers: Sequence[str] = (), *, https: bool = False
) -> Rules:
    """Return the rules for an app that listens at an address.

    Args:
        folder: The review.
        bind: An IP address, or ``localhost``.
        names: Further host names under which browsers may ask for the app.
        reviewers: Names of those who may sign in; empty for everybody who was assigned something.
        https: Whether browsers reach the app over HTTPS.

    Raises:
        UsageError: ``bind`` is not an IP address; or strangers could reach the app, and either a reviewer has no token
            or no host name is given.
    """
    asked = set(reviewers) or set(folder.assignments().of)
    if is_local(bind):
        return Rules(hosts=answered_hosts(bind, names), reviewers=tuple(reviewers), https=https)
    without = sorted(asked - set(Tokens(folder).names()))
    if without:
        raise UsageError(
            f"at {bind} others can reach the app, and there is no token for {', '.join(without)}",
            remedy="make one for each: hazardmill review token NAME",
        )
    hosts = answered_hosts(bind, names)
    return Rules(hosts=hosts, tokens_demanded=True, reviewers=tuple(reviewers), https=https)


def is_local(bind: str) -> bool:
    """Return whether only this machine can reach an address.

    Args:
        bind: An IP address, or ``localhost``.

    Raises:
        UsageError: ``bind`` is not an IP address.
    """
    return _address(bind).is_loopback


def answered_hosts(bind: str, names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the host names under which an app at an address answers; any other is an attempt at DNS rebinding.

    Args:
        bind: An IP address, or ``localhost``.
        names: Further host names under which browsers may ask for the app.

    Raises:
        UsageError: ``bind`` is not an IP address; or it stands for all addresses, and no host name is given.
    """
    address = _address(bind)
    shown = f"[{address}]" if address.version == 6 else str(address)
    if address.is_loopback:
        return tuple(dict.fromkeys((*LOCAL_HOSTS, shown, *names)))
    if address.is_unspecified and not names:
        raise UsageError(
            f"bound to {bind}, the app would accept requests for any host name, so a malicious web page could reach it "
            "through its reader's browser (DNS rebinding)",
            remedy="give the host name that people type in the address: --name review.example.org",
        )
    return tuple(names) if address.is_unspecified else (shown, *names)


def _address(bind: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address("127.0.0.1" if bind == "localhost" else bind.strip("[]"))
    except ValueError:
        raise UsageError(f"{bind!r} is not an IP address", remedy="use one such as 127.0.0.1 or 192.168.0.10") from None


def make_app(store: Store, folder: ReviewFolder, rules: Rules, *, look_s: float = LOOK_S) -> FastAPI:
    """Return the app of a store and a review, which checks regularly whether the store has changed.

    Args:
        store: The store.
        folder: The review.
        rules: How the app can be reached.
        look_s: Seconds between two checks of the store.

    Raises:
        InputError: The folder has no rubric, or is damaged.
        StoreError: The store cannot be read, or the folder cannot be written.
    """
    before = mark_commits(store)
    service = ReviewService.open(store, folder)
    return create_app(Doors(service, Sessions(session_key(folder)), rules), _watching(store, service, before, look_s))


def listen(bind: str, port: int) -> socket.socket:
    """Return a socket bound to an address that ``rules_for`` has allowed.

    Args:
        bind: An IP address, or ``localhost``.
        port: The port; 0 for any free one.

    Raises:
        UsageError: The port is taken, or the address does not belong to this machine.
    """
    address = _address(bind)
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((str(address), port))
    except OSError as error:
        listening.close()
        raise UsageError(
            f"the app cannot listen at {bind}, port {port}: {error.strerror}",
            remedy="stop the program that listens there, or use another port: --port",
        ) from error
    return listening


def serve(app: ASGIApp, listening: socket.socket) -> None:
    """Serve an app until it is stopped.

    Client addresses in headers of a proxy are not trusted.

    Args:
        app: The app.
        listening: The socket, as from ``listen``.
    """
    config = configuration(app, protocol(ConnectionLimits()))
    # Being interrupted is the regular end.
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def configuration(app: ASGIApp, spoken: type[PatientProtocol]) -> uvicorn.Config:
    """Return the configuration of uvicorn for an app.

    Args:
        app: The app.
        spoken: The protocol class of its connections.
    """
    return uvicorn.Config(
        app,
        http=spoken,
        # A connection upgraded to a websocket would escape the limits of the protocol above.
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=200,
        timeout_graceful_shutdown=5,
    )


def _watching(
    store: Store, service: ReviewService, before: tuple[object, ...], look_s: float
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    async def watch() -> None:
        nonlocal before
        while True:
            await asyncio.sleep(look_s)
            try:
                now = await asyncio.to_thread(mark_commits, store)
                if now != before:
                    await asyncio.to_thread(service.refresh, store)
                    before = now
            except HazardmillError as error:
                # The tasks read before are still shown; the next check may find the store readable again.
                _LOG.warning("the store cannot be read again: %s", error)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(watch())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    return lifespan


def mark_commits(store: Store) -> tuple[object, ...]:
    """Return a value that changes with each commit to the store."""
    snapshot = store.snapshot()
    return tuple(manifest.sequence for manifest in snapshot.manifests), len(snapshot.pending)
