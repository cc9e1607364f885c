"""Eight shards of one selection, worked through by three processes on one store out of one budget."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hazardmill.runs.status import summarize_runs
from hazardmill.store.store import Store

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

WORKER = Path(__file__).with_name("sharded_run.py")
RECORDS = 30
"""Most of each of two sources."""
SHARDS = [f"{number}/8" for number in range(1, 9)]


def worked(project: Path, store: Path, usd: float, *shares: list[str]) -> dict[str, int]:
    """Work on each share in a process of its own, all at once; the exit code of each run."""
    words = [str(store), str(project / "sources"), f"{usd:.6f}", str(RECORDS)]
    workers = [
        subprocess.Popen(
            [sys.executable, str(WORKER), *words, *share], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for share in shares
    ]
    codes: dict[str, int] = {}
    for worker in workers:
        _, told = worker.communicate()
        assert worker.returncode == 0, told
        codes |= {run_id: int(code) for run_id, code in re.findall(r"^(\S+): (\d+)$", told, re.M)}
    return codes


def spent(store: Store) -> float:
    return math.fsum(row["usd_upper"] for row in store.rows("llm_calls", None, ["usd_upper"]))


def ends(store: Store) -> dict[str, tuple[str, str | None]]:
    """Record to what became of it and the task it came to, whoever else came to the same one."""
    rows = store.rows("outcomes", None, ["record_id", "outcome", "task_id"])
    assert len({row["record_id"] for row in rows}) == len(rows), "a record was worked on twice"
    return {row["record_id"]: (row["outcome"].replace("duplicate", "accepted"), row["task_id"]) for row in rows}


def test_shards_of_several_workers_make_what_one_run_makes(tmp_path: Path, project: Path) -> None:
    whole, shared = Store(tmp_path / "whole"), Store(tmp_path / "shared")
    assert worked(project, whole.path, 1000, []) == {"whole": 0}
    usd = spent(whole)
    shares = [SHARDS[number::3] for number in range(3)]

    budget = usd / 2
    codes = worked(project, shared.path, budget, *shares)
    assert set(codes.values()) <= {0, 4} and 4 in codes.values(), codes
    assert 0 < spent(shared) <= budget
    assert shared.count("outcomes") < whole.count("outcomes")

    assert set(worked(project, shared.path, 1000, *shares).values()) == {0}
    # Nothing was lost, nothing was paid for twice, and what was left of the lesser budget was there to be spent.
    assert ends(shared).keys() == ends(whole).keys() and len(ends(whole)) > RECORDS
    assert spent(shared) == pytest.approx(usd)
    assert not shared.verify()
    listed = {run.run_id: run for run in summarize_runs(shared)}
    assert {run.shard for run in listed.values()} == set(SHARDS)
    assert {run.state for run in listed.values()} == {"completed"}

    # What repeats a task of another shard is a task like any other until all runs are looked at together.
    tasks = {row["task_id"] for row in shared.rows("tasks", None, ["task_id"])}
    once = {row["task_id"] for row in whole.rows("tasks", None, ["task_id"])}
    command = [sys.executable, "-m", "hazardmill.cli.main", "dedupe", "--store", str(shared.path), "--json"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    joined = {each["task"]: each["twin"] for each in found["duplicates"]}
    print(f"{len(once)} tasks of one run, {len(tasks)} of eight, {len(joined)} of these duplicates")
    one, eight = (
        {record_id: (outcome, joined.get(str(task), task)) for record_id, (outcome, task) in ends(store).items()}
        for store in (whole, shared)
    )
    assert one == eight
    assert len(tasks - joined.keys()) == len(once) and found["tasks"] == len(tasks)
