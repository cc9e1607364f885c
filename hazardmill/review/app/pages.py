"""The pages of the app.

Each is made again from the files of the review, so that reload, back and a second tab show what is recorded.
"""

from __future__ import annotations

import math
import secrets
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from hazardmill.errors import UsageError
from hazardmill.review.app.auth import Form, Guest, Sent, Signed, SignInRefused, client_of, doors_of
from hazardmill.review.app.presenter import SAID, view
from hazardmill.review.app.rubric_page import rubric_html
from hazardmill.review.app.sessions import LIFETIME_S, BrowserSession
from hazardmill.review.decisions.append_log import first_problem
from hazardmill.review.drawing.steps import view_plan
from hazardmill.review.rubric import ReviewVerdict
from hazardmill.review.schemas import Mine, ReviewAnswer, ReviewRefusal, ReviewSheet, UnblindedItem

router = APIRouter(default_response_class=HTMLResponse)

STATUS: Final = {
    "invalid": 422,
    "not_yours": 404,
    "stale": 409,
    "conflict": 409,
    "nothing": 409,
    "blind": 403,
    "broken": 503,
}
"""HTTP status of each refusal of the service."""

_SEE_OTHER: Final = 303
_LONGEST_S: Final = 6 * 3600.0
"""Seconds. A task that was open for longer was not looked at all the time, so its time is unknown."""
_HISTORY: Final = 30


@router.get("/")
def forward(request: Request, guest: Signed) -> Response:
    """Redirect to the next task, or show that nothing is left."""
    sheet = guest.reviewer_session.next()
    if sheet is not None:
        return RedirectResponse(f"/slip/{sheet.slip}", _SEE_OTHER)
    return _page(request, "done.html.j2", guest)


@router.get("/slip/{slip}")
def slip_page(request: Request, guest: Signed, slip: str, undone: str = "") -> Response:
    """Show the task of one slip."""
    notice = "Taken back. Decide again, or continue." if undone else None
    return _sheet_page(request, guest, guest.reviewer_session.sheet(slip), notice=notice)


@router.post("/slip/{slip}/decide")
def decide(request: Request, guest: Signed, form: Sent, slip: str) -> Response:
    """Record a decision; the answer is sent once it is on disk.

    An answer that is invalid, stale or in conflict is shown again with what was typed and with the reason.

    Returns:
        A redirect to the start page, or the same sheet with the reason why nothing was recorded.

    Raises:
        ReviewRefusal: Any other reason for recording nothing.
    """
    try:
        guest.reviewer_session.record(
            slip,
            _answer(form),
            seen=form.text("seen"),
            expects=form.text("expects") or None,
            submission=form.text("submission"),
        )
    except ReviewRefusal as refusal:
        if refusal.code not in ("invalid", "stale", "conflict"):
            raise
        notice = f"Nothing was recorded: {refusal.message}. {str(refusal.remedy).capitalize()}."
        sheet = guest.reviewer_session.sheet(slip)
        return _sheet_page(request, guest, sheet, notice=notice, status=STATUS[refusal.code], sent=form)
    return RedirectResponse("/", _SEE_OTHER)


@router.get("/slip/{slip}/decide")
def redirect_to_task(slip: str) -> Response:
    """Redirect to the task: whoever asks again for the address that an answer was sent to means its page."""
    return RedirectResponse(f"/slip/{slip}", _SEE_OTHER)


@router.post("/undo")
def undo(guest: Signed, form: Sent) -> Response:
    """Take the latest decision back, and show its task again."""
    receipt = guest.reviewer_session.undo(submission=form.text("submission"), decision=form.text("decision") or None)
    return RedirectResponse(f"/slip/{receipt.slip}?undone=1", _SEE_OTHER)


@router.post("/slip/{slip}/try")
def try_plan(request: Request, guest: Signed, form: Sent, slip: str) -> Response:
    """Show the verdict on a plan that the reviewer made; nothing is recorded."""
    try:
        plan, problem = view_plan(guest.reviewer_session.try_plan(slip, form.text("plan"))), None
    except UsageError as error:
        plan, problem = None, f"{error.message.capitalize()}: {error.remedy}."
    return _render(request, "tried.html.j2", {"plan": plan, "problem": problem})


@router.get("/history")
def history(request: Request, guest: Signed, source: str = "", danger_type: str = "") -> Response:
    """Show what the reviewer decided, latest first; of one source or danger type if asked."""
    found = guest.reviewer_session.history(_HISTORY, source=source, danger_type=danger_type)
    return _page(
        request,
        "history.html.j2",
        guest,
        decided=[(mine, _title(guest, mine)) for mine in found],
        strata=zip(("source", "danger_type"), guest.reviewer_session.strata(), (source, danger_type), strict=True),
        filtered=bool(source or danger_type),
    )


@router.get("/rubric")
def rubric(request: Request, guest: Signed) -> Response:
    """Show the rubric."""
    return _page(request, "rubric.html.j2", guest)


