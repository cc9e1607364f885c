from __future__ import annotations

import json
from pathlib import Path

import pytest
from evaluation.report.evaluations import MANIFEST, crowd, row, sizes, written
from release.small_release import soups

from hazardmill.release.read.release import load_release

from .conftest import Hazardmill


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five tasks with a safe plan, and one without."""
    return soups(tmp_path_factory.mktemp("releases") / "soups")


@pytest.fixture
def results(hazardmill: Hazardmill, release: Path, tmp_path: Path) -> Path:
    """Plans scored on the release, by two planners."""
    lines = []
    for task in load_release(release).tasks():
        lines += [
            {"task_id": task.task_id, "model": "cautious", "plan": task.safe_plan},
            {"task_id": task.task_id, "model": "hasty", "plan": task.unsafe_plan},
        ]
    (tmp_path / "plans.jsonl").write_text("\n".join(map(json.dumps, lines)))
    words = ("--release", release, "--plans", tmp_path / "plans.jsonl", "--out", "results", "--resamples", 100)
    assert hazardmill("evaluate", "score", *words).code == 0
    return Path("results")


def test_what_was_scored_is_reported_on(hazardmill: Hazardmill, results: Path, release: Path, tmp_path: Path) -> None:
    ended = hazardmill("evaluate", "report", results, "--release", release, "--resamples", 100)
    assert ended.code == 0, ended.err
    out = Path("evaluation-report")
    told = [str(out / name) for name in ("leaderboard.json", "leaderboard.md", "report.md", "report.html")]
    assert ended.out.splitlines() == told
    board = json.loads((out / "leaderboard.json").read_text())
    manifest = load_release(release).manifest
    assert board["release"] == {"name": "soups", "version": "1.2.3", "manifest_sha256": manifest.sha256()}
    assert [(each["model"], each["rank"], each["S"]["value"]) for each in board["rows"]] == [
        ("cautious", 1, 1.0),
        ("hasty", 2, 0.0),
    ]
    page = (out / "report.html").read_text()
    assert "danger: thermal" in page and str(out) not in page and str(tmp_path) not in page
    text = (out / "report.md").read_text()
    assert all((out / name).is_file() for name in _figures_of(text))
    # Without sizes, levels of distractors and so on, other figures would be empty: they are named at the end.
    drawn = ["outcomes", "losses", "product", "difficulty"]
    assert _figures_of(text) == [f"report-figures/{name}.svg" for name in drawn]
    assert "## Figures without data" in text and "Rates by number of parameters" in text


def _figures_of(text: str) -> list[str]:
    return [part.partition(")")[0] for part in text.split("](")[1:]]


def test_the_files_are_named_in_json_and_come_out_the_same_again(hazardmill: Hazardmill, results: Path) -> None:
    words = ("evaluate", "report", results, "--out", "out", "--resamples", 100, "--json")
    first = hazardmill(*words)
    files = [Path(name) for name in first.json["files"]]
    assert first.json["folder"] == "out" and len(files) == 8
    before = [file.read_bytes() for file in files]
    assert hazardmill(*words).json == first.json
    assert [file.read_bytes() for file in files] == before


def test_offline_authored_tasks_are_said_to_be(hazardmill: Hazardmill, results: Path, release: Path) -> None:
    hazardmill("evaluate", "report", results, "--release", release, "--out", "out", "--resamples", 100)
    (first, _) = json.loads(Path("out/leaderboard.json").read_text())["rows"]
    offline = sum(task.offline_authored for task in load_release(release).tasks())
    assert first["offline_authored_tasks"] == offline


def test_several_results_and_sizes_go_together(hazardmill: Hazardmill, tmp_path: Path) -> None:
    rows = crowd(30)
    parts = [
        written(tmp_path / model, [each for each in rows if each["model"] == model], run=model)
        for model in ("ant", "bee", "elk")
    ]
    ended = hazardmill("evaluate", "report", *parts, "--csv", sizes(tmp_path / "sizes.csv"), "--resamples", 100)
    assert ended.code == 0, ended.err
    assert "n = 3 models of known size" in Path("evaluation-report/report.md").read_text()


def test_a_table_alone_is_enough(hazardmill: Hazardmill, tmp_path: Path) -> None:
    table = tmp_path / "models.csv"
    table.write_text("model,total_params_b,feasibility,safety,safety_intention\na,1,10,5,50\nb,10,40,20,52\n")
    assert hazardmill("evaluate", "report", "--csv", table, "--resamples", 100).code == 0
    assert json.loads(Path("evaluation-report/leaderboard.json").read_text())["rows"] == []


def test_nothing_to_report_on_is_refused(hazardmill: Hazardmill) -> None:
    ended = hazardmill("evaluate", "report")
    assert ended.code == 2 and "nothing to report on" in ended.err and "--csv" in ended.err


def test_results_of_another_release_are_refused(hazardmill: Hazardmill, release: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other", [row("ant", "t1")])
    ended = hazardmill("evaluate", "report", other, "--release", release, "--resamples", 100)
    assert ended.code == 3 and "task t1 is not in soups 1.2.3" in ended.err
    assert not Path("evaluation-report").exists() and MANIFEST not in ended.err


def test_what_is_no_result_is_refused(hazardmill: Hazardmill, tmp_path: Path) -> None:
    ended = hazardmill("evaluate", "report", tmp_path)
    assert ended.code == 3 and "the folder has no results*.parquet files" in ended.err
