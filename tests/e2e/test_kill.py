"""A run killed anywhere goes on to the same end: nothing committed is lost or doubled, nothing is paid for twice.

The points lie in every stage of a run, and in every way of the store to the disk: the middle of a journal line, the
rename of a part and of a manifest, a compaction. Which passing of each is fatal is drawn from a seed, and is in the
name of its test. One run is killed at several points: resumed after each, it is killed at the next.
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
from hazardmill.errors import StoreError
from hazardmill.runs.run import Run
from hazardmill.store.schemas import TABLES
from hazardmill.store.store import Store

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

SEED = 7
RECORDS = {"neiss": 16, "bddl": 14}
RUN = "run"

BEGINNING = {"ingest.record.before": 30, "ingest.input.after": 2}
"""Points that a run passes before its first wave, to how often it passes them at the least."""

END = {"state.before": 1, "lens.rename.before": 1, "state.after": 1}
"""The same of those that it passes after its last wave."""

POINTS = {
    "extract.before": 30,
    "llm.answer.after": 100,
    "llm.ledger.before": 100,
    "llm.ledger.after": 100,
    "journal.torn": 60,
    "journal.written": 60,
    "journal.synced": 60,
    "author.after": 50,
    "execute.before": 50,
    "execute.jail.after": 49,
    "execute.prove.after": 40,
    "judge.before": 25,
    "commit.before": 30,
    "commit.after": 30,
    "roll.before": 7,
    "part.staged": 30,
    "part.renamed": 30,
    "part.rename.unsynced": 30,
    "manifest.staged": 7,
    "manifest.rename.unsynced": 7,
    "manifest.renamed": 7,
    "segment.removed": 7,
    "roll.after": 7,
}
"""The same of the other points, by how early a run passes them: several waves are under way, and ask before any is
committed. Appends that wait together share a write."""

CHAINS = 4
"""How many runs are killed. Each is killed so often that a seventh of what it does is left for each time."""

COMPACTION = (
    {
        "compact.part.staged": 4,
        "compact.part.renamed": 4,
        "compact.manifest.staged": 1,
        "compact.manifest.renamed": 1,
        "compact.part.removed": 8,
    },
    {"compact.copy.renamed": 1, "compact.manifest.removed": 1},
)
"""The same of compactions, one after the other, of a run that was killed in its fourth wave; how much lies in parts by
then depends on how fast its requests were answered. What is left of one whose manifest was renamed is only to remove.
"""

Chain = list[tuple[str, int]]
"""Points at which one run is killed, each with the number of its fatal passing since the run was resumed."""


def chains(seed: int = SEED) -> list[Any]:
    """Each point once, in as many chains: those of a beginning first, those of the end last."""
    draw = random.Random(seed)
    points = draw.sample(list(POINTS), len(POINTS))
    made: list[Chain] = [[] for _ in range(CHAINS)]
    for chain, point in zip(made, BEGINNING, strict=False):
        chain.append((point, draw.randint(1, BEGINNING[point])))
    for number, chain in enumerate(made):
        chosen = sorted(points[number::CHAINS], key=list(POINTS).index)
        chain += [(point, draw.randint(1, POINTS[point] // 7)) for point in chosen]
    for chain, point in zip(made, END, strict=False):
        chain.append((point, 1))
    return [pytest.param(chain, id="-".join(f"{point}.{number}" for point, number in chain)) for chain in made]


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


def go_on(keeper: Keeper, folder: Path, project: Path, **fatal: Any) -> Ended:
    """What somebody does after a kill: resume, or begin again where there is no run yet."""
    try:
        began = bool(Store.open(folder / "store").rows("runs", {"run_id": RUN}, ["run_id"]))
    except StoreError:
        began = False
    return resume(keeper, folder, **fatal) if began else generate(keeper, folder, project, **fatal)


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
    expected = BEGINNING | POINTS | END
    assert {point: most for point, most in expected.items() if whole.passed.get(point, 0) < most} == {}
    assert len(expected) >= 28
    killed_at = [point for param in chains() for point, _ in param.values[0]]
    assert sorted(killed_at) == sorted(expected)


@pytest.mark.parametrize("chain", chains())
def test_a_run_killed_again_and_again_at(
    chain: Chain, whole: Whole, keeper: Keeper, tmp_path: Path, project: Path
) -> None:
    before: Keys = {name: set() for name in TABLES}
    for point, occurrence in chain:
        killed(go_on(keeper, tmp_path, project, point=point, occurrence=occurrence))
        store = Store.open(tmp_path / "store")
        first, before = before, seen(store)
        print(
            f"killed at {point} for time {occurrence}: "
            f"{len(before['outcomes'])} records were done, {len(before['llm_calls'])} calls paid for"
        )
        assert all(keys <= before[name] for name, keys in first.items())
        only_left(store)
    done(go_on(keeper, tmp_path, project))
    check(store, before, whole)


@pytest.mark.parametrize("points", COMPACTION, ids="-".join)
def test_a_compaction_killed_again_and_again_at(
    points: dict[str, int], whole: Whole, keeper: Keeper, half: Path, tmp_path: Path, project: Path
) -> None:
    subprocess.run(["cp", "-a", str(half / "store"), str(tmp_path / "store")], check=True)
    store = Store.open(tmp_path / "store")
    before = seen(store)
    draw = random.Random(SEED)
    for point, most in points.items():
        killed(act(keeper, tmp_path, "compact", store.path, point=point, occurrence=draw.randint(1, most)))
        assert seen(store) == before
        only_left(store)
    done(go_on(keeper, tmp_path, project))
    check(store, before, whole)
    done(act(keeper, tmp_path, "compact", store.path))
    check(store, before, whole)
