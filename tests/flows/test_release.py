"""The release flow under a real Prefect server: a person approves through the API, turns it down, or never answers."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from factories.release_store import by_model, rewritten, run_offline
from patience import PATIENCE_S

from hazardmill.quality.corpus_thresholds import Thresholds
from hazardmill.release.build.options import Options
from hazardmill.release.manifest import read_manifest
from hazardmill.store.store import Store
from hazardmill.testing.hub_server import Account, HubServer, ScriptedHubFaults

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(300),
    # Of httpx, on how huggingface_hub hands it an upload without Xet.
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]

REPO = "acme/hazards"
TOKEN = "hf_planted-" + "q8d2"
OPTIONS = Options(version="1.0.0", policy="none", waive={"corpus": "a few samples"}, thresholds=Thresholds(enough=1))


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return run_offline(tmp_path_factory.mktemp("offline") / "store", limit=3)


@pytest.fixture(scope="module")
def store(offline: Store, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The same as though a model had answered."""
    return rewritten(offline, tmp_path_factory.mktemp("model") / "store", by_model)


@pytest.fixture(scope="module")
def built(store: Store, prefect_server: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from hazardmill.release.build.build import build

    return build(store, None, OPTIONS, tmp_path_factory.mktemp("built") / "release").folder


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    import huggingface_hub.constants
    import huggingface_hub.utils

    from flows import approval

    monkeypatch.setattr(approval, "LOOK_EVERY_S", 1)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    huggingface_hub.utils.disable_progress_bars()
    with HubServer(tmp_path / "hub", tokens={TOKEN: Account("mill", writes=True)}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield server
    huggingface_hub.close_session()
    huggingface_hub.utils.enable_progress_bars()


async def paused(known: set[Any]) -> Any:
    """The flow run that waits for its form, once it does."""
    from prefect.client.orchestration import get_client

    async with get_client() as client:
        async with asyncio.timeout(PATIENCE_S):
            while not (runs := await paused_runs(client) - known):
                await asyncio.sleep(0.2)
            return await client.read_flow_run(runs.pop())


async def paused_runs(client: Any) -> set[Any]:
    """The ids of all flow runs that wait. The server has those of other tests too, more than one answer tells."""
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType
    from prefect.client.schemas.objects import StateType

    state = FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.PAUSED]))
    return {run.id for run in await client.read_flow_runs(flow_run_filter=FlowRunFilter(state=state))}


def manifest_of(out: Path) -> str:
    """Which release a form is about."""
    return hashlib.sha256((out / "manifest.json").read_bytes()).hexdigest()


def run_flow(
    answer: dict[str, Any] | None, meanwhile: Callable[[], object] = lambda: None, **given: Any
) -> tuple[Any, Any]:
    """``(state, flow run)`` of a flow whose form is answered as soon as it is there, after what happens meanwhile."""
    from prefect.client.orchestration import get_client

    from flows.release import release

    async def answered(known: set[Any]) -> Any:
        if answer is None:
            return None
        run = await paused(known)
        about = manifest_of(given["out"])
        meanwhile()
        async with get_client() as client:
            # The run is paused a moment before the form of its input is kept.
            for _ in range(50):
                result = await client.resume_flow_run(run.id, run_input={"manifest": about, **answer})
                if result.status.value == "ACCEPT" or "schema not found" not in str(result.details):
                    break
                await asyncio.sleep(0.2)
        assert result.status.value == "ACCEPT", result
        return run

    async def both() -> tuple[Any, Any]:
        # Looked at before there can be a new one.
        async with get_client() as client:
            known = await paused_runs(client)
        # Together, so that one that fails ends the other.
        state, run = await asyncio.gather(release(**given, return_state=True), answered(known))
        return state, run

    return asyncio.run(both())


def artifact() -> Any:
    from prefect.artifacts import Artifact

    return asyncio.run(Artifact.aget("release"))


def given(store: Store, out: Path, **more: Any) -> dict[str, Any]:
    return {"options": OPTIONS, "repo": REPO, "store": store.path, "out": out, **more}


