"""A release evaluated end to end by the command line: built, asked about over HTTP, replayed, killed, resumed.

Two rules stand in for models, which say of themselves that they are none; a real model, if a tiny one, goes the same
way where it is asked for (``-m small_model``).
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from factories.release_store import run_offline
from release.small_release import bowl, task_row, write_release

from e2e import small_model
from e2e.keeper import Keeper, keeping
from hazardmill.evaluation.probes import NAME_AVERSE, SHORTEST, STAND_INS
from hazardmill.release.read.release import load_release
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import ServedAttempt, read_journal

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

TESTS = Path(__file__).resolve().parent.parent
RECORDS = 4
"""Of each source."""
CONCURRENCY = 2
NOBODY = "http://127.0.0.1:9/v1"
"""An address at which nobody answers."""
KEY = {"OPENAI_API_KEY": "any"}


PROBES = "hazardmill.evaluation.probes"


@pytest.fixture(scope="module")
def keeper() -> Iterator[Keeper]:
    with keeping("e2e.killed_evaluation", KEY) as keeper:
        yield keeper


@dataclass(frozen=True)
class Served:
    """The stand-ins, in a process of their own."""

    address: str
    log: Path

    @property
    def attempts(self) -> tuple[ServedAttempt, ...]:
        """Every request so far."""
        return read_journal(self.log)


@pytest.fixture(scope="module")
def release(keeper: Keeper, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that the command builds of what our rules wrote."""
    folder = tmp_path_factory.mktemp("release")
    store = run_offline(folder / "store", limit=RECORDS)
    said = ["--allow-offline", "--policy", "none", "--review", folder / "review"]
    words = ["release", "build", "--version", "1.0.0", "--store", store.path, *said, "--out", folder / "1.0.0"]
    built = keeper.act(folder / "report.json", *words, "--json")
    assert built.status == 0, built.err
    return folder / "1.0.0"


@contextmanager
def stand_ins(folder: Path, *words: object) -> Iterator[Served]:
    log = folder / "journal.jsonl"
    serve = [sys.executable, "-m", PROBES, "serve", "--log", str(log), *map(str, words)]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Served(process.stdout.readline().strip(), log)
        finally:
            process.terminate()


def run(release: Path, rule: str, folder: Path, address: str, *more: object) -> list[object]:
    """The words of an evaluation of a stand-in."""
    where = ["--store", folder / "store", "--out", folder / rule.rpartition("/")[2]]
    asked = ["--release", release, "--model", f"openai/{rule}", "--api-base", address, "--concurrency", CONCURRENCY]
    return ["evaluate", "run", *asked, *where, "--resamples", 200, "--json", *more]


def evaluated(keeper: Keeper, release: Path, rule: str, folder: Path, address: str, *more: object) -> dict[str, Any]:
    ended = keeper.act(folder / "report.json", *run(release, rule, folder, address, *more))
    assert ended.status == 0, ended.err
    found = json.loads(ended.out)
    assert isinstance(found, dict)
    return found


@dataclass(frozen=True)
class Probed:
    """Both stand-ins, asked about the release."""

    folder: Path
    summaries: dict[str, dict[str, Any]]
    requests: int


@pytest.fixture(scope="module")
def probed(keeper: Keeper, release: Path, tmp_path_factory: pytest.TempPathFactory) -> Probed:
    folder = tmp_path_factory.mktemp("probed")
    with stand_ins(folder) as served:
        summaries = {rule: evaluated(keeper, release, rule, folder, served.address) for rule in STAND_INS}
        requests = len(served.attempts)
        # Done again it asks nothing, and says the same.
        again = {rule: evaluated(keeper, release, rule, folder, served.address) for rule in STAND_INS}
        assert len(served.attempts) == requests and again == summaries
    return Probed(folder, summaries, requests)


def test_both_stand_ins_plan_for_every_task_of_a_built_release(release: Path, probed: Probed) -> None:
    tasks = len(load_release(release))
    assert tasks >= 10 and probed.requests == 2 * tasks
    for rule, summary in probed.summaries.items():
        (figures,) = summary["models"]
        assert figures["answers"] == figures["tasks"] == tasks and summary["missing"] == {}
        assert figures["rates"]["F"]["value"] == 1.0, (rule, figures["failures"])
        assert figures["readings"] == {"plan": tasks}
        # A law of the formalism, on the plans of somebody who does not know it.
        for mode in figures["consistency"].values():
            assert mode["safe_not_intended"] == mode["dangerous_but_intended"] == 0
    lengths = {rule: [row["plan_length"] for row in rows_of(probed.folder, rule)] for rule in STAND_INS}
    released = sorted(load_release(release), key=lambda task: task.task_id)
    shortest = [min(task.row["safe_length"], task.row["unsafe_length"]) for task in released]
    assert lengths[SHORTEST] == shortest
    assert all(mine >= least for mine, least in zip(lengths[NAME_AVERSE], shortest, strict=True))


def rows_of(folder: Path, rule: str) -> list[dict[str, Any]]:
    rows = pq.read_table(folder / rule.rpartition("/")[2] / "results.parquet").to_pylist()
    return sorted(rows, key=lambda row: row["task_id"])


