"""The flows under a real Prefect server of their own: they must give what the library gives without it."""

from __future__ import annotations

import asyncio
import json
import re
import time

import pytest
from patience import PATIENCE_S

from hazardmill.errors import BudgetReached, InputError, ProviderDown, StoreError, UsageError
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.runs.session import Session
from hazardmill.runs.status import latest_states
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import LlmServer
from tests.running import worked

pytestmark = [pytest.mark.full, pytest.mark.timeout(240)]

RECORDS, WAVE = 8, 5
"""Two waves, of different sizes."""


@pytest.fixture
def sample(project):
    return project / "sources" / "neiss" / "sample"


def run_plainly(sample, folder, limit):
    store = Store.open(folder, create=True)
    run, _ = Run.start(store, RunConfig(inputs=(RunInput(source="neiss", path=sample, limit=limit),), wave_size=WAVE))
    return store, worked(run)


def artifact(key):
    from prefect.artifacts import Artifact

    return asyncio.run(Artifact.aget(key))


def generate(*args, **kwargs):
    from flows.generate import generate

    return asyncio.run(generate(*args, **kwargs))


def described(key):
    """The description of an artifact, without the time of the last change."""
    return re.sub(r", last change \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} UTC$", "", artifact(key).description)


def publish(*args, **kwargs):
    from flows.publish import publish

    return asyncio.run(publish(*args, **kwargs))


def test_a_generate_flow_gives_what_the_library_gives(prefect_server, sample, tmp_path):
    plain, counts = run_plainly(sample, tmp_path / "plain", RECORDS)

    result = generate("neiss", sample, limit=RECORDS, store=tmp_path / "flow")

    assert result.counts == counts
    assert Store(tmp_path / "flow").digest() == plain.digest()
    assert not Store(tmp_path / "flow").verify()


def test_the_artifacts_hold_funnel_cost_and_progress(prefect_server, sample, tmp_path):
    result = generate("neiss", sample, limit=4, store=tmp_path / "store")

    assert artifact(f"run-{result.run_id}") is None
    assert publish(tmp_path / "store") == [result.run_id]
    assert result.run_id in artifact("funnel-neiss").description
    assert "offline author" in artifact("cost-neiss").data
    assert described(f"run-{result.run_id}") == f"Run `{result.run_id}`: completed"
    assert json.loads(artifact("headline-neiss").data)[0]
    progress = artifact("progress-neiss")
    assert (progress.data, progress.description) == (100, "4 of 4 records")
    page = tmp_path / "reports" / f"{result.run_id}.html"
    assert result.run_id in page.read_text()


def test_a_second_run_pays_only_for_what_changed(prefect_server, sample, tmp_path):
    store = Store(tmp_path / "store")
    first = generate("neiss", sample, limit=6, store=store.path)
    calls = store.count("llm_calls")
    again = generate("neiss", sample, limit=6, store=store.path)
    assert again.run_id != first.run_id and again.counts == first.counts
    assert store.count("llm_calls") == calls

    longer = generate("neiss", sample, limit=8, store=store.path)
    new = {row["record_id"] for row in store.rows("llm_calls", {"run_id": longer.run_id})}
    old = {row["record_id"] for row in store.rows("outcomes", {"run_id": first.run_id})}
    assert new and not new & old


def test_a_flow_goes_on_with_a_run_that_is_there(prefect_server, sample, tmp_path):
    store = Store.open(tmp_path / "store", create=True)
    run, _ = Run.start(store, RunConfig(inputs=(RunInput(source="neiss", path=sample, limit=RECORDS),), wave_size=WAVE))

    async def first_batch():
        async with run.session() as session:
            await session.work_through([run.waves()[0]])

    asyncio.run(first_batch())
    calls = store.count("llm_calls")

    # What the run was started with holds, whatever the deployment says of the records.
    result = generate("neiss", sample, limit=3, store=store.path, run_id=run.run_id, wave_size=2, attempt_timeout=900)

    plain, counts = run_plainly(sample, tmp_path / "plain", RECORDS)
    assert result.counts == counts
    assert store.digest(run.run_id) == plain.digest(plain.rows("outcomes")[0]["run_id"])
    assert store.count("llm_calls") == plain.count("llm_calls") > calls
    config = Run.load(store, run.run_id).config
    assert (config.wave_size, config.attempt_timeout, config.deadline_s) == (2, 900, 1800)


def test_a_run_of_another_source_is_not_gone_on_with(prefect_server, sample, tmp_path):
    run_id = generate("neiss", sample, limit=2, store=tmp_path / "store").run_id
    with pytest.raises(UsageError, match=f"run {run_id} is a run of neiss"):
        generate("bddl", store=tmp_path / "store", run_id=run_id)


