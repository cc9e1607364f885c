"""The server over real HTTP, asked by a client that hides nothing: faults, refusals, counting, the journal."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import socket
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest

from hazardmill.errors import InputError, StoreLocked
from hazardmill.llm.backends.litellm import OFFLINE_KEY_HEADER
from hazardmill.llm.requests import AnswerKey, Message
from hazardmill.testing.llm_server import (
    FATAL,
    HOSTILE,
    RECOVERABLE,
    LlmServer,
    ScriptedServerFaults,
    SeededFaults,
    ServerFaultKind,
    Totals,
    parse_faults,
    read_journal,
)
from hazardmill.testing.llm_server.answers import bomb
from hazardmill.testing.offline_author import answer

JSON_ANSWER = '{"verdict": "needs_revision", "issues": [{"criterion": "entity", "problem": "the cup is no person"}]}'
RECORD = '<record source="toy" id="toy:1">\nWhat: made hot soup\nWho: a child\n</record>'


def chat(text: str = "What is dangerous here?", **more):
    messages = [{"role": "system", "content": "Be careful."}, {"role": "user", "content": text}]
    return {"model": "some-model", "messages": messages, "max_tokens": 500} | more


class Asker:
    """Asks one server, over connections that stay open."""

    def __init__(self, server: LlmServer) -> None:
        self.server = server
        # Without certificates: to read them takes longer than most tests here.
        self.client = httpx.Client(base_url=server.address, trust_env=False, verify=False, timeout=None)

    def __call__(self, text: str = "What is dangerous here?", **more) -> httpx.Response:
        headers = more.pop("headers", {})
        timeout = more.pop("timeout", None)
        return self.client.post("/chat/completions", json=chat(text, **more), headers=headers, timeout=timeout)


class Watch:
    """Lets a test wait for what the server notices by itself."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.seen = []

    def __call__(self, attempt) -> None:
        with self.condition:
            self.seen.append(attempt)
            self.condition.notify_all()

    def wait(self, holds):
        with self.condition:
            assert self.condition.wait_for(lambda: any(map(holds, self.seen)))
            return next(filter(holds, self.seen))


@pytest.fixture
def ask():
    """Makes a server and gives something that asks it."""
    opened = []

    def make(answer=lambda asked: JSON_ANSWER, **settings) -> Asker:
        asker = Asker(LlmServer(answer, **settings).__enter__())
        opened.append(asker)
        return asker

    yield make
    for asker in opened:
        asker.client.close()
        asker.server.__exit__(None, None, None)


def test_the_offline_author_answers_under_its_own_name():
    key = AnswerKey(record_hash="h", stage="extract")
    with LlmServer() as server:
        asker = Asker(server)
        with asker.client:
            reply = asker(RECORD, headers={OFFLINE_KEY_HEADER: key.model_dump_json()})
            models = asker.client.get("/models").json()
    body = reply.json()
    said = [Message(role="system", content="Be careful."), Message(role="user", content=RECORD)]
    assert body["choices"][0]["message"]["content"] == answer(said, key)
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["model"] == "offline-author"
    assert [model["id"] for model in models["data"]] == ["offline-author"]
    [attempt] = server.attempts
    assert (attempt.stage, attempt.attempt, attempt.fault, attempt.status) == ("extract", 1, None, 200)
    assert attempt.written and attempt.usage_went_out and attempt.ended_at >= attempt.asked_at


def test_it_answers_under_the_names_it_is_given(ask):
    asker = ask(models=("own/first", "own/second"))
    assert [model["id"] for model in asker.client.get("/models").json()["data"]] == ["own/first", "own/second"]
    names = [asker(model=model).json()["model"] for model in ("own/second", "own/first", "some-model")]
    assert names == ["own/second", "own/first", "own/first"]
    with pytest.raises(ValueError, match="at least one"):
        LlmServer(models=())


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({}, "needs the header x-hazardmill-key"),
        ({OFFLINE_KEY_HEADER: "planted"}, "does not hold one"),
        ({OFFLINE_KEY_HEADER: '{"record_hash": "h", "stage": "evaluate"}'}, "does not answer evaluate prompts"),
    ],
)
def test_the_offline_author_says_what_it_does_not_answer(headers, said):
    with LlmServer() as server:
        asker = Asker(server)
        with asker.client:
            reply = asker(headers=headers)
    assert reply.status_code == 400
    assert said in reply.json()["error"]["message"].lower()
    assert "planted" not in reply.text


