"""What is seen to at the door of the app, before any page: sizes, and headers that tie a browser's hands."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY: Final = 128 * 1024
"""Bytes of a request's body: a note of 4,000 characters and a plan of 20,000 fit, whatever their signs."""

_DIGITS: Final = 12

HEADERS: Final = {
    # No inline script or style, nothing from elsewhere, no plug-in, no frame: a text that got through does nothing.
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: browsers then send forms with `Origin: null`.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class SecurityHeaders:
    """Puts the headers on every answer; pages are kept in no cache."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
                if message["status"] >= 400:
                    # A page that refuses has no address of its own to go back to.
                    headers["HX-Push-Url"] = "false"
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class BodyLimit:
    """Refuses bodies that are too large, whether they say so or not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        told = Headers(scope=scope).get("content-length", "0")
        # So many digits that Python would not read them are too large as well.
        too_large, size = not told.isdecimal() or len(told) > _DIGITS or int(told) > MAX_BODY, 0

        async def receive_limited() -> Message:
            nonlocal size
            if not too_large:
                message = await receive()
                size += len(message.get("body", b""))
                if size <= MAX_BODY:
                    return message
            # Where the page that reads the body is: so that the refusal is a page too.
            raise HTTPException(413)

        await self._app(scope, receive_limited, send)
