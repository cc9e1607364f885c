"""Checks in front of all pages: limits on sizes, and headers that restrict what a browser does with a page."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY: Final = 128 * 1024
"""Largest number of bytes of a body: a note of 4,000 characters and a plan of 20,000 fit in any script."""

_DIGITS: Final = 12

HEADERS: Final = {
    # No inline script or style, nothing from elsewhere, no plug-in, no frame: a text that got through can do nothing.
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
    # Not no-referrer, with which browsers would send forms with `Origin: null`.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class SecurityHeaders:
    """ASGI middleware that adds ``HEADERS`` to every answer, unless it has its own, and keeps pages out of caches.

    Args:
        app: The app that answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**HEADERS, "Cache-Control": "no-store"}.items():
                    headers.setdefault(name, value)
                if message["status"] >= 400:
                    # A page of a refusal has no address of its own to go back to.
                    headers["HX-Push-Url"] = "false"
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class BodyLimit:
    """ASGI middleware that refuses bodies above ``MAX_BODY``, whether or not the request declares its size.

    Args:
        app: The app that answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises:
            HTTPException: 413: the body is too large; raised where a page reads it.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "0")
        # More digits than Python would convert are too large as well.
        too_large, size = not declared.isdecimal() or len(declared) > _DIGITS or int(declared) > MAX_BODY, 0

        async def receive_limited() -> Message:
            nonlocal size
            if not too_large:
                message = await receive()
                size += len(message.get("body", b""))
                if size <= MAX_BODY:
                    return message
            # Raised where the page reads the body, so that the refusal is a page too.
            raise HTTPException(413)

        await self._app(scope, receive_limited, send)
