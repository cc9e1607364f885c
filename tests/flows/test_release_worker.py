"""A release on a real Prefect server and worker: killed while it waits, failed at the hub, and approved in the end."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from e2e.prefect_server import served, until
from factories.release_store import by_model, rewritten, run_offline

from hazardmill.testing.hub_server import Account, HubServer, ScriptedHubFaults
from tests.prefect_database import empty_database

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

REPO = "acme/hazards"
TOKEN = "hf_planted-" + "zz9c4"
OPTIONS = {"version": "1.0.0", "policy": "none", "waive": {"corpus": "a few samples"}}


def test_a_release_goes_on_after_a_kill_and_a_failure_and_asks_each_time(
    project: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = rewritten(run_offline(tmp_path / "offline", limit=2), tmp_path / "store", by_model)
    with HubServer(tmp_path / "hub", tokens={TOKEN: Account("mill", writes=True)}) as hub:
        environment = {
            "HF_ENDPOINT": hub.address,
            "HF_TOKEN": TOKEN,
            "HF_HUB_DISABLE_XET": "1",
            "HF_HOME": str(tmp_path / "home"),
        }
        with served(tmp_path, project, environment, empty_database(tmp_path_factory)) as prefect:
            keys: list[str] = []

            def waits() -> bool:
                """Whether it waits for a form that was not there before."""
                state = prefect.flow_run(run)["state"]
                key = state["state_details"]["pause_key"]
                assert state["type"] != "FAILED", state["message"]
                if state["type"] != "PAUSED" or key in keys:
                    return False
                # It is paused a moment before the server has the form, and answers are refused so long.
                form = state["state_details"]["run_input_keyset"]["schema"]
                if not prefect.post(f"/flow_runs/{run}/input/filter", prefix=form):
                    return False
                keys.append(key)
                return True

            def retry(times: int) -> None:
                """As `prefect flow-run retry` does, once the worker has done with what ended."""
                until(lambda: len(prefect.events("prefect.worker.executed-flow-run", run)) >= times, "the worker")
                prefect.set_state(run, "SCHEDULED")

            def answer(**given: Any) -> dict[str, Any]:
                assert prefect.post(f"/flow_runs/{run}/resume", run_input=given)["status"] == "ACCEPT"
                return prefect.ended(run)

            out = tmp_path / "release"
            given = {"options": OPTIONS, "repo": REPO, "store": str(store.path), "out": str(out)}
            run = prefect.start_run("release/release", **given)
            until(waits, "the form")
            written = (out / "manifest.json").stat().st_mtime_ns
            os.kill(prefect.flow_process(run), signal.SIGKILL)
            assert prefect.ended(run)["type"] == "CRASHED"

            retry(1)
            until(waits, "the form again")
            hub.faults = ScriptedHubFaults({"commit": "500*3"})
            failed = answer(reviewer="ada", approve=True)
            assert failed["type"] == "FAILED" and "push again: it continues where it stopped" in failed["message"]

            retry(2)
            until(waits, "the form a third time")
            done = answer(reviewer="ben", approve=True, public=True, note="fine")
            assert done["type"] == "COMPLETED" and "approved by ben: fine" in done["message"]
            assert (out / "manifest.json").stat().st_mtime_ns == written, "it was built once"
            repository = hub.hub.repository(REPO)
            assert len(repository.commits) == 2 and repository.tags == {"v1.0.0": repository.head.id}
            assert not repository.private and repository.head.id in prefect.artifact("release")["data"]
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert any(path.name == "prefect.db" for path in files)
        assert [path for path in files if TOKEN.encode() in path.read_bytes()] == []
