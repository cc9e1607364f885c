from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hazardmill.errors import InputError
from hazardmill.evaluation.report.load import check_release, read
from hazardmill.evaluation.results_files import RESULTS, SUMMARY

from .evaluations import MANIFEST, PROMPT, facts, row, written


def test_several_evaluations_are_put_together_with_what_their_summaries_say(tmp_path: Path) -> None:
    one = written(tmp_path / "one", [row("ant", "t1"), row("ant", "t2", "goal")])
    other = written(tmp_path / "other", [row("bee", "t1", run="r2")], decided_by={}, plans_sha256="5" * 64)
    found = read([one, other / RESULTS])
    assert found.rows.num_rows == 3 and sorted(found.runs) == ["r1", "r2"]
    assert (found.runs["r1"].prompt_hash, found.runs["r1"].plans_sha256) == (PROMPT, None)
    assert (found.runs["r2"].prompt_hash, found.runs["r2"].plans_sha256) == (None, "5" * 64)
    assert found.folders == (one, other)


def test_plans_and_traces_are_read_for_single_rows_of_any_file_and_group(tmp_path: Path) -> None:
    folder = written(tmp_path / "one", [row("ant", f"t{n}", plan=f"(go {n})") for n in range(5)])
    table = pq.read_table(folder / RESULTS)
    pq.write_table(table, folder / RESULTS, row_group_size=2)
    other = written(tmp_path / "other", [row("bee", "t9", run="r2", plan="(stay)")])
    found = read([folder, other])
    rows = {each["task_id"]: each for each in found.rows.to_pylist()}
    assert "plan" not in rows["t0"]
    wanted = ["t9", "t4", "t1", "t4"]
    plans = [each["plan"] for each in found.read_heavy_columns([rows[name] for name in wanted])]
    assert plans == ["(stay)", "(go 4)", "(go 1)", "(go 4)"]


def test_a_model_that_two_runs_asked_is_two(tmp_path: Path) -> None:
    first = written(tmp_path / "a", [row("ant", "t1")])
    second = written(tmp_path / "b", [row("ant", "t1", "goal", run="r2"), row("bee", "t1", run="r2")])
    rows = read([first, second]).rows
    assert set(rows["model"].to_pylist()) == {"ant (r1)", "ant (r2)", "bee"}
    assert set(rows["asked"].to_pylist()) == {"ant", "bee"}


def test_a_model_whose_variants_are_in_another_run_is_one(tmp_path: Path) -> None:
    first = written(tmp_path / "a", [row("ant", "t1")])
    second = written(tmp_path / "b", [row("ant", "t1", run="r2", variant="actions-2-seed-0")])
    assert set(read([first, second]).rows["model"].to_pylist()) == {"ant"}


def test_the_same_answer_twice_is_refused(tmp_path: Path) -> None:
    first, second = (written(tmp_path / name, [row("ant", "t1")]) for name in ("a", "b"))
    with pytest.raises(InputError, match="run r1, model ant, task t1: the results contain the same sample") as refused:
        read([first, second])
    assert refused.value.remedy == "name each evaluation only once"


def test_rows_that_nobody_scored_here_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "a", [row("ant", "t1")])
    table = pq.read_table(folder / RESULTS)
    pq.write_table(table.drop_columns(["failure", "trace"]), folder / RESULTS)
    with pytest.raises(InputError, match="missing columns: failure, trace"):
        read([folder])


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"tasks": "x"}', '{"run": "r1", "decided_by": 3}', '{"run": "r1", "release": 3}']
)
def test_a_broken_summary_is_refused(tmp_path: Path, text: str) -> None:
    folder = written(tmp_path / "a", [row("ant", "t1")])
    (folder / SUMMARY).write_text(text)
    with pytest.raises(InputError, match="not a valid evaluation summary"):
        read([folder])


def test_results_of_another_release_are_refused(tmp_path: Path) -> None:
    rows = [row("ant", "t1"), row("ant", "t2")]
    found = read([written(tmp_path / "a", rows)])
    check_release(found, facts(rows))
    with pytest.raises(InputError, match=r"task t2 is not in soups 1\.2\.3"):
        check_release(found, facts(rows[:1]))
    same = {"name": "soups", "version": "1.2.3", "manifest_sha256": MANIFEST}
    check_release(read([written(tmp_path / "c", rows, release=same)]), facts(rows))
    rebuilt = read([written(tmp_path / "d", rows, release={**same, "manifest_sha256": "e" * 64})])
    with pytest.raises(
        InputError, match=r"run r1 used a different release with the name soups 1\.2\.3: .* has the hash eee"
    ):
        check_release(rebuilt, facts(rows))
    other = read([written(tmp_path / "b", rows, tasks="soups 2.0.0, test")])
    with pytest.raises(InputError, match=r"run r1 used soups 2\.0\.0, test, not soups 1\.2\.3"):
        check_release(other, facts(rows))
