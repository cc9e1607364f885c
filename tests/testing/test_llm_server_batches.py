"""Files and batches over real HTTP, asked by a client that hides nothing: states, faults, refusals, counting."""

from __future__ import annotations

import json

import httpx
import pytest

from hazardmill.llm.requests import AnswerKey, Message
from hazardmill.testing.llm_server import (
    BatchCall,
    BatchFaultKind,
    BatchStep,
    LlmServer,
    ScriptedBatchFaults,
    ScriptedServerFaults,
    SeededBatchFaults,
    parse_batch_faults,
    read_journal,
)
from hazardmill.testing.offline_author import answer

RECORD = '<record source="toy" id="toy:1">\nWhat: made hot soup\nWho: a child\n</record>'
ENDPOINT = "/v1/chat/completions"


def line(custom_id: str, text: str = "", **more):
    messages = [{"role": "system", "content": "Be careful."}, {"role": "user", "content": text or custom_id}]
    body = {"model": "offline-author", "messages": messages}
    return {"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": body} | more


class BatchAsker:
    """Asks one server about files and batches."""

    def __init__(self, server: LlmServer, **headers: str) -> None:
        self.server = server
        self.http = httpx.Client(base_url=server.address, trust_env=False, verify=False, timeout=None, headers=headers)

    def upload(self, *lines, raw: bytes | None = None) -> httpx.Response:
        content = b"".join(json.dumps(each).encode() + b"\n" for each in lines) if raw is None else raw
        return self.http.post("/files", files={"file": ("wave.jsonl", content)}, data={"purpose": "batch"})

    def create(self, *lines, raw: bytes | None = None, **more) -> httpx.Response:
        asked = {"input_file_id": self.upload(*lines, raw=raw).json()["id"], "endpoint": ENDPOINT}
        return self.http.post("/batches", json=asked | {"completion_window": "24h"} | more)

    def status(self, batch_id: str) -> dict:
        return self.http.get(f"/batches/{batch_id}").json()

    def run(self, *lines, **more) -> tuple[dict, list[dict], list[dict]]:
        """What became of a batch: its last status, its answers, its errors."""
        batch = self.status(self.create(*lines, **more).json()["id"])
        return batch, self.lines(batch["output_file_id"]), self.lines(batch["error_file_id"])

    def content(self, file_id: str) -> httpx.Response:
        return self.http.get(f"/files/{file_id}/content")

    def lines(self, file_id: str | None) -> list[dict]:
        return [] if file_id is None else [json.loads(each) for each in self.content(file_id).text.splitlines()]


@pytest.fixture
def asker():
    """Makes a server and gives something that asks it about batches."""
    opened = []

    def make(answer=lambda asked: f"you said {asked.messages[-1].content}", **settings) -> BatchAsker:
        made = BatchAsker(LlmServer(answer, **settings).__enter__())
        opened.append(made)
        return made

    yield make
    for each in opened:
        each.http.close()
        each.server.__exit__(None, None, None)


def said(result: dict) -> str:
    return result["response"]["body"]["choices"][0]["message"]["content"]


def test_a_file_comes_back_as_it_was_sent(asker):
    ask = asker()
    raw = b'{"a": 1}\r\n\r\n--not the boundary\n\xff\x00'
    file = ask.upload(raw=raw).json()
    assert (file["object"], file["purpose"], file["filename"], file["bytes"]) == (
        "file",
        "batch",
        "wave.jsonl",
        len(raw),
    )
    assert ask.content(file["id"]).content == raw
    assert ask.http.get(f"/files/{file['id']}").json() == file
    assert ask.http.get("/files").json()["data"] == [file]
    assert ask.http.delete(f"/files/{file['id']}").json()["deleted"] is True
    assert ask.content(file["id"]).status_code == 404


