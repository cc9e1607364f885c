"""The app: its pages, the checks in front of them, and pages for errors."""

from __future__ import annotations

import hashlib
import logging
from functools import cache
from pathlib import Path
from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect
from starlette.staticfiles import StaticFiles
from starlette.types import Lifespan, Scope

from hazardmill import __version__
from hazardmill.errors import HazardmillError, InputError
from hazardmill.reporting.html import environment
from hazardmill.review.analysis.time_left import render_minutes_left
from hazardmill.review.app.auth import Doors, SignInFirst
from hazardmill.review.app.middleware import HEADERS, BodyLimit, SecurityHeaders
from hazardmill.review.app.pages import STATUS, router
from hazardmill.review.drawing.layout import STATIC, TEMPLATES
from hazardmill.review.schemas import ReviewRefusal
from hazardmill.text.printable import printable

_HERE: Final = Path(__file__).resolve().parent
_STATIC: Final = {"/static": _HERE / "static", "/item": STATIC}
_MESSAGES: Final = {
    403: "This form was not sent from a page of your session. Go back to the task and send it again.",
    404: "There is no such page.",
    405: "There is no such page.",
    413: "That was too long. Nothing was recorded; shorten it.",
    422: "That was not a form of this app. Nothing was recorded.",
    429: "Too many requests at once. Nothing was recorded; wait a little and try again.",
}
_LOG: Final = logging.getLogger("hazardmill.review")
_DAMAGED: Final = (
    "A file of this review was changed by hand, or is damaged. Nothing was recorded. Keep what you typed, and inform "
    "whoever leads the review: the server's log names the file and the line, and says how to repair it."
)
_FAILED: Final = "The server failed. Nothing was recorded unless your history shows it."


def create_app(doors: Doors, lifespan: Lifespan[FastAPI] | None = None) -> FastAPI:
    """Return the app.

    Args:
        doors: Who may come in.
        lifespan: What runs as long as the app is served.
    """
    app = FastAPI(title="hazardmill review", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.doors = doors
    app.state.templates = _templates()
    app.include_router(router)
    for address, folder in _STATIC.items():
        app.mount(address, _Static(directory=folder))
    # From the inside out: the last one added sees a request first.
    app.add_middleware(BodyLimit)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(doors.rules.hosts), www_redirect=False)
    app.add_middleware(SecurityHeaders)
    app.add_exception_handler(SignInFirst, _to_sign_in)
    app.add_exception_handler(ClientDisconnect, _answer_disconnect)
    app.add_exception_handler(HTTPException, _http_page)
    app.add_exception_handler(RequestValidationError, _form_page)
    app.add_exception_handler(HazardmillError, _error_page)
    app.add_exception_handler(Exception, _failure_page)
    return app


def _templates() -> Environment:
    # The environment is that of the last app; nobody else has one of this folder.
    templates = environment(_HERE / "templates", TEMPLATES)
    templates.globals.update(version=__version__, static=_static)
    templates.filters["minutes_left"] = render_minutes_left
    return templates


@cache
def _static(name: str) -> str:
    """Return the address of a static file, which changes with its content."""
    address = next(address for address, folder in _STATIC.items() if (folder / name).exists())
    digest = hashlib.sha256((_STATIC[address] / name).read_bytes()).hexdigest()[:12]
    return f"{address}/{name}?v={digest}"


class _Static(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "max-age=604800"
        return response


def _render_error(request: Request, status: int, message: str) -> Response:
    templates: Environment = request.app.state.templates
    page = templates.get_template("error.html.j2").render(status=status, message=message)
    return HTMLResponse(page, status)


async def _to_sign_in(request: Request, error: Exception) -> Response:
    return RedirectResponse("/sign-in", 303)


async def _answer_disconnect(request: Request, error: Exception) -> Response:
    """Answer a visitor who broke off in the middle of a request: nobody reads it, and nothing failed."""
    return Response(status_code=400)


async def _http_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _render_error(request, error.status_code, _MESSAGES.get(error.status_code, "This cannot be done."))
    response.headers.update(error.headers or {})
    return response


async def _form_page(request: Request, error: Exception) -> Response:
    return _render_error(request, 422, _MESSAGES[422])


async def _error_page(request: Request, error: Exception) -> Response:
    """Answer an error of hazardmill. The paths in it do not concern reviewers, who are shown only what was wrong."""
    assert isinstance(error, HazardmillError)
    if not isinstance(error, ReviewRefusal):
        _LOG.error("%s", printable(str(error)))
        return _render_error(request, 503, _DAMAGED if isinstance(error, InputError) else _FAILED)
    message = f"{error.message[:1].upper()}{error.message[1:]}. {str(error.remedy).capitalize()}."
    return _render_error(request, STATUS[error.code], message)


async def _failure_page(request: Request, error: Exception) -> Response:
    # This answer is made outside all middleware, so it gets the security headers here.
    response = _render_error(request, 500, _FAILED)
    response.headers.update({**HEADERS, "Cache-Control": "no-store"})
    return response
