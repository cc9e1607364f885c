"""Two runs of the command line on one store at once, over overlapping records, and readers meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hazardmill.runs.status import summarize_runs
from hazardmill.store.store import Store

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

RUNS = {"first": {"neiss": 16, "bddl": 12}, "second": {"bddl": 20, "neiss": 10}}
"""Run to its sources in order, with how many records of each."""


def command(*words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hazardmill.cli.main", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def generate(store: Path, project: Path, run_id: str, of: str | None = None) -> subprocess.Popen[str]:
    words: list[object] = ["run", "generate", "--store", store, "--run-id", run_id, "--wave-size", 4, "--json"]
    for source, records in RUNS[of or run_id].items():
        sample = project / "sources" / source / "sample"
        words += ["--source", source, "--input", f"{source}={sample}", "--limit", f"{source}={records}"]
    return command(*words)


def ended(process: subprocess.Popen[str]) -> str:
    """What a command printed, if it ended well."""
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


def look(store: Store) -> set[str]:
    """Read in this process all that readers read; returns the runs under way."""
    runs = summarize_runs(store)
    for run in runs:
        assert run.records == sum(run.counts["outcomes"].values()) == sum(RUNS[run.run_id].values())
    store.digest()
    with store.connect() as connection:
        (doubled,) = connection.execute(
            "SELECT count(*) - count(DISTINCT (run_id, record_id)) FROM outcomes"
        ).fetchone() or (None,)
    assert doubled == 0
    assert {finding.code for finding in store.verify()} <= {"segment_left"}
    return {run.run_id for run in runs if run.state == "running"}


def test_two_runs_on_one_store_do_as_each_would_alone(tmp_path: Path, project: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    readers: list[tuple[object, ...]] = [
        ("run", "list", "--json"),
        ("query", "select outcome, count(*) from outcomes group by all", "--json"),
        ("store", "digest", "--json"),
    ]
    seen: list[set[str]] = []
    reads = 0
    workers = [generate(store.path, project, run_id) for run_id in RUNS]
    try:
        while any(worker.poll() is None for worker in workers):
            reader = command(*readers[reads % len(readers)], "--store", store.path)
            while reader.poll() is None:
                seen.append(look(store))
            json.loads(ended(reader))
            reads += 1
        for worker in workers:
            assert json.loads(ended(worker))["funnel"]["total"]["pending"] == 0
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    print(f"{reads} commands read, {len(seen)} looks, {seen.count(set(RUNS))} of them at two runs under way")
    assert reads >= len(readers) and set(RUNS) in seen

    assert ended(command("store", "verify", "--store", store.path)).startswith("all well up to commit ")
    listed = {run.run_id: run for run in summarize_runs(store)}
    assert {run.state for run in listed.values()} == {"completed"}
    for run_id in RUNS:
        alone = Store(tmp_path / run_id)
        ended(generate(alone.path, project, run_id))
        assert store.digest(run_id) == alone.digest(run_id)
        (other,) = summarize_runs(alone)
        assert listed[run_id].counts == other.counts
    # Of what both ask, what one has paid for is paid for twice only where both asked within a wave of each other.
    calls = [row["identity"] for row in store.rows("llm_calls", {"answered": True}, ["run_id", "identity"])]
    print(f"{len(calls) - len(set(calls))} of {len(set(calls))} answers were asked for by both")
    assert len(calls) <= sum(Store(tmp_path / run_id).count("llm_calls") for run_id in RUNS)
    # They may have asked all of it at the same time; a third run comes when all is answered.
    ended(generate(store.path, project, "third", of="first"))
    assert store.count("llm_calls", {"answered": True}) == len(calls)
    assert store.count("outcomes", {"run_id": "third"}) == sum(RUNS["first"].values())
