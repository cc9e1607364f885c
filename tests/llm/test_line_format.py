"""Lines of batches: a request is the one that would be sent alone, and an answer is read as if it had come alone."""

from __future__ import annotations

import asyncio
import io
import json

import pytest
from patience import PATIENCE_S

from hazardmill.errors import (
    AnswerTooLarge,
    ConnectionFailed,
    ModelRefused,
    PromptRefused,
    ProviderDown,
    ProviderError,
    RateLimited,
    RequestRefused,
)
from hazardmill.llm.backends.litellm import LitellmBackend
from hazardmill.llm.batches.line_format import ResultReader, read_result, request_line
from hazardmill.llm.batches.provider import BatchLine

from .wire import STATUS_ERRORS, Reply, error, good

ID = "ab" * 32
MODEL = "openai/gpt-4o-mini"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "HOSTED_VLLM_API_KEY", "XAI_API_KEY", "LITELLM_PROXY_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ask_alone(server):
    """Asks for one request the ordinary way; returns its completion or the error it raised."""

    def ask_alone(request, reply):
        server.replies.append(reply)

        async def main():
            backend = LitellmBackend(server.address, "sk-right", timeout_s=PATIENCE_S)
            try:
                return await backend.complete(request)
            except ProviderError as raised:
                return raised
            finally:
                await backend.close()

        return asyncio.run(main())

    return ask_alone


def result(body=None, status: int = 200, custom_id: str = ID, **more) -> bytes:
    response = {"status_code": status, "request_id": "r", "body": body}
    return json.dumps(
        {"id": "batch_req_1", "custom_id": custom_id, "response": response, "error": None} | more
    ).encode()


SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (MODEL, {"temperature": 0.5, "max_tokens": 200, "response_format": SCHEMA, "seed": 7}),
        ("openai/o3-mini", {"max_tokens": 200}),
        ("openai/gpt-5-mini", {"max_tokens": 200, "reasoning_effort": "low"}),
        ("hosted_vllm/own/model", {"max_tokens": 200, "top_k": 3, "chat_template_kwargs": {"enable_thinking": False}}),
        ("xai/grok-4", {"max_tokens": 200, "temperature": 0}),
        ("litellm_proxy/team/model", {"max_tokens": 200, "made_up": 1}),
    ],
)
def test_the_body_of_a_line_is_what_is_sent_alone(make_request, server, ask_alone, model, parameters):
    request = make_request(model=model, parameters=parameters)
    ask_alone(request, good())
    [(_, sent)] = server.seen
    line = json.loads(request_line(BatchLine(ID, request)))
    assert {**line.pop("body")} == {name: value for name, value in sent.items() if (name, value) != ("stream", False)}
    assert line == {"custom_id": ID, "method": "POST", "url": "/v1/chat/completions"}


def test_providers_that_have_a_format_of_their_own_get_the_parameters_as_they_are(make_request):
    line = json.loads(request_line(BatchLine(ID, make_request(model="vertex_ai/gemini-2.5-flash"))))
    assert line["body"]["max_tokens"] == 200
    assert line["body"]["model"] == "gemini-2.5-flash"
    bare = json.loads(request_line(BatchLine(ID, make_request(model="offline-author"))))
    assert bare["body"]["model"] == "offline-author"


def test_the_answer_key_is_added_only_when_asked_for(make_request):
    line = BatchLine(ID, make_request(model=MODEL))
    assert "hazardmill_key" not in json.loads(request_line(line))
    assert json.loads(request_line(line, with_key=True))["hazardmill_key"]["stage"] == "extract"
    without = BatchLine(ID, make_request(model=MODEL, key=None))
    assert request_line(without, with_key=True) == request_line(without)


def test_half_a_character_and_line_ends_stay_within_the_line(make_request):
    line = request_line(BatchLine(ID, make_request("half \ud83d\n\u2028 a smile", model=MODEL)))
    assert line.count(b"\n") == len(line.splitlines()) == 1
    assert json.loads(line)["body"]["messages"][1]["content"] == "half \ud83d\n\u2028 a smile"


@pytest.mark.parametrize("parameters", [{"n": 2}, {"stream": True}])
def test_a_parameter_that_is_ours_is_refused(make_request, parameters):
    with pytest.raises(RequestRefused, match="must not set"):
        request_line(BatchLine(ID, make_request(model=MODEL, parameters=parameters)))


def test_a_parameter_that_litellm_does_not_take_is_refused(make_request):
    with pytest.raises(RequestRefused, match="openai/gpt-5-mini") as caught:
        request_line(BatchLine(ID, make_request(model="openai/gpt-5-mini", parameters={"temperature": 0.5})))
    assert caught.value.__context__ is None


BODIES = [
    good(),
    good("half an ans", "length"),
    good(None),
    good(None, refusal="I will not."),
    good("half \ud83d a smile"),
    good(usage=None),
    good(usage={"prompt_cache_hit_tokens": 40, "prompt_cache_miss_tokens": 60}),
    good(usage={"cache_read_input_tokens": 40, "cache_creation_input_tokens": 8}),
    good(reasoning_content="Let me see."),
    Reply(body=json.dumps(json.loads(good().body) | {"choices": []}).encode()),
    Reply(body=json.dumps(json.loads(good().body) | {"model": None}).encode()),
    Reply(body=b"[]"),
    Reply(body=b"{}"),
    Reply(body=b'{"choices": [{"index": 0}]}'),
    Reply(body=b'{"choices": [{"index": 0, "message": "no"}]}'),
    Reply(body=b'{"error": {"message": "as you see", "code": "x"}}'),
]


