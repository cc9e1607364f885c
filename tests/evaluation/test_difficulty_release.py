from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from release.small_release import FREE, SHARE_ALIKE, soups

from hazardmill.errors import InputError, UsageError
from hazardmill.evaluation.difficulty.release import FILE, card_lines, panel_of, read_panel, write_difficulty
from hazardmill.evaluation.results import ResultRow, write_results
from hazardmill.evaluation.results_files import write_summary
from hazardmill.records import is_share_alike
from hazardmill.release.read.release import Release, load_release


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Five tasks with a safe plan, one of them share-alike, and one without."""
    return load_release(soups(tmp_path_factory.mktemp("releases") / "soups"))


def row(model: str, task_id: str, score: int | None, **more: Any) -> dict[str, Any]:
    known = {} if score is None else {"feasible": score > 0, "safe": score == 2, "safety_intention": score != 1}
    base = {"run": f"run-{model}", "model": model, "task_id": task_id, "sample": 0, "score": score, "empty": False}
    return {**base, **known, **more}


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True)
    write_results(pa.Table.from_pylist(rows, schema=ResultRow), folder / "results.parquet")
    return folder


def ids(release: Release) -> list[str]:
    return [task.task_id for task in release.tasks()]


def answers(release: Release, model: str, *scores: int) -> list[dict[str, Any]]:
    return [row(model, task_id, score) for task_id, score in zip(ids(release), scores, strict=False)]


@pytest.fixture
def panel(release: Release, tmp_path: Path) -> list[Path]:
    """The first and the last (share-alike) task are hard, the fourth was answered by one alone."""
    order = [task.share_alike for task in release.tasks()]
    alike = order.index(True)
    ones, others = [1, 2, 2, 2, 2], [0, 2, 1, 2, 2]
    ones[alike], others[alike] = 0, 1
    first = answers(release, "ant", *ones)
    second = answers(release, "bee", *others)
    del second[2]
    (lost,) = release.unavoidable()
    for rows, model in ((first, "ant"), (second, "bee")):
        rows.append(row(model, lost.task_id, None, feasible=True))
    stand_in = [row("openai/stand-in/shortest", task_id, 2) for task_id in ids(release)]
    return [written(tmp_path / name, rows) for name, rows in (("a", first), ("b", second), ("c", stand_in))]


def made(release: Release, panel: list[Path], folder: Path, **how: Any) -> dict[str, Any]:
    rows = read_panel(panel, release)
    return write_difficulty(release, rows, panel_of(rows), folder, **how)


def test_tasks_are_hard_easy_or_unknown_and_licences_stay_apart(
    release: Release, panel: list[Path], tmp_path: Path
) -> None:
    summary = made(release, panel, tmp_path / "out")
    assert summary["panel"] == ["ant", "bee"] and summary["left_out"] == ["openai/stand-in/shortest"]
    assert summary["splits"] == {"difficulty": {"hard": 1, "easy": 2}, "difficulty_by_sa": {"hard": 1}}
    assert (summary["tasks"], summary["unknown"], summary["own_unknown"]) == (5, 1, 0)
    tasks = {task.task_id: task for task in release.tasks()}
    files = sorted(path.relative_to(tmp_path / "out" / "data") for path in (tmp_path / "out").glob("data/*/*.parquet"))
    assert list(map(str, files)) == [
        "difficulty/easy.parquet",
        "difficulty/hard.parquet",
        "difficulty_by_sa/hard.parquet",
    ]
    for file in files:
        for found in pq.ParquetFile(tmp_path / "out" / "data" / file).read().to_pylist():
            task = tasks[found["task_id"]]
            assert found["hard"] is (file.stem == "hard") is (found["mean_score"] <= 0.8)
            assert found["licence"] == task.licence == (SHARE_ALIKE if "by_sa" in str(file) else FREE)
            assert is_share_alike(found["licence"]) is ("by_sa" in str(file))
            assert (found["attribution"], found["release_split"]) == (task.attribution, task.split)
            assert (found["safe_length"], found["unsafe_length"]) == (2, 1)


def test_the_table_has_every_task_with_what_is_known_of_it(release: Release, panel: list[Path], tmp_path: Path) -> None:
    made(release, panel, tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / FILE)
    assert table["task_id"].to_pylist() == sorted(ids(release))
    assert all(field.metadata[b"doc"] for field in table.schema)
    unknown = [found for found in table.to_pylist() if found["hard"] is None]
    assert [(found["task_id"], found["members"], found["panel"]) for found in unknown] == [(ids(release)[2], 1, 2)]
    assert unknown[0]["expanded"] > 0 and unknown[0]["mean_score"] is None


def test_the_same_again_replaces_itself_byte_for_byte(release: Release, panel: list[Path], tmp_path: Path) -> None:
    def contents() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}

    first = made(release, panel, tmp_path / "out")
    before = contents()
    assert made(release, panel[::-1], tmp_path / "out") == first and contents() == before
    with pytest.raises(UsageError, match="something else"):
        made(release, panel[:1], tmp_path / "out")
    assert contents() == before


def test_what_search_does_not_find_is_null(release: Release, panel: list[Path], tmp_path: Path) -> None:
    summary = made(release, panel, tmp_path / "out", limit=1)
    table = pq.read_table(tmp_path / "out" / FILE)
    assert summary["own_unknown"] == 5 and table["safe_length"].null_count == 5
    assert summary["unknown"] == 1


def test_progress_is_told(release: Release, panel: list[Path], tmp_path: Path) -> None:
    told: list[int] = []
    made(release, panel, tmp_path / "out", on_task=told.append)
    assert told == [1, 2, 3, 4, 5]


def test_a_panel_may_be_named(release: Release, panel: list[Path]) -> None:
    rows = read_panel(panel, release)
    assert panel_of(rows, ["bee", "openai/stand-in/shortest", "bee"]) == ["bee", "openai/stand-in/shortest"]
    with pytest.raises(InputError, match="all results are from rule-based stand-ins"):
        panel_of(read_panel(panel[2:], release))


def test_results_of_another_release_or_twice_are_refused(release: Release, panel: list[Path], tmp_path: Path) -> None:
    strange = written(tmp_path / "d", [row("cow", "neiss-nowhere", 1)])
    with pytest.raises(InputError, match="1 tasks in the results are not in the release, such as neiss-nowhere"):
        read_panel([*panel, strange], release)
    with pytest.raises(InputError, match="contain the same sample"):
        read_panel([panel[0], panel[0]], release)


def test_results_that_say_they_are_of_another_release_are_refused(release: Release, panel: list[Path]) -> None:
    said = {"name": release.manifest.name, "version": release.version, "manifest_sha256": release.manifest.sha256()}
    write_summary(panel[0], {"run": "run-ant", "release": said})
    assert read_panel(panel, release).num_rows > 0
    write_summary(panel[1], {"run": "run-bee", "release": {**said, "manifest_sha256": "e" * 64}})
    with pytest.raises(InputError, match=r"run run-bee used a different release .* has the hash eee") as refused:
        read_panel(panel, release)
    assert refused.value.remedy == "name the release that the evaluation used"


def test_the_card_lines_are_a_config_as_loaders_read_it(release: Release, panel: list[Path], tmp_path: Path) -> None:
    import yaml

    found = yaml.safe_load("\n".join(card_lines(made(release, panel, tmp_path / "out"))))
    assert [config["config_name"] for config in found] == ["difficulty", "difficulty_by_sa"]
    for config in found:
        for split in config["data_files"]:
            assert (tmp_path / "out" / split["path"]).is_file() and split["split"] in split["path"]
