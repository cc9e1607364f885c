"""Dialogues over HTTP: killed anywhere they go on to the same end, and faults of the server change no task."""

from __future__ import annotations

import json
import random
import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from factories.dialogues import FOODS, ROLES, TURNS, proposed, remark, seed, unlike, written

from e2e.keeper import Ended, Keeper, keeping
from e2e.over_http import KEY
from e2e.paid_once import check_paid_once
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import ChatRequest, LlmServer, SeededFaults
from tests.sizes import sized

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

DIALOGUES = 3

POINTS = (
    ("http.before", 1),
    ("http.after", 1),
    ("llm.handed.before", 1),
    ("llm.ledger.before", 1),
    ("llm.ledger.after", 1),
    ("journal.torn", 1),
    ("commit.before", 1),
    ("part.renamed", 1),
    *sized((), (("http.after", 2), ("llm.ledger.after", 2))),
)
"""Point and which draw of a passing of it."""


class Provider:
    """A server that outlives runs, plays all roles, and counts how often each request came."""

    def __init__(self, faults: SeededFaults | None = None) -> None:
        self.seen: Counter[str] = Counter()
        self.server = LlmServer(self._answer, api_key=KEY, dialect="none", **({"faults": faults} if faults else {}))

    def _answer(self, asked: ChatRequest) -> str:
        content = asked.messages[-1].content
        self.seen[content] += 1
        found = re.search(r'id="acting:[0-9a-f]+-(\d+)"', content)
        assert found is not None and asked.key is not None and asked.key.draft is not None
        dialogue, turn = int(found[1]), asked.key.draft
        if turn <= TURNS // 2:
            return remark(f"remark {turn} of dialogue {dialogue}")
        return proposed(unlike(FOODS[2 * (dialogue - 1) + turn - TURNS // 2 - 1]))


def act(keeper: Keeper, folder: Path, address: str, **fatal: Any) -> Ended:
    (roles := folder / "roles.yaml").write_text(ROLES)
    seeds = written(folder / "seeds.jsonl", seed(), seed(task_id="toy-2"), seed(task_id="toy-3"))
    words = ["run", "acting", "--seeds", seeds, "--roles", roles, "--rounds", 1, "--dialogues", DIALOGUES]
    words += ["--model", "deepseek/deepseek-chat", "--api-base", address, "--store", folder / "store"]
    return keeper.act(folder / "report.json", *words, "--run-id", "r", "--wave-size", 2, "--json", **fatal)


@pytest.fixture(scope="module")
def keeper() -> Iterator[Keeper]:
    with keeping("e2e.killed_over_http", {"DEEPSEEK_API_KEY": KEY}) as keeper:
        yield keeper


@pytest.fixture(scope="module")
def whole(keeper: Keeper, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Ended]:
    folder = tmp_path_factory.mktemp("whole")
    provider = Provider()
    with provider.server as server:
        ended = act(keeper, folder, server.address)
    assert ended.status == 0, ended.err
    assert sum(provider.seen.values()) == len(provider.seen) == DIALOGUES * TURNS
    store = Store.open(folder / "store")
    assert store.count("hazard_tasks") == 2 * DIALOGUES
    return store, ended


@pytest.mark.parametrize(("point", "draw"), POINTS)
def test_dialogues_killed_at(point: str, draw: int, whole: tuple[Store, Ended], keeper: Keeper, tmp_path: Path) -> None:
    undisturbed, ended = whole
    occurrence = random.Random(f"{point} {draw}").randint(1, max(1, ended.passed[point] * 3 // 4))
    provider = Provider()
    with provider.server as server:
        killed = act(keeper, tmp_path, server.address, point=point, occurrence=occurrence)
        assert killed.status == -signal.SIGKILL, (killed.status, killed.err)
        store = Store.open(tmp_path / "store")
        calls = store.rows("llm_calls")
        before = provider.seen.copy()
        resumed = keeper.act(tmp_path / "report.json", "run", "resume", "r", "--store", store.path, "--json")
        assert resumed.status == 0, resumed.err

    check_paid_once(provider.seen, before, calls, lambda row: json.loads(row["request"])["messages"][-1]["content"])
    assert len(provider.seen) == DIALOGUES * TURNS
    assert store.digest() == undisturbed.digest()
    assert store.verify() == []


def test_faults_of_the_server_change_no_task(whole: tuple[Store, Ended], keeper: Keeper, tmp_path: Path) -> None:
    provider = Provider(SeededFaults(seed=3, kinds=("500", "429", "reset"), rate=0.4, most=2))
    with provider.server as server:
        ended = act(keeper, tmp_path, server.address)
        assert len(server.attempts) > DIALOGUES * TURNS
    assert ended.status == 0, ended.err
    tables = ("hazard_tasks", "drafts", "checks", "outcomes")
    store, undisturbed = Store.open(tmp_path / "store"), whole[0]
    assert [store.digest()[name] for name in tables] == [undisturbed.digest()[name] for name in tables]
