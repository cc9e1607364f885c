"""Inputs of a part of the public sets' size, or of all: nothing lost, memory bounded. A process of its own for each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from factories.generated import WRITERS, GeneratedInput, write_full, write_neiss

from hazardmill.store.store import Store
from tests.sizes import sized

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

MOST_MB = 500
"""Memory that reading any of the public sets may take."""
A_ROW_MB = 450e-6
"""What grows with each row is an id and its hashes."""
A_YEAR = 410_202
"""Rows of the largest set."""
SHARE = sized(0.1, 1.0)

# The peak is the kernel's, of this process alone: what getrusage says begins with the peak of the one that started it.
PEAK = """
import sys
def peak():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(int(line.split()[1]) / 1024, file=sys.stderr)
"""
READ = """
import json, sys
from pathlib import Path
from hazardmill.records import Record
from hazardmill.ingest.ingest import ingest
from hazardmill.ingest.sources import load_source
source = load_source(sys.argv[1])
run = ingest(source, Path(sys.argv[2]), where=dict.fromkeys(source.default_where, "*"))
hashed = sum(len(item.content_hash) == 64 for item in run if isinstance(item, Record))
print(json.dumps({**vars(run.counts), "hashed": hashed}))
peak()
"""
COMMAND = """
import atexit, sys
atexit.register(peak)
from hazardmill.cli.main import main
main()
"""


@dataclass(frozen=True)
class Ended:
    """What a process printed as JSON, and the most memory it had."""

    answer: dict[str, Any]
    peak_mb: float


def run(script: str, *arguments: str | Path) -> Ended:
    command = [sys.executable, "-c", PEAK + script, *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return Ended(json.loads(ended.stdout), float(ended.stderr.splitlines()[-1]))


@pytest.fixture(params=WRITERS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, GeneratedInput]]:
    yield request.param, write_full(request.param, tmp_path, share=SHARE)


def test_a_full_set_is_read_whole_within_bounds(written: tuple[str, GeneratedInput]) -> None:
    name, expected = written
    ended = run(READ, name, expected.path)
    found = {key: ended.answer[key] for key in ("records", "repeats", "rejects", "warned", "unselected")}
    assert found == {
        "records": expected.records,
        "repeats": expected.repeats,
        "rejects": expected.rejects,
        "warned": expected.warned,
        "unselected": 0,
    }
    assert ended.answer["hashed"] == expected.records
    # With the rest of its rows, this stays below the bound.
    assert ended.peak_mb < MOST_MB - A_ROW_MB * A_YEAR * (1 - SHARE)


def test_a_large_file_goes_into_a_store_within_bounds_and_only_once(tmp_path: Path) -> None:
    # A part of a year, for time's sake; benchmarks/ingest.py has the whole.
    rows = sized(20_000, 100_000)
    expected = write_neiss(tmp_path, rows)
    place = tmp_path / "store"
    command = ("ingest", "--source", "neiss", expected.path, "--store", place, "--json")
    first = run(COMMAND, *command)
    store = Store.open(place)
    before = store.digest()
    assert (first.answer["records"], first.answer["new_records"]) == (expected.records, expected.records)
    assert store.count("records") == expected.records
    assert store.count("rejects") == expected.rejects
    again = run(COMMAND, *command)
    assert again.answer["records"] == expected.records
    assert (again.answer["new_records"], again.answer["changed_records"]) == (0, 0)
    after = store.digest()
    assert {**after, "runs": "", "total": ""} == {**before, "runs": "", "total": ""}
    assert store.count("records") == expected.records
    assert max(first.peak_mb, again.peak_mb) < MOST_MB - A_ROW_MB * (A_YEAR - rows)
