"""Servers that are out for memory, time, prompts or keys: asked over real HTTP, in each way litellm asks."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import resource
import time
import zlib

import pytest

from hazardmill.errors import AnswerTooLarge, ConnectionFailed, PromptRefused, ProviderDown, RedirectRefused
from hazardmill.llm.backends.litellm import LitellmBackend
from hazardmill.llm.redact import SCRUBBED, holds_secret
from hazardmill.llm.requests import Completion, Request
from hazardmill.testing.echoes import echoes, traces
from hazardmill.testing.llm_server import HOSTILE, LlmServer, ScriptedServerFaults

from .wire import Reply, good

pytestmark = pytest.mark.full

KEY = "planted-3f9c1d7b5a/key+x"
OPENAI = "openai/gpt-4o-mini"
MODELS = [OPENAI, "deepseek/deepseek-chat", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash"]
"""litellm asks the first through OpenAI's client, the others through one of its own."""
CHAT = MODELS[:2]
"""Those that ask at the address that the test server has."""
TEXT = '{"no_danger": "nothing happens here"}'


def ask(request: Request, address: str, **settings: object) -> Completion:
    async def main() -> Completion:
        backend = LitellmBackend(address, KEY, **{"timeout_s": 20, **settings})
        try:
            return await backend.complete(request)
        finally:
            await backend.close()

    return asyncio.run(main())


@pytest.fixture
def attempt(make_request):
    """What comes of one attempt at a server with a fault, and the requests that the server saw."""

    def attempt(model: str, fault: str, parameters: dict[str, object] | None = None, **settings: object):
        with LlmServer(lambda asked: TEXT, faults=ScriptedServerFaults(fault)) as server:
            try:
                answer = ask(make_request(model=model, parameters=parameters or {}), server.address, **settings)
            except Exception as error:
                answer = error
            return answer, server.attempts

    return attempt


def grown_by(work) -> float:
    """MB by which the most memory that this process has had grows."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


@pytest.mark.parametrize("model", CHAT)
def test_the_ledger_has_what_the_page_of_the_server_says(project, attempt, model):
    page = (project / "docs" / "llm-server.md").read_text(encoding="utf-8").partition("| hostile fault |")[2]
    documented = dict(
        re.findall(r"^\| `([a-z-]+)` \|.*\| (?:`(\w+)`|an answer)[^|]*\|$", page.partition("\n\n")[0], re.M)
    )
    seen = {kind: attempt(model, kind, timeout_s=2.0 if kind == "trickle" else 30)[0] for kind in HOSTILE}
    assert documented == {
        kind: type(came).__name__ if isinstance(came, Exception) else "" for kind, came in seen.items()
    }


@pytest.mark.parametrize("model", CHAT)
@pytest.mark.parametrize("fault", ["endless", "bomb"])
def test_an_answer_without_end_is_left_off_at_the_limit(attempt, model, fault):
    attempt(model, "500")
    ended = []
    grown = grown_by(lambda: ended.append(attempt(model, fault, timeout_s=60)))
    [(error, attempts)] = ended
    assert type(error) is AnswerTooLarge and error.retryable
    assert "4,000,000 bytes" in error.message and "--max-answer-bytes" in error.remedy
    assert error.__context__ is None
    assert len(attempts) == 1 and grown < 100


@pytest.mark.parametrize("model", CHAT)
def test_an_attempt_ends_in_its_time_whatever_comes_meanwhile(attempt, model):
    attempt(model, "500")
    began = time.monotonic()
    error, attempts = attempt(model, "trickle:0.02", timeout_s=1.0)
    assert type(error) is ConnectionFailed
    assert "no complete answer within 1 s" in error.message and "--attempt-timeout" in error.remedy
    assert len(attempts) == 1 and time.monotonic() - began < 60, "it would never end"


@pytest.mark.parametrize("model", CHAT)
def test_a_redirect_to_another_host_is_not_followed(attempt, model):
    error, attempts = attempt(model, "redirect")
    assert type(error) is RedirectRefused and not error.retryable
    assert "127.0.0.1 redirects to another server, http://localhost:" in error.message
    assert "--api-base" in error.remedy
    assert [each.status for each in attempts] == [307], "nothing was sent there"


@pytest.mark.parametrize(
    ("location", "refused"),
    [
        ("{root}/v1/again", False),
        ("/v1/again", False),
        ("again", False),
        ("http://localhost:1/v1", True),
        ("http://127.0.0.1:1/v1", True),
        ("https://127.0.0.1/v1", True),
        ("//evil.example/v1", True),
        ("http://127.0.0.1.evil.example/", True),
        ("http://127.0.0.1@evil.example/", True),
        ("ftp://127.0.0.1/", True),
        ("file:///etc/passwd", True),
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_which_redirects_are_followed(server, make_request, model, location, refused):
    server.replies += [Reply(307, headers={"location": location.format(root=server.root)}), good(TEXT)]
    try:
        ask(make_request(model=model), server.address)
    except RedirectRefused:
        assert refused and len(server.seen) == 1
    except ProviderDown:
        # Of providers whose answers look otherwise; it was read all the same.
        assert not refused and len(server.seen) == 2 and model not in CHAT
    else:
        assert not refused and len(server.seen) == 2


@pytest.mark.parametrize("location", ["http://[::1", "http://a:b:c/"])
def test_a_redirect_to_no_address_is_a_typed_error(server, make_request, location):
    server.replies += [Reply(307, headers={"location": location})] * 30
    with pytest.raises(ProviderDown):
        ask(make_request(model=OPENAI), server.address)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize("model", CHAT)
@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", raw_deflate), ("identity", bytes)],
)
def test_a_packed_answer_is_read(server, make_request, model, encoding, pack):
    reply = good(TEXT + " " * 300_000)
    server.replies.append(Reply(body=pack(reply.body), headers={"content-encoding": encoding}))
    assert ask(make_request(model=model), server.address).text.startswith(TEXT)
    [(headers, _)] = server.seen
    assert headers["accept-encoding"] == "gzip, deflate", "what can be bounded, and nothing else"


@pytest.mark.parametrize("model", CHAT)
@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress", KEY])
def test_an_answer_that_is_packed_as_nobody_asked_is_not_read(server, make_request, model, encoding):
    server.replies.append(Reply(body=good(TEXT).body, headers={"content-encoding": encoding}))
    with pytest.raises(ProviderDown, match="which was not requested") as caught:
        ask(make_request(model=model), server.address)
    assert not holds_secret(str(caught.value), KEY)


@pytest.mark.parametrize("model", CHAT)
@pytest.mark.parametrize("body", [b"\x1f\x8b no gzip", b"", gzip.compress(good(TEXT).body, mtime=0)[:40]])
def test_an_answer_that_is_not_packed_as_it_says_can_be_asked_for_again(server, make_request, model, body):
    server.replies.append(Reply(body=body, headers={"content-encoding": "gzip"}))
    with pytest.raises(ProviderDown):
        ask(make_request(model=model), server.address)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("body", [b"<html>Log in</html>", b"{}", b"[]", good(TEXT).body[:60], b"[" * 100_000])
def test_a_body_that_is_none_of_the_api_can_be_asked_for_again(server, make_request, model, body):
    server.replies.append(Reply(body=body))
    with pytest.raises(ProviderDown):
        ask(make_request(model=model), server.address)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_the_limit_holds_for_every_provider_and_status_and_is_what_was_said(server, make_request, model, status):
    body = b" " * 10_000
    server.replies.append(Reply(status, body=body))
    with pytest.raises(AnswerTooLarge, match="longer than 9,999 bytes"):
        ask(make_request(model=model), server.address, max_answer_bytes=9_999)


def test_an_answer_of_just_that_many_bytes_is_read(server, make_request):
    reply = good(TEXT)
    server.replies += [reply, reply]
    asked = make_request(model=OPENAI)
    assert ask(asked, server.address, max_answer_bytes=len(reply.body)).text == TEXT
    with pytest.raises(AnswerTooLarge):
        ask(asked, server.address, max_answer_bytes=len(reply.body) - 1)


# Keys that come back.


def told(outcome: object, shown: object) -> bytes:
    """All that is left of an outcome, an error's attributes and causes with it."""
    parts = [repr(outcome), str(outcome), repr(getattr(outcome, "__dict__", "")), str(shown)]
    parts += [repr(getattr(outcome, name, None)) for name in ("__cause__", "__context__", "args")]
    return "".join(parts).encode()