def test_a_batch_is_answered_line_by_line_and_each_line_is_an_attempt(asker, tmp_path):
    ask = asker(log=tmp_path / "log")
    metadata = {"hazardmill_batch": "wave-1", "more": "ü"}
    made = ask.create(line("a"), line("b"), metadata=metadata).json()
    assert (made["status"], made["metadata"], made["object"]) == ("validating", metadata, "batch")
    assert ask.server.attempts == (), "nothing is paid for before it runs"

    batch = ask.status(made["id"])
    assert (batch["status"], batch["metadata"], batch["error_file_id"]) == ("completed", metadata, None)
    assert batch["request_counts"] == {"total": 2, "completed": 2, "failed": 0}
    results = ask.lines(batch["output_file_id"])
    assert {each["custom_id"]: said(each) for each in results} == {"a": "you said a", "b": "you said b"}
    assert [each["response"]["status_code"] for each in results] == [200, 200]
    assert [(each.batch, each.status, each.usage_went_out) for each in ask.server.attempts] == [
        (made["id"], 200, True)
    ] * 2
    usage = [each["response"]["body"]["usage"]["prompt_tokens"] for each in results]
    assert ask.server.totals.prompt_tokens == sum(usage) > 0
    assert read_journal(tmp_path / "log") == ask.server.attempts
    ask.status(made["id"])
    assert len(ask.server.attempts) == 2, "it runs once"


def test_the_offline_author_reads_its_key_from_the_line():
    key = AnswerKey(record_hash="h", stage="extract")
    with LlmServer() as server:
        ask = BatchAsker(server)
        with ask.http:
            with_key = line("a", RECORD, hazardmill_key=key.model_dump(mode="json"))
            _, answers, errors = ask.run(with_key, line("b", RECORD))
    messages = [Message(role="system", content="Be careful."), Message(role="user", content=RECORD)]
    assert [(each["custom_id"], said(each)) for each in answers] == [("a", answer(messages, key))]
    assert [(each["custom_id"], each["response"]["status_code"]) for each in errors] == [("b", 400)]
    assert [each.stage for each in server.attempts] == ["extract", None]


def test_a_batch_that_waits_is_ended_by_hand(asker):
    ask = asker(batch_seconds=None)
    first, second = (ask.create(line(each)).json()["id"] for each in "ab")
    assert ask.status(first)["status"] == "validating"
    ask.server.finish_batches()
    assert [ask.status(each)["status"] for each in (first, second)] == ["completed"] * 2


def test_a_batch_takes_its_seconds(asker):
    ask = asker(batch_seconds=0.01)
    made = ask.create(line("a")).json()["id"]
    while (batch := ask.status(made))["status"] != "completed":
        assert batch["status"] in ("validating", "in_progress")
    assert len(ask.lines(batch["output_file_id"])) == 1
    ask = asker(batch_seconds=86_400)
    assert ask.status(ask.create(line("a")).json()["id"])["status"] == "validating"


def test_a_client_cancels(asker):
    ask = asker(batch_seconds=None)
    made = ask.create(line("a")).json()["id"]
    assert ask.http.post(f"/batches/{made}/cancel").json()["status"] == "cancelling"
    batch = ask.status(made)
    assert batch["status"] == "cancelled"
    assert [each["error"]["code"] for each in ask.lines(batch["error_file_id"])] == ["batch_cancelled"]
    assert ask.http.post(f"/batches/{made}/cancel").status_code == 409
    assert ask.server.attempts == ()


def test_batches_are_listed_by_page_newest_first(asker):
    ask = asker(batch_seconds=None)
    made = [ask.create(line(str(each))).json()["id"] for each in range(5)]
    seen, after, pages = [], None, 0
    while True:
        page = ask.http.get("/batches", params={"limit": 2} | ({"after": after} if after else {})).json()
        seen += [each["id"] for each in page["data"]]
        pages, after = pages + 1, page["last_id"]
        if not page["has_more"]:
            break
    assert (seen, pages) == (made[::-1], 3)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((line("a"), line("a")), "same custom_id"),
        ((line("a"), line("b", body={"model": "other"})), "different models"),
        ((line("a", url="/v1/embeddings"),), "line 1 is not a request"),
        ((line("a"), []), "line 2 is not a request"),
        ((), "empty"),
    ],
)
def test_a_batch_that_is_wrong_fails_its_check(asker, lines, message):
    batch, answers, errors = asker().run(*lines)
    assert (batch["status"], answers, errors) == ("failed", [], [])
    assert message in batch["errors"]["data"][0]["message"]