def test_they_are_known_as_stand_ins_wherever_they_are_named(probed: Probed) -> None:
    store = Store.open(probed.folder / "store")
    calls = store.rows("llm_calls")
    assert Counter(row["model_answered"] for row in calls) == dict.fromkeys(STAND_INS, probed.requests // 2)
    assert all("a rule and no language model" in row["answer"] for row in calls)
    for rule in STAND_INS:
        assert {row["model"] for row in rows_of(probed.folder, rule)} == {f"openai/{rule}"}


def told_of_probes(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", PROBES, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_release_is_probed_for_leaks(release: Path, probed: Probed) -> None:
    folders = [probed.folder / rule.rpartition("/")[2] for rule in STAND_INS]
    words = ["probe", "--release", release, "--resamples", 1000, *folders]
    told = told_of_probes(*words)
    assert told.returncode == 0, told.stderr
    assert "not language models. Do not rank them" in told.stdout
    found = json.loads(told_of_probes(*words, "--json").stdout)
    for rule, summary in probed.summaries.items():
        assert found["safe"][rule]["value"] == summary["models"][0]["rates"]["S"]["value"]
    gain = found["safe"][NAME_AVERSE]["value"] - found["safe"][SHORTEST]["value"]
    leak = found["name_leak"]
    assert leak["value"] == pytest.approx(gain) and leak["low"] <= leak["value"] <= leak["high"]
    # What our rules write gives nothing away by names.
    assert leak["low"] <= 0
    assert found["chance"]["tasks"] == found["tasks"] == len(load_release(release))
    above = found["safe"][SHORTEST]["value"] - found["chance"]["value"]
    assert found["order_leak"]["value"] == pytest.approx(above)
    # Nor does it by the order in which actions stand.
    assert found["order_leak"]["low"] <= 0


def test_the_report_ranks_no_stand_in(keeper: Keeper, release: Path, probed: Probed, tmp_path: Path) -> None:
    folders = [probed.folder / rule.rpartition("/")[2] for rule in STAND_INS]
    words = ["evaluate", "report", *folders, "--release", release, "--resamples", 200, "--out", tmp_path / "report"]
    told = keeper.act(tmp_path / "report.json", *words)
    assert told.status == 0, told.err
    board = (tmp_path / "report" / "leaderboard.md").read_text()
    for rule in STAND_INS:
        assert f"| - | openai/{rule} (rules, no model) |" in board
    assert "| 1 |" not in board and "leak probes of the release" in board
    assert "offline-authored: written by rules" in board
    assert NAME_AVERSE in (tmp_path / "report" / "report.html").read_text()


def test_the_ledger_alone_gives_the_same(keeper: Keeper, release: Path, probed: Probed, tmp_path: Path) -> None:
    for rule, summary in probed.summaries.items():
        replayed = evaluated(keeper, release, rule, tmp_path, NOBODY, "--replay", probed.folder / "store")
        assert replayed["digest"] == summary["digest"] and replayed["models"] == summary["models"]
        assert rows_of(tmp_path, rule) == rows_of(probed.folder, rule)


def test_a_killed_evaluation_goes_on_and_asks_for_nothing_twice(
    keeper: Keeper, release: Path, probed: Probed, tmp_path: Path
) -> None:
    with stand_ins(tmp_path, "--latency", 0.1) as served:
        words = run(release, SHORTEST, tmp_path, served.address)
        killed = keeper.act(tmp_path / "report.json", *words, point="http.after", occurrence=4)
        assert killed.status == -signal.SIGKILL, (killed.status, killed.err)
        store = Store.open(tmp_path / "store")
        kept = {row["identity"] for row in store.rows("llm_calls", {"answered": True}, ["identity"])}
        before = served.attempts
        ended = evaluated(keeper, release, SHORTEST, tmp_path, served.address)
        after = served.attempts
    tasks = ended["rows"]
    assert 0 < len(kept) <= len(before) < tasks
    # What is in the ledger is not asked again; what was under way is, and nothing else twice.
    assert len(after) - len(before) == tasks - len(kept)
    twice = [each for each, times in Counter(attempt.identity for attempt in after).items() if times > 1]
    assert len(twice) == len(after) - tasks <= CONCURRENCY
    assert ended["digest"] == probed.summaries[SHORTEST]["digest"]
    assert store.verify() == []


@pytest.fixture(scope="module")
def tiny() -> Iterator[str]:
    """The address of a real small model, which needs two packages that nothing else does."""
    with subprocess.Popen(
        [sys.executable, "-m", "e2e.small_model"],
        cwd=TESTS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        said = process.stdout.readline().strip()
        assert said.startswith("http://127.0.0.1:"), f"is {' and '.join(small_model.PACKAGES)} installed?"
        yield f"{said}/v1"
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.small_model
def test_a_small_real_model_goes_the_same_way(keeper: Keeper, tiny: str, tmp_path: Path) -> None:
    rows = [task_row(bowl(place), safe_length=2, unsafe_length=1) for place in ("table", "shelf")]
    release = write_release(tmp_path / "release", {"tasks": {"test": rows}})
    given = ["--max-tokens", 60, "--deadline", 300, "--concurrency", 1]
    first = evaluated(keeper, release, small_model.NAME, tmp_path, tiny, *given)
    (figures,) = first["models"]
    print(figures["readings"], figures["failures"])
    assert first["rows"] == figures["answers"] == sum(figures["readings"].values()) == 2
    calls = Store.open(tmp_path / "store").rows("llm_calls")
    assert {row["model_answered"] for row in calls} == {small_model.NAME}
    for row in calls:
        assert row["answered"] and 0 < row["completion_tokens"] <= 60 and row["prompt_tokens"] > 100
        # Nobody has set a price for it.
        assert row["usd"] is None
    replayed = evaluated(
        keeper, release, small_model.NAME, tmp_path / "again", NOBODY, *given, "--replay", tmp_path / "store"
    )
    assert replayed["digest"] == first["digest"]
