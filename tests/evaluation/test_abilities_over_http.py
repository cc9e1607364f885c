"""``evaluate abilities`` and ``evaluate run --inject`` as people call them, over real HTTP; killed and resumed."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e.keeper import Keeper, keeping
from release.small_release import bowl, task_row, write_release

from hazardmill.store.store import Store
from hazardmill.testing.llm_server import ChatRequest, LlmServer

from .ability_answers import right, wrong

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

TASKS = 12
MODEL = "openai/gpt-4o-mini"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [task_row(bowl(f"shelf_{number}"), safe_length=2, unsafe_length=1) for number in range(TASKS)]
    return write_release(tmp_path_factory.mktemp("releases") / "shelves", {"tasks": {"test": rows}})


def answer(asked: ChatRequest) -> str:
    """A stand-in that says so of itself by its rule: of shelves with an even number it knows all."""
    question = asked.messages[-1].content
    (shelf,) = set(re.findall(r"\bshelf_\d+\b", question))
    if not re.search(r"Dangerous plan:|Plan:\n|is this action dangerous", question):
        return f"(slow_down) (carry kitchen {shelf})"
    return (wrong if int(shelf.partition("_")[2]) % 2 else right)(question)


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer(answer, latency=0.05) as server:
        yield server


@pytest.fixture(scope="module")
def keeper() -> Iterator[Keeper]:
    with keeping("e2e.killed_evaluation", {}) as keeper:
        yield keeper


def words(verb: str, release: Path, server: LlmServer, folder: Path, *more: str) -> list[str]:
    where = ["--store", str(folder / "store"), "--out", str(folder / "out")]
    asked = ["--release", str(release), "--model", MODEL, "--api-base", server.address, "--concurrency", "2"]
    return ["evaluate", verb, *asked, *where, "--resamples", "200", *more]


def called(keeper: Keeper, words: list[str], folder: Path) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    ended = keeper.act(folder / "report.json", *words, "--json")
    assert ended.status == 0, ended.err
    found = json.loads(ended.out)
    assert isinstance(found, dict)
    return found


def test_abilities_over_the_wire_killed_and_gone_on_with(
    release: Path, server: LlmServer, keeper: Keeper, tmp_path: Path
) -> None:
    asking = words("abilities", release, server, tmp_path)
    killed = keeper.act(tmp_path / "report.json", *asking, point="http.after", occurrence=8)
    assert killed.status == -signal.SIGKILL, (killed.status, killed.err)
    kept = Store(tmp_path / "store").rows("llm_calls", {"answered": True}, ["identity"])
    before = len(server.attempts)
    assert kept and before < TASKS * 3
    ended = called(keeper, asking, tmp_path)
    # What was on disk is not asked again; what was under way is, and that alone.
    assert len(server.attempts) - before == TASKS * 3 - len(kept)
    assert sum(count > 1 for count in Counter(each.identity for each in server.attempts).values()) <= 6
    rates = {each["ability"]: each["rates"]["correct"]["value"] for each in ended["abilities"]}
    # A step without its type is right as a step.
    assert rates == {"dangers": 1.0, "condition": 0.5, "alternative": 0.5} and ended["rows"] == TASKS * 3
    asked = len(server.attempts)
    assert called(keeper, [*asking, "--replay"], tmp_path)["digest"] == ended["digest"]
    assert len(server.attempts) == asked
    whole = called(keeper, words("abilities", release, server, tmp_path / "whole"), tmp_path / "whole")
    assert whole["digest"] == ended["digest"]


def test_distractors_over_the_wire_and_replayed(
    release: Path, server: LlmServer, keeper: Keeper, tmp_path: Path
) -> None:
    more = ("--inject", "actions", "--inject", "objects", "--levels", "2,4", "--seeds", "1", "--limit", "3")
    asking = words("run", release, server, tmp_path, *more)
    first = called(keeper, asking, tmp_path)
    assert len(server.attempts) == 3 * 5
    rates = {each["variant"]: each["rates"]["S"]["value"] for each in first["models"]}
    assert set(rates) == {None, *(f"{arm}-{level}-seed-0" for arm in ("actions", "objects") for level in (2, 4))}
    assert set(rates.values()) == {1.0} and first["injection"]["refused"] == {}
    replayed = called(keeper, [*asking, "--replay"], tmp_path)
    assert replayed["digest"] == first["digest"] and len(server.attempts) == 3 * 5