def test_what_is_refused(asker):
    ask = asker(max_batch_lines=2, max_batch_bytes=1000)
    assert ask.create(*map(line, "abc")).json()["error"]["code"] == "too_many_lines"
    refused = ask.upload(raw=b"x" * 1001)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "file_too_large")
    assert ask.http.post("/files", content=b"x").status_code == 400
    form = {"content-type": "multipart/form-data; boundary=b"}
    assert ask.http.post("/files", content=b"--b\r\nx\r\n--b--", headers=form).status_code == 400
    assert ask.http.post("/batches", json={"input_file_id": "file-9"}).status_code == 404
    assert ask.http.post("/batches", json=[]).status_code == 400
    wrong = {"input_file_id": ask.upload(line("a")).json()["id"], "endpoint": "/v1/embeddings"}
    assert ask.http.post("/batches", json=wrong | {"completion_window": "24h"}).status_code == 400
    assert ask.http.get("/batches/batch_000009").status_code == 404
    assert ask.http.delete("/batches/batch_000009").status_code == 405


def test_without_the_key_nothing_is_told_or_done(asker):
    ask = asker(api_key="sk-right")
    assert ask.upload(line("a")).status_code == 401
    assert ask.http.get("/batches").status_code == 401
    ask.http.headers["authorization"] = "Bearer sk-right"
    assert ask.run(line("a"))[0]["status"] == "completed"


