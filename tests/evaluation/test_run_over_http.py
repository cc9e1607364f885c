"""``hazardmill evaluate run`` as people call it, against a server over real HTTP, killed and resumed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e.keeper import Keeper, keeping
from release.small_release import bowl, task_row, write_release

from hazardmill.store.store import Store
from hazardmill.testing.llm_server import ChatRequest, LlmServer

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

TASKS = 24
MODEL = "openai/gpt-4o-mini"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [task_row(bowl(f"shelf_{number}"), safe_length=2, unsafe_length=1) for number in range(TASKS)]
    return write_release(tmp_path_factory.mktemp("releases") / "shelves", {"tasks": {"test": rows}})


def plan(asked: ChatRequest) -> str:
    """A stand-in that says so of itself by its rule: shelves with an even number are carried to in haste."""
    (number,) = set(re.findall(r"shelf_(\d+)", asked.messages[-1].content))
    slowly = "(slow_down)\n" if int(number) % 2 else ""
    return f"The plan:\n```\n{slowly}(carry kitchen shelf_{number})\n```"


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer(plan, latency=0.05) as server:
        yield server


@pytest.fixture(scope="module")
def keeper() -> Iterator[Keeper]:
    with keeping("e2e.killed_evaluation", {}) as keeper:
        yield keeper


def words(release: Path, server: LlmServer, folder: Path, *more: str) -> list[str]:
    where = ["--store", str(folder / "store"), "--out", str(folder / "out")]
    asked = ["--release", str(release), "--model", MODEL, "--api-base", server.address, "--concurrency", "2"]
    return ["evaluate", "run", *asked, *where, "--resamples", "200", *more]


def called(keeper: Keeper, words: list[str], folder: Path) -> dict[str, Any]:
    ended = keeper.act(folder / "report.json", *words, "--json")
    assert ended.status == 0, ended.err
    found = json.loads(ended.out)
    assert isinstance(found, dict)
    return found


def test_a_release_is_evaluated_over_the_wire(release: Path, server: LlmServer, keeper: Keeper, tmp_path: Path) -> None:
    asking = words(release, server, tmp_path, "--runs", "2", "--twins")
    first = called(keeper, [*asking, "--budget-usd", "1"], tmp_path)
    assert len(server.attempts) == TASKS * 2 * 2
    rates = {each["variant"]: each["rates"] for each in first["models"]}
    assert (rates[None]["F"]["value"], rates[None]["S"]["value"]) == (1.0, 0.5)
    assert (rates["twin"]["S"]["value"], rates["twin"]["overcautious"]["value"]) == (1.0, 0.5)
    again = called(keeper, asking, tmp_path)
    assert again["digest"] == first["digest"] and again["models"] == first["models"]
    replayed = called(keeper, [*asking, "--replay"], tmp_path)
    assert replayed["digest"] == first["digest"]
    # Neither of them asked anything.
    assert len(server.attempts) == TASKS * 2 * 2


def test_a_run_killed_twice_goes_on_and_pays_for_nothing_twice(
    release: Path, server: LlmServer, keeper: Keeper, tmp_path: Path
) -> None:
    asking = words(release, server, tmp_path)
    kept: set[str] = set()
    for after in (1, 14):
        before = len(server.attempts)
        killed = keeper.act(tmp_path / "report.json", *asking, point="http.after", occurrence=after)
        assert killed.status == -signal.SIGKILL, (killed.status, killed.err)
        asked = [each.identity for each in server.attempts[before:]]
        assert after <= len(asked) < TASKS and kept.isdisjoint(asked)
        kept = {
            row["identity"] for row in Store(tmp_path / "store").rows("llm_calls", {"answered": True}, ["identity"])
        }
    assert kept
    before = len(server.attempts)
    ended = called(keeper, asking, tmp_path)
    assert ended["rows"] == TASKS
    # What was on disk is not asked again; what was under way is, and that alone.
    assert len(server.attempts) - before == TASKS - len(kept)
    twice = [identity for identity, count in Counter(each.identity for each in server.attempts).items() if count > 1]
    assert len(twice) <= 2 * 2 and len(server.attempts) <= TASKS + 2 * 2
    (tmp_path / "whole").mkdir()
    whole = called(keeper, words(release, server, tmp_path / "whole"), tmp_path / "whole")
    assert whole["digest"] == ended["digest"]


def test_an_interrupted_run_says_how_to_go_on(release: Path, server: LlmServer, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "hazardmill.cli.main", *words(release, server, tmp_path)],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not any(attempt.written for attempt in server.attempts):
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate()
    assert process.returncode == 4 and "the same command resumes" in told
    assert not (tmp_path / "out").exists()
