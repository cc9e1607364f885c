"""Automations at a real server: each notification arrives once at a webhook, and crashed flow runs are continued."""

from __future__ import annotations

import json
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from e2e.prefect_server import Prefect, serving, until
from flows.approval import SUSPENDED
from tests.prefect_database import deployed_database

pytestmark = [pytest.mark.full, pytest.mark.timeout(400)]

SAVE_BLOCK = """
import os
from prefect.blocks.webhook import Webhook
Webhook(url=os.environ["HOOK"]).save("hazardmill-notify", overwrite=True)
"""
EXECUTE = """
import sys
from prefect.cli import app
for flow_run in sys.argv[1:]:
    sys.argv = ["prefect", "flow-run", "execute", flow_run]
    try:
        app()
    except SystemExit as ended:
        assert not ended.code, ended.code
"""
"""Executes flow runs one after the other, as `prefect flow-run execute` does, and imports that once."""
HEARTBEAT = "prefect.flow-run.heartbeat"
LOST_AFTER_S = 20
"""Twice the least that the server takes: a busy machine may deliver an event seconds after the one it follows."""
HEARD_WITHIN_S = 100
"""More than how long ago a heartbeat may be of a flow run that is well."""


class Hook(ThreadingHTTPServer):
    """Keeps what is posted to it."""

    def __init__(self) -> None:
        self.arrived: list[dict[str, str]] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"

    def about(self, words: str) -> list[dict[str, str]]:
        return [each for each in self.arrived if words in each["subject"]]


class Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        self.server.arrived.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def hook() -> Iterator[Hook]:
    with Hook() as hook:
        threading.Thread(target=hook.serve_forever, daemon=True).start()
        yield hook
        hook.shutdown()


@pytest.fixture(scope="module")
def prefect(tmp_path_factory: pytest.TempPathFactory, project: Path, hook: Hook) -> Iterator[Prefect]:
    """A server with everything deployed, and no worker."""
    folder = tmp_path_factory.mktemp("prefect")
    settings = {"PREFECT_SERVER_SERVICES_TRIGGERS_PROACTIVE_GRANULARITY": "1"}
    with serving(folder, project, settings, deployed_database(tmp_path_factory, project)) as prefect:
        prefect.do("block", [sys.executable, "-c", SAVE_BLOCK], HOOK=hook.address)
        # There is a block by now. What else `make deploy` does is done.
        prefect.do("deploying", [sys.executable, "-m", "flows.deploying"])
        yield prefect


def emit(
    prefect: Prefect, event: str, resource: str, *, follows: str | None = None, seconds_ago: float = 0, **payload: Any
) -> str:
    """Emit an event, which the server takes after the one that it follows; its id."""
    now = (datetime.now(UTC) - timedelta(seconds=seconds_ago)).isoformat()
    name = {"prefect.resource.id": resource, "prefect.resource.name": resource}
    made = {"occurred": now, "event": event, "resource": name, "payload": payload, "id": str(uuid.uuid4())}
    prefect.http.post("/events", json=[{**made, "follows": follows}]).raise_for_status()
    return made["id"]


def state(prefect: Prefect, run: str, kind: str, name: str | None = None, message: str = "") -> None:
    made = {"type": kind, "name": name or kind.capitalize(), "message": message}
    prefect.post(f"/flow_runs/{run}/set_state", state=made, force=True)


def once(hook: Hook, words: str) -> dict[str, str]:
    """The one notification with these words; a second one would have had time to arrive."""
    until(lambda: hook.about(words), f"the notification {words!r}")
    time.sleep(2)
    (found,) = hook.about(words)
    return found


def test_a_failure_is_told_once_with_what_to_type(prefect: Prefect, hook: Hook) -> None:
    run = prefect.start_run("generate/neiss")
    name = prefect.flow_run(run)["name"]
    state(prefect, run, "RUNNING")
    # What would end a string of JSON, or a template.
    message = 'the key "x\\y" of <a> is refused\n{{ 7 * 7 }}; then retry this flow run'
    state(prefect, run, "FAILED", message=message)
    said = once(hook, f"{name} failed")
    assert said["body"].startswith(f"{message}\n") and run in said["body"]


def test_a_crash_is_told_once_and_continued_once_although_it_is_reported_twice(prefect: Prefect, hook: Hook) -> None:
    run = prefect.start_run("generate/bddl")
    name = prefect.flow_run(run)["name"]
    state(prefect, run, "RUNNING")
    state(prefect, run, "CRASHED", message="killed")
    state(prefect, run, "CRASHED", message="killed, says the worker too")
    once(hook, f"{name} crashed")
    deployment = prefect.deployment("resume-crashed/default")["id"]

    def scheduled() -> list[dict[str, Any]]:
        found = prefect.post("/flow_runs/filter", deployments={"id": {"any_": [deployment]}})
        return [each for each in found if each["parameters"]["flow_run_id"] == run]

    until(scheduled, "a run of resume-crashed")
    (resuming,) = scheduled()
    at = datetime.fromisoformat(resuming["expected_start_time"])
    assert at - datetime.fromisoformat(prefect.flow_run(run)["state"]["timestamp"]) > timedelta(seconds=15)


