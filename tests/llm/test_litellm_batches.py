"""Batches through litellm, against a local server that loses, cuts, doubles and mixes up what it can."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from patience import PATIENCE_S

from hazardmill.errors import (
    AnswerTooLarge,
    ConnectionFailed,
    PromptRefused,
    ProviderDown,
    RateLimited,
    RedirectRefused,
    RequestRefused,
    SettingsError,
)
from hazardmill.llm.backends.litellm import LitellmBackend
from hazardmill.llm.batches.line_format import request_line
from hazardmill.llm.batches.litellm_batches import LitellmBatches
from hazardmill.llm.batches.provider import BatchLine, BatchState, BatchStatus
from hazardmill.llm.batches.providers import BATCH_PROVIDERS, open_batches
from hazardmill.llm.requests import AnswerKey, Message
from hazardmill.testing.llm_server import (
    BatchCall,
    BatchFaultKind,
    BatchStep,
    LlmServer,
    ScriptedBatchFaults,
    ServerFault,
)
from hazardmill.testing.llm_server.answers import bomb

RECORD = '<record source="toy" id="toy:1">\nWhat: made hot soup\nWho: a child\n</record>'
KEY = "sk-planted-for-the-test"
MODELS = ["openai/gpt-4o-mini", "hosted_vllm/own/model", "litellm_proxy/team/model"]
MOST_BYTES = 100_000


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HOSTED_VLLM_API_KEY", "HOSTED_VLLM_API_BASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def lines(make_request):
    def lines(*names: str, model: str = MODELS[0]) -> list[BatchLine]:
        return [BatchLine(name, make_request(f"question {name}", model=model)) for name in names]

    return lines


def echo(asked) -> str:
    return f"answer to {asked.messages[-1].content}"


def serve(answer=echo, **settings) -> LlmServer:
    return LlmServer(answer, **{"api_key": KEY} | settings)


def using(server_or_address, work, *, model: str = MODELS[0], **settings):
    """What ``work`` makes of batches at a server."""
    address = getattr(server_or_address, "address", server_or_address)
    fields = {"api_base": address, "api_key": KEY, "timeout_s": PATIENCE_S, "max_answer_bytes": MOST_BYTES} | settings

    async def main():
        batches = LitellmBatches(model, **fields)
        try:
            return await work(batches)
        finally:
            await batches.close()

    return asyncio.run(main())


async def collect(batches, batch_id, lines):
    return [each async for each in batches.results(batch_id, lines)]


def run(server, lines, **settings):
    """Status and results of a batch of these lines."""

    async def work(batches):
        batch_id = await batches.create("wave-1", lines)
        return await batches.status(batch_id), await collect(batches, batch_id, lines)

    return using(server, work, **settings)


def steps(server) -> list[str]:
    return [call.step.value for call in server.batch_calls]


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_from_end_to_end(lines, model):
    sent = lines("a", "b", model=model)
    with serve(models=(model.partition("/")[2],)) as server:
        status, results = run(server, sent, model=model)
    assert status == BatchStatus(BatchState.ENDED, answered=2)
    assert {each.custom_id: each.completion.text for each in results} == {
        "a": "answer to question a",
        "b": "answer to question b",
    }
    assert [each.usage_went_out for each in server.attempts] == [True, True]
    # In particular nothing is asked again, and nothing is downloaded behind our back.
    assert steps(server) == ["upload", "create", "status", "status", "content"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", [None, "length", "refusal", "content-filter", "usage-missing", "empty-choices", "500"])
def test_a_request_has_the_same_answer_alone_and_in_a_batch(lines, model, kind):
    [line] = lines("a", model=model)

    async def alone(address):
        backend = LitellmBackend(address, KEY, timeout_s=PATIENCE_S)
        try:
            return await backend.complete(line.request)
        except ProviderDown as error:
            return type(error)
        finally:
            await backend.close()

    plan = None if kind is None else lambda asked: ServerFault(kind)
    with serve(faults=plan, dialect="none") as server:
        expected = asyncio.run(alone(server.address))
        _, [result] = run(server, [line], model=model)
    assert result.custom_id == "a"
    assert (result.completion or type(result.error)) == expected
    first, second = server.attempts
    assert (first.prompt_tokens, first.completion_tokens) == (second.prompt_tokens, second.completion_tokens)


def test_the_offline_author_answers_a_line(make_request):
    key = AnswerKey(record_hash="h", stage="extract")
    messages = (Message(role="system", content="Be careful."), Message(role="user", content=RECORD))
    line = BatchLine("a", make_request(messages=messages, key=key, model="openai/offline-author"))
    with LlmServer() as server:
        _, [result] = run(server, [line], model="openai/offline-author", api_key=None)
    assert json.loads(result.completion.text)
    assert server.attempts[0].stage == "extract"


def test_the_answer_key_stays_on_this_machine(lines):
    settings = {"api_key": KEY, "timeout_s": 1, "max_answer_bytes": 1000}
    [line] = lines("a")
    here = LitellmBatches(MODELS[0], api_base="http://localhost:1/v1", **settings)
    there = LitellmBatches(MODELS[0], api_base="http://example.org/v1", **settings)
    assert here.size(line) == len(request_line(line, with_key=True)) > there.size(line) == len(request_line(line))


def test_an_id_that_was_lost_is_found_by_name_on_any_page(lines):
    async def work(batches):
        with pytest.raises(ProviderDown):
            await batches.create("wave-1", lines("a"))
        asked = {"endpoint": "/v1/chat/completions", "completion_window": "24h", "input_file_id": "file-000001"}
        headers = {"authorization": f"Bearer {KEY}"}
        with httpx.Client(base_url=server.address, headers=headers, trust_env=False, timeout=None) as client:
            for number in range(2, 103):
                client.post("/batches", json=asked | {"metadata": {"hazardmill_batch": f"wave-{number}"}})
        return await batches.find("wave-1"), await batches.find("wave-102"), await batches.find("wave-0")

    plan = ScriptedBatchFaults("create-lost")
    with serve(batch_faults=lambda call: plan(call) if call.batch == "wave-1" else None) as server:
        found = using(server, work)
    assert found == ("batch_000001", "batch_000102", None)
    assert [call.batch for call in server.batch_calls].count("wave-1") == 1, "it is not created again behind our back"
    assert steps(server)[-5:] == ["list"] * 5


def test_the_api_of_azure_is_asked_in_the_same_way(lines, monkeypatch):
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    sent = lines("a", "b", model="azure/gpt-4o")

    async def work(batches):
        batch_id = await batches.create("wave-1", sent)
        return await batches.status(batch_id), await collect(batches, batch_id, sent), await batches.find("wave-1")

    with serve(api_key=None, batch_faults=ScriptedBatchFaults("unordered")) as server:
        status, results, found = using(server.address.removesuffix("/v1"), work, model="azure/gpt-4o")
    assert status == BatchStatus(BatchState.ENDED, answered=2)
    assert [each.completion.text[-1] for each in results] == ["b", "a"]
    assert found == "batch_000001"
    assert steps(server) == ["upload", "create", "status", "status", "content", "list"]


@pytest.mark.parametrize(
    ("fault", "step", "kind"),
    [
        ("upload-500", "upload", ProviderDown),
        ("create-500", "create", ProviderDown),
        ("create-lost", "create", ProviderDown),
        ("status-500", "status", ProviderDown),
        ("content-500", "content", ProviderDown),
        *(("429", step, RateLimited) for step in ("upload", "create", "status", "content", "list", "cancel")),
    ],
)
def test_a_call_that_fails_is_made_once_and_its_error_may_be_retried(lines, fault, step, kind):
    sent = lines("a")

    async def work(batches):
        batch_id = "batch_000001"
        if step not in ("upload", "create"):
            batch_id = await batches.create("wave-1", sent)
        calls = {
            "status": lambda: batches.status(batch_id),
            "content": lambda: collect(batches, batch_id, sent),
            "list": lambda: batches.find("wave-1"),
            "cancel": lambda: batches.cancel(batch_id),
        }
        if step == "content":
            await batches.status(batch_id)
        with pytest.raises(kind) as caught:
            await calls.get(step, lambda: batches.create("wave-1", sent))()
        return caught.value

    def plan(call: BatchCall) -> BatchFaultKind | None:
        return BatchFaultKind(fault) if call.step == step else None

    with serve(batch_faults=plan) as server:
        error = using(server, work)
    assert steps(server).count(step) == 1
    assert error.retryable
    assert error.remedy
    assert error.__context__ is None, "the original may hold the key"


def test_a_failed_batch_says_why(lines):
    with serve(batch_faults=ScriptedBatchFaults("invalid")) as server:
        status, results = run(server, lines("a"))
    assert status == BatchStatus(BatchState.FAILED, answered=0, message="the requests did not pass the check")
    assert results == []


@pytest.mark.parametrize(("kind", "state"), [("expired", BatchState.EXPIRED), ("cancelled", BatchState.CANCELLED)])
def test_what_half_a_batch_brought_is_read_with_the_errors_of_the_rest(lines, kind, state):
    with serve(batch_faults=ScriptedBatchFaults(kind)) as server:
        status, results = run(server, lines("a", "b", "c"))
    assert status.state is state
    assert [(each.custom_id, type(each.error)) for each in results] == [
        ("a", type(None)),
        ("b", type(None)),
        ("c", ProviderDown),
    ]
    assert f"batch_{kind}" in results[2].error.message


def test_every_fault_of_a_line_stays_with_that_line(lines, caplog):
    kinds = {kind.value: kind for kind in BatchFaultKind if BatchStep.LINE in kind.steps}
    with serve(batch_faults=lambda call: kinds.get(call.custom_id or "")) as server:
        status, results = run(server, lines(*kinds, "well"))
    assert status == BatchStatus(BatchState.ENDED, answered=9)
    found = {each.custom_id: type(each.error) if each.error else each.completion.model_answered for each in results}
    assert found == {
        "line-429": RateLimited,
        "line-500": ProviderDown,
        "line-400": PromptRefused,
        "line-doubled": "offline-author",
        "nobody": "offline-author",
        "line-other-model": "another-model",
        "well": "offline-author",
    }
    assert Counter(each.custom_id for each in results)["line-doubled"] == 2
    assert "1 lines of batch batch_000001 cannot be read" in caplog.text


def test_the_order_of_the_answers_is_theirs(lines):
    with serve(batch_faults=ScriptedBatchFaults("unordered")) as server:
        _, results = run(server, lines("a", "b", "c"))
    assert [(each.custom_id, each.completion.text[-1]) for each in results] == [("c", "c"), ("b", "b"), ("a", "a")]


def test_half_a_file_is_read_as_far_as_it_goes(lines, caplog):
    with serve(batch_faults=ScriptedBatchFaults("content-cut")) as server:
        _, results = run(server, lines(*"abc"))
    assert [each.custom_id for each in results] == ["a"]
    assert "1 lines of batch" in caplog.text


def test_errors_are_read_where_there_are_no_answers(lines):
    with serve(batch_faults=ScriptedBatchFaults("line-500")) as server:
        _, results = run(server, lines("a"))
    assert [(each.custom_id, type(each.error)) for each in results] == [("a", ProviderDown)]


def test_a_batch_that_runs_is_cancelled(lines):
    async def work(batches):
        batch_id = await batches.create("wave-1", lines("a"))
        before = await batches.status(batch_id)
        await batches.cancel(batch_id)
        after = await batches.status(batch_id)
        with pytest.raises(RequestRefused) as caught:
            await batches.cancel(batch_id)
        return before, after, caught.value

    with serve(batch_seconds=None) as server:
        before, after, error = using(server, work)
    assert (before.state, before.state.is_final) == (BatchState.RUNNING, False)
    assert (after.state, after.state.is_final) == (BatchState.CANCELLED, True)
    assert type(error) is RequestRefused
    assert not error.retryable


@pytest.mark.parametrize("call", ["create", "find", "status", "results", "cancel"])
def test_a_wrong_key_is_refused_and_not_repeated_in_the_error(lines, call):
    async def work(batches):
        calls = {
            "create": lambda: batches.create("wave-1", lines("a")),
            "find": lambda: batches.find("wave-1"),
            "status": lambda: batches.status("batch_1"),
            "results": lambda: collect(batches, "batch_1", lines("a")),
            "cancel": lambda: batches.cancel("batch_1"),
        }
        with pytest.raises(RequestRefused) as caught:
            await calls[call]()
        return caught.value

    with serve(api_key="sk-another") as server:
        error = using(server, work)
    assert error.remedy == "check the provider's key in the environment"
    assert KEY not in str(error)
    assert (server.batch_calls, server.attempts) == ((), ())


def test_a_batch_that_is_not_there_is_no_model_that_is_not_there(lines):
    async def work(batches):
        with pytest.raises(RequestRefused) as caught:
            await batches.status("batch_1")
        return caught.value

    with serve() as server:
        error = using(server, work)
    assert type(error) is RequestRefused
    assert "with which the batch was made" in error.remedy


def test_a_batch_that_is_refused_is_no_prompt_that_is_refused(lines):
    async def work(batches):
        with pytest.raises(RequestRefused) as caught:
            await batches.create("wave-1", lines("a"))
        return caught.value

    with LlmServer(max_batch_bytes=10) as small:
        error = using(small, work)
    assert type(error) is RequestRefused
    assert "--batch" in error.remedy
    assert "larger than 10 bytes" in error.message


def test_an_answer_that_is_too_large_costs_only_itself(lines):
    with serve(lambda asked: "x" * (700 if "long" in asked.messages[-1].content else 5)) as server:
        _, results = run(server, lines("a", "long", "b"), max_answer_bytes=1000)
    assert [(each.custom_id, type(each.error)) for each in results] == [
        ("a", type(None)),
        ("long", AnswerTooLarge),
        ("b", type(None)),
    ]


def test_a_file_without_end_is_not_read_to_it(lines):
    with serve(lambda asked: "x" * 5000) as server, pytest.raises(AnswerTooLarge):
        run(server, lines("a"), max_answer_bytes=500)
    assert steps(server)[-1] == "content"


def test_a_server_that_says_nothing_is_given_up(lines):
    async def work(batches):
        with pytest.raises(ConnectionFailed, match=r"within 0\.2 s") as caught:
            await batches.status("batch_1")
        return caught.value

    # Nobody accepts the connection.
    with socket.create_server(("127.0.0.1", 0)) as listening:
        error = using(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", work, timeout_s=0.2)
    assert error.retryable


class OneAnswer(ThreadingHTTPServer):
    """Answers every request alike, or by its path, and remembers what it was asked."""

    def __init__(self, status: int, body: bytes | dict[str, bytes], **headers: str) -> None:
        super().__init__(("127.0.0.1", 0), OneAnswerHandler)
        self.reply = (status, body, headers)
        self.bodies: list[bytes] = []
        self.address = f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def asked(self) -> int:
        return len(self.bodies)


class OneAnswerHandler(BaseHTTPRequestHandler):
    server: OneAnswer

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers.get("content-length", 0))))
        status, body, headers = self.server.reply
        if isinstance(body, dict):
            body = body[f"{self.command} {self.path.partition('?')[0]}"]
        self.send_response(status)
        for name, value in (headers | {"content-length": str(len(body))}).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    do_POST = do_GET


@contextlib.contextmanager
def answering(status: int, body: bytes | dict[str, bytes] = b"", **headers: str):
    with OneAnswer(status, body, **headers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ({"status": 200, "body": b"<html>Log in</html>", "content_type": "text/html"}, ProviderDown),
        ({"status": 200, "body": b"{}", "content_type": "application/json"}, ProviderDown),
        (
            {"status": 200, "body": b'{"status": "made_up", "id": "x"}', "content_type": "application/json"},
            ProviderDown,
        ),
        (
            {"status": 200, "body": bomb(), "content_encoding": "gzip", "content_type": "application/json"},
            AnswerTooLarge,
        ),
        ({"status": 307, "location": "http://localhost:9/v1/batches/x"}, RedirectRefused),
        ({"status": 429, "body": b"{}", "retry_after": "7"}, RateLimited),
        ({"status": 503, "body": b"busy"}, ProviderDown),
    ],
)
def test_answers_that_are_none_are_told_apart_and_asked_for_once(reply, kind):
    async def work(batches):
        with pytest.raises(kind) as caught:
            await batches.status("batch_1")
        return caught.value

    with answering(**reply) as server:
        error = using(server, work)
    assert type(error) is kind
    assert server.asked == 1
    if kind is RateLimited:
        assert error.retry_after == 7


def test_xai_has_a_format_of_its_own_and_its_results_are_read_even_if_it_was_cancelled(lines):
    chat = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}]}
    batch = {"batch_id": "batch_1", "name": "wave-1", "cancel_time": "2026-11-01", "state": {"num_success": 1}}
    results = [
        {"batch_request_id": "a", "batch_result": {"response": {"chat_get_completion": chat | {"model": "grok-4"}}}},
        {"batch_request_id": "b", "batch_result": {"error": {"code": 8, "message": "slow down"}}},
    ]
    said = {
        "POST /v1/files": {"id": "file_1", "bytes": 1},
        "POST /v1/batches": batch,
        "GET /v1/batches/batch_1": batch,
        "GET /v1/batches": {"batches": [batch]},
        "GET /v1/batches/batch_1/results": {"results": results},
        "POST /v1/batches/batch_1:cancel": batch,
    }
    sent = lines("a", "b", model="xai/grok-4")

    async def work(batches):
        batch_id = await batches.create("wave-1", sent)
        await batches.cancel(batch_id)
        assert (await batches.status(batch_id)).state is BatchState.CANCELLED
        assert await batches.find("wave-1") == batch_id
        return await collect(batches, batch_id, sent)

    bodies = {place: json.dumps(body).encode() for place, body in said.items()}
    with answering(200, bodies, content_type="application/json") as server:
        answered, limited = using(server, work, model="xai/grok-4")
    assert (answered.custom_id, answered.completion.text) == ("a", "yes")
    assert (limited.custom_id, type(limited.error)) == ("b", RateLimited)
    assert json.loads(server.bodies[1]) == {"name": "wave-1", "input_file_id": "file_1"}
    assert server.asked == 7


def test_a_list_without_end_is_given_up():
    batch = {"id": "batch_1", "object": "batch", "metadata": None}
    body = json.dumps({"object": "list", "data": [batch], "has_more": True, "last_id": "batch_1"}).encode()

    async def work(batches):
        with pytest.raises(ProviderDown, match="does not end"):
            await batches.find("wave-1")

    with answering(200, body, content_type="application/json") as server:
        using(server, work)
    assert server.asked == 2


def test_secrets_are_removed_from_answers_and_errors(lines):
    def plan(call: BatchCall) -> BatchFaultKind | None:
        return BatchFaultKind.LINE_REFUSED if call.custom_id == KEY else None

    with serve(lambda asked: f"your key is {KEY}", batch_faults=plan) as server:
        _, results = run(server, lines("a", KEY))
    assert len(results) == 2
    assert KEY not in repr(results)
    assert "[secret]" in results[0].completion.text


def test_neither_address_nor_key_of_openai_is_used_for_others(monkeypatch, lines):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-only")
    settings = {"timeout_s": PATIENCE_S, "max_answer_bytes": MOST_BYTES}
    with pytest.raises(SettingsError, match="hosted_vllm has no address") as caught:
        open_batches(MODELS[1], api_base=None, **settings)
    assert "HOSTED_VLLM_API_BASE" in caught.value.remedy
    sent = lines("a", model=MODELS[1])
    with serve(api_key="none") as server:
        monkeypatch.setenv("HOSTED_VLLM_API_BASE", server.address)
        status, _ = run(None, sent, model=MODELS[1], api_base=None, api_key=None)
    assert status.state is BatchState.ENDED, "the server wants another key than OpenAI's"


@pytest.mark.parametrize(
    "model", ["deepseek/deepseek-chat", "groq/x", "made_up/x", "gpt-4o", "openai", "offline-author"]
)
def test_a_provider_without_batches_is_refused_before_anything_is_sent(model):
    with pytest.raises(SettingsError) as caught:
        open_batches(model, api_base=None, timeout_s=1, max_answer_bytes=1000)
    assert all(f"{name}/" in caught.value.message for name in BATCH_PROVIDERS)
    assert {"openai", "azure", "anthropic", "gemini", "xai", "vertex_ai"} <= {*BATCH_PROVIDERS}
    assert "leave out --batch" in caught.value.remedy


def test_batches_are_opened_with_the_limits_of_their_provider():
    batches = open_batches("azure/gpt-4o", api_base=None, timeout_s=1, max_answer_bytes=1000)
    assert (batches.limits.requests, batches.limits.bytes, batches.can_find) == (100_000, 200_000_000, True)
    with pytest.raises(SettingsError, match="not the address"):
        open_batches("openai/gpt-4o", api_base="planted", timeout_s=1, max_answer_bytes=1000)
