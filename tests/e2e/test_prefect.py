"""Flows on a real Prefect server and worker: deployments, runs by command, states, money, keys, cancelling, a kill.

One server and one worker for all tests; each test has a deployment and a store of its own. A provider on loopback
answers as the offline author, for money, and only to who has the key, which lies in a Secret block.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S

from e2e.prefect_server import BIN, Prefect, alive, children, environ, served, until
from hazardmill.llm.ledger import IN_FLIGHT
from hazardmill.runs.status import latest_states
from hazardmill.store.store import Store
from hazardmill.testing.echoes import traces
from hazardmill.testing.llm_server import ChatRequest, FaultPlan, LlmServer, ServerFault, ServerFaultKind
from hazardmill.testing.llm_server.journal import ServedAttempt
from hazardmill.testing.llm_server.server import offline_answer
from tests.prefect_database import deployed_database

# The longest module of all, so that it begins first (tests/conftest.py).
pytestmark = [pytest.mark.full, pytest.mark.timeout(1200)]

KEY = "planted-3f9c1d7b5a-key"
SAVE_KEY = """
import os
from prefect.blocks.system import Secret
Secret(value=os.environ["PLANTED"]).save("hazardmill-deepseek-api-key")
"""
SOURCES = ("alfred", "bddl", "neiss", "normbank", "virtualhome")
RESUMING = ("resume-waiting", "resume-crashed")
WHOLE = ("ingest", "generate", "check", "publish", "review", *RESUMING)
DEPLOYMENTS = {
    *(f"{flow}/default" for flow in WHOLE),
    *(f"{source}/{source}" for source in SOURCES),
    "release/release",
    "evaluate/evaluate",
}
AUTOMATIONS = ("budget", "lost", "publish", "release-unanswered", "resume")
"""Those that notify nobody: this server has no block to notify with."""
PUBLISHING = "hazardmill-publish"
"""It is on for one test: otherwise a flow run would draw all figures of each store, and of each change of a run."""
CONCURRENCY = 2
RUN = (str(BIN / "prefect"), "deployment", "run")
RUN_EACH = """
import sys
from prefect.cli import app
sys.stderr = sys.stdout
_, deployment, *parameters = sys.argv
for parameter in parameters:
    sys.argv = ["prefect", "deployment", "run", deployment, "-p", parameter]
    try:
        app()
    except SystemExit as ended:
        print("ended with", ended.code, flush=True)
