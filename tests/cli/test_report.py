from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.store.store import Store

from .conftest import Hazardmill, OnceASession, assert_damage_is_told


@pytest.fixture
def ran(hazardmill: Hazardmill, neiss: Path, once: OnceASession) -> None:
    def two_runs() -> None:
        for run_id, limit in (("first", 2), ("second", 4)):
            words = ("--source", "neiss", "--input", neiss, "--limit", limit, "--run-id", run_id, "--store", "s")
            assert hazardmill("run", "generate", *words, "--json").code == 0

    once("two runs", two_runs)


@pytest.mark.usefixtures("ran")
def test_the_latest_run_is_reported(hazardmill: Hazardmill) -> None:
    ended = hazardmill("report", "--store", "s", "--out", "out", "--json")
    assert ended.code == 0
    made = ended.json
    assert made["runs"] == ["second"]
    assert Path(made["report"]) == Path("out/report.html") and "second" in Path(made["report"]).read_text()
    tasks = Store.open("s").count("tasks", {"run_id": "second"})
    assert len(made["tasks"]) == tasks > 0
    for folder in made["tasks"]:
        names = {path.name for path in Path(folder).iterdir()}
        assert {"code.py", "task.json", "domain.pddl", "problem.pddl", "metadata.json"} <= names
    assert Path(made["duckdb"]).is_file()


@pytest.mark.usefixtures("ran")
def test_a_damaged_part_ends_the_report_with_what_to_do(hazardmill: Hazardmill) -> None:
    part = next(Path("s/tasks").glob("*.parquet"))
    whole = part.read_bytes()
    for damaged in (b"", whole[:-100], whole[:10] + bytes(byte ^ 90 for byte in whole[10:300]) + whole[300:]):
        part.write_bytes(damaged)
        assert_damage_is_told(hazardmill("report", "--store", "s", "--out", "out"), part)
    part.unlink()
    assert_damage_is_told(hazardmill("report", "--store", "s", "--out", "out"), part)


@pytest.mark.usefixtures("ran")
def test_runs_can_be_named(hazardmill: Hazardmill) -> None:
    words = ("--run", "first", "--run", "second", "--run", "first")
    made = hazardmill("report", "--store", "s", *words, "--json").json
    assert made["runs"] == ["first", "second"]
    out = hazardmill("report", "--store", "s", "--run", "first").out
    assert "report/report.html" in out and "task folders in report/tasks" in out


@pytest.mark.usefixtures("ran")
def test_a_store_that_takes_no_duckdb_file_is_reported_all_the_same(hazardmill: Hazardmill) -> None:
    lens = Path("s/store.duckdb")
    lens.unlink()
    # Nothing can be put in the place of a folder that holds something.
    (lens / "in the way").mkdir(parents=True)
    ended = hazardmill("report", "--store", "s", "--json")
    assert ended.code == 0
    assert "no DuckDB file: " in ended.err
    assert ended.json["duckdb"] is None and Path(ended.json["report"]).is_file() and ended.json["tasks"]
    ended = hazardmill("report", "--store", "s")
    assert (ended.code, ended.out.count("store.duckdb")) == (0, 0)


def test_an_unknown_run_and_a_store_without_runs_are_refused(hazardmill: Hazardmill, neiss: Path) -> None:
    assert hazardmill("ingest", "--source", "neiss", neiss, "--limit", 1, "--store", "s").code == 0
    ended = hazardmill("report", "--store", "s")
    assert ended.code == 3 and "has no generation run" in ended.err
    assert "see: hazardmill run list --store " in ended.err
    ended = hazardmill("report", "--store", "s", "--run", "nope")
    assert ended.code == 2 and "no generation run nope" in ended.err
    assert not Path("report").exists()


@pytest.fixture
def two_sources(hazardmill: Hazardmill, neiss: Path, project: Path, once: OnceASession) -> None:
    bddl = project / "sources" / "bddl" / "sample"
    words = ("--source", "neiss", "--source", "bddl", "--input", f"neiss={neiss}", "--input", f"bddl={bddl}")
    words += ("--limit", 4, "--run-id", "both", "--store", "s", "--json")
    ended = once("a run of two sources", lambda: hazardmill("run", "generate", *words))
    assert ended.code == 0, ended.err


@pytest.mark.usefixtures("two_sources")
def test_a_report_can_be_restricted_to_sources(hazardmill: Hazardmill) -> None:
    whole = hazardmill("report", "--store", "s", "--json").json
    ended = hazardmill("report", "--store", "s", "--source", "neiss", "--output", "out", "--json")
    assert (ended.code, ended.json["sources"], whole["sources"]) == (0, ["neiss"], None)
    there = Store.open("s").rows("tasks", columns=["task_id", "source"])
    assert {Path(folder).name for folder in ended.json["tasks"]} == {
        row["task_id"] for row in there if row["source"] == "neiss"
    }
    assert len(whole["tasks"]) == len(there) > len(ended.json["tasks"]) > 0
    page = Path("out/report.html").read_text()
    assert "Restricted to" in page and "(n = 4 records)" in page
    assert "Restricted to" not in Path(whole["report"]).read_text()


@pytest.mark.usefixtures("two_sources")
def test_a_report_can_be_markdown(hazardmill: Hazardmill) -> None:
    ended = hazardmill("report", "--store", "s", "--format", "md", "--source", "bddl", "--source", "neiss", "--json")
    assert ended.code == 0 and Path(ended.json["report"]) == Path("report/report.md")
    text = Path("report/report.md").read_text()
    assert "Restricted to `bddl`, `neiss`" in text and "(n = 8 records)" in text
    assert len(list(Path("report/report-figures").glob("*.svg"))) == 9
    assert not Path("report/report.html").exists()


@pytest.mark.usefixtures("ran")
def test_a_source_that_the_runs_have_no_record_of_is_refused(hazardmill: Hazardmill) -> None:
    ended = hazardmill("report", "--store", "s", "--source", "neiss", "--source", "bddl")
    assert ended.code == 2
    assert "there is no record of source bddl in second" in ended.err and "name one of neiss" in ended.err
    assert not Path("report").exists()