def test_the_python_of_the_page_runs(project, capsys):
    page = (project / "docs" / "llm-server.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    exec("\n".join(blocks), {})
    assert capsys.readouterr().out == f"{Totals(0, 0, 0, 0)} 0\n"


# Faults that leave an answer to look at: status, and what is special about it.
def _error(code):
    return lambda reply: reply.json()["error"]["code"] == code


def _choice(reply):
    return reply.json()["choices"][0]


WHOLE = json.loads(JSON_ANSWER)
ANSWERED = {
    "429": (429, lambda r: _error("rate_limit_exceeded")(r) and "retry-after" not in r.headers),
    "429-retry-after:0.5": (429, lambda r: r.headers["retry-after"] == "0.5"),
    "500": (500, _error("server_error")),
    "529": (529, _error("overloaded_error")),
    "slow:0.1": (200, lambda r: json.loads(_choice(r)["message"]["content"]) == WHOLE),
    "half-json": (
        200,
        lambda r: r.content.startswith(b'{"id"') and not r.content.endswith(b"}") and b"us" not in r.content,
    ),
    "html": (200, lambda r: r.headers["content-type"] == "text/html" and r.text.startswith("<!doctype html>")),
    "usage-missing": (200, lambda r: json.loads(_choice(r)["message"]["content"]) == WHOLE and "usage" not in r.json()),
    "empty-choices": (200, lambda r: r.json()["choices"] == [] and r.json()["usage"]["prompt_tokens"] > 0),
    "length": (
        200,
        lambda r: (
            _choice(r)["finish_reason"] == "length"
            and _choice(r)["message"]["content"] == JSON_ANSWER[: len(JSON_ANSWER) // 2]
        ),
    ),
    "refusal": (
        200,
        lambda r: _choice(r)["message"]["content"] is None and "cannot" in _choice(r)["message"]["refusal"],
    ),
    "content-filter": (
        200,
        lambda r: (_choice(r)["message"]["content"], _choice(r)["finish_reason"]) == ("", "content_filter"),
    ),
    "not-json": (200, lambda r: "{" not in _choice(r)["message"]["content"] and _choice(r)["finish_reason"] == "stop"),
    "wrong-language": (
        200,
        lambda r: (
            json.loads(_choice(r)["message"]["content"])
            == {
                "verdict": "needs_revision",
                "issues": [{"criterion": "entity", "problem": "机器人在房间里完成这项工作"}],
            }
        ),
    ),
    "odd-packing": (200, lambda r: r.headers["content-encoding"] == "br"),
    "redirect": (307, lambda r: r.headers["location"].startswith("http://localhost:")),
    "echo": (200, lambda r: all(each in _choice(r)["message"]["content"] for each in (WRITTEN, WRITTEN[::-1]))),
    "echo-error": (400, lambda r: all(each in r.json()["error"]["message"] for each in (WRITTEN, WRITTEN[::-1]))),
}
WRITTEN = "sk-written-3f9c1d7b"
BROKEN = {"stalled", "reset"}
WITHOUT_END = {"endless", "trickle", "bomb"}


def test_every_kind_of_fault_is_shown_here():
    assert {fault.kind for fault in parse_faults(",".join(ANSWERED))} | BROKEN | WITHOUT_END == set(ServerFaultKind)


@pytest.mark.parametrize("fault", ANSWERED)
def test_a_fault_that_leaves_something_to_read(ask, fault):
    status, is_so = ANSWERED[fault]
    asker = ask(faults=ScriptedServerFaults(fault))
    reply, after = (asker(headers={"authorization": f"Bearer {WRITTEN}"}) for _ in range(2))

    assert reply.status_code == status
    assert is_so(reply), reply.text
    assert json.loads(_choice(after)["message"]["content"]) == WHOLE, "the next attempt is answered"
    first, second = asker.server.attempts
    assert (first.identity, first.attempt, second.attempt) == (second.identity, 1, 2)
    assert (first.fault, first.status, second.fault) == (fault, status, None)
    assert first.written is (fault != "half-json")
    usage = reply.json().get("usage") if fault not in ("half-json", "html", "odd-packing", "redirect") else None
    assert first.usage_went_out is (usage is not None)
    if usage:
        assert (usage["prompt_tokens"], usage["completion_tokens"]) == (first.prompt_tokens, first.completion_tokens)
    reached = status == 200 and fault not in ("html", "odd-packing")
    assert (first.prompt_tokens is not None) is reached


@pytest.mark.parametrize(("fault", "least"), [("endless", 10_000_000), ("trickle:0.001", 20), ("bomb", 200_000)])
def test_what_has_no_end_is_sent_until_the_client_hangs_up(ask, fault, least):
    watch = Watch()
    asker = ask(faults=ScriptedServerFaults(fault), on_change=watch)
    body = {"model": "toy", "messages": [{"role": "user", "content": RECORD}]}
    with asker.client.stream("POST", "/chat/completions", json=body) as reply:
        read = 0
        for chunk in reply.iter_raw(20):
            read += len(chunk)
            if read >= least:
                break
    assert reply.status_code == 200
    ended = watch.wait(lambda attempt: not attempt.in_flight)
    assert ended.prompt_tokens is None and not ended.usage_went_out


def test_a_bomb_unpacks_to_half_a_gigabyte_of_blanks():
    packed, unpacker, unpacked = bomb(), zlib.decompressobj(31), 0
    assert len(packed) < 1_000_000
    for begin in range(0, len(packed), 4096):
        piece = unpacker.decompress(packed[begin : begin + 4096])
        assert not piece.strip()
        unpacked += len(piece)
    assert unpacked == 2**29


def test_slow_waits_longer_than_the_latency(ask):
    asker = ask(faults=ScriptedServerFaults("slow:0.1"), latency=0.05)
    asker(), asker()
    slow, other = (attempt.ended_at - attempt.asked_at for attempt in asker.server.attempts)
    assert slow >= 0.149
    assert other >= 0.049


def test_stalled_sends_nothing_until_the_client_hangs_up(ask):
    watch = Watch()
    asker = ask(faults=ScriptedServerFaults("stalled"), on_change=watch)
    with pytest.raises(httpx.ReadTimeout):
        asker(timeout=httpx.Timeout(None, read=0.2))
    ended = watch.wait(lambda attempt: not attempt.in_flight)
    assert (ended.status, ended.written, ended.prompt_tokens) == (None, False, None)
    assert asker().status_code == 200


def test_stalled_for_a_time_ends_in_a_reset(ask):
    asker = ask(faults=ScriptedServerFaults("stalled:0.05"))
    with pytest.raises(httpx.ReadError):
        asker()
    assert asker.server.attempts[0].written is False


def test_reset_comes_in_the_middle_of_the_answer(ask):
    asker = ask(faults=ScriptedServerFaults("reset"))
    with raw(asker.server, chat()) as connection:
        got = b""
        with pytest.raises(ConnectionResetError):
            while True:
                got += connection.recv(65536)
    head, _, body = got.partition(b"\r\n\r\n")
    promised = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    assert head.startswith(b"HTTP/1.1 200")
    assert len(body) == promised // 2
    [attempt] = asker.server.attempts
    assert attempt.completion_tokens > 0, "the model was paid"
    assert not attempt.usage_went_out
    with pytest.raises(httpx.ReadError):
        asker("another")


def raw(server, body):
    where = urlsplit(server.address)
    connection = socket.create_connection((where.hostname, where.port))
    data = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
    connection.sendall(head.encode() + data)
    return connection


def test_an_answer_to_a_client_that_hung_up_is_not_written(ask):
    watch = Watch()
    asker = ask(latency=0.1, on_change=watch)
    raw(asker.server, chat()).close()
    ended = watch.wait(lambda attempt: not attempt.in_flight)
    assert ended.written is False
    assert ended.prompt_tokens > 0
    assert asker.server.totals == Totals(0, 0, 0, 0)


def test_half_a_request_leaves_no_trace(ask):
    asker = ask()
    with raw(asker.server, chat()) as connection:
        assert connection.recv(12) == b"HTTP/1.1 200"
    where = urlsplit(asker.server.address)
    with socket.create_connection((where.hostname, where.port)) as connection:
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert asker().status_code == 200
    assert len(asker.server.attempts) == 2


def test_who_brings_no_key_or_a_wrong_one_is_refused_and_not_quoted(ask, tmp_path):
    asker = ask(api_key="sk-the-right-one", log=tmp_path / "log")
    replies = [
        asker(),
        asker(headers={"Authorization": "Bearer sk-planted-wrong"}),
        asker(headers={"Authorization": "Bearer schlüssel".encode("latin-1")}),
        asker.client.get("/models"),
    ]
    assert [reply.status_code for reply in replies] == [401] * 4
    assert asker(headers={"Authorization": "Bearer sk-the-right-one"}).status_code == 200
    shown = "".join(f"{reply.text}{reply.headers}" for reply in replies)
    shown += (tmp_path / "log").read_text() + repr(asker.server.attempts)
    assert "planted" not in shown and "the-right-one" not in shown and "schl" not in shown
    assert [(attempt.status, attempt.attempt) for attempt in asker.server.attempts] == [(401, None)] * 3 + [(200, 1)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stream": True}, "does not stream"),
        ({"n": 2}, "one choice"),
        ({"model": ""}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0] must have a role"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content must be text"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": "many"}, "max_completion_tokens"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_its_reason(ask, changes, said):
    asker = ask()
    reply = asker(**changes)
    assert reply.status_code == 400
    assert said in reply.json()["error"]["message"]
    [attempt] = asker.server.attempts
    assert (attempt.status, attempt.identity, attempt.attempt, attempt.written) == (400, None, None, True)


HALF_A_SMILE = json.dumps(chat("\ud83d")).encode()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, HALF_A_SMILE])
def test_a_body_that_is_no_request_is_refused(ask, body):
    assert ask().client.post("/chat/completions", content=body).status_code == 400


def test_a_body_that_is_too_large_is_refused(ask):
    asker = ask(max_body=10_000)
    reply = asker("x" * 3_000_000)
    assert (reply.status_code, reply.json()["error"]["code"]) == (413, "too_large")
    assert asker("x" * 100).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/chat/completions", 405), ("POST", "/models", 405), ("HEAD", "/models", 405), ("GET", "/audio", 404)],
)
def test_other_addresses_and_methods_are_refused(ask, method, path, status):
    asker = ask()
    assert asker.client.request(method, path).status_code == status
    assert asker.server.attempts == ()
    assert asker().status_code == 200, "on the same connection"