"""
"""The same for several parameters, one after the other: to import it takes longer than to run it."""


class Provider:
    """A server that asks for the key, and knows how often it was asked the same."""

    def __init__(self, faults: FaultPlan | None = None) -> None:
        self.seen: Counter[str] = Counter()
        self.server = LlmServer(self._answer, faults=faults, latency=0.2, api_key=KEY, dialect="none")

    def _answer(self, asked: ChatRequest) -> str:
        self.seen[json.dumps([message.model_dump() for message in asked.messages])] += 1
        return offline_answer(asked)


@pytest.fixture(scope="module")
def provider():
    provider = Provider()
    with provider.server:
        yield provider


@pytest.fixture(scope="module")
def prefect(tmp_path_factory, project):
    folder = tmp_path_factory.mktemp("prefect")
    with served(
        folder, project, {"HAZARDMILL_STORE": str(folder / "store")}, deployed_database(tmp_path_factory, project)
    ) as prefect:
        prefect.do("key", [sys.executable, "-c", SAVE_KEY], PLANTED=KEY)
        prefect.switch(PUBLISHING, False)
        yield prefect


def paid(provider: Provider, store: Path, **more: object) -> dict[str, object]:
    """Parameters of a run that asks the provider."""
    asks = {"model": "deepseek/deepseek-chat", "api_base": provider.server.address, "concurrency": CONCURRENCY}
    return {"store": str(store), **asks, **more}


def outcomes(store: Path, run_id: str) -> int:
    return Store.open(store).count("outcomes", {"run_id": run_id}) if (store / "manifests").exists() else 0


def run_of(flow_run: str, source: str) -> str:
    """The name that a flow run gives to its run."""
    return f"generate-{source}-{flow_run.replace('-', '')[-12:]}"


def state_of(store: Path, run_id: str) -> str:
    return {row["run_id"]: row["state"] for row in latest_states(Store.open(store))}[run_id]


def shown_state(prefect: Prefect, run_id: str) -> str:
    """The state that the artifact of a run shows."""
    shown = re.fullmatch(
        rf"Run `{run_id}`: (.+), last change \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{{6}} UTC",
        prefect.artifact(f"run-{run_id}")["description"],
    )
    assert shown is not None
    return shown[1]


def test_all_deployments_are_there_and_only_publication_has_a_schedule_that_is_on(prefect: Prefect) -> None:
    found = {f"{each['tags'][-1]}/{each['name']}": each for each in prefect.post("/deployments/filter")}
    assert set(found) == DEPLOYMENTS
    crons = [schedule["schedule"]["cron"] for each in found.values() for schedule in each["schedules"]]
    # No clock starts these: reviews and releases wait for people, an evaluation costs what a person says, a crash is an
    # event.
    timeless = {name for name, each in found.items() if not each["schedules"]}
    assert len(crons) == len(set(crons)) == len(found) - 4
    assert timeless == {"review/default", "release/release", "evaluate/evaluate", "resume-crashed/default"}
    on = {name for name, each in found.items() if any(schedule["active"] for schedule in each["schedules"])}
    assert on == {"publish/default"}
    for each in found.values():
        assert each["work_pool_name"] == "mill" and each["enforce_parameter_schema"]
        assert each["concurrency_options"]["collision_strategy"] == "ENQUEUE"
        assert each["global_concurrency_limit"]["limit"] == 1
    assert prefect.get("/work_pools/mill")["type"] == "process"
    automations = prefect.post("/automations/filter")
    assert {each["name"] for each in automations} == {f"hazardmill-{name}" for name in AUTOMATIONS}


def test_two_sources_by_the_command_line(prefect: Prefect) -> None:
    limits = {"neiss": 6, "bddl": 5}
    processes = {
        source: prefect.begin(
            f"run-{source}",
            [*RUN, f"generate/{source}", "-p", f"limit={limit}", "--watch", "--watch-timeout", str(int(PATIENCE_S))],
        )
        for source, limit in limits.items()
    }
    # Deploying again, while runs are under way: what the files say holds, whatever somebody switched meanwhile.
    other = prefect.deployment("generate/alfred")
    (schedule,) = other["schedules"]
    prefect.patch(f"/deployments/{other['id']}/schedules/{schedule['id']}", active=True)
    prefect.post(f"/deployments/{other['id']}/pause_deployment")
    prefect.do("deploy-again", prefect.make("deploy"))
    other = prefect.deployment("generate/alfred")
    assert not other["paused"] and not other["schedules"][0]["active"]
    assert all(each["enabled"] for each in prefect.post("/automations/filter"))
    prefect.switch(PUBLISHING, False)
    for source, process in processes.items():
        assert process.wait() == 0, prefect.said(f"run-{source}")

    store = Store.open(prefect.folder / "store")
    runs = {row["run_id"]: row["state"] for row in latest_states(store)}
    assert len(runs) == 2 and set(runs.values()) == {"completed"}
    for source, limit in limits.items():
        (run_id,) = [name for name in runs if source in name]
        assert store.count("outcomes", {"run_id": run_id}) == limit
        accepted = store.count("outcomes", {"run_id": run_id, "outcome": "accepted"})
        assert prefect.artifact(f"progress-{source}")["data"] == 100
        (found,) = prefect.post("/flow_runs/filter", deployments={"name": {"any_": [source]}})
        assert found["name"].startswith(f"{source} recorded 20")
        told = {f"source:{source}", "model:recorded", f"run:{run_id}"}
        assert set(found["tags"]) == {"generate", source, *told}
        assert found["state"]["message"].startswith(f"Run {run_id}: {accepted} accepted of {limit} records")
    assert len(prefect.post("/automations/filter")) == len(AUTOMATIONS)
    assert len(prefect.post("/deployments/filter")) == len(DEPLOYMENTS)


def test_a_wrong_parameter_is_refused_at_the_command_line(prefect: Prefect) -> None:
    # The last one may be a key: the server must not keep it.
    wrong = {"limit=0": "'limit'", "source=nobody": "'nobody' is not one of", "api_base=http:a?key=b": "'api_base'"}
    # Runs of `publish` begin meanwhile, when its schedule asks for them.
    of_alfred = {"deployments": {"name": {"any_": ["alfred"]}}}
    before = prefect.post("/flow_runs/count", **of_alfred)
    prefect.do("wrong", [sys.executable, "-c", RUN_EACH, "generate/alfred", *wrong])
    heard = re.split(r"^ended with (.*)$", prefect.said("wrong"), flags=re.MULTILINE)
    assert heard[1::2] == ["1"] * len(wrong)
    for said, expected in zip(heard[::2], wrong.values(), strict=False):
        assert expected in said
    assert prefect.post("/flow_runs/count", **of_alfred) == before


@pytest.fixture
def publishing(prefect: Prefect) -> Iterator[None]:
    """Publication after a run, which starts a process that other tests have no use for."""
    prefect.switch(PUBLISHING, True)
    yield
    prefect.switch(PUBLISHING, False)


@pytest.mark.usefixtures("publishing")
def test_a_run_is_cancelled_cleanly_and_published_by_its_event(
    prefect: Prefect, provider: Provider, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    asked = len(provider.server.attempts)
    flow_run = prefect.start_run("generate/virtualhome", **paid(provider, store, wave_size=20))
    until(lambda: len(provider.server.attempts) > asked + 3, "some requests")
    process = prefect.flow_process(flow_run)
    below = children(process)
    assert below and not any(KEY in environ(pid) for pid in [process, *below])
    prefect.set_state(flow_run, "CANCELLING")

    assert prefect.ended(flow_run)["type"] == "CANCELLED"
    until(lambda: not any(map(alive, [process, *below])), "the end of the flow's processes")
    run_id = run_of(flow_run, "virtualhome")
    # Written down as stopped by itself: one that was killed would be left as running.
    assert state_of(store, run_id) == "stopped"
    assert Store.open(store).verify() == []
    until(lambda: shown_state(prefect, run_id) == "stopped", "the artifact of the run as it was stopped")


def test_a_killed_run_goes_on_and_pays_nothing_twice(prefect: Prefect, tmp_path: Path) -> None:
    store, held = tmp_path / "store", True

    def late(asked: ChatRequest) -> ServerFault | None:
        """Hold back the last record of the second wave, so that the kill finds that wave at work."""
        last = any("clearing_a_residents_night_table" in message.content for message in asked.messages)
        return ServerFault(ServerFaultKind.SLOW, PATIENCE_S) if held and last else None

    provider = Provider(late)
    with provider.server:
        flow_run = prefect.start_run("generate/bddl", **paid(provider, store, limit=6, wave_size=3))
        run_id = run_of(flow_run, "bddl")
        until(lambda: outcomes(store, run_id) >= 3, "the first wave")
        process = prefect.flow_process(flow_run)
        below = children(process)
        os.kill(process, signal.SIGKILL)

        assert prefect.ended(flow_run)["type"] == "CRASHED"
        until(lambda: not any(map(alive, below)), "the end of what the flow left")
        done = {row["record_id"] for row in Store.open(store).rows("outcomes")}
        assert len(done) == 3
        held = False
        # An automation has resume-crashed schedule it again.
        until(lambda: prefect.flow_run(flow_run)["state"]["type"] == "COMPLETED", "the end of the continued run")
        assert prefect.flow_run(flow_run)["run_count"] == 2

    assert state_of(store, run_id) == "completed" and outcomes(store, run_id) == 6
    twice = sum(times - 1 for times in provider.seen.values())
    in_flight = [row for row in Store.open(store).rows("llm_calls") if row["error"] == IN_FLIGHT]
    # What nobody knows to be answered may come again: the requests that were under way.
    assert twice <= len(in_flight) <= CONCURRENCY
    assert len(provider.server.attempts) == len(provider.seen) + twice
    assert Store.open(store).verify() == []


def test_a_budget_that_is_reached_is_no_failure_and_pauses_the_deployment(
    prefect: Prefect, provider: Provider, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    given = paid(provider, store, limit=4, concurrency=1)
    flow_run = prefect.start_run("generate/normbank", budget_usd=0.01, **given)
    state = prefect.ended(flow_run)
    run_id = run_of(flow_run, "normbank")
    assert (state["type"], state["name"]) == ("COMPLETED", "BudgetReached")
    assert f"prefect deployment run generate/normbank -p run_id={run_id} -p budget_usd=" in state["message"]
    assert state_of(store, run_id) == "stopped"

    def told() -> list[dict[str, object]]:
        return sorted(prefect.events("hazardmill.budget."), key=lambda event: event["occurred"])

    until(lambda: len(told()) >= 3, "the events of the budget")
    assert [event["event"].rpartition(".")[2] for event in told()] == ["50", "80", "100"]
    assert {event["payload"]["run_id"] for event in told()} == {run_id}
    until(lambda: prefect.deployment("generate/normbank")["paused"], "the pause of the deployment")

    more = float(state["message"].rpartition("budget_usd=")[2])
    again = prefect.start_run("generate/normbank", run_id=run_id, budget_usd=more, store=str(store))
    assert prefect.ended(again)["name"] == "Completed"
    assert state_of(store, run_id) == "completed" and outcomes(store, run_id) == 4


def test_two_flow_runs_that_share_a_budget_keep_one_limit_and_no_key_that_is_given_back(
    prefect: Prefect, tmp_path: Path
) -> None:
    """As the provider saw it: each may have three requests under way, and both together have no more.

    The provider gives the key back in every form: in an error, which ends a record, and in all its answers. The last
    test looks for them, and for what is published of them.
    """
    store = tmp_path / "store"
    turns = itertools.count(1)

    def late_or_echoing(asked: ChatRequest) -> ServerFault:
        """Answer late until both runs have asked, so that one does not end before the other begins."""
        asking = {row["run_id"] for row in Store.open(store).rows("llm_calls", None, ["run_id"])}
        if len(asking) < 2:
            return ServerFault(ServerFaultKind.SLOW, 3.0)
        return ServerFault(ServerFaultKind.ECHO_ERROR if next(turns) == 2 else ServerFaultKind.ECHO)

    provider = Provider(late_or_echoing)
    with provider.server:
        given = paid(provider, store, limit=6, concurrency=3, budget_usd=5.0, budget_id="both")
        runs = [prefect.start_run(f"generate/{source}", **given) for source in ("alfred", "neiss")]
        assert [prefect.ended(run)["name"] for run in runs] == ["Completed", "Completed"]
    attempts = provider.server.attempts
    assert {attempt.status for attempt in attempts} == {200, 400}
    assert Store.open(store).count("llm_calls") == len(attempts)
    changes = [(at, 1 if at == attempt.asked_at else -1) for attempt in attempts for at in _span(attempt)]
    under_way = list(itertools.accumulate(change for _, change in sorted(changes)))
    assert max(under_way) == 3
    names = [run_of(run, source) for run, source in zip(runs, ("alfred", "neiss"), strict=True)]
    assert [outcomes(store, name) for name in names] == [6, 6]
    spans = [
        (min(row["at"] for row in rows), max(row["at"] for row in rows))
        for name in names
        if (rows := Store.open(store).rows("llm_calls", {"run_id": name}, ["at"]))
    ]
    assert max(begin for begin, _ in spans) < min(end for _, end in spans), "they were at work at the same time"
    # As its event does it.
    assert prefect.ended(prefect.start_run("publish/default", store=str(store)))["type"] == "COMPLETED"
    assert [shown_state(prefect, name) for name in names] == ["completed"] * 2


def _span(attempt: ServedAttempt) -> tuple[float, float]:
    assert attempt.ended_at is not None
    return attempt.asked_at, attempt.ended_at


def test_the_schedule_that_is_on_has_its_next_runs(prefect: Prefect) -> None:
    def scheduled() -> list[dict[str, Any]]:
        where = {"state": {"type": {"any_": ["SCHEDULED"]}}, "deployment_id": {"any_": [publication["id"]]}}
        runs = prefect.post("/flow_runs/filter", flow_runs=where, sort="EXPECTED_START_TIME_ASC")
        return [run for run in runs if run["auto_scheduled"]]

    publication = prefect.deployment("publish/default")
    until(lambda: len(scheduled()) >= 2, "scheduled runs")
    times = [datetime.fromisoformat(run["expected_start_time"]) for run in scheduled()[:2]]
    assert times[1] - times[0] == timedelta(hours=1)


def test_what_changed_is_published_by_a_run_of_the_flow(prefect: Prefect) -> None:
    # As the schedule starts it.
    assert prefect.ended(prefect.start_run("publish/default"))["type"] == "COMPLETED"
    store = Store.open(prefect.folder / "store")
    runs = {row["run_id"]: row["state"] for row in latest_states(store)}
    assert len(runs) == 2
    for run_id in runs:
        source = run_id.split("-")[1]
        accepted = store.count("outcomes", {"run_id": run_id, "outcome": "accepted"})
        assert shown_state(prefect, run_id) == "completed"
        # Runs of this source in other stores have the same key.
        headlines = prefect.post("/artifacts/filter", artifacts={"key": {"any_": [f"headline-{source}"]}})
        (row,) = next(json.loads(each["data"]) for each in headlines if each["description"] == f"Run {run_id}")
        assert str(store.count("outcomes", {"run_id": run_id})) in row.values() and str(accepted) in row.values()
        for key in (f"run-{run_id}", f"cost-{source}", f"funnel-{source}", "cost-all"):
            shown = prefect.artifact(key)
            assert shown["type"] == "markdown" and "|" in shown["data"] and "data:image/" in shown["data"]
        assert (prefect.folder / "reports" / f"{run_id}.html").stat().st_size > 10_000


def test_the_planted_key_is_nowhere(prefect: Prefect, provider: Provider, tmp_path_factory) -> None:
    """Last: everything has been written by now."""
    assert any(attempt.status == 200 for attempt in provider.server.attempts), "the key was used"
    database = prefect.folder / "prefect" / "prefect.db"
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        rows = connection.execute("SELECT name FROM block_document WHERE name LIKE 'hazardmill-%'").fetchall()
    assert rows == [("hazardmill-deepseek-api-key",)]
    forms = list(traces(KEY))
    files = [path for path in tmp_path_factory.getbasetemp().rglob("*") if path.is_file()]
    assert database in files and any(path.suffix == ".parquet" for path in files)
    assert any(b"deepseek-chat" in path.read_bytes() for path in files)
    assert [path for path in files if any(form in path.read_bytes() for form in forms)] == []
