"""Runs with what a package adds: what it is shown, what becomes of it, and that it is kept with the run."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.errors import PluginError, ProviderError, UsageError
from hazardmill.plugins import _declared
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.config_from_settings import configure_run, live_backend
from hazardmill.runs.recheck import chunks, recheck
from hazardmill.runs.run import Run
from hazardmill.settings import Settings
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import LlmServer
from tests.generation.support import APPROVED, FOUND, TOY, fenced, soup
from tests.plugins.installing import KITCHEN, lay_package
from tests.running import answering, worked

CHECK = """\
from hazardmill.generation.checks.added import DraftRefusal

seen = []


def no_pots(document, record):
    seen.append((document.hash, record.record_id))
    document.texts["name"] = "changed here"
    {body}
    if any("pot" in fluent.name for fluent in document.fluents):
        return DraftRefusal(reason="pot", message="there is a pot in it", mend="take a cup instead")
"""


def lay_check(site: Path, version: str = "0.3", body: str = "") -> None:
    points = {"hazardmill.checks": {"no_pots": "no_pots:no_pots"}}
    lay_package(site, "hazardmill-pots", version, points, {"no_pots.py": CHECK.format(body=body)})


def started(store: Store, notes: Path, backend: ScriptedBackend, run_id: str = "run", **fields: Any) -> Run:
    config = RunConfig(inputs=(RunInput(source="notes", path=notes, limit=1),), models=TOY, concurrency=1, **fields)
    run, _ = Run.start(store, config, run_id, resources=answering(backend))
    return run


def model(*things: str) -> ScriptedBackend:
    """Writes tasks about one thing after the other."""
    left = list(things)
    return ScriptedBackend(extract=FOUND, author=lambda _: fenced(soup(left.pop(0))), judge=APPROVED)


def rows(store: Store, table: str) -> list[dict[str, Any]]:
    return sorted(store.rows(table, {"run_id": "run"}), key=lambda row: (row.get("draft", 0), row.get("position", 0)))


def test_what_a_check_refuses_goes_back_to_the_author(store: Store, notes: Path, site: Path) -> None:
    lay_check(site)
    backend = model("pot", "cup")
    run = started(store, notes, backend, checks=("no_pots",))
    assert worked(run)["accepted"] == 1
    refused, passed = (row for row in rows(store, "checks") if row["check_name"] == "no_pots")
    assert (refused["passed"], refused["reason"], refused["mend"]) == (False, "pot", "take a cup instead")
    assert passed["passed"] is True
    for row in (refused, passed):
        assert json.loads(row["details"]) == {"package": "hazardmill-pots", "version": "0.3"}
    first, second = rows(store, "drafts")
    assert (first["failed_check"], first["failed_reason"]) == ("no_pots", "pot")
    assert "take a cup instead" in first["feedback"]
    asked = [request for request in backend.asked if request.stage == "author"]
    assert "take a cup instead" in asked[1].messages[-1].content
    # What the check did to its copy of the document changed nothing.
    assert "changed here" not in second["document"]
    names = [row["check_name"] for row in rows(store, "checks") if row["draft"] == 1]
    assert names == "answer policy jail document search certificate pddl no_pots formalization judge".split()


def test_a_check_that_is_not_named_does_not_run(store: Store, notes: Path, site: Path) -> None:
    lay_check(site)
    run = started(store, notes, model("pot"))
    assert worked(run)["accepted"] == 1
    assert "no_pots" not in {row["check_name"] for row in rows(store, "checks")}
    assert "plugins" not in json.loads(rows(store, "runs")[0]["config"])["made_with"]


def test_the_version_of_a_check_is_kept_and_another_one_is_refused(
    store: Store, notes: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_check(site)
    run = started(store, notes, model("cup"), checks=("no_pots",))
    written = json.loads(rows(store, "runs")[0]["config"])
    assert written["checks"] == ["no_pots"]
    assert written["made_with"]["plugins"] == {"check/no_pots": "hazardmill-pots 0.3"}
    Run.load(store, "run", run.resources).resume()
    lay_check(tmp_path / "newer", "0.4")
    monkeypatch.syspath_prepend(tmp_path / "newer")
    with pytest.raises(UsageError, match=r"check no_pots: hazardmill-pots 0.3 -> hazardmill-pots 0.4"):
        Run.load(store, "run", run.resources).resume()
    child, _ = Run.load(store, "run", run.resources).child(run_id="child")
    assert child.made.plugins == {"check/no_pots": "hazardmill-pots 0.4"}


def test_recheck_runs_the_checks_of_a_run_again_and_names_a_package_that_is_gone(
    store: Store, notes: Path, site: Path
) -> None:
    lay_check(site)
    worked(started(store, notes, model("pot", "cup"), checks=("no_pots",)))
    (chunk,) = chunks(store)
    found = recheck(store, chunk)
    assert (found.drafts, found.accepted, found.differing) == (2, 1, 0)
    del sys.modules["no_pots"]
    (site / "no_pots.py").write_text(CHECK.format(body="return None"))
    shutil.rmtree(site / "__pycache__", ignore_errors=True)
    importlib.invalidate_caches()
    found = recheck(store, chunk)
    assert {each.what for each in found.differences} == {
        f"no_pots: {part}" for part in ("passed", "reason", "message", "mend")
    }
    shutil.rmtree(site / "hazardmill_pots-0.3.dist-info")
    _declared.cache_clear()
    for again in (lambda: chunks(store), lambda: recheck(store, chunk)):
        with pytest.raises(PluginError) as caught:
            again()
        assert "run run was made with the check no_pots of hazardmill-pots 0.3, which is not installed" in str(
            caught.value
        )
        assert "pip install hazardmill-pots==0.3" in str(caught.value.remedy)
    # It keeps nobody from checking the other runs, unless somebody asked for it by its name.
    worked(started(store, notes, model("cup"), "other"))
    left_out: list[str] = []
    assert {each.run_id for each in chunks(store, left_out=left_out)} == {"other"}
    assert len(left_out) == 1 and "pip install hazardmill-pots==0.3" in left_out[0]
    with pytest.raises(PluginError):
        chunks(store, ["run"], left_out=left_out)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise KeyError('x')", "it failed: KeyError: 'x'"),
        ("return 'no'", "it returned a str instead of a DraftRefusal"),
    ],
)
def test_a_check_that_fails_ends_the_run_before_more_is_paid_for(
    store: Store, notes: Path, site: Path, body: str, message: str
) -> None:
    lay_check(site, body=body)
    backend = model("cup", "cup")
    run = started(store, notes, backend, checks=("no_pots",))
    with pytest.raises(PluginError) as caught:
        worked(run)
    assert message in str(caught.value) and "hazardmill-pots 0.3" in str(caught.value)
    assert caught.value.record_id == "notes:1" and "--child" in str(caught.value.remedy)
    assert len([request for request in backend.asked if request.stage == "author"]) == 1
    assert run.counts()["pending"] == 1


def test_checks_are_for_tasks_only() -> None:
    config = RunConfig(inputs=(RunInput(source="notes"),), models=TOY, checks=("no_pots",), kind="mal")
    with pytest.raises(UsageError, match="checks of packages look at tasks"):
        config.check()


ECHO = """\
class Echo:
    name, host = "echo", None
    def __init__(self, access): pass
    async def complete(self, request):
        {body}
    async def close(self):
        raise OSError("gone")
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [("raise KeyError('x')", "KeyError: 'x'"), ("return 'text'", "its answer is a str, not a Completion")],
)
def test_a_backend_that_fails_stops_the_run_which_can_be_resumed(
    store: Store, notes: Path, site: Path, body: str, message: str
) -> None:
    points = {"hazardmill.backends": {"echo": "echo:Echo"}}
    lay_package(site, "echo-package", "0.1", points, {"echo.py": ECHO.format(body=body)})
    config = configure_run(Settings(), [RunInput(source="notes", path=notes)], {"model": "echo/x"})
    assert config.backend == "echo"
    run, _ = Run.start(store, config, "run")
    with pytest.raises(ProviderError) as caught:
        worked(run)
    assert f"the backend echo of package echo-package 0.1 failed: {message}" in str(caught.value)
    assert max(rows(store, "runs"), key=lambda row: row["sequence"])["state"] == "stopped"


