"""The same records by the command line, by the flow and by shards, killed at drawn points and resumed.

An undisturbed run lists how often each process passes each point of ``killed_anywhere``; a seed draws from that list.
The process is killed there and resumed as its user would: by ``run resume``, or the same command again if no run is
there yet; by a new flow run with the same ``run_id``; by resuming the killed shard, while the other works on.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

from e2e.keeper import Ended, Keeper, keeping
from e2e.killed_anywhere import KINDS
from e2e.prefect_server import serving
from hazardmill.errors import StoreError
from hazardmill.llm.ledger import IN_FLIGHT
from hazardmill.runs.run import Run
from hazardmill.store.store import Store

WAYS = ("cli", "flow", "shards")
SOURCE = "neiss"
RECORDS = 10
WAVE_SIZE = 1
"""More waves than are under way at once, so that the last of them still ask when the first are committed."""
CONCURRENCY = 3


@dataclass(frozen=True)
class Point:
    """Where a process is killed."""

    run_id: str
    kind: str
    ordinal: int

    def __str__(self) -> str:
        return f"{self.run_id} {self.kind} {self.ordinal}"


@dataclass(frozen=True)
class Command:
    """What works on one run, and how it is resumed once the run is there."""

    run_id: str
    begin: Sequence[object]
    resume: Sequence[object]


@dataclass(frozen=True)
class UndisturbedRun:
    """The store of a way that nobody disturbed."""

    digest: dict[str, str]
    content: dict[str, str]
    """The same of the tables that are equal in all ways: shards are two runs, which number their records each."""
    passed: dict[str, dict[str, int]]
    """Run to how often its process passed each point."""
    asked: dict[str, Counter[str]]
    """Run to the identities of its requests."""
    kinds: Mapping[str, Sequence[str]] = field(default_factory=lambda: KINDS)
    """The points to draw from."""

    @property
    def count(self) -> int:
        """How many points there are."""
        return sum(len(self._points(kinds)) for kinds in self.kinds.values())

    def draw(self, count: int, seed: object) -> list[Point]:
        """Different points, as many writes as fsyncs and requests; all points if there are no more."""
        drawing = random.Random(str(seed))
        lists = [self._points(kinds) for kinds in self.kinds.values()]
        for points in lists:
            drawing.shuffle(points)
        drawing.shuffle(lists)
        in_turn = [point for points in zip_longest(*lists) for point in points if point is not None]
        return in_turn[:count]

    def _points(self, kinds: Sequence[str]) -> list[Point]:
        counts = [(run_id, kind, passed.get(kind, 0)) for run_id, passed in self.passed.items() for kind in kinds]
        return [Point(run_id, kind, number) for run_id, kind, count in counts for number in range(1, count + 1)]


@dataclass(frozen=True)
class Verdict:
    """What became of a run that was killed and resumed."""

    point: Point
    equal: bool
    """Whether the digest is that of the undisturbed run."""
    done: int
    """Records that had an outcome at the kill."""
    answered: int
    """Answers of the killed run that were on disk at the kill."""
    in_flight: int
    """Requests sent of which the ledger had no answer."""
    again: int
    """Requests sent before the kill and after it."""
    twice: int
    """Those of them that were not in flight: paid for twice."""
    wrong: list[str]
    seconds: float

    def __str__(self) -> str:
        return (
            f"killed at {self.point}: {self.done} records done, {self.answered} answers on disk, {self.in_flight} "
            f"requests in flight; asked again {self.again}, paid twice {self.twice}; digest "
            f"{'equal' if self.equal else 'DIFFERS'}; {self.seconds:.1f} s"
            + "".join(f"; {each}" for each in self.wrong)
        )


@dataclass(frozen=True)
class Remains:
    """What a killed process left of its run."""

    is_begun: bool
    """Whether the run is in the store."""
    done: int
    asked: Counter[str]
    answered: Counter[str]
    noted: set[str]
    """Requests that the ledger noted as sent and knows no end of; the process may have died before it sent them."""

    @classmethod
    def of(cls, store: Store, folder: Path, run_id: str) -> Remains:
        asked = _asked(folder, run_id)
        try:
            Store.open(store.path)
        except StoreError:
            # It was killed before there was a store.
            return cls(False, 0, asked, Counter(), set())
        noted = store.rows("llm_calls", {"run_id": run_id, "error": IN_FLIGHT})
        return cls(
            store.count("runs", {"run_id": run_id}) > 0,
            store.count("outcomes", {"run_id": run_id}),
            asked,
            _answered(store, run_id),
            {row["identity"] for row in noted},
        )

    @property
    def in_flight(self) -> set[str]:
        """Requests that were sent and whose answers are not on disk."""
        return self.asked.keys() - self.answered.keys()


class Mill:
    """Works on the records in each of the ways.

    Args:
        project: The checkout.
        keepers: Two, for the processes that work at once.
    """

    def __init__(self, project: Path, keepers: Sequence[Keeper]) -> None:
        self._sample = project / "sources" / SOURCE / "sample"
        self._keepers = keepers

    def undisturbed(self, way: str, folder: Path) -> UndisturbedRun:
        """Work on the records, and list the points that were passed."""
        folder.mkdir()
        commands = self._commands(way, folder / "store")
        passed = {run_id: _well(ended).passed for run_id, ended in self._act(folder, commands).items()}
        store = Store.open(folder / "store")
        assert store.count("outcomes") == RECORDS and not store.verify()
        asked = {run_id: _asked(folder, run_id) for run_id in passed}
        assert all(times == 1 for run in asked.values() for times in run.values())
        for run_id, run in asked.items():
            assert _answered(store, run_id) == Counter(run)
        unnumbered = store.digest(without=["ordinal"])
        content = {name: value for name, value in unnumbered.items() if name not in ("runs", "total")}
        return UndisturbedRun(store.digest(), content, passed, asked)

    def kill(self, way: str, point: Point, whole: UndisturbedRun, folder: Path) -> Verdict:
        """Have a process killed at a point and resumed, and look at the store then."""
        began = time.monotonic()
        point = self._kill(way, point, folder)
        store = Store(folder / "store")
        before = Remains.of(store, folder, point.run_id)
        (command,) = [each for each in self._commands(way, store.path) if each.run_id == point.run_id]
        words = command.resume if before.is_begun else command.begin
        _well(self._keepers[0].act(_report(folder, point.run_id), *words))
        asked = {run_id: _asked(folder, run_id) for run_id in whole.passed}
        digest = store.digest()
        different = [name for name, value in whole.digest.items() if digest[name] != value]
        wrong = [f"other digests of {', '.join(different)}"] if different else []
        wrong += [*_wrong_requests(before, asked, whole, point.run_id), *_wrong_rows(store, whole)]
        again = before.asked.keys() & asked[point.run_id].keys()
        return Verdict(
            point,
            equal=not different,
            done=before.done,
            answered=len(before.answered),
            in_flight=len(before.in_flight),
            again=len(again),
            twice=len(again & before.answered.keys()),
            wrong=wrong,
            seconds=time.monotonic() - began,
        )

    def _kill(self, way: str, point: Point, folder: Path) -> Point:
        """Have a process killed, and return where.

        Appends that wait together share a write, so that a run may pass a point less often than another. A point that
        was not reached is replaced by an earlier passing.
        """
        while True:
            folder.mkdir()
            ended = self._act(folder, self._commands(way, folder / "store"), point)
            killed = ended.pop(point.run_id)
            for other in ended.values():
                _well(other)
            if killed.status != 0:
                assert killed.status == -signal.SIGKILL, (killed.status, killed.err)
                return point
            assert point.ordinal > 1, f"{point} was not reached"
            shutil.rmtree(folder)
            point = Point(point.run_id, point.kind, point.ordinal * 9 // 10)

    def _act(self, folder: Path, commands: Sequence[Command], fatal: Point | None = None) -> dict[str, Ended]:
        """Have all commands begun at once; one of them may be killed."""
        for keeper, command in zip(self._keepers, commands, strict=False):
            where = {"point": fatal.kind, "occurrence": fatal.ordinal} if _is_of(fatal, command) else {}
            keeper.begin(_report(folder, command.run_id), *command.begin, **where)
        # All are waited for before anything is asserted, so that the next test finds no answer of this one.
        ended, errors = dict[str, Ended](), list[AssertionError]()
        for keeper, command in zip(self._keepers, commands, strict=False):
            try:
                ended[command.run_id] = keeper.ended(_report(folder, command.run_id))
            except AssertionError as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return ended

    def _commands(self, way: str, store: Path) -> list[Command]:
        if way == "cli":
            return [self._generate(store, "cli")]
        if way == "shards":
            return [self._generate(store, f"shard-{number}", "--shard", f"{number}/2") for number in (1, 2)]
        parameters = {"source": SOURCE, "path": str(self._sample), "limit": RECORDS, "store": str(store)}
        parameters |= {"run_id": "flow", "wave_size": WAVE_SIZE, "concurrency": CONCURRENCY}
        words = ["flow", json.dumps(parameters)]
        return [Command("flow", words, words)]

    def _generate(self, store: Path, run_id: str, *more: object) -> Command:
        words: list[object] = ["run", "generate", "--source", SOURCE, "--input", f"{SOURCE}={self._sample}"]
        words += ["--limit", f"{SOURCE}={RECORDS}", "--store", store, "--run-id", run_id, "--json"]
        words += ["--wave-size", WAVE_SIZE, "--concurrency", CONCURRENCY, *more]
        return Command(run_id, words, ["run", "resume", run_id, "--store", store, "--json"])


@contextmanager
def mill(project: Path, folder: Path, database: Path | None = None) -> Iterator[Mill]:
    """A mill with a Prefect server of its own on loopback; all it leaves is in the folder."""
    with ExitStack() as stack:
        prefect = stack.enter_context(serving(folder, project, {"HAZARDMILL_MODEL": "offline-author"}, database))
        keepers = [
            stack.enter_context(keeping("e2e.killed_anywhere", _without_paths(prefect.environment))) for _ in "12"
        ]
        yield Mill(project, keepers)


def _without_paths(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name != "PATH"}


def _is_of(fatal: Point | None, command: Command) -> bool:
    return fatal is not None and fatal.run_id == command.run_id


def _report(folder: Path, run_id: str) -> Path:
    return folder / f"{run_id}.json"


def _well(ended: Ended) -> Ended:
    assert ended.status == 0, (ended.status, ended.err)
    return ended


def _asked(folder: Path, run_id: str) -> Counter[str]:
    """How often the last process of a run sent each request."""
    file = _report(folder, run_id).with_suffix(".asked")
    return Counter(file.read_text().split())


def _answered(store: Store, run_id: str) -> Counter[str]:
    """How many answers of a run are on disk, by request."""
    return Counter(row["identity"] for row in store.rows("llm_calls", {"run_id": run_id, "answered": True}))


def _wrong_requests(
    left: Remains, asked: Mapping[str, Counter[str]], whole: UndisturbedRun, killed: str
) -> Iterator[str]:
    """What was sent that should not have been, or was not and should have been."""
    after = asked[killed].keys()
    if left.asked.keys() & after != left.in_flight:
        yield "the requests that were asked again are not those in flight"
    if after & left.answered.keys():
        yield f"{len(after & left.answered.keys())} requests were sent whose answers were on disk"
    if not left.in_flight <= left.noted:
        yield f"{len(left.in_flight - left.noted)} requests were sent that the ledger did not note"
    if len(left.noted) > CONCURRENCY:
        yield f"{len(left.noted)} requests were noted as in flight"
    for run_id, requests in asked.items():
        sent = requests.keys() | left.asked.keys() if run_id == killed else requests.keys()
        if max(requests.values(), default=1) > 1 or sent != whole.asked[run_id].keys():
            yield f"the requests of {run_id} are not those of the undisturbed run"


def _wrong_rows(store: Store, whole: UndisturbedRun) -> Iterator[str]:
    """What is wrong with the store at the end."""
    for run_id, asked in whole.asked.items():
        if _answered(store, run_id) != asked:
            yield f"the answered rows of {run_id} are not one per request"
        if Run.load(store, run_id).pending():
            yield f"records of {run_id} are pending"
    for finding in store.verify():
        yield f"verify: {finding}"