def test_an_accident_is_tried_again_once(prefect_server, sample, tmp_path, monkeypatch):
    commit, plan, broken, planned = Session.commit, Session.plan, [ZeroDivisionError()], []

    async def breaks_once(self, step):
        if broken and step.wave == 2:
            raise broken.pop()
        return await commit(self, step)

    def noted(self, waves, first):
        planned.append((waves, first))
        return plan(self, waves, first)

    monkeypatch.setattr(Session, "commit", breaks_once)
    monkeypatch.setattr(Session, "plan", noted)
    result = generate("neiss", sample, limit=3, wave_size=2, store=tmp_path / "store")
    assert not broken and result.counts["pending"] == 0
    # Only what is left, and numbered on.
    assert planned == [([[0, 1], [2]], 1), ([[2]], 2)]
    assert artifact("progress-neiss").description == "3 of 3 records"


def test_a_bug_leaves_a_failed_run_that_goes_on(prefect_server, sample, tmp_path, monkeypatch):
    async def broken(self, step):
        raise ZeroDivisionError

    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(Session, "judge", broken)
        generate("neiss", sample, limit=3, store=tmp_path / "store", run_id="r")
    store = Store.open(tmp_path / "store")
    assert [row["state"] for row in latest_states(store)] == ["failed"]
    publish(store.path)
    assert described("run-r") == "Run `r`: failed"

    assert generate("neiss", store=tmp_path / "store", run_id="r").counts["pending"] == 0
    assert [row["state"] for row in latest_states(store)] == ["completed"]
    publish(store.path)
    assert described("run-r") == "Run `r`: completed"


def test_a_provider_that_is_down_fails_the_run_and_says_how_to_go_on(prefect_server, sample, tmp_path, monkeypatch):
    times = []

    async def down(self, step):
        times.append(step)
        raise ProviderDown("the provider answers with status 503")

    monkeypatch.setattr(Session, "extract", down)
    state = generate("neiss", sample, limit=3, store=tmp_path / "store", run_id="r", return_state=True)

    assert state.is_failed() and len(times) == 1
    assert "status 503" in state.message
    assert re.search(r"then retry this flow run, or: hazardmill run resume r --store \S+", state.message)
    assert [row["state"] for row in latest_states(Store.open(tmp_path / "store"))] == ["stopped"]
    publish(tmp_path / "store")
    assert described("run-r") == "Run `r`: stopped"
    assert "hazardmill run resume r" in artifact("run-r").data


def test_a_run_is_published_when_it_changed(prefect_server, sample, tmp_path, monkeypatch):
    store = Store(tmp_path / "store")
    with pytest.raises(StoreError, match="store"):
        publish(store.path)
    monkeypatch.setenv("HAZARDMILL_STORE", str(store.path))
    assert publish() == []
    first, second = (generate("neiss", sample, limit=2, store=store.path).run_id for _ in range(2))
    assert publish(store.path) == [first, second]
    assert publish(store.path) == []
    assert publish(store.path, run_id=first) == [first]

    generate("neiss", sample, limit=2, store=store.path, run_id=second)
    assert publish(store.path) == [second]
    with pytest.raises(InputError, match="there is no generation run nobody in this store") as caught:
        publish(store.path, run_id="nobody")
    assert caught.value.remedy == f"see: hazardmill run list --store {store.path}"


def test_a_run_whose_figures_cannot_be_drawn_keeps_no_other_one_from_its_own(
    prefect_server, sample, tmp_path, monkeypatch
):
    from hazardmill.report.dashboard import panels

    drawn = panels.panels
    first, second = (generate("neiss", sample, limit=2, store=tmp_path / "store").run_id for _ in range(2))

    def broken(store, run_id, **how):
        if run_id == first:
            raise ZeroDivisionError
        return drawn(store, run_id, **how)

    monkeypatch.setattr(panels, "panels", broken)
    state = publish(tmp_path / "store", return_state=True)
    assert state.is_failed() and state.message == f"not published: {first}; see their logs"
    assert artifact(f"run-{first}") is None and artifact(f"run-{second}") is not None


def test_a_budget_that_is_reached_completes_and_goes_on_with_more(prefect_server, sample, tmp_path, monkeypatch):
    monkeypatch.setenv("DEEPSEEK_API_KEY", "any")
    store = Store(tmp_path / "store")
    with LlmServer() as server:
        asks = {"model": "deepseek/deepseek-chat", "api_base": server.address, "concurrency": 1, "store": store.path}
        state = generate("neiss", sample, limit=12, budget_usd=0.01, run_id="r", **asks, return_state=True)
        assert state.is_completed() and state.name == "BudgetReached"
        more = re.search(r"the budget of 0.01 USD is reached: .* --budget-usd (\S+)$", state.message)
        assert [row["state"] for row in latest_states(store)] == ["stopped"]
        assert store.count("outcomes") < 12

        asked = len(server.attempts)
        assert generate("neiss", store=store.path, run_id="r", budget_usd=float(more[1])).counts["pending"] == 0
        assert len(server.attempts) > asked
    assert len({row["identity"] for row in store.rows("llm_calls")}) == store.count("llm_calls")