def test_models_of_a_backend_go_together_and_with_no_others(kitchen: Path) -> None:
    assert live_backend(["kitchen/a", "kitchen/b"]) == "kitchen"
    with pytest.raises(UsageError, match="kitchen/a cannot be mixed with other models"):
        live_backend(["kitchen/a", "openai/b"])


@pytest.mark.full
@pytest.mark.timeout(400)
def test_a_run_with_a_source_a_backend_and_a_check_of_an_installed_package(tmp_path: Path, project: Path) -> None:
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(site), str(KITCHEN)], check=True, cwd=tmp_path)
    path = os.pathsep.join(filter(None, [str(site), str(project), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path}

    def mill(*words: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "hazardmill.cli.main", *words, "--json"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    with LlmServer() as server:
        sample = site / "hazardmill_kitchen" / "incidents" / "sample"
        asked = ["--model", "kitchen/rules", "--api-base", server.address, "--check", "few_fluents"]
        store = ["--store", str(tmp_path / "store")]
        mill("run", "generate", "--source", "incidents", "--input", str(sample), *asked, *store, "--run-id", "run")
    found = Store.open(tmp_path / "store")
    written = json.loads(found.rows("runs", {"run_id": "run"})[0]["config"])
    assert written["made_with"]["plugins"] == {
        place: "hazardmill-kitchen 1.2" for place in ("source/incidents", "backend/kitchen", "check/few_fluents")
    }
    checked = [row for row in found.rows("checks", {"run_id": "run"}) if row["check_name"] == "few_fluents"]
    assert {True, False} <= {row["passed"] for row in checked}
    assert {row["reason"] for row in checked if row["passed"] is False} == {"too_many_fluents"}
    tasks = found.rows("tasks", {"run_id": "run"})
    assert tasks and {(row["source"], row["backend"]) for row in tasks} == {("incidents", "kitchen")}
