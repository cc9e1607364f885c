"""An object store on loopback, and what can go wrong with one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
Trouble = Callable[[str, str], int | None]
"""Of the method and path of a request, the status it is refused with; 0 hangs up; none lets it through."""


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: object) -> None:
        pass


class BucketServer:
    """moto's server, with one put at a time (it looks and puts in two steps), and troubles in front of it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        """Method and path of each request."""
        self.ignores_conditions = False
        self.cuts_uploads = False
        """Whether only two bytes arrive of each part that is put."""
        self._trouble: Trouble | None = None
        self._meanwhile: Trouble | None = None
        self._putting = threading.Lock()
        self._app: App = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True, request_handler=_Quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @contextmanager
    def trouble(self, trouble: Trouble) -> Iterator[None]:
        """Refuse what ``trouble`` says, before it has any effect."""
        self._trouble = trouble
        try:
            yield
        finally:
            self._trouble = None

    @contextmanager
    def lost_answers(self, trouble: Trouble) -> Iterator[None]:
        """Do what is asked, and answer as ``trouble`` says."""
        self._meanwhile = trouble
        try:
            yield
        finally:
            self._meanwhile = None

    def _serve(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        self.seen.append((method, path))
        status = self._trouble(method, path) if self._trouble else None
        if status is not None:
            return self._refuse(environ, start, status)
        if method == "GET":
            return self._app(environ, start)
        if self.ignores_conditions:
            environ.pop("HTTP_IF_NONE_MATCH", None)
            environ.pop("HTTP_IF_MATCH", None)
        if self.cuts_uploads and path.endswith(".parquet") and method == "PUT":
            self._cut(environ)
        with self._putting:
            after = self._meanwhile(method, path) if self._meanwhile else None
            if after is None:
                return self._app(environ, start)
            list(self._app(environ, lambda *_: None))
            return self._refuse(environ, start, after)

    def _cut(self, environ: dict[str, Any]) -> None:
        environ["wsgi.input"].read()
        for name in ("TRANSFER_ENCODING", "CONTENT_ENCODING", "X_AMZ_TRAILER", "X_AMZ_DECODED_CONTENT_LENGTH"):
            environ.pop(f"HTTP_{name}", None)
        plain = {"wsgi.input": BytesIO(b"ro"), "CONTENT_LENGTH": "2", "HTTP_X_AMZ_CONTENT_SHA256": "UNSIGNED-PAYLOAD"}
        environ.update(plain)

    def _refuse(self, environ: dict[str, Any], start: Callable[..., Any], status: int) -> Iterable[bytes]:
        if not status:
            environ["werkzeug.socket"].close()
            return []
        code = {403: "AccessDenied", 404: "NoSuchBucket", 500: "InternalError", 503: "SlowDown"}[status]
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>as told</Message></Error>".encode()
        start(f"{status} {code}", [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
