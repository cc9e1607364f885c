"""How the app is served: which addresses may be bound, and what has to be so before a stranger can reach it."""

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
from hazardmill.review.app.auth import Doors, Rules
from hazardmill.review.app.connections import ConnectionLimits, PatientProtocol, protocol
from hazardmill.review.app.factory import create_app
from hazardmill.review.app.keys import session_key
from hazardmill.review.app.sessions import Sessions
from hazardmill.review.app.tokens import Tokens
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.service import ReviewService
from hazardmill.store.store import Store

LOOK_S: Final = 30.0
"""Seconds between two looks whether the store has changed."""

_LOG: Final = logging.getLogger("hazardmill.review")


def rules_for(
    folder: ReviewFolder, bind: str, names: Sequence[str] = (), reviewers: Sequence[str] = (), *, https: bool = False
) -> Rules:
    """How an app that listens at an address has to be open.

    Args:
        folder: The review.
        bind: An IP address, or ``localhost``.
        names: Further names of hosts under which browsers may ask for it.
        reviewers: Who may sign in; whoever was given something if empty.
        https: Whether browsers reach it over HTTPS.

    Raises:
        UsageError: Strangers could reach it, and a reviewer has no token, or nobody said under which name.
    """
    address = _address(bind)
    local = Rules(reviewers=tuple(reviewers), https=https)
    asked = set(reviewers) or set(folder.assignments().of)
    if address.is_loopback:
        shown = f"[{address}]" if address.version == 6 else str(address)
        return Rules(hosts=tuple(dict.fromkeys((*local.hosts, shown, *names))), reviewers=local.reviewers, https=https)
    without = sorted(asked - set(Tokens(folder).names()))
    if without:
        raise UsageError(
            f"at {bind} others can reach it, and there is no token for {', '.join(without)}",
            remedy="make one for each: hazardmill review token NAME",
        )
    if address.is_unspecified and not names:
        raise UsageError(
            f"at {bind} it would answer under any name, to any page that tricks a browser into asking",
            remedy="say the name in the address that reviewers type: --name review.example.org",
        )
    shown = f"[{address}]" if address.version == 6 else str(address)
    hosts = tuple(names) if address.is_unspecified else (shown, *names)
    return Rules(hosts=hosts, tokens_demanded=True, reviewers=local.reviewers, https=https)


def _address(bind: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address("127.0.0.1" if bind == "localhost" else bind.strip("[]"))
    except ValueError:
        raise UsageError(f"{bind!r} is no IP address", remedy="for instance 127.0.0.1, or 192.168.0.10") from None


def make_app(store: Store, folder: ReviewFolder, rules: Rules, *, look_s: float = LOOK_S) -> FastAPI:
    """The app of a store and a review, which looks now and then whether tasks have changed.

    Raises:
        InputError: The folder has no rubric, or is damaged.
        StoreError: The store cannot be read, or the folder not written.
    """
    before = _mark(store)
    service = ReviewService.open(store, folder)
    return create_app(Doors(service, Sessions(session_key(folder)), rules), _watching(store, service, before, look_s))


def listen(bind: str, port: int) -> socket.socket:
    """A socket at an address that ``rules_for`` has allowed.

    Raises:
        UsageError: The port is taken, or the address is none of this machine.
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
            f"nothing can listen at {bind}, port {port}: {error.strerror}",
            remedy="end what listens there, or take another: --port",
        ) from error
    return listening


def serve(app: FastAPI, listening: socket.socket) -> None:
    """Serve it until somebody stops it. Addresses that a proxy tells of are not believed."""
    config = configuration(app, protocol(ConnectionLimits()))
    # That somebody stops it is how it ends.
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def configuration(app: ASGIApp, spoken: type[PatientProtocol]) -> uvicorn.Config:
    """How uvicorn serves an app over a protocol."""
    return uvicorn.Config(
        app,
        http=spoken,
        # A connection that asks to be upgraded would be out of the hands of the protocol above.
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
                now = await asyncio.to_thread(_mark, store)
                if now != before:
                    await asyncio.to_thread(service.refresh, store)
                    before = now
            except HazardmillError as error:
                # What was read before is shown still; the next look may find it whole again.
                _LOG.warning("the store cannot be read anew: %s", error)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(watch())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    return lifespan


def _mark(store: Store) -> tuple[object, ...]:
    """Another one after each commit."""
    snapshot = store.snapshot()
    return tuple(manifest.sequence for manifest in snapshot.manifests), len(snapshot.pending)
