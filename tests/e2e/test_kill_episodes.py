"""Episodes over HTTP: killed anywhere they go on to the same end, and no answer is paid for twice."""

from __future__ import annotations

import json
import random
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from e2e.keeper import Ended, Keeper, keeping
from e2e.over_http import KEY
from e2e.paid_once import check_paid_once
from hazardmill.evaluation.probes.episodes import COMPLIANT, EpisodeStandIns
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import ChatRequest, LlmServer
from tests.household.small_tasks import FLUID, INJURY, write_small_tasks
from tests.sizes import sized

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

REQUESTS = 2 * (8 + 9)
"""Of two episodes per task: the actions of their plans, and the word that they are done."""

POINTS = (
    ("http.before", 1),
    ("http.after", 1),
    ("llm.handed.before", 1),
    ("llm.ledger.before", 1),
    ("llm.ledger.after", 1),
    ("journal.torn", 1),
    ("part.renamed", 1),
    *sized((), (("http.before", 2), ("http.after", 2), ("llm.ledger.after", 2))),
)
"""Point and which draw of a passing of it."""


class Provider:
    """A server that outlives runs and counts how often each request came."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self._stand_ins = EpisodeStandIns((FLUID, INJURY))
        self.server = LlmServer(self._answer, models=(COMPLIANT,), api_key=KEY, dialect="none")

    def _answer(self, asked: ChatRequest) -> str:
        assert asked.key is not None
        self.seen[name_of([[each.role, each.content] for each in asked.messages], asked.key.sample)] += 1
        return self._stand_ins.answer(asked)


def name_of(messages: list[list[str]], sample: int) -> str:
    return json.dumps([sample, messages])


def name_of_row(row: Mapping[str, Any]) -> str:
    messages = json.loads(row["request"])["messages"]
    return name_of([[each["role"], each["content"]] for each in messages], row["sample"])


def hold(keeper: Keeper, folder: Path, address: str, **fatal: Any) -> Ended:
    tasks = write_small_tasks(folder / "tasks", FLUID, INJURY)
    words = ["evaluate", "episodes", "--tasks", tasks, "--runs", 2, "--resamples", 100, "--concurrency", 3]
    words += ["--model", f"openai/{COMPLIANT}", "--api-base", address, "--store", folder / "store"]
    return keeper.act(folder / "report.json", *words, "--out", folder / "out", "--json", **fatal)


def digest(folder: Path) -> str:
    return str(json.loads((folder / "out" / "summary.json").read_text())["digest"])


@pytest.fixture(scope="module")
def keeper() -> Iterator[Keeper]:
    with keeping("e2e.killed_evaluation", {"OPENAI_API_KEY": KEY}) as keeper:
        yield keeper


@pytest.fixture(scope="module")
def whole(keeper: Keeper, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Ended]:
    folder = tmp_path_factory.mktemp("whole")
    provider = Provider()
    with provider.server as server:
        ended = hold(keeper, folder, server.address)
    assert ended.status == 0, ended.err
    assert sum(provider.seen.values()) == len(provider.seen) == REQUESTS
    return digest(folder), ended


@pytest.mark.parametrize(("point", "draw"), POINTS)
def test_episodes_killed_at(point: str, draw: int, whole: tuple[str, Ended], keeper: Keeper, tmp_path: Path) -> None:
    undisturbed, ended = whole
    occurrence = random.Random(f"{point} {draw}").randint(1, max(1, ended.passed[point] * 3 // 4))
    provider = Provider()
    with provider.server as server:
        killed = hold(keeper, tmp_path, server.address, point=point, occurrence=occurrence)
        assert killed.status == -signal.SIGKILL, (killed.status, killed.err)
        calls = Store.open(tmp_path / "store").rows("llm_calls")
        before = provider.seen.copy()
        resumed = hold(keeper, tmp_path, server.address)
        assert resumed.status == 0, resumed.err
        replayed = hold(keeper, tmp_path, server.address)
        assert replayed.status == 0, replayed.err

    check_paid_once(provider.seen, before, calls, name_of_row)
    assert len(provider.seen) == REQUESTS
    assert digest(tmp_path) == undisturbed
    assert Store.open(tmp_path / "store").verify() == []