@router.get("/sign-in")
def sign_in_page(request: Request) -> Response:
    """Ask for a name. A browser without a session gets one, so that this form is bound to it as well."""
    doors = doors_of(request)
    doors.not_too_often(client_of(request))
    session = doors.session(request)
    if session is not None and session.reviewer:
        return RedirectResponse("/", _SEE_OTHER)
    return _sign_in(request, session or doors.sessions.new())


@router.post("/sign-in")
def sign_in(request: Request, form: Sent) -> Response:
    """Let a reviewer in, under a new session."""
    doors, name = doors_of(request), form.text("reviewer").strip().lower()
    try:
        session = doors.sign_in(client_of(request), name, form.text("token").strip())
    except SignInRefused as refused:
        return _sign_in(request, form.session, name=name, notice=str(refused), status=403)
    response = RedirectResponse("/", _SEE_OTHER)
    _remember(request, response, session)
    return response


@router.post("/sign-out")
def sign_out(request: Request, form: Sent) -> Response:
    """End the session of the browser."""
    response = RedirectResponse("/sign-in", _SEE_OTHER)
    doors = doors_of(request)
    response.delete_cookie(doors.cookie(signed_in=True), secure=doors.rules.https, httponly=True, samesite="strict")
    return response


def _sign_in(
    request: Request, session: BrowserSession, *, name: str = "", notice: str | None = None, status: int = 200
) -> Response:
    doors = doors_of(request)
    only = doors.rules.reviewers
    context: dict[str, object] = {
        "name": name or (only[0] if len(only) == 1 else ""),
        "notice": notice,
        "tokens_demanded": doors.tokens_demanded(),
        "form_token": doors.sessions.form_token(session),
    }
    response = _render(request, "sign_in.html.j2", context, status)
    _remember(request, response, session)
    return response


def _remember(request: Request, response: Response, session: BrowserSession) -> None:
    doors = doors_of(request)
    response.set_cookie(
        doors.cookie(signed_in=bool(session.reviewer)),
        doors.sessions.write_cookie(session),
        max_age=LIFETIME_S,
        httponly=True,
        samesite="strict",
        secure=doors.rules.https,
    )


def _answer(form: Form) -> ReviewAnswer:
    verdict = form.text("verdict")
    try:
        return ReviewAnswer(
            verdict=ReviewVerdict(verdict),
            # Reasons ticked for a task that is skipped are not an answer yet.
            reasons=() if verdict == ReviewVerdict.SKIP else form.texts("reasons"),
            note=form.text("note").strip(),
            seconds=_seconds(form.text("seconds")),
        )
    except ValidationError as error:
        raise ReviewRefusal("invalid", first_problem(error), "choose an answer that the rubric allows") from error
    except ValueError as error:
        raise ReviewRefusal(
            "invalid", f"there is no verdict named {verdict[:40]!r}", "choose an answer that the rubric allows"
        ) from error


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return round(seconds, 1) if math.isfinite(seconds) and 0 < seconds <= _LONGEST_S else None


def _title(guest: Guest, mine: Mine) -> str | None:
    try:
        return guest.reviewer_session.sheet(mine.slip).shown.title
    except ReviewRefusal:
        return None


def _sheet_page(
    request: Request,
    guest: Guest,
    sheet: ReviewSheet,
    *,
    notice: str | None = None,
    status: int = 200,
    sent: Form | None = None,
) -> Response:
    mine = sheet.mine
    if sent is not None:
        # Offer what was refused again, so that nobody has to type a note twice.
        reasons, note = sent.texts("reasons"), sent.text("note")
    else:
        reasons, note = (mine.reasons, mine.note) if mine is not None else ((), "")
    return _page(
        request,
        "item.html.j2",
        guest,
        status=status,
        it=view(sheet),
        notice=notice,
        reasons=reasons,
        note=note,
        open_reasons=status == STATUS["invalid"],
        revealed=_unblinded_item(request, guest, sheet),
    )


def _unblinded_item(request: Request, guest: Guest, sheet: ReviewSheet) -> UnblindedItem | None:
    if sheet.mine is None or doors_of(request).service.folder.assignments().unblinded is None:
        return None
    return guest.reviewer_session.reveal(sheet.slip)


def _page(request: Request, template: str, guest: Guest, *, status: int = 200, **context: object) -> Response:
    doors = doors_of(request)
    last = next(iter(guest.reviewer_session.history(1)), None)
    shared: dict[str, object] = {
        "reviewer": guest.reviewer_session.reviewer,
        "progress": guest.reviewer_session.progress(),
        "last": last,
        "said": SAID,
        "rubric": rubric_html(doors.service.folder),
        "form_token": doors.sessions.form_token(guest.session),
        # One key per page: sent twice, an answer counts once.
        "submission": secrets.token_hex(16),
        "undo_submission": secrets.token_hex(16),
    }
    return _render(request, template, shared | context, status)


def _render(request: Request, template: str, context: dict[str, object], status: int = 200) -> HTMLResponse:
    return HTMLResponse(request.app.state.templates.get_template(template).render(context), status)
