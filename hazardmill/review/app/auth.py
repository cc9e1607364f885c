"""Who may come in, and whether a form was sent from a page of this app."""

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

LOCAL_HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")
"""Host names under which an app on loopback answers."""

_MOST_FIELDS: Final = 40


@dataclass(frozen=True, slots=True)
class Rules:
    """How the app can be reached, and who may sign in.

    Attributes:
        hosts: Host names under which the app answers; any other name is an attempt at DNS rebinding.
        tokens_demanded: Whether reviewers need a token even if none was ever made.
        reviewers: Names of those who may sign in; empty for everybody who was assigned something.
        https: Whether browsers reach the app over HTTPS; cookies are then restricted to it.
    """

    hosts: tuple[str, ...] = LOCAL_HOSTS
    tokens_demanded: bool = False
    reviewers: tuple[str, ...] = ()
    https: bool = False


class SignInFirst(Exception):
    """Nobody has signed in, or the session is over."""


class SignInRefused(Exception):
    """Name and token do not match; the message is shown to whoever tries to sign in."""


class Doors:
    """Access to one app: sessions, tokens, and limits on how often pages are asked for and tokens guessed.

    Args:
        service: The review service.
        sessions: Makes and reads cookies.
        rules: How the app can be reached.
        pages: Limit on pages per client; ``None`` for 240 at once, then 20 per second.
        guesses: Limit on attempts to sign in per client; ``None`` for 10 at once, then one every 30 seconds.

    Attributes:
        service: The review service.
        sessions: Makes and reads cookies.
        rules: How the app can be reached.
        tokens: Tokens of reviewers.
    """

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
        """Return the name of the cookie; the sign-in page has another one than signed-in pages.

        A browser that follows a link from elsewhere sends no cookies, and showing it the sign-in page must not sign
        anybody out.
        """
        name = self.sessions.cookie if signed_in else f"{self.sessions.cookie}_door"
        return f"__Host-{name}" if self.rules.https else name

    def tokens_demanded(self) -> bool:
        """Return whether a token is needed to sign in; as soon as one was made, everybody needs one."""
        return self.rules.tokens_demanded or self.tokens.are_used()

    def session(self, request: Request) -> BrowserSession | None:
        """Return the session of a browser, signed in or not.

        Args:
            request: The request with its cookies.

        Returns:
            The session; ``None`` if there is none, if it is over, or if its token was replaced.

        Raises:
            InputError: The file of a token or of the assignments is damaged.
        """
        found = self.sessions.read_cookie(request.cookies.get(self.cookie(signed_in=True)))
        if found is not None and found.reviewer and self._is_asked(found.reviewer):
            may_come = found.stamp or not self.tokens_demanded()
            if may_come and found.stamp == self.tokens.stamp(found.reviewer):
                return found
        door = self.sessions.read_cookie(request.cookies.get(self.cookie(signed_in=False)))
        return door if door is not None and not door.reviewer else None

    def sign_in(self, client: str, name: str, token: str) -> BrowserSession:
        """Return a new session of a reviewer.

        Args:
            client: The address or network that asks, for the limit on guesses.
            name: Name of the reviewer.
            token: The reviewer's token; ignored if no tokens are demanded.

        Raises:
            SignInRefused: The name was assigned nothing, or name and token do not match.
            HTTPException: 429: too many attempts.
        """
        if not self.tokens_demanded():
            if not self._is_asked(name):
                raise SignInRefused("Nothing was assigned to that name. Ask whoever leads the review.")
            return self.sessions.new(name)
        wait_s = self._guesses.wait_s(client)
        if wait_s:
            raise HTTPException(429, headers={"Retry-After": str(wait_s)})
        # The same answer whatever is wrong: strangers must not learn who takes part.
        try:
            fits = self.tokens.fits(reviewer_name(name), token)
        except UsageError:
            fits = False
        if not fits or not self._is_asked(name):
            raise SignInRefused("Name and token do not match. Whoever leads the review can make a new token.")
        self._guesses.forgive(client)
        return self.sessions.new(name, self.tokens.stamp(name))

    def not_too_often(self, client: str) -> None:
        """Count a request for a page.

        Raises:
            HTTPException: 429: too many requests.
        """
        wait_s = self._pages.wait_s(client)
        if wait_s:
            raise HTTPException(429, headers={"Retry-After": str(wait_s)})

    def _is_asked(self, name: str) -> bool:
        named = self.rules.reviewers
        return name in self.service.folder.assignments().of and (not named or name in named)


@dataclass(frozen=True, slots=True)
class Guest:
    """A reviewer who asks for a page.

    Attributes:
        session: Session of the browser.
        reviewer_session: What the reviewer may see and do.
    """

    session: BrowserSession
    reviewer_session: ReviewerSession


@dataclass(frozen=True, slots=True)
class Form:
    """Fields that were sent from a page of the same session.

    Attributes:
        session: Session of the browser.
        fields: The fields.
    """

    session: BrowserSession
    fields: FormData

    def text(self, name: str) -> str:
        """Return a field, with line feeds as its line ends; empty if it was not sent."""
        value = self.fields.get(name)
        return value.replace("\r\n", "\n") if isinstance(value, str) else ""

    def texts(self, name: str) -> tuple[str, ...]:
        """Return all fields of one name."""
        return tuple(value for value in self.fields.getlist(name) if isinstance(value, str))


def doors_of(request: Request) -> Doors:
    """Return the access object of the app that serves a request."""
    doors = request.app.state.doors
    assert isinstance(doors, Doors)
    return doors


def client_of(request: Request) -> str:
    """Return the address or network that a request comes from; behind a proxy, the proxy's."""
    return origin(request.client.host if request.client else "")


def guest_of(request: Request) -> Guest:
    """Return the reviewer who sends a request.

    Raises:
        SignInFirst: Nobody has signed in.
        ReviewRefusal: ``not_yours``: the reviewer has nothing assigned.
        HTTPException: 429: too many requests.
    """
    doors = doors_of(request)
    doors.not_too_often(client_of(request))
    session = doors.session(request)
    if session is None or not session.reviewer:
        raise SignInFirst
    return Guest(session, doors.service.session(session.reviewer))


async def form_of(request: Request) -> Form:
    """Return the form of a request, after checking that it was sent from a page of the same session.

    Raises:
        SignInFirst: There is no session that it could be from.
        HTTPException: 403: it was not sent from a page of this session; 413: too large; 429: too many requests.
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
    """Return whether the form is from this app as far as the browser says; older browsers say nothing."""
    origin = headers.get("origin")
    try:
        if origin is not None and urlsplit(origin).netloc != headers.get("host"):
            return False
    except ValueError:
        return False
    return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


Signed = Annotated[Guest, Depends(guest_of)]
Sent = Annotated[Form, Depends(form_of)]
