"""The litellm backend against a local server that answers as providers do, on good days and bad ones."""

from __future__ import annotations

import asyncio
import errno
import json
import subprocess
import sys
from http.server import ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from patience import PATIENCE_S

from hazardmill.errors import (
    ConnectionFailed,
    ModelRefused,
    NothingListens,
    PromptRefused,
    ProviderDown,
    RateLimited,
    RequestRefused,
    SettingsError,
)
from hazardmill.llm.backends.litellm import OFFLINE_KEY_HEADER, LitellmBackend
from hazardmill.llm.backends.litellm_errors import translate
from hazardmill.llm.backends.litellm_format import read_completion
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import AnswerKey, Message, Usage
from hazardmill.testing.llm_server import LlmServer, ServerFault

from .wire import STATUS_ERRORS, Handler, Reply, error, good

MODELS = ["deepseek/deepseek-chat", "openai/gpt-4o-mini"]
"""litellm asks the two through different HTTP libraries."""


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def complete(server, make_request):
    def complete(*replies: Reply, model: str = MODELS[0], backend: LitellmBackend | None = None, **changes: Any):
        server.replies += replies

        async def main():
            asked = backend or LitellmBackend(server.address, timeout_s=PATIENCE_S)
            try:
                return await asked.complete(make_request(model=model, **changes))
            finally:
                await asked.close()

        return asyncio.run(main())

    return complete


both = pytest.mark.parametrize("model", MODELS)


@pytest.mark.full
@both
def test_a_completion_with_its_usage(complete, server, model):
    answer = complete(good(), model=model)

    assert (answer.text, answer.model_answered, answer.finish_reason) == ("a knife", "offline-author", "stop")
    assert answer.usage == Usage(prompt_tokens=100, cached_tokens=64, completion_tokens=20)
    [(headers, body)] = server.seen
    assert body["model"] == model.partition("/")[2]
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert (body["temperature"], body["max_tokens"]) == (0.5, 200)
    assert json.loads(headers[OFFLINE_KEY_HEADER.lower()]) == {
        "record_hash": "in",
        "stage": "extract",
        "round": 1,
        "draft": 2,
        "repair": 0,
        "sample": 0,
    }


@pytest.mark.full
@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"prompt_cache_hit_tokens": 40, "prompt_cache_miss_tokens": 60}, (100, 40, 20)),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, (100, 0, 20)),
        ({}, (100, None, 20)),
        ({"prompt_tokens_details": {"cached_tokens": 500}}, (100, None, 20)),
        (None, (None, None, None)),
    ],
)
def test_what_the_provider_did_not_count_is_null(complete, sent, expected):
    usage = complete(good(usage=sent)).usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens) == expected


@pytest.mark.parametrize(
    ("model", "cached"), [("gemini/gemini-2.5-flash", 0), ("vertex_ai/gemini-2.5-flash", 0), ("mistral/small", None)]
)
def test_a_count_that_is_missing_is_zero_where_the_provider_leaves_zeros_out(model, cached, make_request):
    message = SimpleNamespace(content="x")
    response = SimpleNamespace(
        usage=SimpleNamespace(prompt_tokens=100, completion_tokens=20),
        choices=[SimpleNamespace(message=message, finish_reason="stop")],
    )
    assert read_completion(response, model).usage.cached_tokens == cached


@pytest.mark.full
@both
@pytest.mark.parametrize(
    ("reply", "text", "finish"),
    [
        (good("half an ans", "length"), "half an ans", "length"),
        (good(None), "", "stop"),
        (good(None, refusal="I will not."), "I will not.", "refusal"),
        (good("half \ud83d a smile"), "half \ufffd a smile", "stop"),
        (
            Reply(body=json.dumps(json.loads(good().body) | {"choices": []}).encode()),
            "",
            "no_choices",
        ),
    ],
)
def test_an_answer_of_no_use_is_an_answer(complete, reply, text, finish, model):
    answer = complete(reply, model=model)
    assert (answer.text, answer.finish_reason) == (text, finish)
    assert answer.usage.prompt_tokens == 100, "and was paid for"


@pytest.mark.full
@both
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (error(429, "slow down", retry_after="7"), RateLimited),
        *STATUS_ERRORS,
        (error(529), ProviderDown),
        (Reply(body=b"<html>Log in to the hotel network</html>"), ProviderDown),
        (Reply(body=good().body[:60]), ProviderDown),
        (Reply(body=b"[]"), ProviderDown),
        (Reply(body=b"{}"), ProviderDown),
        (Reply(body=b'{"choices": [{"index": 0}]}'), ProviderDown),
        (Reply(hang_up=True), ConnectionFailed),
    ],
)
def test_errors_are_told_apart_and_none_is_tried_again_behind_our_back(complete, server, reply, kind, model):
    with pytest.raises(kind) as caught:
        complete(reply, model=model)
    assert type(caught.value) is kind
    assert len(server.seen) == 1
    assert caught.value.remedy
    assert caught.value.__context__ is None, "the original may hold the key"
    if kind is RateLimited:
        assert caught.value.retry_after == 7


