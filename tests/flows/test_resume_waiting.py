"""Runs that wait for a batch are taken up by a flow, until nothing waits any more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from release.small_release import bowl, task_row, write_release

from flows.evaluate import evaluate
from flows.generate import generate
from flows.resume_waiting import resume_waiting
from hazardmill.runs.run import Run
from hazardmill.runs.status import latest_states
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import LlmServer
from tests.running import worked

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

MODEL = "openai/gpt-4o-mini"


def states(store: Store) -> dict[str, str]:
    return {row["kind"]: row["state"] for row in latest_states(store)}


def test_waiting_runs_are_taken_up_to_their_end(
    prefect_server: None, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    sample = project / "sources" / "neiss" / "sample" / "sample.tsv"
    release = write_release(
        tmp_path / "shelves", {"tasks": {"test": [task_row(bowl("shelf"), safe_length=2, unsafe_length=1)]}}
    )
    place = tmp_path / "store"
    with LlmServer(batch_seconds=None) as server:
        asked = {"model": MODEL, "api_base": server.address, "batch": True, "store": place}
        state = asyncio.run(generate("neiss", sample, limit=3, run_id="r", **asked, return_state=True))
        assert (state.name, state.type.value) == ("Waiting", "COMPLETED")
        assert "waiting for batch batch_000001 at http://127.0.0.1" in state.message
        assert "run resume r --store" in state.message and "(0 of 3 requests are answered, " in state.message
        store = Store.open(place)
        assert states(store) == {"generate": "waiting"}

        # Nobody has answered: a look, and nothing is sent.
        before = len(server.batch_calls)
        looked = asyncio.run(resume_waiting(place, return_state=True))
        assert looked.message == "r: Waiting"
        assert {call.step for call in server.batch_calls[before:]} == {"status"}

        for _ in range(20):
            server.finish_batches()
            looked = asyncio.run(resume_waiting(place, return_state=True))
            if looked.message == "r: Completed":
                break
        assert looked.message == "r: Completed" and states(store) == {"generate": "completed"}
        assert len(server.attempts) == store.count("llm_calls", {"answered": True})
        single = Store.open(tmp_path / "single", create=True)
        config = Run.load(store, "r").config.model_copy(update={"batch": False})
        run, _ = Run.start(single, config, "r")
        worked(run)
        assert store.digest() == single.digest()
    assert asyncio.run(resume_waiting(place, return_state=True)).message == "no run waits"

    # Answered at the first look, so that a wave passes by its stages several times in one flow run.
    with LlmServer() as server:
        asked |= {"api_base": server.address, "sample": 1}
        state = asyncio.run(generate("neiss", sample, limit=3, run_id="quick", **asked, return_state=True))
        assert state.name == "Completed" and state.message.startswith("Run quick: 3 accepted of 3 records")

    with LlmServer(lambda chat: "```\n(carry kitchen shelf)\n```", batch_seconds=None) as server:
        asked = {"api_base": server.address, "batch": True, "store": place, "out": tmp_path / "out"}
        state = asyncio.run(evaluate(str(release), MODEL, **asked, return_state=True))
        assert state.name == "Waiting" and states(store)["evaluate"] == "waiting"
        server.finish_batches()
        looked = asyncio.run(resume_waiting(place, return_state=True))
        assert looked.message.endswith(": Completed") and states(store)["evaluate"] == "completed"
        assert (tmp_path / "out" / "summary.json").is_file()
