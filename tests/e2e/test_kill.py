"""A run killed anywhere goes on to the same end: nothing committed is lost or doubled, nothing is paid for twice.

The points lie in every stage of a run, and in every way of the store to the disk: the middle of a journal line, the
rename of a part and of a manifest, a compaction. Which passing of each is fatal is drawn from a seed, and
is in the name of its test.
"""

from __future__ import annotations

import random
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from e2e.keeper import Ended, Keeper, keeping
from hazardmill.runs.run import Run
from hazardmill.store.schemas import TABLES
from hazardmill.store.store import Store

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

SEED = 7
RECORDS = {"neiss": 16, "bddl": 14}
RUN = "run"

POINTS = {
    "ingest.record.before": 30,
    "ingest.input.after": 2,
    "extract.before": 30,
    "llm.answer.after": 100,
    "llm.ledger.after": 100,
    "author.after": 50,
    "execute.before": 50,
    "execute.jail.after": 49,
    "execute.prove.after": 40,
    "judge.before": 25,
    "commit.before": 30,
    "commit.after": 30,
    "journal.torn": 60,
    "journal.written": 60,
    "journal.synced": 60,
    "part.staged": 30,
    "part.renamed": 30,
    "part.rename.unsynced": 30,
    "manifest.staged": 7,
    "manifest.rename.unsynced": 7,
    "manifest.renamed": 7,
    "segment.removed": 7,
    "roll.before": 7,
    "state.before": 1,
    "state.after": 1,
    "lens.rename.before": 1,
}
"""Point of a run to how often the run below passes it at the least: appends that wait together share a write."""

COMPACTION = {
    "compact.part.staged": 8,
    "compact.part.renamed": 8,
    "compact.manifest.staged": 1,
    "compact.manifest.renamed": 1,
    "compact.copy.renamed": 1,
    "compact.part.removed": 16,
    "compact.manifest.removed": 3,
}
"""The same of a compaction, of a run that was killed in its fourth wave; how much lies in parts by then depends on how
fast its requests were answered, so that what is drawn above the real number is the last passing."""

RESUMPTION = {"part.staged": 3, "manifest.staged": 1, "manifest.renamed": 1, "commit.after": 3}
"""The same of a resumption of that run."""

ASKING = {"llm.ledger.before": 3, "llm.ledger.after": 3, "commit.before": 3, "commit.after": 3, "roll.after": 1}
"""The same of a resumption of a run that was killed before any of its waves was committed."""


def drawn(points: dict[str, int], seed: int = SEED) -> list[Any]:
    """Each point with one of its passings."""
    draw = random.Random(seed)
    chosen = [(point, draw.randint(1, most)) for point, most in points.items()]
    return [pytest.param(point, number, id=f"{point}-{number}") for point, number in chosen]


@pytest.fixture(scope="module")
def keeper() -> Iterator[Keeper]:
    with keeping("e2e.killed_run", {"HAZARDMILL_MODEL": "offline-author"}) as keeper:
        yield keeper


def act(keeper: Keeper, folder: Path, *words: object, **fatal: Any) -> Ended:
    return keeper.act(folder / "report.json", *words, **fatal)


def generate(keeper: Keeper, folder: Path, project: Path, **fatal: Any) -> Ended:
    words: list[object] = ["run", "generate", "--store", folder / "store", "--run-id", RUN, "--json"]
    for source, records in RECORDS.items():
        sample = project / "sources" / source / "sample"
        words += ["--source", source, "--input", f"{source}={sample}", "--limit", f"{source}={records}"]
    return act(keeper, folder, *words, "--wave-size", 5, "--concurrency", 2, **fatal)


def resume(keeper: Keeper, folder: Path, **fatal: Any) -> Ended:
    return act(keeper, folder, "run", "resume", RUN, "--store", folder / "store", "--json", **fatal)


def done(ended: Ended) -> Ended:
    assert ended.status == 0, ended.err
    return ended


def killed(ended: Ended) -> Ended:
    assert ended.status == -signal.SIGKILL, (ended.status, ended.err)
    return ended


Keys = dict[str, set[tuple[Any, ...]]]


def seen(store: Store) -> Keys:
    """The keys of all rows that a reader sees."""
    return {name: {tuple(row.values()) for row in store.rows(name, None, t.key)} for name, t in TABLES.items()}


def on_disk(store: Store) -> dict[str, Counter[tuple[Any, ...]]]:
    """How often each key lies in the Parquet files that manifests list; `verify` sees to other files."""
    snapshot, result = store.snapshot(), {}
    for name, table in TABLES.items():
        tables = [pq.read_table(path, columns=list(table.key)) for _, path in snapshot.parts(name)]
        result[name] = Counter(tuple(row.values()) for data in tables for row in data.to_pylist())
    return result


def go_on(keeper: Keeper, folder: Path, project: Path) -> None:
    """What somebody does after a kill: resume, or begin again where there is no run yet."""
    store = Store.open(folder / "store")
    began = bool(store.rows("runs", {"run_id": RUN}, ["run_id"]))
    done(resume(keeper, folder) if began else generate(keeper, folder, project))


@dataclass(frozen=True)
class Whole:
    """The run that nobody disturbed."""

    store: Store
    digest: dict[str, str]
    passed: dict[str, int]