@pytest.mark.parametrize("model", [MODEL, "hosted_vllm/own/model", "xai/grok-4", "litellm_proxy/team/model"])
@pytest.mark.parametrize("reply", BODIES)
def test_an_answer_is_read_as_if_it_had_come_alone(make_request, ask_alone, model, reply):
    alone = ask_alone(make_request(model=model), reply)
    read = read_result(result(json.loads(reply.body)), model)
    assert read.custom_id == ID
    if isinstance(alone, ProviderError):
        assert (type(read.error), read.completion) == (type(alone), None)
    else:
        assert (read.completion, read.error) == (alone, None)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (error(429, "slow down"), RateLimited),
        *STATUS_ERRORS,
        (error(400, "content_policy_violation: no", "content_policy_violation"), PromptRefused),
        (error(400, "Model Not Exist"), ModelRefused),
    ],
)
def test_an_error_is_told_as_if_it_had_come_alone(make_request, ask_alone, reply, kind):
    alone = ask_alone(make_request(model=MODEL), reply)
    read = read_result(result(json.loads(reply.body), reply.status), MODEL)
    assert read.completion is None
    assert type(read.error) is type(alone) is kind
    assert getattr(read.error, "filtered", None) == getattr(alone, "filtered", None)
    assert read.error.remedy == alone.remedy
    assert read.error.__context__ is None


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"code": "batch_expired", "message": "too late"}, ProviderDown),
        ({"code": "batch_cancelled", "message": "stopped"}, ProviderDown),
        ({"code": "request_timeout", "message": "slow"}, ConnectionFailed),
        ({"code": "rate_limit_exceeded", "message": "slow down"}, RateLimited),
        ({"code": "invalid_api_key", "message": "no"}, RequestRefused),
        ({"code": "model_not_found", "message": "no"}, ModelRefused),
        ({"code": "content_filter", "message": "no"}, PromptRefused),
        ({"code": "429", "message": "no"}, RateLimited),
        ({"code": 503, "message": "no"}, ProviderDown),
        ({"code": 3, "message": "no"}, PromptRefused),
        ({"code": 8, "message": "no"}, RateLimited),
        ({}, ProviderDown),
        (None, ProviderDown),
        ("odd", ProviderDown),
    ],
)
def test_a_line_without_response(said, kind):
    read = read_result(json.dumps({"custom_id": ID, "response": None, "error": said}).encode(), MODEL)
    assert type(read.error) is kind
    assert read.error.retryable == issubclass(kind, ProviderDown | RateLimited | ConnectionFailed)
    assert read.error.remedy


def test_an_answer_of_another_model_says_so_and_stays():
    body = json.loads(good().body) | {"model": "another"}
    assert read_result(result(body), MODEL).completion.model_answered == "another"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"{}",
        b'{"custom_id": 7}',
        b"\xff",
        b"[" * 100_000,
        result(json.loads(good().body))[:-9],
    ],
)
def test_what_is_no_result_is_null(line):
    assert read_result(line, MODEL) is None


def test_secrets_are_removed(monkeypatch):
    monkeypatch.setenv("PLANTED_KEY", "sk-planted-in-the-test")
    read = [
        read_result(result(json.loads(good("say sk-planted-in-the-test").body)), MODEL),
        read_result(result({"error": {"message": "sk-planted-in-the-test"}}, 400), MODEL),
        read_result(result(custom_id="sk-planted-in-the-test", body={}, status=500), MODEL),
        read_result(b'{"custom_id": "a", "error": {"code": "sk-planted-in-the-test"}}', MODEL),
    ]
    assert len(read) == 4
    assert "planted" not in "".join(map(repr, read))
    assert "[secret]" in read[0].completion.text


def test_a_file_is_read_to_its_end_whatever_one_line_is():
    lines = [
        result(json.loads(good().body), custom_id="first"),
        result(json.loads(good("x" * 3000).body), custom_id="long"),
        b'{"id": "' + b"x" * 3000 + b'"}',
        b"",
        b"{half",
        result({"error": {"message": "no"}}, 500, custom_id="bad"),
        result(json.loads(good().body), custom_id="first"),
        result(json.loads(good("y" * 3000).body), custom_id="last"),
    ]
    reader = ResultReader(MODEL, max_answer_bytes=1000)
    results = list(reader.read(io.BytesIO(b"\n".join(lines))))
    assert [(each.custom_id, type(each.error)) for each in results] == [
        ("first", type(None)),
        ("long", AnswerTooLarge),
        ("bad", ProviderDown),
        ("first", type(None)),
        ("last", AnswerTooLarge),
    ]
    assert reader.unreadable == 2
    exact = result(json.loads(good().body), custom_id="exact")
    [fits] = ResultReader(MODEL, max_answer_bytes=len(exact)).read(io.BytesIO(exact + b"\n"))
    assert fits.error is None