def test_all_sources_then_duplicates_and_a_report(prefect_server, project, tmp_path):
    from flows.generate_all import generate_all

    paths = {name: project / "sources" / name / "sample" for name in ("neiss", "bddl")}
    store = Store(tmp_path / "store")
    asyncio.run(generate_all(list(paths), paths, limit=4, store=store.path, run_id="week"))

    runs = {row["run_id"]: row["state"] for row in latest_states(store)}
    assert runs == {"week-neiss": "completed", "week-bddl": "completed"}
    rows = json.loads(artifact("generate-all").data)
    assert {(row["source"], row["state"]) for row in rows} == {("neiss", "Completed"), ("bddl", "Completed")}
    found = {row["what"]: row["count"] for row in json.loads(artifact("dedupe-all").data)}
    assert found["tasks"] == str(store.count("tasks")) and found["duplicates"] == "0"
    page = (tmp_path / "reports" / "week.html").read_text()
    assert "week-neiss" in page and "week-bddl" in page


def test_a_source_that_fails_keeps_no_other_one_from_its_end(prefect_server, project, tmp_path):
    from flows.generate_all import generate_all

    paths = {"neiss": tmp_path / "missing", "bddl": project / "sources" / "bddl" / "sample"}
    store = Store(tmp_path / "store")
    state = asyncio.run(generate_all(list(paths), paths, limit=2, store=store.path, run_id="week", return_state=True))
    assert state.is_failed() and state.message.startswith("neiss failed; retry this flow run")
    assert {row["run_id"]: row["state"] for row in latest_states(store)} == {"week-bddl": "completed"}


def test_an_ingest_flow_without_a_record_fails_and_shows_why(prefect_server, tmp_path):
    from flows.ingest import ingest

    page = tmp_path / "x.tsv"
    page.write_text("<!DOCTYPE html><html></html>\n")
    with pytest.raises(InputError, match="no records of neiss to work on: the file is a web page"):
        asyncio.run(ingest("neiss", page, store=tmp_path / "store"))
    assert "    x.tsv: the file is a web page" in artifact("ingest-neiss").data
    assert Store.open(tmp_path / "store").count("rejects") == 1


def test_an_ingest_flow_counts_what_it_read(prefect_server, sample, tmp_path):
    from flows.ingest import ingest

    first = asyncio.run(ingest("neiss", sample, store=tmp_path / "store"))
    again = asyncio.run(ingest("neiss", sample, store=tmp_path / "store"))

    assert first.counts["records"] == first.counts["new"] == Store(tmp_path / "store").count("records")
    assert again.counts["new"] == 0
    assert f"| new | {again.counts['new']} |" in artifact("ingest-neiss").data


def test_a_wrong_selection_fails_the_ingest_flow_in_words(prefect_server, sample, tmp_path):
    from flows.ingest import ingest

    with pytest.raises(UsageError, match="colour"):
        asyncio.run(ingest("neiss", sample, store=tmp_path / "store", where={"colour": "red"}))


def test_a_run_announces_its_results_once_at_its_end(prefect_server, sample, tmp_path, monkeypatch):
    from flows import publishing

    announced = []
    monkeypatch.setattr(publishing, "emit_event", lambda event, **what: announced.append((event, what)))
    store = tmp_path / "store"
    generate("neiss", sample, limit=2, store=store, run_id="r")
    ((event, what),) = announced
    assert event == "hazardmill.run.changed" and what["payload"] == {"store": str(store), "run_id": "r"}
    assert what["resource"]["prefect.resource.id"] == f"hazardmill.store.{store}"


def test_a_long_run_announces_its_results_while_it_is_under_way(prefect_server, sample, tmp_path, monkeypatch):
    from flows import publishing

    commit, between, pending = Session.commit, asyncio.Event(), []

    def emit(event, **what):
        pending.append(Run.load(Store(tmp_path / "store"), "r").counts()["pending"])
        if pending[-1] == 2:
            between.set()
        # Whatever goes wrong here fails no run.
        raise ZeroDivisionError

    async def waits(self, step):
        if step.wave == 2:
            await asyncio.wait_for(between.wait(), PATIENCE_S)
        return await commit(self, step)

    monkeypatch.setattr(Session, "commit", waits)
    monkeypatch.setattr(publishing, "emit_event", emit)
    monkeypatch.setattr(publishing, "ANNOUNCE_FIRST_S", 0.05)
    monkeypatch.setattr(publishing, "ANNOUNCE_EVERY_S", 0.05)
    assert generate("neiss", sample, limit=4, wave_size=2, store=tmp_path / "store", run_id="r").counts["pending"] == 0
    assert 2 in pending and pending[-1] == 0


