"""Who may come in, and whether a form that comes in was filled in on a page of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import urlsplit

from fastapi import Depends, Request
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from hazardmill.errors import UsageError
from hazardmill.review.app.connections import origin
from hazardmill.review.app.sessions import BrowserSession, Sessions
from hazardmill.review.app.throttle import Throttle
from hazardmill.review.app.tokens import Tokens
from hazardmill.review.decisions.folder import reviewer_name
from hazardmill.review.service import ReviewerSession, ReviewService

_MOST_FIELDS: Final = 40


@dataclass(frozen=True, slots=True)
class Rules:
    """How the app is open."""

    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    """Names under which it may be asked for; any other is somebody's trick (DNS rebinding)."""
    tokens_demanded: bool = False
    """Whether a name is not enough, even if no token was ever made."""
    reviewers: tuple[str, ...] = ()
    """Who may sign in; empty: whoever was given something."""
    https: bool = False
    """Whether browsers reach it over HTTPS; cookies are for that alone then."""


class SignInFirst(Exception):
    """Nobody has signed in, or the session is over."""


class SignInRefused(Exception):
    """Name and token do not fit; the message is for whoever tries."""


class Doors:
    """The sessions of one app, and who sits at which reviewer_session."""

    def __init__(
        self,
        service: ReviewService,
        sessions: Sessions,
        rules: Rules,
        *,
        pages: Throttle | None = None,
        guesses: Throttle | None = None,
    ) -> None:
        self.service = service
        self.sessions = sessions
        self.rules = rules
        self.tokens = Tokens(service.folder)
        self._pages = pages or Throttle(burst=240, every_s=0.05)
        self._guesses = guesses or Throttle(burst=10, every_s=30)

    def cookie(self, *, signed_in: bool) -> str:
        """Name of the cookie. That of the sign-in page is another one.

        Whoever comes from a page elsewhere comes without cookies, and must not be signed out by seeing that page.
        """
        name = self.sessions.cookie if signed_in else f"{self.sessions.cookie}_door"
        return f"__Host-{name}" if self.rules.https else name

    def tokens_demanded(self) -> bool:
        """Whether one has to say a token. Where one was made, everybody needs one."""
        return self.rules.tokens_demanded or self.tokens.are_used()

    def session(self, request: Request) -> BrowserSession | None:
        """The session of a browser, signed in or not; null where there is none, or its token was replaced."""
        found = self.sessions.read_cookie(request.cookies.get(self.cookie(signed_in=True)))
        if found is not None and found.reviewer and self._is_asked(found.reviewer):
            may_come = found.stamp or not self.tokens_demanded()
            if may_come and found.stamp == self.tokens.stamp(found.reviewer):
                return found
        door = self.sessions.read_cookie(request.cookies.get(self.cookie(signed_in=False)))
        return door if door is not None and not door.reviewer else None

    def sign_in(self, client: str, name: str, token: str) -> BrowserSession:
        """A session of a reviewer.

        Raises:
            Refused: They may not.
            HTTPException: 429: too many guesses.
        """
        if not self.tokens_demanded():
            if not self._is_asked(name):
                raise SignInRefused("There is nothing to review for that name. Ask whoever leads the review.")
            return self.sessions.new(name)
        wait_s = self._guesses.wait_s(client)
        if wait_s:
            raise HTTPException(429, headers={"Retry-After": str(wait_s)})
        # One answer for whatever is wrong: who takes part is nobody's business.
        try:
            fits = self.tokens.fits(reviewer_name(name), token)
        except UsageError:
            fits = False
        if not fits or not self._is_asked(name):
            raise SignInRefused("Name and token do not fit. Whoever leads the review can make a new token.")
        self._guesses.forgive(client)
        return self.sessions.new(name, self.tokens.stamp(name))

    def not_too_often(self, client: str) -> None:
        """Count a page.

        Raises:
            HTTPException: 429: too many.
        """
        wait_s = self._pages.wait_s(client)
        if wait_s:
            raise HTTPException(429, headers={"Retry-After": str(wait_s)})

    def _is_asked(self, name: str) -> bool:
        named = self.rules.reviewers
        return name in self.service.folder.assignments().of and (not named or name in named)


@dataclass(frozen=True, slots=True)
class Guest:
    """A reviewer who asks for a page."""

    session: BrowserSession
    reviewer_session: ReviewerSession


@dataclass(frozen=True, slots=True)
class Form:
    """What was sent, from a page of the same session."""

    session: BrowserSession
    fields: FormData

    def text(self, name: str) -> str:
        """A field; empty where it was not sent."""
        value = self.fields.get(name)
        return value.replace("\r\n", "\n") if isinstance(value, str) else ""

    def texts(self, name: str) -> tuple[str, ...]:
        """All fields of a name."""
        return tuple(value for value in self.fields.getlist(name) if isinstance(value, str))


def doors_of(request: Request) -> Doors:
    """The doors of the app."""
    doors = request.app.state.doors
    assert isinstance(doors, Doors)
    return doors


def client_of(request: Request) -> str:
    """The address or network that asks; of all who come through one proxy, the proxy's."""
    return origin(request.client.host if request.client else "")


def guest_of(request: Request) -> Guest:
    """Who asks.

    Raises:
        SignInFirst: Nobody knows.
        ReviewRefusal: Somebody who was given nothing.
    """
    doors = doors_of(request)
    doors.not_too_often(client_of(request))
    session = doors.session(request)
    if session is None or not session.reviewer:
        raise SignInFirst
    return Guest(session, doors.service.session(session.reviewer))


async def form_of(request: Request) -> Form:
    """What was sent.

    Raises:
        SignInFirst: There is no session it could be from.
        HTTPException: 403: it is not from a page of ours; 413: too large; 429: too many.
    """
    doors = doors_of(request)
    doors.not_too_often(client_of(request))
    if not _is_from_here(request.headers):
        raise HTTPException(403)
    session = doors.session(request)
    if session is None:
        raise SignInFirst
    form = Form(session, await request.form(max_files=0, max_fields=_MOST_FIELDS))
    if not doors.sessions.is_form_token(session, form.text("form_token")):
        raise HTTPException(403)
    return form


def _is_from_here(headers: Mapping[str, str]) -> bool:
    """Whether a browser says that the page was ours; older ones say nothing, and the form's token decides."""
    origin = headers.get("origin")
    try:
        if origin is not None and urlsplit(origin).netloc != headers.get("host"):
            return False
    except ValueError:
        return False
    return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


Signed = Annotated[Guest, Depends(guest_of)]
Sent = Annotated[Form, Depends(form_of)]
