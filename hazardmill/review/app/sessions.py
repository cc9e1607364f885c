"""Who is at the other end: a cookie signed by this review's key, and tokens that bind each form to it.

Nothing is kept at the server, so that a restart ends no session. A session ends with its time, with the reviewer's
token, or with the key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

LIFETIME_S: Final = 16 * 3600
_LONGEST: Final = 300


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """One browser."""

    id: str
    reviewer: str
    """Empty before somebody has signed in."""
    at: int
    """Seconds since the epoch."""
    stamp: str
    """Of the token that was in force."""


class Sessions:
    """Makes and reads the cookies of one review."""

    def __init__(self, key: bytes, *, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock
        self.cookie = f"hazardmill_{hashlib.sha256(key).hexdigest()[:8]}"
        """Its name. Browsers send cookies to every port of a host: two reviews must not take each other's away."""

    def new(self, reviewer: str = "", stamp: str = "") -> BrowserSession:
        """A session that nobody had before."""
        return BrowserSession(secrets.token_hex(16), reviewer, int(self._clock()), stamp)

    def write_cookie(self, session: BrowserSession) -> str:
        """The cookie."""
        said = f"{session.id}.{session.reviewer}.{session.at}.{session.stamp}"
        return f"{said}.{self._mac('session', said)}"

    def read_cookie(self, cookie: str | None) -> BrowserSession | None:
        """The session of a cookie; null where it is forged, or over."""
        if cookie is None or len(cookie) > _LONGEST:
            return None
        said, _, mac = cookie.rpartition(".")
        if not hmac.compare_digest(mac.encode(), self._mac("session", said).encode()):
            return None
        session_id, reviewer, at, stamp = said.split(".")
        over = int(at) + LIFETIME_S
        return BrowserSession(session_id, reviewer, int(at), stamp) if self._clock() < over else None

    def form_token(self, session: BrowserSession) -> str:
        """What a form of this session carries."""
        return self._mac("form", session.id)

    def is_form_token(self, session: BrowserSession, token: str) -> bool:
        """Whether a form comes from a page of this session."""
        return hmac.compare_digest(token.encode(errors="replace"), self.form_token(session).encode())

    def _mac(self, what: str, said: str) -> str:
        return hmac.new(self._key, f"{what}:{said}".encode(errors="replace"), hashlib.sha256).hexdigest()
