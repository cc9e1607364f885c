"""The app: it answers GET and HEAD, changes nothing, and asks nobody who they are (by default it is on loopback)."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from mimetypes import guess_type
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hazardmill.errors import HazardmillError, StoreError
from hazardmill.report.html import reports_folder
from hazardmill.review.app.auth import LOCAL_HOSTS
from hazardmill.review.app.middleware import BodyLimit, SecurityHeaders
from hazardmill.review.app.serve import mark_commits
from hazardmill.text.printable import printable
from hazardmill.viewer.collection import Collection, Viewable, ViewRow
from hazardmill.viewer.drawing import ViewDrawing, assets
from hazardmill.viewer.index import ROWS, TEXTS, index_rows, index_texts
from hazardmill.viewer.pack import pack, pack_fragments
from hazardmill.viewer.store import StoreTasks

_SCRIPT: Final = "text/javascript"
_REPORT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\.html")
_REPORT_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)
"""A report has its styles and figures in itself, runs no script, and loads nothing."""
_INDEX: Final[Mapping[str, Callable[[Collection], object]]] = {ROWS: index_rows, TEXTS: index_texts}
_LOG: Final = logging.getLogger("hazardmill.viewer")


class _Read:
    """A collection as it was read last.

    Args:
        commits: The commits of the store then.
        collection: The collection.

    Attributes:
        mark: What its addresses have, so that a page never mixes two readings, even of two servers.
        by_key: Its rows by key.
        index: Its rows and texts, each packed when it is first asked for.
    """

    def __init__(self, commits: object, collection: Collection) -> None:
        self.commits = commits
        self.collection = collection
        self.mark = secrets.token_hex(8)
        self.by_key: dict[str, ViewRow] = {row.key: row for row in collection.rows}
        self.index: dict[str, bytes] = {}

    @property
    def addresses(self) -> dict[str, str]:
        """Where the page finds its files."""
        named = {name: f"assets/{name}" for name in assets(with_stories=self.collection.holds_answers)}
        return named | {name: f"data/{name}.js?mark={self.mark}" for name in _INDEX}


class ViewService:
    """What the app shows: a place that is read again once its store has new commits.

    Args:
        place: The place.

    Raises:
        InputError: The place cannot be read.
        StoreError: The store cannot be read.
    """

    def __init__(self, place: Viewable) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._packing = threading.Lock()
        self._read = self._collect()

    def page(self) -> bytes:
        """Return the page; this is when a changed store is read again."""
        with self._lock:
            if self._commits() != self._read.commits:
                try:
                    self._read = self._collect()
                except HazardmillError as error:
                    # What was read before is still shown; the next page may find the store readable again.
                    _LOG.warning("the store cannot be read again: %s", printable(str(error)))
            read = self._read
        return ViewDrawing(read.collection).page(read.addresses).encode()

    def index(self, name: str, mark: str) -> bytes | None:
        """Return the rows of the table, or what the search looks at.

        Args:
            name: ``ROWS`` or ``TEXTS``.
            mark: The mark of the reading to which the page belongs.

        Returns:
            The file; ``None`` if the store was read again since then. Rows of one reading must not be searched by the
            texts of another.
        """
        read = self._read
        if mark != read.mark:
            return None
        with self._packing:
            if name not in read.index:
                read.index[name] = pack(name, _INDEX[name](read.collection))
            return read.index[name]

    def item(self, key: str) -> bytes | None:
        """Return what is shown of a row; ``None`` if there is no such row."""
        read = self._read
        row = read.by_key.get(key)
        if row is None:
            return None
        drawing = ViewDrawing(read.collection)
        try:
            with self._lock:
                fragment = drawing.fragment(row, self._place.detail(row))
        except HazardmillError as error:
            _LOG.warning("%s: %s", printable(key), printable(str(error)))
            fragment = drawing.failure(str(error))
        return pack_fragments(f"item {key}", [fragment])

    def report(self, name: str) -> bytes | None:
        """Return a report of the store by the name of its file; ``None`` if there is none, or for a release."""
        if not isinstance(self._place, StoreTasks) or not _REPORT.fullmatch(name):
            return None
        folder = reports_folder(self._place.store)
        try:
            # A link out of the folder is not followed.
            path = (folder / name).resolve(strict=True)
            return path.read_bytes() if path.parent == folder.resolve() and path.is_file() else None
        except OSError:
            return None

    def asset(self, name: str) -> bytes | None:
        """Return a style sheet, script or icon; ``None`` if no file has the name."""
        return assets(with_stories=self._read.collection.holds_answers).get(name)

    def _collect(self) -> _Read:
        return _Read(self._commits(), self._place.collect())

    def _commits(self) -> object:
        if not isinstance(self._place, StoreTasks):
            return None
        try:
            return mark_commits(self._place.store)
        except StoreError as error:
            _LOG.warning("the store cannot be read again: %s", printable(str(error)))
            return self._read.commits


def create_app(service: ViewService, hosts: Sequence[str] = LOCAL_HOSTS) -> Starlette:
    """Return the app.

    Args:
        service: What it shows.
        hosts: Host names under which it answers; any other name is an attempt at DNS rebinding.
    """

    def route(
        path: str,
        make: Callable[[Request], bytes | None],
        kind: str | None = None,
        missing: int = 404,
        policy: str | None = None,
    ) -> Route:
        async def endpoint(request: Request) -> Response:
            content = await asyncio.to_thread(make, request)
            if content is None:
                raise HTTPException(missing)
            own = None if policy is None else {"Content-Security-Policy": policy}
            return Response(content, media_type=kind or guess_type(request.url.path)[0], headers=own)

        return Route(path, endpoint, methods=["GET"])

    app = Starlette(
        routes=[
            route("/", lambda _: service.page(), "text/html"),
            route("/data/rows.js", lambda request: service.index(ROWS, _mark(request)), _SCRIPT, missing=409),
            route("/data/texts.js", lambda request: service.index(TEXTS, _mark(request)), _SCRIPT, missing=409),
            route("/data/item.js", lambda request: service.item(request.query_params.get("key", "")), _SCRIPT),
            route(
                "/reports/{name}",
                lambda request: service.report(request.path_params["name"]),
                "text/html",
                policy=_REPORT_POLICY,
            ),
            route("/assets/{name}", lambda request: service.asset(request.path_params["name"])),
        ],
        exception_handlers={HTTPException: _refuse},
    )
    # From the inside out: the last one added sees a request first.
    app.add_middleware(BodyLimit)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    app.add_middleware(SecurityHeaders)
    return app


def _mark(request: Request) -> str:
    return str(request.query_params.get("mark", ""))


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = "The store was read again: reload the page." if error.status_code == 409 else "There is nothing here."
    return PlainTextResponse(said, error.status_code, dict(error.headers or {}))
