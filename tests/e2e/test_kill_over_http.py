"""A run over HTTP, killed anywhere: it goes on to the same end, and pays twice for nothing but what was in flight.

The server outlives the run and remembers what it was asked. It does not tell how much of a prompt it had cached, for
that depends on when it was asked, and two runs that ask the same would not have the same digest.
"""

from __future__ import annotations

import json
import random
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from e2e.keeper import Ended, Keeper, keeping
from e2e.over_http import KEY, inputs
from hazardmill.llm.ledger import IN_FLIGHT
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import ChatRequest, LlmServer
from hazardmill.testing.llm_server.server import offline_answer
from tests.sizes import sized

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

SEED = 11
RECORDS = {"bddl": 3, "virtualhome": 3}
CONCURRENCY = 3
LATENCY = 0.05
"""Seconds to an answer, so that several requests are under way when one ends the run."""

POINTS = [
    *("http.before", "http.after", "llm.handed.before", "llm.handed.after", "llm.ledger.before", "llm.ledger.after"),
    *("journal.torn", "journal.written", "journal.synced", "extract.after", "author.after", "execute.jail.after"),
    *("judge.before", "commit.before", "part.renamed", "manifest.rename.unsynced"),
]
DRAWN = {"http.before": 2, "http.after": 4, "llm.ledger.before": 2, "llm.ledger.after": 2}
"""Point to how many passings of it are drawn, if it is more than one, at the large size."""
DRAWS = [(point, draw) for point in POINTS for draw in range(1, sized(1, DRAWN.get(point, 1)) + 1)]
"""Point and which draw of a passing of it."""


OF_OTHER_THREADS = ("journal.", "part.", "manifest.", "execute.")


@dataclass(frozen=True)
class Answers:
    """What became of the answers of a run that was killed, each by the messages that were answered."""

    sent: Counter[str]
    """Requests that had come to the server, which sends an answer to each, read or not."""
    read: set[str]
    handed_over: set[str]
    on_disk: set[str]

    @classmethod
    def of(cls, folder: Path, sent: Counter[str], calls: list[dict[str, object]]) -> Answers:
        notes: dict[str, set[str]] = {"read": set(), "handed over": set()}
        for line in (folder / "report.answers").read_text().splitlines():
            what, messages = json.loads(line)
            notes[what].add(messages)
        on_disk = {messages_of(json.loads(str(row["request"]))["messages"]) for row in calls if row["answered"]}
        return cls(sent, notes["read"], notes["handed over"], on_disk)

    def told(self, point: str, again: set[str]) -> str:
        unread = len(self.sent.keys() - self.read)
        return (
            f"{point}: {len(self.sent)} requests had come, {len(self.read)} answers were read, {len(self.handed_over)} "
            f"handed over, {len(self.on_disk)} on the disk; asked again: {len(again & self.read)} that had been read, "
            f"{len(again - self.read)} of {unread} that had not"
        )


class Provider:
    """A server that outlives runs, with what it was asked by the messages, by which the ledger knows it too."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.server = LlmServer(self._answer, latency=LATENCY, api_key=KEY, dialect="none")

    def _answer(self, asked: ChatRequest) -> str:
        self.seen[messages_of([message.model_dump() for message in asked.messages])] += 1
        return offline_answer(asked)


def messages_of(messages: list[dict[str, str]]) -> str:
    return json.dumps([[message["role"], message["content"]] for message in messages])


def generate(keeper: Keeper, folder: Path, project: Path, address: str, **fatal: Any) -> Ended:
    samples = {source: project / "sources" / source / "sample" for source in RECORDS}
    words = ["run", "generate", *inputs(samples, RECORDS), "--store", folder / "store", "--run-id", "r", "--json"]
    words += ["--model", "deepseek/deepseek-chat", "--api-base", address]
    return keeper.act(folder / "report.json", *words, "--wave-size", 3, "--concurrency", CONCURRENCY, **fatal)


@pytest.fixture(scope="module")
def keeper():
    with keeping("e2e.killed_over_http", {"DEEPSEEK_API_KEY": KEY}) as keeper:
        yield keeper


@dataclass(frozen=True)
class Whole:
    """The run that nobody disturbed."""

    digest: dict[str, str]
    passed: dict[str, int]
    asked: int


@pytest.fixture(scope="module")
def whole(keeper, project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    provider = Provider()
    with provider.server as server:
        ended = generate(keeper, folder, project, server.address)
        asked = len(server.attempts)
    assert ended.status == 0, ended.err
    store = Store.open(folder / "store")
    assert store.count("outcomes") == sum(RECORDS.values())
    assert set(provider.seen.values()) == {1}
    return Whole(store.digest(), ended.passed, asked)


@pytest.mark.parametrize(("point", "draw"), DRAWS)
def test_a_run_over_http_killed_at(point, draw, whole, keeper, project, tmp_path):
    # Not among the last passings: appends that wait together share a write, so that there may be fewer of them.
    occurrence = random.Random(f"{SEED} {point} {draw}").randint(1, max(1, whole.passed[point] * 3 // 4))
    provider = Provider()
    with provider.server as server:
        killed = generate(keeper, tmp_path, project, server.address, point=point, occurrence=occurrence)
        assert killed.status == -signal.SIGKILL, (killed.status, killed.err)
        store = Store.open(tmp_path / "store")
        calls = store.rows("llm_calls")
        seen_before = provider.seen.copy()
        answers = Answers.of(tmp_path, seen_before, calls)
        resumed = keeper.act(tmp_path / "report.json", "run", "resume", "r", "--store", store.path, "--json")
        assert resumed.status == 0, resumed.err
        attempts = server.attempts

    in_flight = {messages_of(json.loads(row["request"])["messages"]) for row in calls if row["error"] == IN_FLIGHT}
    twice = {messages for messages, times in provider.seen.items() if times > 1}
    print(answers.told(f"killed at {point}, time {occurrence} of {whole.passed[point]}", twice))
    # What is on the disk is not asked again; what was read is lost only out of the write under way and the next.
    assert not twice & answers.on_disk
    assert answers.on_disk <= answers.handed_over <= answers.read
    lost = answers.read - answers.on_disk
    assert lost <= twice, "of an answer that is not on the disk nobody knows"
    assert len(lost) <= CONCURRENCY
    # Between reading and handing over nothing else runs in the event loop: who dies there holds one in hand only
    # where that is the point, and another thread finds one in hand at most.
    in_hand = point in ("http.after", "llm.handed.before") or point.startswith(OF_OTHER_THREADS)
    assert len(answers.read - answers.handed_over) <= in_hand
    assert len(in_flight) <= CONCURRENCY
    # Exactly those that had come and of whose answers nothing was on the disk.
    assert twice == in_flight & seen_before.keys()
    assert set(provider.seen.values()) <= {1, 2}
    assert len(attempts) == whole.asked + len(twice)
    if point.startswith("http."):
        assert in_flight, "its own request was"
    if point == "http.after":
        assert twice
    assert store.verify() == []
    assert store.digest() == whole.digest
    # What nobody knows the cost of is kept as what it may have cost.
    left = [row for row in store.rows("llm_calls") if row["error"] == IN_FLIGHT]
    assert len(left) == len(in_flight)
    assert all(row["usd"] is None and row["usd_upper"] > 0 for row in left)
