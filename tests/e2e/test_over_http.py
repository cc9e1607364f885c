"""A model behind an OpenAI-compatible address: here the offline author, over real HTTP and litellm."""

from __future__ import annotations

import json

import pytest

from e2e.over_http import KEY, hazardmill, where_it_is
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import LlmServer

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]


@pytest.fixture
def server():
    with LlmServer(api_key=KEY) as server:
        yield server


def test_a_model_over_http_gives_the_same_tasks_and_is_labelled(server, project, tmp_path):
    sample = project / "sources" / "bddl" / "sample"
    words = ["run", "generate", "--source", "bddl", "--input", sample, "--json", "--run-id", "r"]
    offline = hazardmill(*words, "--model", OFFLINE_MODEL, "--store", tmp_path / "offline")
    asked = ["--model", "openai/some-model", "--api-base", server.address]
    live = hazardmill(*words, "--store", tmp_path / "live", *asked, OPENAI_API_KEY=KEY)

    assert live.returncode == offline.returncode == 0, live.stderr
    stores = Store(tmp_path / "live"), Store(tmp_path / "offline")
    ours, theirs = ({row["document_hash"] for row in store.rows("tasks")} for store in stores)
    assert ours == theirs and ours
    calls = stores[0].rows("llm_calls")
    assert len(calls) == len(server.attempts) == stores[1].count("llm_calls")
    assert {(row["model_asked"], row["model_answered"], row["host"]) for row in calls} == {
        ("openai/some-model", OFFLINE_MODEL, "127.0.0.1")
    }
    assert sum(row["prompt_tokens"] for row in calls) == server.totals.prompt_tokens
    # A model without a price costs nothing at an address on this machine.
    assert {row["usd"] for row in calls} == {0.0}
    assert json.loads(live.stdout)["cost"]["usd_per_task"] == 0.0


def test_a_refused_key_stops_the_run_resumably_and_is_written_nowhere(server, project, tmp_path):
    sample = project / "sources" / "bddl" / "sample"
    server.api_key = "another"
    words = ["--source", "bddl", "--input", sample, "--run-id", "r", "--store", tmp_path / "store"]
    asked = ["--model", "openai/some-model", "--api-base", server.address]
    refused = hazardmill("run", "generate", *words, *asked, OPENAI_API_KEY=KEY)

    assert refused.returncode == 5
    assert "hazardmill run resume r" in refused.stderr
    assert {attempt.status for attempt in server.attempts} == {401}
    assert where_it_is(KEY, tmp_path, {"output": refused.stdout, "errors": refused.stderr}) == []

    server.api_key = KEY
    resumed = hazardmill("run", "resume", "r", "--store", tmp_path / "store", "--json", OPENAI_API_KEY=KEY)

    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["funnel"]["total"]["pending"] == 0