def test_what_is_no_http_is_refused(ask):
    asker = ask()
    where = urlsplit(asker.server.address)
    with socket.create_connection((where.hostname, where.port)) as connection:
        connection.sendall(b"\x16\x03\x01 good day\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 400"


def test_bodies_in_chunks_and_after_a_question_are_read(ask):
    asker = ask()
    data = json.dumps(chat()).encode()
    assert asker.client.post("/chat/completions", content=iter([data[:50], data[50:]])).status_code == 200
    where = urlsplit(asker.server.address)
    with socket.create_connection((where.hostname, where.port)) as connection:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {len(data)}"
        connection.sendall(f"{head}\r\n\r\n".encode())
        assert connection.recv(64).startswith(b"HTTP/1.1 100")
        connection.sendall(data)
        assert connection.recv(64).startswith(b"HTTP/1.1 200")
    first, second = asker.server.attempts
    assert first.identity == second.identity


def test_the_identity_is_all_that_tells_two_requests_apart(ask):
    asker = ask(lambda asked: asked.identity)
    key = AnswerKey(record_hash="h", stage="author", draft=1)
    same = [{}, {"headers": {"X-Other": "1"}}, {"messages": chat()["messages"]}]
    other = [
        {"model": "another"},
        {"max_tokens": 501},
        {"seed": 1},
        {"messages": chat()["messages"][::-1]},
        {"headers": {OFFLINE_KEY_HEADER: key.model_dump_json()}},
        {"headers": {OFFLINE_KEY_HEADER: key.model_copy(update={"draft": 2}).model_dump_json()}},
    ]
    identities = [_choice(asker(**changes))["message"]["content"] for changes in (*same, *other)]
    assert len(set(identities[: len(same)])) == 1
    assert len(set(identities)) == 1 + len(other)
    assert [attempt.attempt for attempt in asker.server.attempts] == [1, 2, 3] + [1] * len(other)


def test_an_async_function_may_answer(ask):
    async def slowly(asked):
        await asyncio.sleep(0)
        return f"{asked.model} {asked.attempt} {asked.messages[-1].content} {asked.max_tokens} {asked.key}"

    asker = ask(slowly)
    assert _choice(asker("x"))["message"]["content"] == "some-model 1 x 500 None"


def test_a_function_that_fails_is_a_status_and_its_words_stay_here(ask):
    def fails(asked):
        raise KeyError("planted")

    asker = ask(fails, faults=ScriptedServerFaults("reset"))
    reply = asker()
    assert reply.status_code == 500
    assert "planted" not in reply.text
    assert [(a.reason, a.status, a.written, a.prompt_tokens) for a in asker.server.attempts] == [
        ("KeyError", 500, True, None)
    ]


# Many at once


IDENTITIES = [f"question {number}" for number in range(40)]


def faults_met(plan, order, workers):
    """``{(identity, attempt): fault}`` of every question asked until it is answered, four times at most."""
    with LlmServer(lambda asked: "yes", faults=plan) as server:
        asker = Asker(server)

        def until_answered(text):
            for _ in range(4):
                with contextlib.suppress(httpx.TransportError):
                    if asker(text).status_code == 200:
                        return

        with asker.client, ThreadPoolExecutor(workers) as pool:
            list(pool.map(until_answered, order))
        return {(attempt.identity, attempt.attempt): attempt.fault for attempt in server.attempts}


def test_the_faults_do_not_depend_on_who_comes_first():
    kinds = ("429", "500", "reset", "stalled:0", "slow:0.01", "length")
    plan = SeededFaults(7, rate=0.5, kinds=kinds, fatal_rate=0.1)
    alone = faults_met(plan, IDENTITIES, 1)
    crowded = faults_met(plan, random.Random(3).sample(IDENTITIES, len(IDENTITIES)), 16)
    assert crowded == alone
    assert {*filter(None, alone.values())} == set(kinds)
    other = faults_met(SeededFaults(8, rate=0.5, kinds=kinds, fatal_rate=0.1), IDENTITIES, 16)
    assert other != alone


def together(crowd):
    """An answering function that answers nobody before ``crowd`` requests are there."""
    here, full = [], asyncio.Event()

    async def wait(asked):
        here.append(asked)
        if len(here) >= crowd:
            full.set()
        await full.wait()
        return "yes"

    return wait


def test_a_hundred_are_under_way_at_once(ask):
    asker = ask(together(100), latency=0.2)

    async def main():
        limits = httpx.Limits(max_connections=100)
        async with httpx.AsyncClient(base_url=asker.server.address, trust_env=False, limits=limits) as client:
            asked = [client.post("/chat/completions", json=chat(f"question {n}"), timeout=None) for n in range(100)]
            return await asyncio.gather(*asked)

    replies = asyncio.run(main())
    assert {reply.status_code for reply in replies} == {200}
    attempts = asker.server.attempts
    assert len({attempt.identity for attempt in attempts}) == 100
    assert max(attempt.asked_at for attempt in attempts) <= min(attempt.ended_at for attempt in attempts)
    # Two clocks are compared, hence the thousandth of a second.
    assert min(attempt.ended_at - attempt.asked_at for attempt in attempts) >= 0.199


def test_what_has_been_read_has_ended_in_the_journal(ask):
    asker = ask()
    for number in range(200):
        asker(f"question {number}")
        assert not asker.server.attempts[-1].in_flight


# Counting


def test_tokens_are_utf8_bytes_by_four_of_roles_and_texts(ask):
    asker = ask(lambda asked: "ünïcödé")
    usage = asker("Tell me.").json()["usage"]
    assert asker.server.tokenizer == "utf8-bytes/4"
    assert usage["prompt_tokens"] == -(-len("<system>\nBe careful.\n<user>\nTell me.\n") // 4)
    assert usage["completion_tokens"] == -(-len("ünïcödé".encode()) // 4)
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_an_answer_is_no_longer_than_allowed(ask, name):
    asker = ask(lambda asked: "abcdefg€hij")
    [choice] = asker(**{"max_tokens": None, name: 2}).json()["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("abcdefg", "length")
    assert asker.server.attempts[0].completion_tokens == 2
    [choice] = asker(**{"max_tokens": None, name: 4}).json()["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("abcdefg€hij", "stop")


def cached(reply):
    return reply.json()["usage"]["prompt_tokens_details"]["cached_tokens"]


def test_what_was_computed_before_is_cached_in_blocks(ask):
    asker = ask()
    assert cached(asker("x" * 1000)) == 0
    whole = asker("x" * 1000)
    assert cached(whole) == whole.json()["usage"]["prompt_tokens"] // 64 * 64 == 256
    # With the 28 bytes before the user's text, 628 bytes are the same: two blocks of 256.
    assert cached(asker("x" * 600 + "y" * 400)) == 128
    assert cached(asker("x" * 1000, model="another")) == 0
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
    assert cached(asker("x" * 1000, response_format=schema)) == 0, "a schema comes before the messages"
    assert cached(asker("z" * 1000, response_format=schema)) == 0


@pytest.mark.parametrize(
    ("fault", "computes"),
    [("429", False), ("500", False), ("html", False), ("reset", True), ("half-json", True), ("length", True)],
)
def test_only_what_reached_the_model_is_cached(ask, fault, computes):
    asker = ask(faults=ScriptedServerFaults(fault))
    try:
        asker("x" * 1000)
    except httpx.ReadError:
        assert fault == "reset"
    assert cached(asker("x" * 1000)) == (256 if computes else 0)


def test_a_crowd_that_comes_together_finds_nothing_cached(ask):
    asker = ask(together(4))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: cached(asker("x" * 1000 + str(n))), range(4)))
    assert found == [0, 0, 0, 0]
    assert cached(asker("x" * 1000 + "4")) == 256


@pytest.mark.parametrize(
    ("dialect", "fields"),
    [
        ("openai", {"prompt_tokens_details": {"cached_tokens": 256}}),
        ("deepseek", {"prompt_cache_hit_tokens": 256, "prompt_cache_miss_tokens": 2}),
        ("anthropic", {"cache_read_input_tokens": 256, "cache_creation_input_tokens": 0}),
        ("none", {}),
    ],
)
def test_three_dialects_and_none_tell_of_it(ask, dialect, fields):
    asker = ask(lambda asked: "yes", dialect=dialect)
    asker("x" * 1000)
    usage = asker("x" * 1000).json()["usage"]
    assert usage == {"prompt_tokens": 258, "completion_tokens": 1, "total_tokens": 259} | fields
    assert asker.server.totals == Totals(attempts=2, prompt_tokens=516, cached_tokens=256, completion_tokens=2)


def test_the_sums_are_over_what_clients_were_told(ask):
    asker = ask(faults=ScriptedServerFaults("429", "reset", "usage-missing", "half-json", "refusal", "empty-choices"))
    told = []
    for _ in range(7):
        try:
            reply = asker("x" * 1000)
            told.append(reply.json().get("usage"))
        except (httpx.ReadError, ValueError):
            continue
    told = [usage for usage in told if usage]
    assert len(told) == 3
    assert asker.server.totals == Totals(
        attempts=3,
        prompt_tokens=sum(usage["prompt_tokens"] for usage in told),
        cached_tokens=sum(usage["prompt_tokens_details"]["cached_tokens"] for usage in told),
        completion_tokens=sum(usage["completion_tokens"] for usage in told),
    )
    assert len(asker.server.attempts) == 7


# The journal


def test_the_log_holds_each_attempt_from_its_arrival_on(ask, tmp_path):
    log = tmp_path / "log"
    watch = Watch()
    asker = ask(faults=ScriptedServerFaults(None, "stalled"), log=log, on_change=watch)
    asker("planted text")
    with raw(asker.server, chat("planted text")):
        watch.wait(lambda attempt: attempt.attempt == 2)
        assert [(a.attempt, a.in_flight, a.written) for a in read_journal(log)] == [(1, False, True), (2, True, None)]
    watch.wait(lambda attempt: attempt.attempt == 2 and not attempt.in_flight)
    assert read_journal(log) == asker.server.attempts
    assert "planted" not in log.read_text()


def test_a_log_is_gone_on_with(tmp_path):
    log = tmp_path / "log"
    for times in (1, 2):
        with LlmServer(lambda asked: "yes", faults=ScriptedServerFaults("500"), log=log) as server:
            asker = Asker(server)
            with asker.client:
                assert asker().status_code == (500 if times == 1 else 200)
    assert [(a.number, a.attempt, a.fault) for a in server.attempts] == [(1, 1, "500"), (2, 2, None)]
    assert read_journal(log) == server.attempts


def test_a_log_has_one_writer_and_is_a_log(ask, tmp_path):
    log = tmp_path / "log"
    ask(log=log)
    with pytest.raises(StoreLocked, match="another server"), LlmServer(log=log):
        pass
    (tmp_path / "notes").write_text('{"number": 3}\n')
    with pytest.raises(InputError, match=r"notes:1: this line does not belong"), LlmServer(log=tmp_path / "notes"):
        pass


def test_requests_under_way_at_the_end_are_cut_off_and_written_down():
    watch = Watch()
    with LlmServer(lambda asked: "yes", latency=60, on_change=watch) as server:
        connection = raw(server, chat())
        watch.wait(lambda attempt: attempt.status == 200)
    with connection, pytest.raises(ConnectionResetError):
        connection.recv(1)
    [attempt] = server.attempts
    assert attempt.written is False and not attempt.in_flight


def test_a_server_says_where_it_is_while_it_runs():
    server = LlmServer()
    with pytest.raises(RuntimeError, match="not running"):
        server.address  # noqa: B018  # asked for what it raises
    with server:
        port = urlsplit(server.address).port
        second = LlmServer(port=port)
        with pytest.raises(OSError, match="in use"), second:
            pass
        assert second.attempts == ()
        with pytest.raises(RuntimeError, match="already running"):
            server.__enter__()
    with server:
        assert server.address.startswith("http://127.0.0.1:")


def test_recoverable_fatal_and_hostile_are_all_kinds():
    assert sorted([*RECOVERABLE, *FATAL, *HOSTILE]) == sorted(ServerFaultKind), "each once"
