"""A model behind an OpenAI-compatible address: here the offline author, over real HTTP and litellm."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hazardmill.llm.backends.litellm import OFFLINE_KEY_HEADER
from hazardmill.llm.backends.offline import answer
from hazardmill.llm.requests import OFFLINE_MODEL, Message, OfflineKey
from hazardmill.store.store import Store

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

KEY = "sk-planted-5b1e-never-to-be-seen"


class Handler(BaseHTTPRequestHandler):
    """Answers chat completions; refuses who does not bring the key."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen += 1
        if self.headers["Authorization"] != f"Bearer {self.server.key}":
            return self._send(401, {"error": {"message": f"wrong key {self.headers['Authorization']}", "code": 401}})
        key = OfflineKey.model_validate_json(self.headers[OFFLINE_KEY_HEADER])
        text = answer([Message(role=m["role"], content=m["content"]) for m in body["messages"]], key)
        return self._send(
            200,
            {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": OFFLINE_MODEL,
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
            },
        )

    def _send(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Keep quiet."""


@pytest.fixture
def server():
    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.seen, served.key = 0, KEY
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()
    thread.join()


def hazardmill(*words, key=KEY):
    return subprocess.run(
        [sys.executable, "-m", "hazardmill.cli", *map(str, words)],
        env={"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_model_over_http_gives_the_same_tasks_and_is_labelled(server, project, tmp_path):
    sample = project / "sources" / "bddl" / "sample"
    words = ["run", "generate", "--source", "bddl", "--input", sample, "--json", "--run-id", "r"]
    offline = hazardmill(*words, "--store", tmp_path / "offline")
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    live = hazardmill(*words, "--store", tmp_path / "live", "--model", "openai/some-model", "--api-base", address)

    assert live.returncode == offline.returncode == 0, live.stderr
    stores = Store(tmp_path / "live"), Store(tmp_path / "offline")
    ours, theirs = ({row["document_hash"] for row in store.rows("tasks")} for store in stores)
    assert ours == theirs and ours
    calls = stores[0].rows("llm_calls")
    assert len(calls) == server.seen == stores[1].count("llm_calls")
    assert {(row["model_asked"], row["model_answered"], row["host"]) for row in calls} == {
        ("openai/some-model", OFFLINE_MODEL, "127.0.0.1")
    }
    # A model without a price costs an unknown sum, not nothing.
    assert {row["usd"] for row in calls} == {None}
    assert json.loads(live.stdout)["cost"]["usd_per_task"] is None


def test_a_refused_key_stops_the_run_resumably_and_is_written_nowhere(server, project, tmp_path):
    sample = project / "sources" / "bddl" / "sample"
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.key = "another"
    words = ["--source", "bddl", "--input", sample, "--run-id", "r", "--store", tmp_path / "store"]
    refused = hazardmill("run", "generate", *words, "--model", "openai/some-model", "--api-base", address)

    assert refused.returncode == 5
    assert "hazardmill run resume r" in refused.stderr
    everything = [refused.stdout, refused.stderr]
    everything += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(KEY in text for text in everything)

    server.key = KEY
    resumed = hazardmill("run", "resume", "r", "--store", tmp_path / "store", "--json")

    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["funnel"]["total"]["pending"] == 0
