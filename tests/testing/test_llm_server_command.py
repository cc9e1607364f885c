"""The server as a command: started, asked, ended and killed as a process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading

import httpx
import pytest

from hazardmill.llm.backends.litellm import OFFLINE_KEY_HEADER
from hazardmill.llm.requests import AnswerKey
from hazardmill.testing.llm_server import LlmServer, ServerFaultKind, read_journal
from hazardmill.testing.llm_server.tokens import Dialect

pytestmark = pytest.mark.full

KEY = {OFFLINE_KEY_HEADER: AnswerKey(record_hash="h", stage="extract").model_dump_json()}
BODY = {"model": "m", "messages": [{"role": "user", "content": '<record source="t" id="t:1">\nWhat: x\n</record>'}]}
COMMAND = [sys.executable, "-m", "hazardmill.testing.llm_server"]


@contextlib.contextmanager
def running(*words, **environment):
    """``(process, address)`` of a server; killed at the end if it still runs."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def ask(address, **headers):
    return httpx.post(f"{address}/chat/completions", json=BODY, headers=KEY | headers, timeout=None, trust_env=False)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_is_answers_and_ends_when_it_is_told(tmp_path, end):
    log = tmp_path / "log"
    words = ["--script", "429", "--dialect", "deepseek", "--log", log, "--key-env", "PLANTED", "--latency", 0.01]
    with running(*words, PLANTED="sk-planted") as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", address)
        replies = [ask(address, Authorization="Bearer sk-planted") for _ in range(2)] + [ask(address)]
        process.send_signal(end)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (0, "", "")
    assert [reply.status_code for reply in replies] == [429, 200, 401]
    assert json.loads(replies[1].json()["choices"][0]["message"]["content"])
    assert replies[1].json()["usage"]["prompt_cache_hit_tokens"] == 0
    assert [(a.status, a.attempt, a.written) for a in read_journal(log)] == [
        (429, 1, True),
        (200, 2, True),
        (401, None, True),
    ]
    assert "planted" not in log.read_text()


def test_a_killed_server_has_lost_nothing_and_counts_on(tmp_path):
    log = tmp_path / "log"
    with running("--script", "ok,stalled", "--log", log) as (process, address):
        assert ask(address).status_code == 200

        def hang():
            with pytest.raises(httpx.TransportError):
                ask(address)

        hanging = threading.Thread(target=hang)
        hanging.start()
        while len(read_journal(log)) < 2:
            # It has not arrived yet; the test's own timeout ends this if it never does.
            os.sched_yield()
        process.kill()
        process.wait()
        hanging.join()
    first, second = read_journal(log)
    assert (first.written, first.in_flight) == (True, False)
    assert (second.attempt, second.written, second.in_flight) == (2, None, True)
    with running("--script", "ok,stalled", "--log", log) as (process, address):
        assert ask(address).status_code == 200
    assert [(a.number, a.attempt) for a in read_journal(log)] == [(1, 1), (2, 2), (3, 3)]


def test_a_killed_client_is_written_down_as_one_that_got_no_answer():
    changed = threading.Condition()
    seen = []

    def note(attempt):
        with changed:
            seen.append(attempt)
            changed.notify_all()

    code = f"import httpx, sys; httpx.post(sys.argv[1], json={BODY!r}, timeout=None)"
    killed = threading.Event()

    async def answer_the_dead(asked):
        await asyncio.to_thread(killed.wait)
        return "yes"

    with LlmServer(answer_the_dead, on_change=note) as server:
        client = subprocess.Popen([sys.executable, "-c", code, f"{server.address}/chat/completions"])
        with changed:
            assert changed.wait_for(lambda: seen)
            client.kill()
            client.wait()
            killed.set()
            assert changed.wait_for(lambda: not seen[-1].in_flight)
    assert [(attempt.status, attempt.written) for attempt in server.attempts] == [(200, False)]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--faults", "502"], 2, "no such fault: '502'"),
        (["--faults", "429", "--script", "429"], 2, "not both"),
        (["--faults", "429", "--fatal-rate", "0.5"], 2, "no kind of fault is given"),
        (["--key-env", "NOT_SET_ANYWHERE"], 2, "NOT_SET_ANYWHERE is not set"),
        (["--latency", "-1"], 2, "--latency"),
        (["--log", "no/such/folder/log"], 1, "no/such/folder/log"),
        (["--log", "notes"], 3, "notes:1: this line does not belong"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_listens(words, status, said, tmp_path):
    (tmp_path / "notes").write_text("good day\n")
    shown = subprocess.run([*COMMAND, *words], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (shown.returncode, shown.stdout) == (status, "")
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr


def test_the_page_tells_of_every_fault_dialect_and_option(project):
    page = (project / "docs" / "llm-server.md").read_text(encoding="utf-8")
    shown = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
    for word in (*ServerFaultKind, *Dialect):
        assert f"`{word}`" in page
    for option in set(re.findall(r"--[a-z-]+", shown)) - {
        "--help",
        "--dialect",
        "--latency",
        "--tokenizer",
        "--max-body",
    }:
        assert option in page


def test_it_serves_batches_with_their_faults():
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": BODY}
    line["hazardmill_key"] = json.loads(KEY[OFFLINE_KEY_HEADER])
    asked = {"endpoint": "/v1/chat/completions", "completion_window": "24h"}
    words = ["--batch-faults", "create-lost", "--batch-rate", 1, "--most", 1, "--batch-seconds", 0.01]
    with running(*words) as (_, address), httpx.Client(base_url=address, timeout=None, trust_env=False) as client:
        file = client.post("/files", files={"file": json.dumps(line).encode()}, data={"purpose": "batch"}).json()
        made = [client.post("/batches", json=asked | {"input_file_id": file["id"]}).status_code for _ in range(2)]
        [second, first] = client.get("/batches").json()["data"]
        while client.get(f"/batches/{first['id']}").json()["status"] != "completed":
            os.sched_yield()
    assert (made, second["id"] > first["id"]) == ([500, 200], True)
    wrong = subprocess.run([*COMMAND, "--batch-faults", "x"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, "no such fault: 'x'" in wrong.stderr) == (2, True)
