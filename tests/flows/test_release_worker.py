"""A release on a real Prefect server: it waits without a process, and any worker takes its answer up."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from e2e.prefect_server import Prefect, running, serving, until
from factories.release_store import by_model, rewritten, run_offline

from hazardmill.release.build.build import build
from hazardmill.release.build.options import Options
from hazardmill.store.store import Store
from hazardmill.testing.hub_server import Account, HubServer, ScriptedHubFaults
from tests.prefect_database import empty_database

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

REPO = "acme/hazards"
TOKEN = "hf_planted-" + "zz9c4"
OPTIONS = {"version": "1.0.0", "policy": "none", "waive": {"corpus": "a few samples"}}
LATER = {**OPTIONS, "version": "1.1.0"}
# Long enough for the server to have dealt with the event of the form's beginning. If that of its end meets it, Prefect
# lays the second aside for a quarter of an hour (prefect/server/events/ordering/memory.py, `wait_for_leader`).
UNANSWERED_HOURS = 20 / 3600


class Release:
    """A flow run of the deployment, and what its forms say."""

    def __init__(self, prefect: Prefect, store: Store, out: Path, options: dict[str, Any], **more: Any) -> None:
        self.prefect, self.out, self.keys = prefect, out, list[str]()
        self.run = prefect.start_run(
            "release/release", options=options, repo=REPO, store=str(store.path), out=str(out), **more
        )

    @property
    def manifest(self) -> str:
        return hashlib.sha256((self.out / "manifest.json").read_bytes()).hexdigest()

    def form(self) -> str:
        """What a form that was not there before says, once the flow run is suspended without a process."""

        def look() -> str | None:
            state = self.prefect.flow_run(self.run)["state"]
            assert state["type"] not in ("FAILED", "CANCELLED", "COMPLETED"), state
            if state["name"] != "Suspended" or state["state_details"]["pause_key"] in self.keys:
                return None
            keys = state["state_details"]["run_input_keyset"]
            found = self.prefect.post(f"/flow_runs/{self.run}/input/filter", prefix=keys["description"])
            if not found:
                return None
            self.keys.append(state["state_details"]["pause_key"])
            return str(json.loads(found[0]["value"]))

        said = until(look, "the form")
        until(lambda: self.executions() >= len(self.keys), "the end of the process")
        return said

    def executions(self) -> int:
        return len(self.prefect.events("prefect.worker.executed-flow-run", self.run))

    def answer(self, **given: Any) -> str:
        """How the server takes an answer, which it never refuses with a status of HTTP."""
        return str(self.prefect.post(f"/flow_runs/{self.run}/resume", run_input=given)["status"])

    def retry(self) -> None:
        """As `prefect flow-run retry` does, once the worker has done with what ended."""
        ended = len(self.keys) + 1
        until(lambda: self.executions() >= ended, "the worker")
        self.keys.append("retried")
        self.prefect.set_state(self.run, "SCHEDULED")


@contextmanager
def worker(prefect: Prefect) -> Iterator[None]:
    with running(prefect.begin("worker", prefect.make("worker"))):
        yield


def test_a_release_waits_without_a_process_and_only_what_was_approved_is_pushed(
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
        with serving(tmp_path, project, environment, empty_database(tmp_path_factory)) as prefect:
            prefect.do("deploy", prefect.make("deploy"))
            # It counts each event of a flow run in SQLite. If that is locked four times within a quarter of a second,
            # Prefect gives the event up, and lays the one that follows it aside as above.
            prefect.switch("hazardmill-lost", False)
            with worker(prefect):
                folder = tmp_path / "review"
                (folder / "decisions").mkdir(parents=True)
                shutil.copy(project / "review" / "rubric.md", folder)
                asked = {"store": str(store.path), "folder": str(folder), "reviewers": ["ada", "ben"]}
                review = prefect.start_run("review/default", **asked)
                first = Release(prefect, store, tmp_path / "hazardmill-1.0.0", OPTIONS)
                said = first.form()
                assert prefect.ended(review)["type"] == "COMPLETED"
            # A review hands over to the deployment that is there.
            shown = prefect.artifact("review")["data"]
            page = f"{prefect.address}/deployments/deployment/{prefect.deployment('release/release')['id']}"
            assert f"[page]({page})" in shown and f"-p store={store.path}" in shown
            assert said.startswith(f"### Push hazardmill 1.0.0 to {REPO}?")
            assert first.manifest in said and "there is no earlier release" in said

            # No worker runs. What is no answer, or is one to another form, is refused, and the form stays.
            approval = {"reviewer": "ada", "approve": True, "manifest": first.manifest}
            for wrong in ({"reviewer": ""}, {"manifest": "0" * 64}, {"approv": True}):
                assert first.answer(**approval | wrong) == "REJECT"
            assert first.answer(reviewer="ada", approve=True) == "REJECT", "it does not say what is approved"
            assert prefect.flow_run(first.run)["state"]["name"] == "Suspended"
            assert first.answer(**approval) == "ACCEPT"

            # What was approved is no longer in the folder.
            shutil.rmtree(first.out)
            other = OPTIONS | {"waive": {"corpus": "another reason"}}
            build(store, None, Options.model_validate(other), first.out)
            with worker(prefect):
                assert "The release has changed since somebody was asked" in first.form()
                assert hub.requests == ()
                written = (first.out / "manifest.json").stat().st_mtime_ns

                # An approval outlives a push that failed, and a retry does not ask again.
                hub.faults = ScriptedHubFaults({"commit": "500*3"})
                assert first.answer(**approval | {"manifest": first.manifest, "public": True}) == "ACCEPT"
                failed = prefect.ended(first.run)
                assert failed["type"] == "FAILED" and "push again: it continues where it stopped" in failed["message"]
                first.retry()
                done = prefect.ended(first.run)
                assert done["type"] == "COMPLETED" and "approved by ada" in done["message"], done
                assert (first.out / "manifest.json").stat().st_mtime_ns == written, "it was built once"
                repository = hub.hub.repository(REPO)
                assert len(repository.commits) == 2 and repository.tags == {"v1.0.0": repository.head.id}
                assert not repository.private and repository.head.id in prefect.artifact("release")["data"]

                # A refusal ends it, and whoever retries it is asked again.
                second = Release(prefect, store, tmp_path / "hazardmill-1.1.0", LATER)
                assert "Differences from 1.0.0: tasks: 0 added" in second.form()
                assert second.answer(reviewer="ben", manifest=second.manifest, note="not yet") == "ACCEPT"
                state = prefect.ended(second.run)
                assert state["type"] == "CANCELLED" and "turned down by ben: not yet" in state["message"]
                second.retry()
                second.form()

                # Meanwhile another one runs, which nobody answers.
                third = Release(prefect, store, second.out, LATER, wait_hours=UNANSWERED_HOURS)
                state = prefect.comes_to(third.run, "CANCELLED")
                assert "Nobody has answered in time" in state["message"]
            assert repository.tags.keys() == {"v1.0.0"}
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert any(path.name == "prefect.db" for path in files)
        assert [path for path in files if TOKEN.encode() in path.read_bytes()] == []