@pytest.mark.full
@both
def test_a_body_that_ends_too_soon_can_be_asked_again(complete, model):
    with pytest.raises((ProviderDown, ConnectionFailed)):
        complete(Reply(body=good().body[:60], promised=5000), model=model)


@pytest.mark.full
@pytest.mark.parametrize(
    ("header", "low", "high"), [("0", 0, 0), ("Wed, 01 Jan 2020 00:00:00 GMT", 0, 0), ("soon", None, None)]
)
def test_retry_after_is_a_number_or_a_date(complete, header, low, high):
    with pytest.raises(RateLimited) as caught:
        complete(error(429, retry_after=header))
    assert caught.value.retry_after == low == high


@pytest.mark.full
@both
def test_nobody_listens(complete, server, model):
    unused = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{unused.server_port}/v1"
    unused.server_close()
    place = rf"{model}: nothing listens at 127\.0\.0\.1:{unused.server_port} on this machine"
    with pytest.raises(NothingListens, match=place) as caught:
        complete(model=model, backend=LitellmBackend(address))
    assert caught.value.remedy == "start the server of the model there, or correct its address and port (--api-base)"


@pytest.mark.parametrize(
    ("host", "kind", "shown"),
    [
        ("127.0.0.1", NothingListens, "toy/toy: nothing listens at 127.0.0.1:9 on this machine"),
        ("localhost", NothingListens, "toy/toy: nothing listens at localhost:9 on this machine"),
        ("::1", NothingListens, "toy/toy: nothing listens at [::1]:9 on this machine"),
        ("10.1.2.3", ConnectionFailed, "toy/toy: the connection failed: "),
        ("x.example", ConnectionFailed, "toy/toy: the connection failed: "),
    ],
)
def test_a_refused_connection_on_this_machine_is_told_from_others(make_request, host, kind, shown):
    refused = aiohttp.ClientConnectorError(
        ConnectionKey(host, 9, False, True, None, None, None), ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    )
    outer = RuntimeError("Connection error.")
    outer.__cause__ = refused
    error = translate(outer, make_request())
    assert type(error) is kind and error.message.startswith(shown)


@pytest.mark.full
@pytest.mark.parametrize("model", ["openai/gpt-4o", "azure/gpt-4o", "gemini/gemini-2.0-flash"])
def test_a_key_that_is_missing_here_is_refused_like_a_wrong_one(complete, model, monkeypatch):
    for name in ("AZURE_OPENAI_API_KEY", "AZURE_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RequestRefused, match=r"(?i)missing") as caught:
        complete(model=model, backend=LitellmBackend())
    assert caught.value.remedy == "check the provider's key in the environment"
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Missing credentials. Please pass an `api_key`", RequestRefused),
        ("Missing Gemini API key. Set the variable", RequestRefused),
        ("Missing Anthropic API Key", RequestRefused),
        ("we are missing a rack of servers", ProviderDown),
    ],
)
def test_what_is_said_of_a_missing_key(said, kind, make_request):
    class Unspecific(Exception):
        status_code = 500

    error = translate(Unspecific(f"{said}\nTraceback (most recent call last):\n  File x"), make_request())
    assert type(error) is kind
    assert error.message == f"toy/toy: {said}"


@pytest.mark.parametrize(
    ("status", "said", "kind", "filtered"),
    [
        (400, "Content Exists Risk", PromptRefused, True),
        (403, "your input was flagged by moderation", PromptRefused, True),
        (400, "blocked by the content management policy", PromptRefused, True),
        (400, "temperature must be below 2", PromptRefused, False),
        (413, "too large", PromptRefused, False),
        (422, "field required", PromptRefused, False),
        (403, "no access to this model", ModelRefused, None),
        (400, "Model Not Exist", ModelRefused, None),
        (400, "x/y is not a valid model ID", ModelRefused, None),
        (400, "Your credit balance is too low to go on", RequestRefused, None),
        (400, "Incorrect API key provided", RequestRefused, None),
        (400, "LLM Provider NOT provided. Pass one", RequestRefused, None),
        (401, "content policy of keys", RequestRefused, None),
        (402, "Insufficient Balance", RequestRefused, None),
    ],
)
def test_what_is_wrong_with_one_request_is_told_from_what_is_wrong_with_all(status, said, kind, filtered, make_request):
    class Said(Exception):
        status_code = status

    error = translate(Said(said), make_request())
    assert type(error) is kind
    assert getattr(error, "filtered", None) is filtered
    assert error.remedy