def test_faults_of_calls(asker):
    ask = asker(
        batch_faults=ScriptedBatchFaults(
            "upload-500", "create-500", "create-lost", "status-500", "content-500", "content-cut"
        )
    )
    assert ask.upload(line("a")).status_code == 500
    asked = {"input_file_id": ask.upload(line("a")).json()["id"], "endpoint": ENDPOINT, "completion_window": "24h"}
    asked["metadata"] = {"hazardmill_batch": "wave"}

    def listed() -> list[dict]:
        return ask.http.get("/batches").json()["data"]

    assert (ask.http.post("/batches", json=asked).status_code, listed()) == (500, [])
    assert ask.http.post("/batches", json=asked).status_code == 500
    [lost] = listed()
    assert lost["metadata"] == {"hazardmill_batch": "wave"}
    assert ask.http.get(f"/batches/{lost['id']}").status_code == 500
    batch = ask.status(lost["id"])
    assert ask.content(batch["output_file_id"]).status_code == 500
    half, whole = (ask.content(batch["output_file_id"]).content for _ in range(2))
    assert half == whole[: len(whole) // 2]
    assert [(call.step, call.attempt) for call in ask.server.batch_calls if call.batch == "wave"] == [
        ("create", 1),
        ("create", 2),
        ("status", 1),
        ("status", 2),
        ("content", 1),
        ("content", 2),
        ("content", 3),
    ]


def test_any_call_can_be_limited(asker):
    ask = asker(
        batch_faults=lambda call: BatchFaultKind.RATE_LIMITED if call.attempt == 1 else None, batch_seconds=None
    )
    seen = [ask.upload(line("a")).status_code]
    made = [ask.create(line("a")) for _ in range(2)]
    batch_id = made[1].json()["id"]
    seen += [each.status_code for each in made]
    for method, path in (("GET", ""), ("GET", f"/{batch_id}"), ("POST", f"/{batch_id}/cancel")):
        seen += [ask.http.request(method, f"/batches{path}").status_code for _ in range(2)]
    assert seen == [429, 429, 200, 429, 200, 429, 200, 429, 200]


@pytest.mark.parametrize(
    ("kind", "status", "answered", "error"),
    [("expired", "expired", ["a", "b"], "batch_expired"), ("cancelled", "cancelled", ["a", "b"], "batch_cancelled")],
)
def test_half_a_batch_is_answered_and_paid_for(asker, kind, status, answered, error):
    ask = asker(batch_faults=ScriptedBatchFaults(kind))
    batch, answers, errors = ask.run(*map(line, "abc"))
    assert batch["status"] == status
    assert [each["custom_id"] for each in answers] == answered
    assert [(each["custom_id"], each["response"], each["error"]["code"]) for each in errors] == [("c", None, error)]
    assert len(ask.server.attempts) == 2
    assert ask.run(*map(line, "ac"))[0]["status"] == "completed", "the second attempt at these lines"


def test_a_batch_fails_or_comes_in_another_order(asker):
    ask = asker(batch_faults=ScriptedBatchFaults("invalid", "unordered"))
    failed = ask.run(*map(line, "abc"))
    assert (failed[0]["status"], failed[1:]) == ("failed", ([], []))
    assert failed[0]["errors"]["data"][0]["message"]
    assert ask.server.attempts == ()
    assert [each["custom_id"] for each in ask.run(*map(line, "abc"))[1]] == ["c", "b", "a"]


def test_faults_of_lines(asker):
    kinds = {kind.value: kind for kind in BatchFaultKind if BatchStep.LINE in kind.steps}

    def plan(call: BatchCall) -> BatchFaultKind | None:
        return kinds.get(call.custom_id or "") if call.model == "offline-author" else None

    ask = asker(batch_faults=plan)
    made = ask.create(*map(line, [*kinds, "well"])).json()["id"]
    batch = ask.status(made)
    texts = ask.content(batch["output_file_id"]).content.splitlines()
    [cut] = [text for text in texts if not text.endswith(b"}")]
    assert b"line-cut" in cut
    answers = [json.loads(text) for text in texts if text is not cut]
    assert [each["custom_id"] for each in answers] == ["line-doubled"] * 2 + ["nobody", "line-other-model", "well"]
    assert {each["custom_id"]: each["response"]["body"]["model"] for each in answers} == {
        "line-doubled": "offline-author",
        "nobody": "offline-author",
        "line-other-model": "another-model",
        "well": "offline-author",
    }
    errors = ask.lines(batch["error_file_id"])
    assert {each["custom_id"]: each["response"]["status_code"] for each in errors} == {
        "line-429": 429,
        "line-500": 500,
        "line-400": 400,
    }
    assert all(each["response"]["body"]["error"]["message"] for each in errors)
    assert batch["request_counts"] == {"total": 9, "completed": 6, "failed": 3}
    seen = {each.fault: (each.status, each.usage_went_out) for each in ask.server.attempts}
    assert seen == {
        "line-429": (429, False),
        "line-500": (500, False),
        "line-400": (400, False),
        "line-missing": (200, False),
        "line-cut": (200, False),
        "line-doubled": (200, True),
        "line-unknown": (200, True),
        "line-other-model": (200, True),
        None: (200, True),
    }


def test_lines_meet_the_faults_of_single_requests_that_a_file_can_hold(asker):
    ask = asker(faults=ScriptedServerFaults("stalled", "529", "length"))
    ends = []
    for _ in range(3):
        _, answers, errors = ask.run(line("a"))
        ends.append(
            [each["response"]["body"].get("choices", [{}])[0].get("finish_reason") for each in answers + errors]
        )
    assert ends == [["stop"], [None], ["length"]]
    assert [each.status for each in ask.server.attempts] == [200, 529, 200]


def test_seeded_faults_depend_on_nothing_else():
    calls = [BatchCall(BatchStep.LINE, "x", 1, 1, f"line-{each}", "m") for each in range(200)]
    plan = SeededBatchFaults(1, rate=0.5)
    drawn = [plan(call) for call in calls]
    assert drawn == [SeededBatchFaults(1, rate=0.5)(call) for call in calls]
    assert drawn != [SeededBatchFaults(2, rate=0.5)(call) for call in calls]
    assert 60 < sum(fault is not None for fault in drawn) < 140
    assert {fault for fault in drawn if fault} == {kind for kind in BatchFaultKind if BatchStep.LINE in kind.steps}
    assert plan(BatchCall(BatchStep.LINE, "x", 4, 1, "line-1", "m")) is None
    assert SeededBatchFaults(rate=1, kinds=["429"])(calls[0]) is None, "it does not apply to lines"
    with pytest.raises(ValueError, match="between 0 and 1"):
        SeededBatchFaults(rate=2)


def test_faults_are_written_as_words():
    assert parse_batch_faults("create-lost, line-500") == (BatchFaultKind.CREATE_LOST, BatchFaultKind.LINE_ERROR)
    assert parse_batch_faults("all") == tuple(BatchFaultKind)
    with pytest.raises(ValueError, match="no such fault: 'x'; name all, or one of 429, "):
        parse_batch_faults("x")
    assert all(kind.steps for kind in BatchFaultKind)
