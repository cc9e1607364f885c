"""Sessions of browsers: a cookie signed by this review's key, and tokens that bind each form to it.

The server stores nothing, so that a restart ends no session. A session ends when its time is over, when the reviewer's
token is replaced, or when the key is.
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
    """The session of one browser.

    Attributes:
        id: Random id of the session.
        reviewer: Name of the reviewer; empty before anybody has signed in.
        at: When the session began, in seconds since the epoch.
        stamp: Stamp of the reviewer's token at that time; empty without a token.
    """

    id: str
    reviewer: str
    at: int
    stamp: str


class Sessions:
    """Makes and reads the cookies of one review.

    Args:
        key: The key that signs them.
        clock: Returns seconds since the epoch.

    Attributes:
        cookie: Name of the cookie. Browsers send cookies to every port of a host, so the name depends on the key: two
            reviews must not overwrite each other's cookies.
    """

    def __init__(self, key: bytes, *, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock
        self.cookie = f"hazardmill_{hashlib.sha256(key).hexdigest()[:8]}"

    def new(self, reviewer: str = "", stamp: str = "") -> BrowserSession:
        """Return a new session with a random id."""
        return BrowserSession(secrets.token_hex(16), reviewer, int(self._clock()), stamp)

    def write_cookie(self, session: BrowserSession) -> str:
        """Return a session as the signed value of its cookie."""
        said = f"{session.id}.{session.reviewer}.{session.at}.{session.stamp}"
        return f"{said}.{self._mac('session', said)}"

    def read_cookie(self, cookie: str | None) -> BrowserSession | None:
        """Return the session of a cookie; ``None`` if there is none, if it is forged, or if it is over."""
        if cookie is None or len(cookie) > _LONGEST:
            return None
        said, _, mac = cookie.rpartition(".")
        if not hmac.compare_digest(mac.encode(), self._mac("session", said).encode()):
            return None
        session_id, reviewer, at, stamp = said.split(".")
        over = int(at) + LIFETIME_S
        return BrowserSession(session_id, reviewer, int(at), stamp) if self._clock() < over else None

    def form_token(self, session: BrowserSession) -> str:
        """Return the token that a form of this session carries."""
        return self._mac("form", session.id)

    def is_form_token(self, session: BrowserSession, token: str) -> bool:
        """Return whether a token is that of this session's forms; takes the same time if it is not."""
        return hmac.compare_digest(token.encode(errors="replace"), self.form_token(session).encode())

    def _mac(self, what: str, said: str) -> str:
        return hmac.new(self._key, f"{what}:{said}".encode(errors="replace"), hashlib.sha256).hexdigest()
