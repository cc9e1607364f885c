"""What is refused: forged forms and reviewers, other hosts, bodies that are too large; and texts that would do harm."""

from __future__ import annotations

import asyncio
import json
import re
import stat
from html.parser import HTMLParser

import pytest
from httpx import ASGITransport, AsyncClient
from hypothesis import HealthCheck, settings
from hypothesis import given as given_values
from hypothesis import strategies as st

from hazardmill.errors import InputError, UsageError
from hazardmill.review.app.factory import create_app
from hazardmill.review.app.keys import FOLDER, session_key
from hazardmill.review.app.middleware import MAX_BODY
from hazardmill.review.app.sessions import LIFETIME_S, BrowserSession, Sessions
from hazardmill.review.app.throttle import Throttle
from hazardmill.review.app.tokens import Tokens
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import load_pool
from hazardmill.review.service import ReviewService

from ..support import key, make_store, rows_of, write
from .visitor import HOST, Visitor, hidden, slip_of

SCRIPT = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7*7 }}\u202e"
"""A text of an attacker."""


def hostile(number: int):
    """A task in which every text is an attack."""
    rows = rows_of(number, context=f"record {SCRIPT}")
    for place in ("tasks", "drafts"):
        document = json.loads(rows[place][0]["document"])
        document["texts"] = dict.fromkeys(document.get("texts", {"title": ""}), f"text {SCRIPT}")
        rows[place][0] |= {"document": json.dumps(document), "code": f"code {SCRIPT}"}
    danger = {name: f"{name} {SCRIPT}" for name in json.loads(rows["tasks"][0]["danger"])}
    certificate = json.loads(rows["tasks"][0]["certificate"])
    for line in certificate["lines"]:
        line["message"] = f"claim {SCRIPT}"
    rows["tasks"][0] |= {
        "danger": json.dumps(danger | {"danger_group": "physical", "danger_type": "thermal"}),
        "certificate": json.dumps(certificate),
        "domain_pddl": f"domain {SCRIPT}",
        "problem_pddl": f"problem {SCRIPT}",
    }
    rows["records"][0] |= {"licence": f"licence {SCRIPT}", "attribution": f"attribution {SCRIPT}"}
    return rows


