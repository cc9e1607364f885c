"""What litellm makes of each fault: the table in docs/llm-server.md, observed."""

from __future__ import annotations

import asyncio
import re

import pytest
from patience import PATIENCE_S

from hazardmill.llm.backends.litellm import LitellmBackend
from hazardmill.llm.requests import AnswerKey, Message, Request
from hazardmill.testing.llm_server import HOSTILE, Dialect, LlmServer, ScriptedServerFaults, ServerFaultKind
from hazardmill.testing.offline_author import answer

pytestmark = pytest.mark.full

MODELS = {"`openai/`": "openai/gpt-4o-mini", "`deepseek/`": "deepseek/deepseek-chat"}
STALLED_S = 5
"""Until an answer that stalls is given up: long enough for the request to arrive on a busy machine."""
JSON_ANSWER = '{"no_danger": "nothing happens here"}'


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    # Before litellm is imported, which fetches a list of prices otherwise.
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    for name in ("OPENAI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def litellm():
    import litellm

    litellm.suppress_debug_info = True
    return litellm


def table(project):
    """``{fault: {column: cell}}`` of the table of faults."""
    text = (project / "docs" / "llm-server.md").read_text(encoding="utf-8")
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    begin = next(number for number, cells in enumerate(lines) if "`deepseek/`" in cells)
    rows = {}
    for cells in lines[begin + 2 :]:
        if len(cells) != len(lines[begin]):
            break
        rows[cells[0].strip("`")] = dict(zip(lines[begin], cells, strict=True))
    return rows


async def observed(server, model, text="What is dangerous here?", **more):
    """In the words of the table."""
    messages = [{"role": "system", "content": "Be careful."}, {"role": "user", "content": text}]
    settings = {"api_base": server.address, "api_key": "sk-right", "max_retries": 0, "max_tokens": 500} | more
    try:
        response = await litellm().acompletion(model=model, messages=messages, **settings)
    except Exception as error:
        retry = (getattr(error, "litellm_response_headers", None) or {}).get("retry-after")
        return f"`{type(error).__name__}` {error.status_code}" + (f", retry-after {retry}" if retry else "")
    words = ["answer"]
    if not response.choices:
        return "answer, no choices"
    choice = response.choices[0]
    if choice.finish_reason != "stop":
        words.append(f"finish_reason {choice.finish_reason}")
    if choice.message.content is None:
        words.append("content null")
    elif not choice.message.content:
        words.append("content empty")
    if choice.message.provider_specific_fields.get("refusal"):
        words.append("refusal in provider_specific_fields")
    if not response.usage.prompt_tokens:
        words.append("usage all 0")
    return ", ".join(words)


async def closing(work):
    from litellm.llms.custom_httpx.async_client_cleanup import close_litellm_async_clients

    try:
        return await work
    finally:
        await close_litellm_async_clients()


@pytest.mark.parametrize("column", MODELS)
def test_what_litellm_makes_of_it_is_what_the_table_says(project, column):
    rows = table(project)
    assert {*rows} == {*ServerFaultKind, "wrong key", "body too large"} - {*HOSTILE}
    seen = {}

    async def main():
        # What litellm makes of the hostile ones, left to itself, might not end.
        for kind in (kind for kind in ServerFaultKind if kind not in HOSTILE):
            fault = {"slow": "slow:0.01", "429-retry-after": "429-retry-after:7"}.get(kind, kind)
            with LlmServer(lambda asked: JSON_ANSWER, faults=ScriptedServerFaults(fault)) as server:
                seen[kind.value] = await observed(
                    server, MODELS[column], timeout=STALLED_S if kind == "stalled" else PATIENCE_S
                )
                assert len(server.attempts) == 1, "litellm must not try again by itself"
        with LlmServer(lambda asked: JSON_ANSWER, api_key="sk-right", max_body=10_000) as server:
            seen["wrong key"] = await observed(server, MODELS[column], api_key="sk-wrong")
            seen["body too large"] = await observed(server, MODELS[column], "x" * 20_000)

    asyncio.run(closing(main()))
    assert seen == {fault: row[column].replace("retry-after N", "retry-after 7") for fault, row in rows.items()}


@pytest.mark.parametrize("model", MODELS.values())
def test_cached_tokens_arrive_in_every_dialect(model):
    async def main(dialect):
        with LlmServer(lambda asked: JSON_ANSWER, dialect=dialect) as server:
            for _ in range(2):
                messages = [{"role": "user", "content": "x" * 1000}]
                response = await litellm().acompletion(
                    model=model, messages=messages, api_base=server.address, api_key="sk-right", max_retries=0
                )
        usage, told = response.usage, server.attempts[1]
        assert (usage.prompt_tokens, usage.completion_tokens) == (told.prompt_tokens, told.completion_tokens)
        return getattr(usage.prompt_tokens_details, "cached_tokens", None)

    async def all_dialects():
        return {dialect: await main(dialect) for dialect in Dialect}

    seen = asyncio.run(closing(all_dialects()))
    assert seen == {Dialect.OPENAI: 192, Dialect.DEEPSEEK: 192, Dialect.ANTHROPIC: 192, Dialect.NONE: None}


@pytest.mark.parametrize("model", MODELS.values())
def test_our_backend_gets_the_answer_of_the_offline_author_and_the_count_of_the_server(model):
    messages = (
        Message(role="system", content="Be careful."),
        Message(role="user", content='<record source="toy" id="toy:1">\nWhat: made hot soup\nWho: a child\n</record>'),
    )
    key = AnswerKey(record_hash="h", stage="extract")
    asked = Request(stage="extract", model=model, messages=messages, parameters={"max_tokens": 900}, key=key)

    async def main():
        with LlmServer(api_key="sk-right") as server:
            backend = LitellmBackend(server.address, "sk-right")
            try:
                return await backend.complete(asked), server.attempts
            finally:
                await backend.close()

    completion, [attempt] = asyncio.run(main())
    assert completion.text == answer(messages, key)
    assert completion.model_answered == "offline-author"
    assert completion.usage.prompt_tokens == attempt.prompt_tokens > 0
    assert completion.usage.completion_tokens == attempt.completion_tokens > 0
    assert completion.usage.cached_tokens == attempt.cached_tokens == 0
    assert attempt.stage == "extract"
    assert re.fullmatch("[0-9a-f]{64}", attempt.identity)