@pytest.fixture(scope="module")
def whole(keeper: Keeper, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    ended = done(generate(keeper, folder, project))
    store = Store.open(folder / "store")
    assert store.count("outcomes") == sum(RECORDS.values())
    return Whole(store, store.digest(), ended.passed)


@pytest.fixture(scope="module")
def half(keeper: Keeper, project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which a run was killed while it committed its fourth wave, with rows in parts and in the journal."""
    folder = tmp_path_factory.mktemp("half")
    killed(generate(keeper, folder, project, point="commit.after", occurrence=18))
    store = Store.open(folder / "store")
    assert len(store.snapshot().manifests) >= 4 and store.snapshot().pending
    return folder


@pytest.fixture
def of_half(half: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of that store."""
    subprocess.run(["cp", "-a", str(half / "store"), str(tmp_path / "store")], check=True)
    yield tmp_path


@pytest.fixture(scope="module")
def passed_by_compaction(keeper: Keeper, half: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Point to how often a compaction of that store passes it."""
    folder = tmp_path_factory.mktemp("compacted")
    subprocess.run(["cp", "-a", str(half / "store"), str(folder / "store")], check=True)
    passed = done(act(keeper, folder, "compact", folder / "store")).passed
    print(dict(sorted(passed.items())))
    assert [point for point in COMPACTION if not passed.get(point)] == []
    return passed


@pytest.fixture
def of_begun(keeper: Keeper, project: Path, tmp_path: Path) -> Path:
    """A store in which a run was killed when some of its first requests were answered."""
    killed(generate(keeper, tmp_path, project, point="llm.ledger.after", occurrence=6))
    assert Store.open(tmp_path / "store").count("outcomes") == 0
    return tmp_path


def check(store: Store, before: Keys, whole: Whole) -> None:
    """All that was committed is there, once; all else is as in the run that nobody disturbed."""
    after = seen(store)
    assert {name: keys - after[name] for name, keys in before.items() if keys - after[name]} == {}
    raw = on_disk(store)
    assert {name: keys.keys() for name, keys in raw.items()} == after
    assert [(name, key, times) for name, keys in raw.items() for key, times in keys.items() if times > 1] == []
    assert store.verify() == []
    assert Run.load(store, RUN).pending() == []
    assert store.digest() == whole.digest
    answered = [(row["run_id"], row["identity"]) for row in store.rows("llm_calls", {"answered": True})]
    assert len(answered) == len(set(answered)) == whole.store.count("llm_calls", {"answered": True})


def only_left(store: Store) -> None:
    """Before anybody goes on, nothing is wrong but what a kill leaves."""
    assert {finding.code for finding in store.verify()} <= {"segment_left", "replaced_left", "copy_missing"}


def test_every_point_is_passed_as_often_as_is_said(whole: Whole) -> None:
    print(dict(sorted(whole.passed.items())))
    assert {point: most for point, most in POINTS.items() if whole.passed.get(point, 0) < most} == {}
    assert len(POINTS) >= 20


@pytest.mark.parametrize(("point", "occurrence"), drawn(POINTS))
def test_a_run_killed_at(
    point: str, occurrence: int, whole: Whole, keeper: Keeper, tmp_path: Path, project: Path
) -> None:
    killed(generate(keeper, tmp_path, project, point=point, occurrence=occurrence))
    store = Store.open(tmp_path / "store")
    before = seen(store)
    print(
        f"killed at {point}, passed {whole.passed[point]} times, for time {occurrence}: "
        f"{len(before['outcomes'])} records were done, {len(before['llm_calls'])} calls paid for"
    )
    only_left(store)
    go_on(keeper, tmp_path, project)
    check(store, before, whole)


@pytest.mark.parametrize(("point", "occurrence"), drawn(RESUMPTION))
def test_a_resumption_killed_at(
    point: str, occurrence: int, whole: Whole, keeper: Keeper, of_half: Path, project: Path
) -> None:
    kill_resumption(keeper, of_half, project, whole, point, occurrence)


@pytest.mark.parametrize(("point", "occurrence"), drawn(ASKING))
def test_a_resumption_that_asks_killed_at(
    point: str, occurrence: int, whole: Whole, keeper: Keeper, of_begun: Path, project: Path
) -> None:
    kill_resumption(keeper, of_begun, project, whole, point, occurrence)


def kill_resumption(keeper: Keeper, folder: Path, project: Path, whole: Whole, point: str, occurrence: int) -> None:
    store = Store.open(folder / "store")
    first = seen(store)
    killed(resume(keeper, folder, point=point, occurrence=occurrence))
    before = seen(store)
    assert all(keys <= before[name] for name, keys in first.items())
    only_left(store)
    go_on(keeper, folder, project)
    check(store, before, whole)


@pytest.mark.parametrize(("point", "occurrence"), drawn(COMPACTION))
def test_a_compaction_killed_at(
    point: str,
    occurrence: int,
    whole: Whole,
    keeper: Keeper,
    of_half: Path,
    passed_by_compaction: dict[str, int],
    project: Path,
) -> None:
    store = Store.open(of_half / "store")
    before = seen(store)
    occurrence = min(occurrence, passed_by_compaction[point])
    killed(act(keeper, of_half, "compact", store.path, point=point, occurrence=occurrence))
    assert seen(store) == before
    only_left(store)
    go_on(keeper, of_half, project)
    check(store, before, whole)
    done(act(keeper, of_half, "compact", store.path))
    check(store, before, whole)