class Found(HTMLParser):
    """What a browser would run, load or style."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str | None] = []
        self.loaded: list[str] = []
        self.inline: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "script":
            self.scripts.append(given.get("src"))
            self._in_script = True
        if tag in ("img", "iframe", "object", "embed", "base", "svg", "style"):
            self.inline.append(tag)
        self.inline += [name for name in given if name.startswith("on") or name in ("style", "srcdoc")]
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href", "action", "formaction")]

    def handle_endtag(self, tag):
        self._in_script = self._in_script and tag != "script"

    def handle_data(self, data):
        if self._in_script and data.strip():
            self.inline.append(data)


def assert_harmless(page: str) -> None:
    found = Found()
    found.feed(page)
    assert not found.inline, found.inline
    assert all(
        source and re.fullmatch(r"/(static/(htmx\.min|app)|item/item)\.js\?v=\w+", source) for source in found.scripts
    )
    assert all(place.startswith(("/", "#")) and not place.startswith("//") for place in found.loaded), found.loaded
    assert "\u202e" not in page


@pytest.fixture(scope="module")
def hostile_store(tmp_path_factory):
    store = make_store(tmp_path_factory.mktemp("hostile") / "store", 0)
    write(store, *map(hostile, range(40, 43)))
    return store


def test_texts_of_tasks_do_nothing_wherever_they_are_shown(hostile_store, folder, doors_to):
    give_tasks(folder, load_pool(hostile_store), Wish(("ada",), per_task=1, calibration=0, repeats=0))
    ada = Visitor(create_app(doors_to(service=ReviewService.open(hostile_store, folder))), "ada")
    page = ada.page()
    shown = ("record", "text", "code", "claim", "domain", "problem", "licence", "attribution", "robot_role")
    for where in shown:
        assert f"{where} &lt;script&gt;alert(1)" in page.text, where
    assert "{{ 7*7 }}" in page.text
    assert_harmless(page.text)
    tried = ada.try_plan(page, "(<script>alert`2`</script> <img/src=x/onerror=alert`3`>)")
    assert "&lt;script&gt;" in tried.text
    assert_harmless(tried.text)
    refused = ada.decide(page, "reject", note=SCRIPT)
    assert refused.status_code == 422
    assert_harmless(refused.text)
    unknown = ada.decide(page, SCRIPT)
    assert "no verdict" in unknown.text
    assert_harmless(unknown.text)
    ada.decide(page, "reject", reasons="other", note=SCRIPT)
    history = ada.page("/history").text
    assert history.count("&lt;script&gt;") == 2
    assert_harmless(history)
    assert_harmless(ada.page(f"/slip/{slip_of(page.text)}").text)
    door = Visitor(ada.app).sign_in(SCRIPT)
    assert door.status_code == 403
    assert_harmless(door.text)
    assert_harmless(ada.http.get(f"/slip/{SCRIPT}").text)


def test_every_answer_ties_the_browsers_hands(ada, app, doors_to, monkeypatch):
    page = ada.page()
    answers = {
        "page": page,
        "static": ada.http.get("/static/app.js"),
        "unknown": ada.http.get("/no/such"),
        "refused": ada.http.post("/undo", data={}),
        "large": ada.http.post("/undo", data={"x": "x" * (MAX_BODY + 1)}),
        "host": ada.http.get("/", headers={"host": "evil.example"}),
        "method": ada.http.request("DELETE", "/"),
    }
    monkeypatch.setattr(ReviewService, "session", lambda self, name: 1 / 0)
    answers["bug"] = ada.http.get("/")
    assert answers["bug"].status_code == 500 and "ZeroDivision" not in answers["bug"].text
    for name, answer in answers.items():
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy, name
        assert "frame-ancestors 'none'" in policy and answer.headers["x-content-type-options"] == "nosniff", name
        assert "Traceback" not in answer.text, name
        if name not in ("static", "host"):
            assert answer.headers["cache-control"] == "no-store", name


def test_the_cookie_is_for_no_script_and_no_other_site(app, doors_to):
    said = Visitor(app).sign_in("ada").headers["set-cookie"]
    assert "HttpOnly" in said and "SameSite=strict" in said and "Path=/" in said and "Secure" not in said
    secure = Visitor(create_app(doors_to(https=True))).http.get("/sign-in").headers["set-cookie"]
    assert secure.startswith("__Host-") and "Secure" in secure


@pytest.mark.parametrize(
    ("fields", "headers"),
    [
        ({"form_token": ""}, {}),
        ({"form_token": "0" * 64}, {}),
        ({"form_token": "é"}, {}),
        ({}, {"origin": "http://evil.example"}),
        ({}, {"origin": "null"}),
        ({}, {"origin": "http://["}),
        ({}, {"sec-fetch-site": "cross-site"}),
        ({}, {"sec-fetch-site": "same-site"}),
    ],
)
def test_forms_that_are_not_from_a_page_of_ours_are_refused(ada, lines, fields, headers):
    page = ada.page()
    slip = slip_of(page.text)
    for path, form in ((f"/slip/{slip}/decide", "decision"), (f"/slip/{slip}/try", "try"), ("/undo", "undo")):
        filled = hidden(page.text, form) | {"verdict": "approve", "plan": ""} | fields
        assert ada.http.post(path, data=filled, headers=headers).status_code == 403, path
    assert not lines("ada")


def test_a_token_of_another_session_does_not_fit(ada, app, lines):
    page = ada.page()
    again = Visitor(app, "ada")
    assert (
        ada.decide(page, "approve", form_token=hidden(again.page().text, "decision")["form_token"]).status_code == 403
    )
    # The sign-in page is bound to its browser too.
    door = hidden(Visitor(app).http.get("/sign-in").text)
    assert Visitor(app).http.post("/sign-in", data=door | {"reviewer": "ada"}).status_code == 303
    stranger = Visitor(app)
    stranger.http.get("/sign-in")
    assert stranger.http.post("/sign-in", data=door | {"reviewer": "ada"}).status_code == 403
    assert stranger.http.get("/").headers["location"] == "/sign-in"
    assert not lines("ada")


def test_who_has_not_signed_in_gets_nowhere(app, ada, lines):
    page = ada.page()
    stranger = Visitor(app)
    slip = slip_of(page.text)
    for path in ("/", f"/slip/{slip}", "/history", "/rubric"):
        assert stranger.http.get(path).headers["location"] == "/sign-in", path
    for path in (f"/slip/{slip}/decide", f"/slip/{slip}/try", "/undo", "/sign-out"):
        sent = stranger.http.post(path, data=hidden(page.text, "decision") | {"verdict": "approve"})
        assert (sent.status_code, sent.headers["location"]) == (303, "/sign-in"), path
    assert not lines("ada")


def test_a_forged_or_old_cookie_is_none(app, ada, given, doors_to):
    doors = doors_to()
    name = doors.cookie(signed_in=True)
    cookie = ada.http.cookies[name]
    forged = [
        cookie.replace("ada", "ben"),
        cookie[:-1] + ("0" if cookie[-1] != "0" else "1"),
        "",
        "a.b.c.d.e",
        "." * 5,
        "x" * 5000,
        Sessions(b"another key of thirty-two bytes.").write_cookie(BrowserSession("i", "ada", 2**40, "")),
        # A session in which nobody has signed in is no session of somebody.
        doors.sessions.write_cookie(doors.sessions.new("")),
        # Of somebody who was given nothing.
        doors.sessions.write_cookie(doors.sessions.new("eva")),
        Sessions(session_key(given), clock=lambda: 1e9).write_cookie(BrowserSession("i", "ada", 10**9, "")),
    ]
    for value in forged:
        visitor = Visitor(app)
        visitor.http.cookies.set(name, value)
        assert visitor.http.get("/").headers["location"] == "/sign-in", value


def test_a_session_ends_with_its_time():
    now = [1000.0]
    sessions = Sessions(b"k" * 32, clock=lambda: now[0])
    session = sessions.new("ada", "stamp")
    cookie = sessions.write_cookie(session)
    now[0] += LIFETIME_S - 1
    assert sessions.read_cookie(cookie) == session
    now[0] += 1
    assert sessions.read_cookie(cookie) is None


def test_nobody_reads_or_writes_what_is_anothers(ada, ben, given, lines):
    page = ben.page()
    ben.decide(page, "unsure")
    theirs, mine = slip_of(page.text), ada.page()
    assert ada.http.get(f"/slip/{theirs}").status_code == 404
    assert ada.http.get(f"/slip/{'0' * 32}").text == ada.http.get(f"/slip/{theirs}").text
    sheet = hidden(mine.text, "decision") | {"verdict": "approve", "reviewer": "ben"}
    assert ada.http.post(f"/slip/{theirs}/decide", data=sheet).status_code == 404
    assert ada.http.post(f"/slip/{theirs}/try", data=sheet | {"plan": ""}).status_code == 404
    decision = json.loads(lines("ben")[0])["id"]
    undo = {**hidden(mine.text, "undo"), "decision": decision, "reviewer": "ben"}
    assert ada.http.post("/undo", data=undo).status_code == 409
    assert (len(lines("ada")), len(lines("ben"))) == (0, 1)
    # A field that names somebody else names nobody.
    ada.decide(mine, "approve", reviewer="ben")
    assert (len(lines("ada")), len(lines("ben"))) == (1, 1)
    # Nor is a key that somebody else has used of any meaning.
    theirs_key = json.loads(lines("ben")[0])["submission"]
    assert ada.decide(ada.page(), "approve", submission=theirs_key).status_code == 303
    assert len(lines("ada")) == 2


@pytest.mark.parametrize(
    "path",
    [
        "/static/../pages.py",
        "/static/%2e%2e/pages.py",
        "/static/..%2fpages.py",
        "/static/....//pages.py",
        "/static//etc/passwd",
        "/static/%2Fetc%2Fpasswd",
        "/static/..\\pages.py",
        "/slip/..%2f..%2frubric.md",
        "/slip/%00",
        f"/slip/../{FOLDER}/session-key",
        f"/{FOLDER}/session-key",
        "/templates/task.html.j2",
    ],
)
def test_no_path_leads_to_other_files(ada, path):
    async def raw():
        # As it is: a client would tidy it up.
        async with AsyncClient(transport=ASGITransport(ada.app), base_url=HOST, cookies=ada.http.cookies) as client:
            request = client.build_request("GET", "/")
            request.url = request.url.copy_with(raw_path=path.encode())
            return await client.send(request)

    answer = asyncio.run(raw())
    assert answer.status_code == 404, answer.text
    assert "import" not in answer.text and "root:" not in answer.text


@pytest.mark.parametrize("name", ["../ben", "ada/../ben", "_assignments", "", ".", "a" * 100, "ada\x00", "ADA BEN"])
def test_no_name_leads_to_other_files(app, given, name):
    before = sorted(given.path.rglob("*"))
    assert Visitor(app).sign_in(name).status_code == 403
    Tokens(given).make("ada")
    assert Visitor(app).sign_in(name, "t").status_code == 403
    assert {path.name for path in given.path.rglob("*")} - {path.name for path in before} <= {"tokens", "ada.json"}


def test_a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(ada, lines):
    page = ada.page()
    path = f"/slip/{slip_of(page.text)}/decide"
    filled = hidden(page.text, "decision") | {"verdict": "approve"}
    said = ada.http.post(path, data=filled | {"note": "x" * MAX_BODY})
    assert said.status_code == 413 and "Nothing was recorded" in said.text

    async def endless():
        yield "&".join(f"{name}={value}" for name, value in filled.items()).encode()
        for _ in range(100):
            yield b"&note=" + b"x" * 60_000
        raise AssertionError("it was read to its end")

    form = {"content-type": "application/x-www-form-urlencoded"}
    assert ada.http.post(path, content=endless(), headers=form).status_code == 413
    for digits in (30, 5000):
        assert ada.http.post(path, content=b"", headers=form | {"content-length": "9" * digits}).status_code == 413
    many = "&".join(f"f{number}=1" for number in range(100))
    assert ada.http.post(path, content=many, headers=form).status_code in (400, 413)
    upload = ada.http.post(path, data=filled, files={"file": ("x", b"x")})
    assert upload.status_code == 400
    assert not lines("ada")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8717", 303),
        ("localhost:1", 303),
        ("[::1]:8717", 303),
        ("evil.example", 400),
        ("127.0.0.1.evil.example", 400),
        ("evil.example:8717", 400),
        ("localhost@evil.example", 400),
        ("", 400),
    ],
)
def test_a_name_that_is_not_ours_is_not_answered(ada, host, status):
    assert ada.http.get("/", headers={"host": host}).status_code == status


# --- Tokens ---


@pytest.fixture
def tokens(given):
    return Tokens(given)


def test_where_a_token_was_made_a_name_is_not_enough(app, given, tokens):
    token = tokens.make("ada")
    assert 'name="token"' in Visitor(app).http.get("/sign-in").text
    for name, said in (("ada", ""), ("ada", "x"), ("ben", token), ("ben", ""), ("eva", token), ("ada", token + "x")):
        refused = Visitor(app).sign_in(name, said)
        assert refused.status_code == 403 and "do not match" in refused.text, name
    assert Visitor(app, "ada", token).page().status_code == 200


def test_a_token_alone_is_not_enough_where_nothing_was_given(app, tokens):
    assert Visitor(app).sign_in("eva", tokens.make("eva")).status_code == 403


def test_tokens_are_kept_as_hashes_that_their_owner_alone_may_read(given, tokens):
    token = tokens.make("ada")
    private = given.path / FOLDER
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    session_key(given)
    for path in private.rglob("*"):
        if path.is_file():
            assert token not in path.read_text() and stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert (private / ".gitignore").read_text().splitlines()[-1] == "*"
    kept = json.loads((private / "tokens" / "ada.json").read_text())
    assert kept["n"] >= 2**14 and len(kept["salt"]) == 32
    assert tokens.make("ada") != token and not tokens.fits("ada", token)
    with pytest.raises(UsageError):
        tokens.make("../ada")


def test_a_session_ends_with_its_token(app, given, tokens, lines):
    ada = Visitor(app, "ada", tokens.make("ada"))
    page = ada.page()
    assert page.status_code == 200
    fresh = tokens.make("ada")
    assert ada.http.get("/").headers["location"] == "/sign-in"
    assert ada.decide(page, "approve").headers["location"] == "/sign-in"
    assert tokens.withdraw("ada") and not tokens.withdraw("ada")
    # Nor does the last token that is taken back open the door.
    assert Visitor(app).sign_in("ada").status_code == 403
    assert Visitor(app).sign_in("ada", fresh).status_code == 403
    assert not lines("ada")


def test_a_session_from_before_tokens_ends_when_they_come(app, ada, tokens):
    assert ada.page().status_code == 200
    tokens.make("ben")
    assert ada.http.get("/").headers["location"] == "/sign-in"


def test_who_guesses_too_often_waits(given, doors_to, tokens):
    token, now = tokens.make("ada"), [0.0]
    guesses = Throttle(burst=3, every_s=30, clock=lambda: now[0])
    app = create_app(doors_to(throttles={"guesses": guesses}))
    for _ in range(3):
        assert Visitor(app).sign_in("ada", "guess").status_code == 403
    for said in ("guess", token):
        refused = Visitor(app).sign_in("ada", said)
        assert refused.status_code == 429 and refused.headers["retry-after"] == "30"
    # Somebody else is not kept waiting.
    assert Visitor(app, address="192.0.2.7").sign_in("ada", token).status_code == 303
    now[0] = 30
    assert Visitor(app).sign_in("ada", token).status_code == 303
    # Who was right starts anew.
    assert [Visitor(app).sign_in("ada", "guess").status_code for _ in range(4)] == [403, 403, 403, 429]


def test_who_asks_for_pages_too_often_waits(doors_to):
    app = create_app(doors_to(throttles={"pages": Throttle(burst=5, every_s=60, clock=lambda: 0.0)}))
    ada = Visitor(app, "ada")
    assert [ada.http.get("/rubric").status_code for _ in range(4)] == [200, 200, 200, 429]


def test_a_throttle_forgets_whoever_was_first():
    now = [0.0]
    throttle = Throttle(burst=1, every_s=10, clock=lambda: now[0])
    assert throttle.wait_s("a") == 0 and throttle.wait_s("a") == 10
    for number in range(10_000):
        throttle.wait_s(f"b{number}")
    assert throttle.wait_s("a") == 0
    now[0] += 4
    assert throttle.wait_s("a") == 6


def test_only_who_is_let_in_gets_in(doors_to):
    app = create_app(doors_to(reviewers=("ada",)))
    assert Visitor(app, "ada").page().status_code == 200
    assert Visitor(app).sign_in("ben").status_code == 403
    assert 'name="reviewer" value="ada"' in Visitor(app).http.get("/sign-in").text


def test_coming_from_elsewhere_signs_nobody_out(ada, app):
    """Browsers send no strict cookie with a link from elsewhere: the sign-in page is shown, and sets its own."""
    held = ada.http.cookies
    elsewhere = Visitor(app)
    elsewhere.http.get("/sign-in")
    held.update(elsewhere.http.cookies)
    assert ada.http.get("/").headers["location"].startswith("/slip/")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given_values(st.text(alphabet="() ;abcarry table_-\n<>&\x00\u202eé", max_size=60))
def test_whatever_is_tried_as_a_plan_has_a_verdict(ada, plan):
    if not hasattr(ada, "shown"):
        ada.shown = ada.page()
        assert ada.shown.status_code == 200
    tried = ada.try_plan(ada.shown, plan)
    assert tried.status_code == 200
    assert_harmless(tried.text)


def test_a_key_that_is_damaged_is_told_and_one_that_is_there_is_kept(given):
    first = session_key(given)
    assert session_key(given) == first and len(first) == 32
    (given.path / FOLDER / "session-key").write_text("half")
    with pytest.raises(ValueError, match=r"damaged.*delete this file"):
        session_key(given)


def test_a_submission_is_no_way_to_anothers_decision(ada, ben, lines):
    """Keys are of one reviewer: the same one of two is two decisions."""
    shared = key()
    for visitor in (ada, ben):
        assert visitor.decide(visitor.page(), "approve", submission=shared).status_code == 303
    assert len(lines("ada")) == len(lines("ben")) == 1


@pytest.mark.parametrize(
    "body", [b"note=%ff%fe", b"note=\xff", b"%", b"=&=&", b"note=%00", b"\x00" * 100, b"note=%ed%a0%80"]
)
def test_bytes_that_are_no_form_are_refused_as_a_page(ada, lines, body):
    page = ada.page()
    filled = "&".join(f"{name}={value}" for name, value in hidden(page.text, "decision").items()).encode()
    form = {"content-type": "application/x-www-form-urlencoded"}
    for sent in (body, filled + b"&" + body):
        answer = ada.http.post(f"/slip/{slip_of(page.text)}/decide", content=sent, headers=form)
        assert answer.status_code in (400, 403, 422), answer.status_code
        assert "<main" in answer.text and "Traceback" not in answer.text
    assert not lines("ada")


def test_a_link_in_the_place_of_the_rubric_is_not_shown(ada, given, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text('---\nversion: "1.0"\n---\nNobody may see this.\n')
    given.rubric.unlink()
    given.rubric.symlink_to(secret)
    page = ada.page("/rubric")
    assert page.status_code == 503 and "Nobody may see this" not in page.text
    with pytest.raises(InputError, match="symbolic link"):
        given.rubric_version()


@pytest.mark.parametrize("linked", [FOLDER, f"{FOLDER}/session-key"])
def test_keys_are_neither_made_nor_read_where_a_link_leads(folder, tmp_path, linked):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere.mkdir if linked == FOLDER else elsewhere.touch)()
    (folder.path / linked).parent.mkdir(exist_ok=True)
    (folder.path / linked).symlink_to(elsewhere)
    with pytest.raises(InputError, match="link"):
        session_key(folder)
    assert elsewhere.is_file() or list(elsewhere.iterdir()) == []