def test_what_a_person_approves_is_built_and_pushed(prefect_server, store, hub, tmp_path):
    out = tmp_path / "release"
    answer = {"reviewer": "ada", "approve": True, "public": True, "note": "looks fine"}
    state, run = run_flow(answer, **given(store, out))
    assert state.is_completed() and state.name == "Completed", state
    assert run.name == "hazardmill 1.0.0"
    repository = hub.hub.repository(REPO)
    assert len(repository.commits) == 2 and repository.tags == {"v1.0.0": repository.head.id}
    assert not repository.private
    assert f"{REPO} v1.0.0 at {repository.head.id}, public; approved by ada: looks fine" in state.message
    manifest = read_manifest(out)
    assert repository.head.tree.keys() == {*manifest.files, "manifest.json", ".gitattributes"}
    shown = artifact()
    for config, splits in manifest.counts.items():
        for split, rows in splits.items():
            assert f"| {config} | {split} | {rows} |" in shown.data
    assert "approved by ada" in shown.data and repository.head.id in shown.data
    assert "waived: gate corpus: a few samples" in shown.data
    assert TOKEN not in shown.data


def test_what_a_person_turns_down_is_not_pushed(prefect_server, store, built, hub, tmp_path):
    out = tmp_path / "release"
    shutil.copytree(built, out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    state, _ = run_flow({"reviewer": "ben", "note": "the card <b>lies</b>"}, **given(store, out))
    assert (state.type.value, state.name) == ("CANCELLED", "Cancelled")
    assert "turned down by ben: the card <b>lies</b>; nothing was pushed" in state.message
    assert hub.requests == ()
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before, "it was not built again"
    assert "\n    turned down by ben: the card <b>lies</b>" in artifact().data


def test_a_form_that_nobody_fills_in_ends_the_flow(prefect_server, store, built, hub, caplog):
    state, _ = run_flow(None, **given(store, built, wait_hours=1 / 3600))
    # The server has words of its own for a pause that is over; ours are in the flow's log.
    assert state.is_failed() and "never resumed" in state.message
    assert "nobody approved within 0.000277778 hours; nothing was pushed" in caplog.text
    assert hub.requests == () and built.is_dir()


def test_no_answer_is_no_approval(prefect_server, store, built, hub, monkeypatch):
    """As Prefect does where a pause of the same key was answered before: it goes on at once, with nothing."""
    from flows import approval

    async def nothing(**how):
        return None

    monkeypatch.setattr(approval, "apause_flow_run", nothing)
    state, _ = run_flow(None, **given(store, built))
    assert state.is_failed() and "RunStopped: nobody approved" in state.message
    assert hub.requests == ()


def test_a_form_without_a_name_is_not_taken(prefect_server, store, built, hub):
    from prefect.client.orchestration import get_client

    from flows.release import release

    async def answered() -> Any:
        async with get_client() as client:
            known = await paused_runs(client)
            flow = asyncio.create_task(release(**given(store, built), return_state=True))
            run = await paused(known)
            about = {"manifest": manifest_of(built)}
            refused = [
                (await client.resume_flow_run(run.id, run_input=about | each)).status.value
                for each in ({"approve": True}, {"reviewer": "", "approve": True}, {"reviewer": "ada", "approv": True})
            ]
            waits = (await client.read_flow_run(run.id)).state.is_paused()
            await client.resume_flow_run(run.id, run_input=about | {"reviewer": "ada"})
            return refused, waits, await flow

    refused, waits, state = asyncio.run(answered())
    assert refused == ["REJECT"] * 3 and waits
    assert state.is_cancelled() and hub.requests == ()


def test_where_gates_refuse_nobody_is_asked(prefect_server, offline, hub, tmp_path):
    state, _ = run_flow(None, **given(offline, tmp_path / "release"))
    assert state.is_failed()
    assert "ReleaseRefused: " in state.message
    shown = artifact()
    assert shown.data.startswith("### Gates refuse") and "    offline: " in shown.data
    assert not (tmp_path / "release").exists() and hub.requests == ()


def test_another_release_in_the_folder_is_not_pushed(prefect_server, store, built, hub):
    other = OPTIONS.model_copy(update={"version": "1.0.1"})
    state, _ = run_flow(None, **given(store, built, options=other))
    assert state.is_failed() and "the folder holds another release" in state.message
    assert hub.requests == ()


def test_a_release_that_changes_after_it_was_shown_is_not_pushed(prefect_server, store, built, hub, tmp_path):
    from hazardmill.release.build.build import build

    out = tmp_path / "release"
    shutil.copytree(built, out)

    def exchange() -> None:
        shutil.rmtree(out)
        build(store, None, OPTIONS.model_copy(update={"waive": {"corpus": "another reason"}}), out)

    state, _ = run_flow({"reviewer": "ada", "approve": True}, exchange, **given(store, out))
    assert state.is_failed() and "it has changed since it was approved" in state.message
    assert hub.requests == ()


def test_the_form_begins_with_the_decision_and_leads_to_card_and_differences(store, built, tmp_path, monkeypatch):
    from flows import release_form
    from flows.earlier_releases import compare, find_previous, suggest_version
    from hazardmill.release.build.build import build
    from hazardmill.release.hub.folder import read_folder

    shelf = tmp_path / "releases"
    shutil.copytree(built, shelf / "hazardmill-1.0.0")
    (shelf / "hazardmill-1.10.0").mkdir()
    assert suggest_version(shelf) == "1.1.0" and suggest_version(tmp_path) == "1.0.0"
    place, page = shelf / "hazardmill-1.0.1", tmp_path / "reports" / "release-hazardmill-1-0-1.html"
    build(store, None, OPTIONS.model_copy(update={"version": "1.0.1", "waive": {"corpus": "<b>"}}), place)
    previous = find_previous(place, "hazardmill", "1.0.1")
    assert previous == shelf / "hazardmill-1.0.0"
    assert find_previous(previous, "hazardmill", "1.0.0") is None
    local, differences = read_folder(place), compare(previous, place)
    release_form.write_page(page, local, place, differences)
    shown = page.read_text()
    assert "hazardmill 1.0.0 (" in shown and "# hazardmill" in shown.lower() and "<b>" not in shown
    text = release_form.in_words(local, place, differences, page)
    assert f"- Card: `{place / 'README.md'}`\n- Differences from 1.0.0: tasks: 0 added, 0 removed" in text
    assert f"(`{page}`)" in text
    monkeypatch.setenv("HAZARDMILL_PAGES_URL", "http://mill.example/view/")
    text = release_form.in_words(local, place, differences, page)
    assert "- Card: [card](http://mill.example/view/reports/release-hazardmill-1-0-1.html#card)" in text
    assert "[differences](http://mill.example/view/reports/release-hazardmill-1-0-1.html#differences)" in text
    # A damaged release beside it is no reason not to ask.
    next(previous.glob("data/*/*.parquet")).unlink()
    assert compare(previous, place).summary.startswith("unknown: ")


def test_a_hub_that_fails_once_is_asked_again_without_the_person(prefect_server, store, built, hub):
    hub.faults = ScriptedHubFaults({"commit": "500"})
    state, _ = run_flow({"reviewer": "ada", "approve": True}, **given(store, built))
    assert state.is_completed() and state.name == "Completed", state
    repository = hub.hub.repository(REPO)
    assert len(repository.commits) == 2 and repository.tags == {"v1.0.0": repository.head.id}
    assert repository.private, "nobody asked for it to be opened"


def test_every_parameter_is_explained_and_checked():
    from prefect.exceptions import ParameterTypeError
    from prefect.utilities.callables import parameter_schema

    from flows.release import release

    properties = parameter_schema(release.fn).properties
    assert all(each.get("description") for each in properties.values())
    right = {"options": {"version": "1.0.0"}, "repo": REPO}
    assert release.validate_parameters(right)["options"] == Options(version="1.0.0")
    for wrong in ({"options": {"version": "1.0"}}, {"repo": "hazards"}, {"wait_hours": 0}, {"wait_hours": 1441}):
        with pytest.raises(ParameterTypeError, match=f"- {next(iter(wrong))}"):
            release.validate_parameters(right | wrong)