def test_lateness_budgets_releases_and_costs_are_told_once(prefect: Prefect, hook: Hook) -> None:
    late = prefect.start_run("generate/alfred")
    state(prefect, late, "SCHEDULED", "Late")
    waiting = prefect.start_run("release/release", options={"version": "1.0.0"}, repo="org/name")
    state(prefect, waiting, "RUNNING")
    state(prefect, waiting, "PAUSED", "Suspended")
    spent = {"run_id": "r1", "limit_usd": 5}
    emit(prefect, "hazardmill.budget.50", "hazardmill.budget.r1", **spent, spent_usd=2.5)
    emit(prefect, "hazardmill.budget.80", "hazardmill.budget.r1", **spent, spent_usd=4)
    emit(prefect, "hazardmill.budget.100", "hazardmill.budget.r1", **spent, spent_usd=5)
    costs = {"usd_per_task": 0.4, "median_usd": 0.2, "ratio": 2.0}
    emit(prefect, "hazardmill.cost.drift", "hazardmill.cost.neiss", run_id="r2", source="neiss", **costs)

    assert once(hook, f"{prefect.flow_run(late)['name']} is late")
    assert prefect.flow_run(waiting)["id"] in once(hook, "waits for approval")["body"]
    assert "4 of 5 USD" in once(hook, "80 % of the budget of r1 is spent")["body"]
    assert "resume the run with a larger budget" in once(hook, "the budget of r1 is reached")["body"].lower()
    assert "0.4 USD" in once(hook, "tasks of neiss cost 2.0 times the median")["body"]


def test_a_flow_run_without_heartbeats_is_crashed_and_one_that_is_well_or_has_ended_is_not(
    prefect: Prefect, project: Path
) -> None:
    # As it is deployed, but for the time.
    (lost,) = [each for each in prefect.post("/automations/filter") if each["name"] == "hazardmill-lost"]
    lost["trigger"]["within"] = LOST_AFTER_S
    changed = {name: lost[name] for name in ("name", "description", "enabled", "trigger", "actions")}
    prefect.http.put(f"/automations/{lost['id']}", json=changed).raise_for_status()
    gone, ended, well = (prefect.start_run(f"generate/{name}") for name in ("normbank", "virtualhome", "neiss"))
    for run in (gone, ended, well):
        state(prefect, run, "RUNNING")
    # Its process has ended, but not before a last heartbeat.
    waits = prefect.start_run("release/release", options={"version": "1.0.0"}, repo="org/name")
    state(prefect, waits, "RUNNING")
    state(prefect, waits, "PAUSED", "Suspended")
    beat = emit(prefect, HEARTBEAT, f"prefect.flow-run.{waits}")
    emit(prefect, SUSPENDED, f"prefect.flow-run.{waits}", follows=beat)
    # Twice: a follower that arrives while its leader is being handled can be missed by the server, which then takes it
    # much later; and to send it only after the leader takes a busy machine too long.
    until(lambda: prefect.events(HEARTBEAT, waits), "the last heartbeat")
    emit(prefect, SUSPENDED, f"prefect.flow-run.{waits}", follows=beat)
    emit(prefect, HEARTBEAT, f"prefect.flow-run.{gone}", seconds_ago=HEARD_WITHIN_S)
    for run in (ended, well):
        emit(prefect, HEARTBEAT, f"prefect.flow-run.{run}")
    # The event of its end is lost: the server alone knows.
    prefect.post(f"/flow_runs/{ended}/set_state", state={"type": "COMPLETED", "name": "NobodyKnows"}, force=True)
    # An event from before the automation was made starts nothing.
    prefect.start_run("resume-crashed/default", flow_run_id=gone, lost=True)
    deployment = prefect.deployment("resume-crashed/default")["id"]

    def looks() -> dict[str, str] | None:
        runs = prefect.post("/flow_runs/filter", deployments={"id": {"any_": [deployment]}})
        found = {run["parameters"]["flow_run_id"]: run["id"] for run in runs if run["parameters"].get("lost")}
        return found if {gone, ended, well} <= found.keys() else None

    found = until(looks, "a look at each")
    # What was not heard in time, as by a server that was away, is heard before anybody looks.
    emit(prefect, HEARTBEAT, f"prefect.flow-run.{well}")
    until(lambda: len(prefect.events(HEARTBEAT, well)) == 2, "the second heartbeat")

    prefect.do("looks", [sys.executable, "-c", EXECUTE, *map(found.get, (well, gone, ended))], PWD=str(project))

    def look(run: str) -> str:
        return prefect.flow_run(found[run])["state"]["message"].partition(": ")[2]

    assert look(well) == "not lost, because a heartbeat has come"
    assert look(gone).startswith("No heartbeat for 300 seconds")
    assert look(ended) == "not lost, because it is NobodyKnows by now"
    assert waits not in (looks() or {})
    assert prefect.flow_run(waits)["state"]["name"] == "Suspended"
    assert [prefect.flow_run(run)["state"]["type"] for run in (gone, ended, well)] == [
        "CRASHED",
        "COMPLETED",
        "RUNNING",
    ]
