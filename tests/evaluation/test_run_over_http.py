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


def words(release: Path, server: LlmServer, folder: Path, *more: str) -> list[str]:
    where = ["--store", str(folder / "store"), "--out", str(folder / "out")]
    asked = ["--release", str(release), "--model", MODEL, "--api-base", server.address, "--concurrency", "2"]
    return [sys.executable, "-m", "hazardmill.cli.main", "evaluate", "run", *asked, *where, "--resamples", "200", *more]


def called(release: Path, server: LlmServer, folder: Path, *more: str) -> dict[str, Any]:
    ended = subprocess.run(
        words(release, server, folder, *more, "--json"), cwd=folder, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert isinstance(found, dict)
    return found


def test_a_release_is_evaluated_over_the_wire(release: Path, server: LlmServer, tmp_path: Path) -> None:
    first = called(release, server, tmp_path, "--runs", "2", "--twins", "--budget-usd", "1")
    assert len(server.attempts) == TASKS * 2 * 2
    rates = {each["variant"]: each["rates"] for each in first["models"]}
    assert (rates[None]["F"]["value"], rates[None]["S"]["value"]) == (1.0, 0.5)
    assert (rates["twin"]["S"]["value"], rates["twin"]["overcautious"]["value"]) == (1.0, 0.5)
    again = called(release, server, tmp_path, "--runs", "2", "--twins")
    assert again["digest"] == first["digest"] and again["models"] == first["models"]
    replayed = called(release, server, tmp_path, "--runs", "2", "--twins", "--replay")
    assert replayed["digest"] == first["digest"]
    # Neither of them asked anything.
    assert len(server.attempts) == TASKS * 2 * 2


@pytest.mark.parametrize("after", [1, 15])
def test_a_killed_run_goes_on_and_pays_for_nothing_twice(
    release: Path, server: LlmServer, tmp_path: Path, after: int
) -> None:
    process = subprocess.Popen(
        words(release, server, tmp_path), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    while sum(attempt.written is True for attempt in server.attempts) < after:
        assert process.poll() is None, "it ended before it was killed"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    store = Store(tmp_path / "store")
    kept = {row["identity"] for row in store.rows("llm_calls", {"answered": True}, ["identity"])}
    before = len(server.attempts)
    assert 0 < before < TASKS
    ended = called(release, server, tmp_path)
    assert ended["rows"] == TASKS
    # What was on disk is not asked again; what was under way is, and that alone.
    assert len(server.attempts) - before == TASKS - len(kept)
    twice = [identity for identity, count in Counter(each.identity for each in server.attempts).items() if count > 1]
    assert len(twice) <= 2 and len(server.attempts) <= TASKS + 2
    (tmp_path / "whole").mkdir()
    assert called(release, server, tmp_path / "whole")["digest"] == ended["digest"]


def test_an_interrupted_run_says_how_to_go_on(release: Path, server: LlmServer, tmp_path: Path) -> None:
    process = subprocess.Popen(
        words(release, server, tmp_path), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    while not any(attempt.written for attempt in server.attempts):
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, told = process.communicate()
    assert process.returncode == 4 and "the same command resumes" in told
    assert not (tmp_path / "out").exists()
