"""A run by batches or by an exchange folder, killed at drawn points and resumed.

The provider and whoever answers the folder outlive the process: a local server, and a thread that answers files. Both
count what they answered, which is what is paid for.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from factories.batch_answers import answer_line

from e2e.drawn_kills import RECORDS, SOURCE, Point, UndisturbedRun
from e2e.keeper import Ended, Keeper
from e2e.killed_anywhere import KINDS_OF_BATCHES
from hazardmill.errors import StoreError
from hazardmill.llm.batches.sent import open_batches_of
from hazardmill.llm.requests import Request
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import LlmServer
from hazardmill.testing.offline_author.backend import OfflineBackend

WAYS = ("batch", "exchange")
MODEL = "openai/gpt-4o-mini"
RUN = "run"
WAVE_SIZE = 4


class Provider(Protocol):
    """Answers what a run sends, in one of the ways, and knows what it answered."""

    words: Sequence[object]
    """Options of the run."""

    def paid(self) -> Counter[str]:
        """How often each request was answered."""
        ...

    def known(self) -> set[str]:
        """The batches or files that it has."""
        ...


class Served:
    """A server of batches."""

    def __init__(self, server: LlmServer) -> None:
        self._server = server
        self.words: Sequence[object] = ("--api-base", server.address, "--batch")

    def paid(self) -> Counter[str]:
        """How often each request was answered."""
        return Counter(str(attempt.identity) for attempt in self._server.attempts if attempt.status == 200)

    def known(self) -> set[str]:
        """The ids of its batches."""
        with urllib.request.urlopen(f"{self._server.address}/batches?limit=100") as page:
            return {batch["id"] for batch in json.load(page)["data"]}


class Answered:
    """A folder whose files a thread answers as they come."""

    def __init__(self, folder: Path, store: Path, address: str) -> None:
        self._folder = folder / "exchange"
        self._store = store
        # The address is part of the identity of a request, however it travels.
        self.words: Sequence[object] = ("--api-base", address, "--exchange", self._folder)
        self._paid: Counter[str] = Counter()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._answer_files)
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._ends.set()
        self._thread.join()

    def paid(self) -> Counter[str]:
        """How often each line was answered."""
        return Counter(self._paid)

    def known(self) -> set[str]:
        """The files of requests."""
        return {file.name for file in self._folder.glob("requests-*.jsonl")}

    def _answer_files(self) -> None:
        while not self._ends.wait(0.02):
            for name in self.known():
                answers = self._folder / name.replace("requests", "answers")
                if not answers.exists():
                    self._answer(self._folder / name, answers)

    def _answer(self, file: Path, answers: Path) -> None:
        asked = _requests(self._store)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        if any(line["custom_id"] not in asked for line in lines):
            return
        written = []
        for line in lines:
            said = asyncio.run(OfflineBackend().complete(asked[line["custom_id"]]))
            written.append(answer_line(line["custom_id"], said.text, "offline-author"))
            self._paid[line["custom_id"]] += 1
        answers.write_text("".join(written))


def _requests(store: Path) -> dict[str, Request]:
    """The requests of open batches, with the keys by which the offline author knows them."""
    try:
        batches = open_batches_of(Store.open(store), RUN)
    except StoreError:
        return {}
    return {identity: line.request for batch in batches for identity, line in batch.lines.items()}


@dataclass(frozen=True)
class BatchVerdict:
    """What became of a run that was killed and resumed."""

    point: Point
    done: int
    """Records that had an outcome at the kill."""
    wrong: list[str]

    def __str__(self) -> str:
        return f"killed at {self.point}: {self.done} records done" + "".join(f"; {each}" for each in self.wrong)


class BatchMill:
    """Works on the records in each of the ways.

    Args:
        project: The checkout.
        keeper: Starts the processes.
    """

    def __init__(self, project: Path, keeper: Keeper) -> None:
        self._sample = project / "sources" / SOURCE / "sample"
        self._keeper = keeper

    def undisturbed(self, way: str, folder: Path) -> UndisturbedRun:
        """Work on the records, and list the points that were passed."""
        with self._provider(way, folder) as provider:
            ended = self._act(folder, self._begin(folder, provider))
            assert ended.status == 0, ended.err
            store = Store.open(folder / "store")
            assert not list(_wrong(store, provider)) and store.count("outcomes") == RECORDS
        digest = store.digest()
        return UndisturbedRun(digest, digest, {RUN: ended.passed}, {RUN: provider.paid()}, KINDS_OF_BATCHES)

    def kill(self, way: str, point: Point, whole: UndisturbedRun, folder: Path) -> BatchVerdict:
        """Have the process killed at a point and resumed, and look at the store then."""
        while True:
            with self._provider(way, folder) as provider:
                killed = self._act(folder, self._begin(folder, provider), point)
                if killed.status == 0:
                    # What is written together differs, so that a point may be passed less often than before.
                    assert point.ordinal > 1, f"{point} was not reached"
                    point = Point(point.run_id, point.kind, point.ordinal * 9 // 10)
                else:
                    assert killed.status == -signal.SIGKILL, killed.err
                    return self._resume(point, whole, folder, provider)
            shutil.rmtree(folder)

    def _resume(self, point: Point, whole: UndisturbedRun, folder: Path, provider: Provider) -> BatchVerdict:
        place = folder / "store"
        try:
            store = Store.open(place)
            is_begun, done = store.count("runs", {"run_id": RUN}) > 0, store.count("outcomes")
        except StoreError:
            is_begun, done = False, 0
        resume = ["run", "resume", RUN, "--store", place, "--json", "--wait"]
        ended = self._act(folder, resume if is_begun else self._begin(folder, provider))
        if ended.status != 0:
            return BatchVerdict(point, done, [f"resumed with {ended.status}: {ended.err}"])
        store = Store.open(place)
        digest = store.digest()
        wrong = [f"another digest of {name}" for name in digest if digest[name] != whole.digest[name]]
        return BatchVerdict(point, done, [*wrong, *_wrong(store, provider)])

    @contextmanager
    def _provider(self, way: str, folder: Path) -> Iterator[Provider]:
        folder.mkdir()
        with ExitStack() as stack:
            server = stack.enter_context(LlmServer())
            if way == "batch":
                yield Served(server)
                return
            answered = Answered(folder, folder / "store", server.address)
            stack.callback(answered.close)
            yield answered

    def _begin(self, folder: Path, provider: Provider) -> list[object]:
        words: list[object] = ["run", "generate", "--source", SOURCE, "--input", f"{SOURCE}={self._sample}"]
        words += ["--limit", f"{SOURCE}={RECORDS}", "--store", folder / "store", "--run-id", RUN, "--json", "--wait"]
        return [*words, "--wave-size", WAVE_SIZE, "--model", MODEL, *provider.words]

    def _act(self, folder: Path, words: Sequence[object], fatal: Point | None = None) -> Ended:
        report = folder / f"{RUN}.json"
        if fatal is None:
            return self._keeper.act(report, *words)
        return self._keeper.act(report, *words, point=fatal.kind, occurrence=fatal.ordinal)


def _wrong(store: Store, provider: Provider) -> Iterator[str]:
    """What is wrong with a store and a provider at the end of a run."""
    paid = provider.paid()
    answered = Counter(row["identity"] for row in store.rows("llm_calls", {"answered": True}, ["identity"]))
    if twice := sum(times > 1 for times in paid.values()):
        yield f"{twice} requests were paid for twice"
    if sum(paid.values()) != sum(answered.values()):
        yield f"{sum(paid.values())} answers were paid for, and {sum(answered.values())} are in the ledger"
    batches = store.rows("batches")
    collected = {row["batch_id"] for row in batches if row["state"] == "collected"}
    if orphans := provider.known() - collected:
        yield f"the provider has {', '.join(sorted(orphans))}, of which the store knows nothing or no end"
    if open_ones := [row["batch"] for row in batches if row["state"] in ("intended", "sent")]:
        yield f"{', '.join(open_ones)} are still open"
    if any(row["error"] == "in_flight" for row in store.rows("llm_calls", None, ["error"])):
        yield "a request is said to be in flight"
    if Run.load(store, RUN).pending():
        yield "records are pending"
    for finding in store.verify():
        yield f"verify: {finding}"