@pytest.mark.parametrize("model", CHAT)
def test_a_key_that_is_echoed_in_an_answer_is_in_nothing_that_comes_of_it(attempt, model, capfd, caplog):
    answer, _ = attempt(model, "echo", parameters={"max_tokens": 5000})
    assert isinstance(answer, Completion)
    assert answer.text.endswith(TEXT) and answer.text.count(SCRUBBED) == len(echoes(KEY))
    assert SCRUBBED in answer.model_answered
    shown = capfd.readouterr()
    everything = told(answer, (shown.out, shown.err, caplog.text))
    assert [trace for trace in traces(KEY) if trace in everything] == []


@pytest.mark.parametrize("model", CHAT)
def test_a_key_that_is_echoed_in_an_error_is_in_nothing_that_comes_of_it(attempt, model, capfd, caplog):
    error, _ = attempt(model, "echo-error")
    assert isinstance(error, PromptRefused) and SCRUBBED in error.message
    shown = capfd.readouterr()
    everything = told(error, (shown.out, shown.err, caplog.text))
    assert [trace for trace in traces(KEY) if trace in everything] == []


@pytest.mark.parametrize("form", echoes(KEY))
@pytest.mark.parametrize("model", MODELS[2:])
def test_a_key_in_the_error_of_another_provider_is_taken_out(server, make_request, model, form):
    server.replies.append(Reply(500, body=f"no: {echoes(KEY)[form]}".encode()))
    with pytest.raises(ProviderDown) as caught:
        ask(make_request(model=model), server.address)
    assert not holds_secret(str(caught.value), KEY)


@pytest.mark.parametrize("text", ['{"where": "KEY", "n": [1, 2]}', '[{"a": "x KEY y"}]', '{"KEY": null}'])
def test_a_json_answer_stays_json(server, make_request, text):
    for form in ("plain", "json-escapes", "base64-1", "zero-width-after-each"):
        server.replies.append(good(text.replace("KEY", echoes(KEY)[form])))
        answer = ask(make_request(model=OPENAI), server.address).text
        assert json.loads(answer) and SCRUBBED in answer
