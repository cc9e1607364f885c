"""Runs from Python: they do what the command does, say how far they are, and can always be resumed."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

import hazardmill
from hazardmill.api import run as runs
from hazardmill.api.pages import NotebookProgress
from hazardmill.api.run import GenerationRun, RunUpdate
from hazardmill.cli.main import hazardmill as command
from hazardmill.errors import BudgetReached, InputError, RunWaiting, UsageError
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.store.store import Store


@pytest.fixture(scope="module")
def sample(project: Path) -> Path:
    return project / "sources" / "neiss" / "sample" / "sample.tsv"


@pytest.fixture(scope="module")
def made(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[GenerationRun, list[RunUpdate]]:
    """A run of three records, and what it said on the way. Nobody changes it."""
    seen: list[RunUpdate] = []
    place = tmp_path_factory.mktemp("api") / "store"
    run = hazardmill.generate(
        {"neiss": sample}, model="recorded", limit=3, store=place, run_id="r", progress=seen.append
    )
    return run, seen


@pytest.mark.full
def test_a_run_is_the_one_that_the_command_makes(
    made: tuple[GenerationRun, list[RunUpdate]], sample: Path, tmp_path: Path
) -> None:
    run, _ = made
    words = ["run", "generate", "--source", "neiss", "--input", str(sample), "--model", "recorded", "--limit", "3"]
    ended = CliRunner().invoke(command, [*words, "--run-id", "r", "--store", str(tmp_path / "store"), "--json"])
    assert ended.exit_code == 0, ended.output
    assert run.store.digest("r") == Store(tmp_path / "store").digest("r")


def test_the_handle_has_outcomes_and_tasks(made: tuple[GenerationRun, list[RunUpdate]]) -> None:
    run, seen = made
    rows = run.store.rows("tasks", {"run_id": "r"})
    assert (run.state, run.error, run.unanswered) == ("completed", None, ())
    assert run.outcomes["accepted"] == len(rows) > 0 and sum(run.outcomes.values()) == 3
    assert [task.task_id for task in run.tasks] == [row["task_id"] for row in rows]
    loaded = hazardmill.load_task(rows[0]["task_id"], store=run.store.address)
    assert (loaded.document, loaded.task_id) == (run.tasks[0].document, rows[0]["task_id"])
    assert (seen[0].done, seen[0].total, seen[-1].done) == (0, 3, 3)
    assert sum(seen[-1].outcomes.values()) == 3
    assert "<GenerationRun r: completed" in repr(run) and "completed" in run._repr_html_()


def test_what_a_callback_raises_ends_the_run_which_is_then_resumed(sample: Path, tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def stop(update: RunUpdate) -> None:
        if update.done:
            raise Enough

    same: dict[str, Any] = {"store": tmp_path / "store", "run_id": "r"}
    with pytest.raises(Enough):
        hazardmill.generate({"neiss": sample}, model="recorded", limit=2, progress=stop, **same)
    states = [row["state"] for row in hazardmill.open_store(tmp_path / "store").rows("runs", {"run_id": "r"})]
    assert states[-1] == "stopped"
    with pytest.raises(UsageError, match="search limit"):
        hazardmill.generate(search_limit=7, **same)
    run = asyncio.run(hazardmill.agenerate({"neiss": sample}, limit=2, concurrency=1, **same))
    assert (run.state, sum(run.outcomes.values())) == ("completed", 2)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"budget": 3}, TypeError, r"generate\(\) has no option 'budget'; did you mean budget_id or budget_usd"),
        ({"concurrency": 0}, UsageError, "concurrency cannot be used"),
        ({"sources": ()}, UsageError, "no source is named"),
        ({"sources": "nowhere"}, InputError, "nowhere"),
        ({"limit": 0}, UsageError, "limit cannot be used"),
    ],
)
def test_a_wrong_call_says_what_to_change(
    given: dict[str, Any], error: type[Exception], words: str, sample: Path, tmp_path: Path
) -> None:
    call = {"sources": {"neiss": sample}, "model": "recorded", "store": tmp_path / "store", **given}
    with pytest.raises(error, match=words):
        hazardmill.generate(**call)
    assert not (tmp_path / "store").exists()


def test_a_run_is_not_resumed_as_another_one(made: tuple[GenerationRun, list[RunUpdate]], tmp_path: Path) -> None:
    run, _ = made
    with pytest.raises(UsageError, match="does not replay the store"):
        hazardmill.generate(run_id=run.run_id, store=run.store, replay=tmp_path)
    with pytest.raises(UsageError, match="limit, where and shard belong to sources"):
        hazardmill.generate(run_id=run.run_id, store=run.store, limit=1)


def test_another_model_is_that_of_all_stages_as_with_the_command(made: tuple[GenerationRun, list[RunUpdate]]) -> None:
    run, _ = made
    with pytest.raises(
        UsageError, match=r"(?s)extract model: recorded -> openai/gpt-4o.*judge model: recorded -> openai"
    ):
        hazardmill.generate(run_id=run.run_id, store=run.store, model="openai/gpt-4o")


def test_folders_of_a_run_are_the_same_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inputs = (RunInput(source="neiss"),)
    config = RunConfig(inputs=inputs, prompts=Path("mine"), recordings=Path("kept"), exchange=Path("files"))
    assert (config.prompts, config.recordings, config.exchange) == (
        tmp_path / "mine",
        tmp_path / "kept",
        tmp_path / "files",
    )


def test_a_run_on_a_relative_path_is_resumed_from_another_folder(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, elsewhere, place = tmp_path / "here", tmp_path / "elsewhere", tmp_path / "store"
    here.mkdir()
    elsewhere.mkdir()
    file = shutil.copy(sample, here / "mine.tsv")
    monkeypatch.chdir(here)
    run = hazardmill.generate({"neiss": "mine.tsv"}, model="recorded", limit=1, store=place, run_id="r")
    monkeypatch.chdir(elsewhere)
    again = hazardmill.generate({"neiss": file}, limit=1, store=place, run_id="r")
    assert (run.state, again.state) == ("completed", "completed")
    # Its child reads the file again, because it takes more of it.
    ended = CliRunner().invoke(
        command, ["run", "resume", "r", "--child", "--child-id", "c", "--limit", "2", "--store", str(place), "--json"]
    )
    assert ended.exit_code == 0, ended.output
    assert sum(hazardmill.open_store(place).count("outcomes", {"run_id": run_id}) for run_id in ("r", "c")) == 3


def test_a_relative_path_in_a_configuration_of_before_is_read_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = RunConfig(inputs=(RunInput(source="neiss"),)).model_dump(mode="json")
    written["inputs"][0]["path"] = "mine.tsv"
    assert RunConfig.model_validate(written).inputs[0].path == tmp_path / "mine.tsv"


def test_in_an_event_loop_the_other_function_is_named() -> None:
    async def call() -> None:
        hazardmill.generate("neiss")

    with pytest.raises(UsageError) as found:
        asyncio.run(call())
    assert "await hazardmill.agenerate" in str(found.value)


def test_a_budget_of_infinity_is_none(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAZARDMILL_BUDGET_USD", "1")
    run = hazardmill.generate(
        {"neiss": sample}, model="recorded", limit=1, store=tmp_path / "store", run_id="r", budget_usd=math.inf
    )
    (config, *_) = (json.loads(row["config"]) for row in run.store.rows("runs", {"run_id": "r"}))
    assert config["budget_usd"] is None


@pytest.mark.parametrize(("error", "state"), [(BudgetReached("no money"), "stopped"), (RunWaiting("later"), "waiting")])
def test_an_end_on_purpose_is_a_handle_that_says_how_to_resume(
    error: BudgetReached | RunWaiting,
    state: str,
    sample: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def end(*given: object) -> None:
        raise error

    monkeypatch.setattr("hazardmill.runs.session.Session.work_through", end)
    run = hazardmill.generate({"neiss": sample}, model="recorded", limit=1, store=tmp_path / "store", run_id="r")
    assert (run.state, run.error) == (state, error)
    assert "hazardmill.generate(run_id='r'" in str(run.error)
    assert state in run._repr_html_()


def test_a_notebook_shows_progress_in_one_place() -> None:
    shown: list[str] = []

    class Handle:
        def update(self, what: Any) -> None:
            shown.append(f"update {what._repr_html_()}")

    def display(what: Any, display_id: bool) -> Handle:
        shown.append(f"display {what._repr_html_()}")
        return Handle()

    bar = NotebookProgress(display)
    for done in (0, 1, 2):
        bar(RunUpdate("<script>", 2, done, {"<script>": done}, "$0.10"))
    assert [line.partition(" ")[0] for line in shown] == ["display", "update", "update"]
    assert not any("<script" in line for line in shown) and "2 of 2 records, $0.10" in shown[-1]


def test_the_notebook_is_found_without_importing_ipython(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert NotebookProgress.here() is None and "IPython" not in sys.modules
    shell = SimpleNamespace(kernel=None)
    fake = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=print))
    monkeypatch.setitem(sys.modules, "IPython", fake)  # type: ignore[arg-type]
    assert NotebookProgress.here() is None
    shell.kernel = object()
    assert isinstance(NotebookProgress.here(), NotebookProgress)


def test_options_are_those_of_the_settings_page(project: Path) -> None:
    page = (project / "docs" / "settings.md").read_text()
    assert {name for name in runs._OPTIONS if f"`{name}`" not in page} <= {"recordings", "sample"}