def test_several_sources_are_announced_once(prefect_server, project, tmp_path, monkeypatch):
    from flows import publishing
    from flows.generate_all import generate_all

    announced = []
    monkeypatch.setattr(publishing, "emit_event", lambda event, **how: announced.append(how["payload"]["run_id"]))
    paths = {name: project / "sources" / name / "sample" for name in ("neiss", "bddl")}
    asyncio.run(generate_all(list(paths), paths, limit=2, store=tmp_path / "store", run_id="week"))
    assert announced == ["week"]


def graph(run_id, *, states=False):
    """The graph of a run's flow run, once it is drawn whole: each box with those before it, or its state."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.sorting import FlowRunSort

    async def nodes():
        async with get_client() as client:
            # The newest: the server has those of other tests too, more than one answer tells.
            flow_runs = await client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC)
            (flow_run,) = [each for each in flow_runs if each.parameters.get("run_id") == run_id]
            answer = await client._client.get(f"/flow_runs/{flow_run.id}/graph-v2")
            return answer.json()["nodes"]

    # The server learns of tasks by events, some seconds later.
    deadline = time.monotonic() + PATIENCE_S
    while True:
        found = asyncio.run(nodes())
        if any(node["label"] == "publish" and node["state_type"] == "COMPLETED" for _, node in found):
            break
        assert time.monotonic() < deadline, found
        time.sleep(0.2)
    if states:
        return {node["label"]: node["state_type"] for _, node in found}
    labels = {node["id"]: node["label"] for _, node in found}
    return {node["label"]: {labels[parent["id"]] for parent in node["parents"]} for _, node in found}


def test_the_graph_has_a_box_per_stage_of_each_wave(prefect_server, sample, tmp_path):
    generate("neiss", sample, limit=4, wave_size=2, store=tmp_path / "store", run_id="drawn")
    boxes = graph("drawn")
    assert boxes["plan"] == {"ingest"}
    assert boxes["publish"] == {"ingest", "wave 01 commit", "wave 02 commit"}
    for number in (1, 2):
        wave = f"wave {number:02d}"
        assert boxes[f"{wave} extract"] == {"plan"}
        assert boxes[f"{wave} author-1"] == {f"{wave} extract"}
        assert boxes[f"{wave} execute-1"] == {f"{wave} author-1"}
        assert boxes[f"{wave} judge-1"] == {f"{wave} execute-1"}
        last = max(label for label in boxes if label.startswith(f"{wave} judge"))
        assert boxes[f"{wave} commit"] == {last}


def test_more_waves_than_a_graph_can_show_are_drawn_in_groups(prefect_server, sample, tmp_path):
    plain, counts = run_plainly(sample, tmp_path / "plain", 11)
    result = generate("neiss", sample, limit=11, wave_size=1, store=tmp_path / "store", run_id="grouped")
    assert result.counts == counts and Store(tmp_path / "store").digest() == plain.digest()
    assert {"ingest", "plan", "waves / 1 to 8", "waves / 9 to 11", "publish"} == set(graph("grouped"))


def test_stages_have_those_tags_on_which_the_server_has_a_limit(prefect_server, sample, tmp_path):
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import TaskRunFilter, TaskRunFilterTags

    with get_client(sync_client=True) as client:
        client.create_concurrency_limit("jail", 5)
        try:
            generate("neiss", sample, limit=1, store=tmp_path / "store", run_id="limited")
        finally:
            client.delete_concurrency_limit_by_tag("jail")
        graph("limited")
        tagged = client.read_task_runs(task_run_filter=TaskRunFilter(tags=TaskRunFilterTags(is_null_=False)))
    assert {(run.name.partition("-")[0], *run.tags) for run in tagged} == {("wave 01 execute", "jail")}


def test_a_budget_that_is_reached_fails_no_stage_and_no_group(prefect_server, sample, tmp_path, monkeypatch):
    extract = Session.extract

    async def spent(self, step):
        if step.wave == 9:
            raise BudgetReached("the budget is reached")
        return await extract(self, step)

    monkeypatch.setattr(Session, "extract", spent)
    state = generate(
        "neiss", sample, limit=11, wave_size=1, store=tmp_path / "store", run_id="reached", return_state=True
    )
    assert state.is_completed() and state.name == "BudgetReached"
    assert Store(tmp_path / "store").count("outcomes") == 8
    assert set(graph("reached", states=True).values()) == {"COMPLETED"}