def test_the_deepest_reason_of_a_broken_connection_is_told(make_request):
    class ClientError(aiohttp.ClientConnectionError):
        def __str__(self):
            return "Cannot connect to host x.example:443 ssl:<ssl.SSLContext object at 0x7f> [Name not known]"

    reset = ConnectionResetError()
    reset.__cause__ = ClientError()
    outer = RuntimeError("Connection error.")
    outer.__cause__ = reset
    error = translate(outer, make_request())
    assert type(error) is ConnectionFailed
    assert error.message == "toy/toy: the connection failed: Cannot connect to host x.example:443 [Name not known]"


@pytest.mark.full
def test_an_unknown_provider_is_refused_before_anything_is_sent(complete, server):
    with pytest.raises(RequestRefused, match="nobody/nothing"):
        complete(model="nobody/nothing", backend=LitellmBackend())
    assert server.seen == []


@pytest.mark.full
@both
def test_a_planted_key_is_sent_and_shown_nowhere(complete, server, model, monkeypatch, capfd, caplog):
    name = f"{model.partition('/')[0].upper()}_API_KEY"
    monkeypatch.setenv(name, "planted-credential-123")
    with pytest.raises(RequestRefused) as caught:
        complete(error(401, "Incorrect key: planted-credential-123"), model=model)
    assert server.seen[0][0]["authorization"] == "Bearer planted-credential-123"
    assert "[secret]" in str(caught.value)
    shown = capfd.readouterr()
    assert "planted" not in f"{caught.value}{caught.value.__dict__}{shown.out}{shown.err}{caplog.text}"


@pytest.mark.full
def test_through_the_client_each_attempt_is_counted_and_the_answer_paid_once(
    server, store, clock, make_request, monkeypatch
):
    server.replies += [error(429, retry_after="0"), error(500, retry_after="0"), good()]

    async def main():
        backend = LitellmBackend(server.address)
        client = Client(
            backend,
            Ledger(store, store, "run-1"),
            limiter=Limiter(),
            prices=Prices.load(),
            sleep=clock.sleep,
            clock=clock,
        )
        asked = make_request(model="deepseek/deepseek-chat")
        try:
            return [await client.ask(asked), await client.ask(asked)]
        finally:
            await backend.close()

    first, second = asyncio.run(main())
    assert second == first
    assert first.paid
    assert first.usd == pytest.approx((36 * 0.28 + 64 * 0.028 + 20 * 0.42) / 1e6)
    assert first.model_answered == "offline-author"
    assert [r["error"] for r in store.calls] == ["RateLimited", "ProviderDown", None]
    assert {r["host"] for r in store.calls} == {"127.0.0.1"}
    assert len(server.seen) == 3
    assert clock.slept == [0, 0]


def test_the_host_has_no_port_and_the_provider_has_none():
    assert LitellmBackend("https://Gateway.Example:8443/v1").host == "gateway.example"
    assert LitellmBackend().host is None


@pytest.mark.parametrize("address", ["localhost:8000/v1", "ftp://example/v1", "http://", "http://[::1/v1"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(SettingsError, match="not the address"):
        LitellmBackend(address)


@pytest.mark.parametrize(
    ("address", "carried"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.0.0.2:1/v1", True),
        ("http://[::1]:1/v1", True),
        ("https://gateway.example/v1", False),
        ("http://localhost.example/v1", False),
        (None, False),
    ],
)
def test_the_offline_key_stays_on_this_machine(address, carried, make_request):
    class Module:
        @staticmethod
        def validate_environment(_):
            return {"keys_in_environment": True}

    asked = make_request(key=AnswerKey(record_hash="h", stage="author"))
    where = LitellmBackend(address)._where(Module, asked)
    assert ("extra_headers" in where) is carried


def test_a_request_cannot_say_where_it_goes(make_request):
    asked = make_request(parameters={"api_base": "http://elsewhere.example", "num_retries": 3})
    with pytest.raises(RequestRefused, match="api_base, num_retries"):
        asyncio.run(LitellmBackend().complete(asked))


def test_importing_the_backend_does_not_import_litellm():
    code = "import sys, hazardmill.llm.backends.litellm; print('litellm' in sys.modules, 'yaml' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "False"]


@both
def test_a_connection_that_breaks_before_an_answer_is_not_tried_again_behind_our_back(make_request, model):
    first, broken = (make_request(model=model, messages=(Message(role="user", content=text),)) for text in "ab")

    def faults(asked):
        breaks = asked.messages[-1].content == "b" and asked.attempt == 1
        return ServerFault("stalled", 0.05) if breaks else None

    async def main(address):
        backend = LitellmBackend(address, "x", timeout_s=PATIENCE_S)
        await backend.complete(first)
        with pytest.raises(ConnectionFailed):
            await backend.complete(broken)
        await backend.close()

    with LlmServer(lambda _: "Yes.", faults=faults) as server:
        asyncio.run(main(server.address))
        assert len(server.attempts) == 2
