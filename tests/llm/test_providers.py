"""What litellm makes of a request for each kind of provider, and of the answer in that provider's own words.

A local server stands in for the provider: the body is the one that would go over the network.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from patience import PATIENCE_S

from hazardmill.llm.backends.litellm import OFFLINE_KEY_HEADER, LitellmBackend
from hazardmill.llm.backends.litellm_format import messages_for
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import Message, Usage

from .wire import Reply, good

pytestmark = pytest.mark.full

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
STRUCTURED = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}
TURNS = (
    Message(role="system", content="What is the same for all records."),
    Message(role="user", content="A record."),
    Message(role="assistant", content="A bad answer."),
    Message(role="user", content="Again."),
)
KEY = "planted-credential-123"


def anthropic(stop: str = "end_turn") -> Reply:
    body = {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": "claude-of-the-day",
        "content": [{"type": "text", "text": '{"a": 1}'}],
        "stop_reason": stop,
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 50,
            "cache_read_input_tokens": 40,
            "output_tokens": 7,
        },
    }
    return Reply(body=json.dumps(body).encode())


def gemini(finish: str = "STOP", **usage: int | None) -> Reply:
    body: dict[str, Any] = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": '{"a": 1}'}]}, "finishReason": finish}],
        "usageMetadata": {
            "promptTokenCount": 100,
            "cachedContentTokenCount": 40,
            "candidatesTokenCount": 7,
            "thoughtsTokenCount": 5,
            "totalTokenCount": 112,
        }
        | usage,
        "modelVersion": "gemini-of-the-day",
    }
    body["usageMetadata"] = {name: count for name, count in body["usageMetadata"].items() if count is not None}
    return Reply(body=json.dumps(body).encode())


@pytest.fixture
def sent(server, make_request):
    """What the server is sent for a model: path, headers, body; and what comes of its reply."""

    def sent(model: str, reply: Reply, *, root: bool = False, **parameters: Any):
        server.replies.append(reply)
        asked = make_request(
            model=model, messages=TURNS, parameters={"temperature": 0.5, "max_tokens": 200} | parameters
        )

        async def main():
            backend = LitellmBackend(server.root if root else server.address, KEY, timeout_s=PATIENCE_S)
            try:
                return await backend.complete(asked)
            finally:
                await backend.close()

        completion = asyncio.run(main())
        [(headers, body)], [path] = server.seen, server.paths
        return path, headers, body, completion

    return sent


@pytest.mark.parametrize(
    ("model", "wanted", "structured"),
    [
        ("openai/gpt-4o-mini", None, None),
        ("openai/gpt-4o-mini", STRUCTURED, STRUCTURED),
        ("deepseek/deepseek-chat", None, None),
        ("deepseek/deepseek-chat", {"type": "json_object"}, {"type": "json_object"}),
        # DeepSeek refuses schemas; litellm would send them all the same.
        ("deepseek/deepseek-chat", STRUCTURED, {"type": "json_object"}),
    ],
)
def test_openai_and_deepseek_take_the_messages_as_they_are(sent, model, wanted, structured):
    parameters = {} if wanted is None else {"response_format": wanted}
    path, headers, body, _ = sent(model, good('{"a": 1}'), **parameters)

    assert path == "/v1/chat/completions"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert body.pop("response_format", None) == structured
    assert body == {
        "model": model.partition("/")[2],
        "messages": [message.model_dump() for message in TURNS],
        "temperature": 0.5,
        "max_tokens": 200,
    }, "and nothing else: no hint for a cache that works by itself"


@pytest.mark.parametrize("wanted", [None, STRUCTURED])
def test_anthropic_takes_the_system_message_apart_and_is_told_up_to_where_to_cache(sent, wanted, caplog):
    parameters = {} if wanted is None else {"response_format": wanted}
    path, headers, body, completion = sent("anthropic/claude-haiku-4-5", anthropic(), root=True, **parameters)

    assert path == "/v1/messages"
    assert (headers["x-api-key"], "anthropic-version" in headers) == (KEY, True)
    assert body.pop("output_format", None) == (wanted and {"type": "json_schema", "schema": SCHEMA})
    assert body == {
        "model": "claude-haiku-4-5",
        "system": [{"type": "text", "text": TURNS[0].content, "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": message.role, "content": [{"type": "text", "text": message.content}]} for message in TURNS[1:]
        ],
        "temperature": 0.5,
        "max_tokens": 200,
    }
    assert (completion.text, completion.finish_reason) == ('{"a": 1}', "stop")
    assert completion.usage == Usage(prompt_tokens=100, cached_tokens=40, completion_tokens=7, written_tokens=50)
    assert Prices.load().usd("anthropic/claude-haiku-4-5", completion.usage) is not None
    assert "remote" not in caplog.text, "litellm fetches nothing on the way"


@pytest.mark.parametrize("wanted", [None, STRUCTURED])
def test_gemini_takes_roles_and_limits_by_names_of_its_own(sent, wanted):
    parameters = {} if wanted is None else {"response_format": wanted}
    path, headers, body, completion = sent("gemini/gemini-2.5-flash", gemini(), root=True, **parameters)

    assert path.endswith("/models/gemini-2.5-flash:generateContent")
    assert KEY not in path
    assert headers["x-goog-api-key"] == KEY
    structured = {"response_mime_type": "application/json", "response_json_schema": SCHEMA} if wanted else {}
    assert body == {
        "system_instruction": {"parts": [{"text": TURNS[0].content}]},
        "contents": [
            {"role": "model" if message.role == "assistant" else "user", "parts": [{"text": message.content}]}
            for message in TURNS[1:]
        ],
        "generationConfig": {"temperature": 0.5, "max_output_tokens": 200} | structured,
    }
    assert (completion.text, completion.finish_reason) == ('{"a": 1}', "stop")
    # What it thought is paid for like what it said.
    assert completion.usage == Usage(prompt_tokens=100, cached_tokens=40, completion_tokens=12)


def test_gemini_leaves_the_count_out_where_nothing_was_cached_and_the_price_is_known(sent):
    *_, completion = sent("gemini/gemini-2.5-flash", gemini(cachedContentTokenCount=None), root=True)
    assert completion.usage == Usage(prompt_tokens=100, cached_tokens=0, completion_tokens=12)
    assert Prices.load().usd("gemini/gemini-2.5-flash", completion.usage) == pytest.approx((30 + 30) / 1e6)


@pytest.mark.parametrize(
    ("model", "reply"),
    [
        ("anthropic/claude-haiku-4-5", anthropic("refusal")),
        ("gemini/gemini-2.5-flash", gemini("SAFETY")),
        ("openai/gpt-4o-mini", good("x", "content_filter")),
    ],
)
def test_a_provider_that_declines_is_understood_in_each_language(sent, model, reply):
    *_, completion = sent(model, reply, root=not model.startswith("openai"))
    assert completion.finish_reason == "content_filter"


@pytest.mark.parametrize(("model", "reply"), [("anthropic/claude-haiku-4-5", anthropic("max_tokens"))])
def test_a_cut_answer_is_understood_too(sent, model, reply):
    *_, completion = sent(model, reply, root=True)
    assert completion.finish_reason == "length"


@pytest.mark.parametrize(
    ("model", "reply"), [("anthropic/claude-haiku-4-5", anthropic()), ("gemini/gemini-2.5-flash", gemini())]
)
def test_the_offline_key_is_in_a_header_only(sent, model, reply):
    _, headers, body, _ = sent(model, reply, root=True)
    assert OFFLINE_KEY_HEADER.lower() in headers, "to a server on this machine; to no other (test_litellm)"
    assert "record_hash" not in json.dumps(body)


def test_the_mark_for_the_cache_is_no_part_of_the_identity(make_request):
    asked = make_request(model="anthropic/claude-haiku-4-5")
    before = asked.model_copy(deep=True)
    assert messages_for(asked)[0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert asked == before
    assert messages_for(make_request(model="anthropic/x", messages=TURNS[1:]))[0]["content"] == "A record."
