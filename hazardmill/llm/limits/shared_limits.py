"""Limits that several processes on a machine keep together: requests under way, requests and tokens per minute.

They are kept in a SQLite file, which nobody needs after a minute: requests of a killed process count as under way until
another process sees that the lock of its name is free.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

from hazardmill.errors import StoreError
from hazardmill.llm.limits.workers import claim_name
from hazardmill.store.files.locks import exclusive, is_held

WINDOW_S: Final = 60.0

_log = logging.getLogger(__name__)

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")

_LOOK_EVERY_S: Final = 0.01
"""Seconds between two looks for a place that another process may have freed."""

_BUSY_S: Final = 0.05
"""Seconds for which the event loop may stand still because another process writes the file."""

_TELL_AFTER_S: Final = 60.0
"""Seconds of waiting after which a warning says so."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS workers (
    worker TEXT PRIMARY KEY, in_flight INTEGER, requests INTEGER, tokens INTEGER, held_until REAL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, worker TEXT, at REAL, tokens INTEGER, under_way INTEGER);
CREATE TABLE IF NOT EXISTS waiting (id INTEGER PRIMARY KEY AUTOINCREMENT, worker TEXT, tokens INTEGER);
"""


class _Waiting(NamedTuple):
    number: int
    worker: str
    tokens: int


class SharedLimits:
    """One worker's access to limits that several workers keep together. A context manager.

    In any 60 seconds at most ``requests_per_minute`` requests of all workers are admitted, with at most
    ``tokens_per_minute`` tokens in total, and at most ``max_in_flight`` are under way; null means no limit. If workers
    were given different limits, the lowest hold for all. A request that is larger than the whole token limit is
    admitted when the window is empty.

    Places go first to the worker with the fewest requests under way, then to the one that has waited longest, and
    nobody is admitted who would delay somebody ahead of him.

    Args:
        folder: Folder of the file; created if missing. Each machine that writes there has a file of its own.
        name: Name of the limits.
        worker: Name under which this process asks; only one live process may use it.
        max_in_flight: Maximum number of requests of all workers under way.
        requests_per_minute: Maximum number of requests of all workers started in any 60 s.
        tokens_per_minute: Maximum number of tokens, estimated until settled, of requests started in any 60 s.
        clock: Clock in seconds that all processes of the machine share.

    Raises:
        StoreLocked: A live worker uses this name.
        UsageError: A name cannot be part of a file name.
        StoreError: The file cannot be written, or it is damaged.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        worker: str,
        max_in_flight: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._name, self._worker, self._clock = folder, name, worker, clock
        # The clock begins anew with each start of a machine, and machines have clocks of their own.
        self._path = folder / f"{name}.{_BOOT.read_text()[:8] if _BOOT.exists() else 'machine'}.limits"
        self._line = asyncio.Lock()
        self._mine: int | None = None
        """The row of the one of this process who waits."""
        self._held_until = 0.0
        self._held: set[int] = set()
        """Requests that hold a place; the file follows, where it cannot be written at once."""
        self._behind = False
        """Whether something could not be written when it happened."""
        self._tokens: dict[int, int] = {}
        """Token counts that the file does not have yet."""
        self._lock = lock = claim_name(self._presence(worker), name, worker, "keeping the limits of")
        try:
            with self._errors():
                # Transactions are begun below. Nothing is synced: after a loss of power nothing is under way.
                self._file = sqlite3.connect(self._path, timeout=60.0, isolation_level=None)
                # SQLite does not wait for others who switch to this mode.
                with exclusive(self._path.with_suffix(".setup")):
                    self._file.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; {_TABLES}")
                limits = (worker, max_in_flight, requests_per_minute, tokens_per_minute)
                with self._transaction() as file:
                    # What an earlier process of this name left, and all that are gone: every look passes over them.
                    for (each,) in file.execute("SELECT worker FROM workers").fetchall():
                        if each == worker or not self._is_alive(each):
                            self._forget(file, each)
                    file.execute("INSERT INTO workers VALUES (?, ?, ?, ?, 0)", limits)
                self._file.execute(f"PRAGMA busy_timeout = {int(_BUSY_S * 1000)}")
        except BaseException:
            lock.release()
            raise

    async def take(self, tokens: int, abandoned: Callable[[], bool] = lambda: False) -> int | None:
        """Wait for a place, which ``leave`` gives back.

        Args:
            tokens: Tokens that the request may use, prompt and answer together.
            abandoned: Whether to stop waiting; asked at each look.

        Returns:
            The number of the place; None if the wait was abandoned.

        Raises:
            StoreError: The file cannot be written, or it is damaged.
        """
        # One of this process looks at a time: in order of arrival, and without a crowd at the file.
        async with self._line:
            since, told = self._clock(), False
            try:
                while not abandoned():
                    if self._mine is None:
                        self._mine = self._queue(tokens)
                    if self._mine is not None and (place := self._admit(self._mine)) is not None:
                        return place
                    if not told and self._clock() - since >= _TELL_AFTER_S:
                        told = True
                        _log.warning("requests wait for the limits that the runs of %s keep together", self._name)
                    await asyncio.sleep(_LOOK_EVERY_S)
            finally:
                mine, self._mine = self._mine, None
                if mine is not None:
                    self._try("DELETE FROM waiting WHERE id = ?", mine)
        return None

    def settle(self, place: int, tokens: int) -> None:
        """Replace the estimate by the number of tokens that the provider counted."""
        self._tokens[place] = tokens
        if self._try("UPDATE requests SET tokens = ? WHERE id = ?", tokens, place):
            del self._tokens[place]

    def leave(self, place: int) -> None:
        """Give a place back. Never raises: what cannot be written now is written soon after."""
        self._held.discard(place)
        self._try("UPDATE requests SET under_way = 0 WHERE id = ?", place)

    def hold(self, seconds: float) -> None:
        """Admit nobody, of any worker, for so many seconds."""
        self._held_until = max(self._held_until, self._clock() + seconds)
        self._try("UPDATE workers SET held_until = ? WHERE worker = ?", self._held_until, self._worker)

    def close(self) -> None:
        """Release the worker's name."""
        try:
            self._file.close()
        finally:
            self._lock.release()

    def __enter__(self) -> SharedLimits:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _queue(self, tokens: int) -> int | None:
        """Stand in the line of all workers; None if another process is writing."""
        with self._errors():
            if self._is_busy():
                return None
            with self._begun() as file:
                added = file.execute("INSERT INTO waiting (worker, tokens) VALUES (?, ?)", (self._worker, tokens))
                return int(added.lastrowid or 0)

    def _admit(self, mine: int) -> int | None:
        """Take a place if the limits and all who are ahead allow one now."""
        with self._errors():
            # Without the lock at first: most looks are in vain, and only one process at a time may write.
            if not self._behind and not self._may_go(self._file, mine):
                return None
            if not self._follow() or self._is_busy():
                return None
            with self._begun() as file:
                if not self._may_go(file, mine):
                    return None
                now = self._clock()
                file.execute("DELETE FROM requests WHERE NOT under_way AND at <= ?", (now - WINDOW_S,))
                added = file.execute(
                    "INSERT INTO requests (worker, at, tokens, under_way) "
                    "SELECT worker, ?, tokens, 1 FROM waiting WHERE id = ?",
                    (now, mine),
                )
                file.execute("DELETE FROM waiting WHERE id = ?", (mine,))
        self._mine = None
        place = int(added.lastrowid or 0)
        self._held.add(place)
        return place

    def _may_go(self, file: sqlite3.Connection, mine: int) -> bool:
        # The clock is read after the lock was taken, or another process could have been admitted since.
        workers = {name: rest for name, *rest in file.execute("SELECT * FROM workers") if self._is_alive(name)}
        given = zip(*workers.values(), strict=True)
        in_flight, requests, tokens, _ = (min((v for v in each if v is not None), default=None) for each in given)
        now = self._clock()
        if any(held_until > now for *_, held_until in workers.values()):
            return False
        rows = file.execute("SELECT worker, count(*) FROM requests WHERE under_way GROUP BY worker")
        under_way = Counter({worker: count for worker, count in rows if worker in workers})
        line = [_Waiting(*row) for row in file.execute("SELECT id, worker, tokens FROM waiting ORDER BY id")]
        line = sorted((each for each in line if each.worker in workers), key=lambda each: under_way[each.worker])
        ahead = list(itertools.takewhile(lambda each: each.number != mine, line))
        own = next(each for each in line if each.number == mine)
        query = "SELECT count(*), coalesce(sum(tokens), 0) FROM requests WHERE at > ?"
        ((sent, used),) = file.execute(query, (now - WINDOW_S,))
        wanted = used + own.tokens + sum(each.tokens for each in ahead)
        return (
            (in_flight is None or under_way.total() + len(ahead) < in_flight)
            and (requests is None or sent + len(ahead) < requests)
            and (tokens is None or wanted <= tokens or not (sent or ahead))
        )

    def _is_alive(self, worker: str) -> bool:
        return worker == self._worker or is_held(self._presence(worker))

    def _follow(self) -> bool:
        """Write what could not be written when it happened; whether the file is up to date."""
        if not self._behind:
            return True
        if self._is_busy():
            return False
        with self._begun() as file:
            self._catch_up(file)
        self._tokens.clear()
        self._behind = False
        return True

    def _follow_later(self) -> None:
        """Try again soon: others wait for a place that is free, and this worker may not ask again."""
        try:
            if not self._follow():
                asyncio.get_running_loop().call_later(_LOOK_EVERY_S, self._follow_later)
        except (sqlite3.Error, RuntimeError):
            # Closed, or without a loop: the next admission raises it, or the end of this process frees its places.
            return

    def _catch_up(self, file: sqlite3.Connection) -> None:
        gone = "DELETE FROM waiting WHERE worker = ? AND id IS NOT ?"
        file.execute(gone, (self._worker, self._mine))
        held = "UPDATE workers SET held_until = max(held_until, ?) WHERE worker = ?"
        file.execute(held, (self._held_until, self._worker))
        mine = file.execute("SELECT id FROM requests WHERE under_way AND worker = ?", (self._worker,))
        left = [(number,) for (number,) in mine if number not in self._held]
        file.executemany("UPDATE requests SET under_way = 0 WHERE id = ?", left)
        file.executemany(
            "UPDATE requests SET tokens = ? WHERE id = ?", [(n, place) for place, n in self._tokens.items()]
        )

    @staticmethod
    def _forget(file: sqlite3.Connection, worker: str) -> None:
        file.execute("UPDATE requests SET under_way = 0 WHERE worker = ?", (worker,))
        file.execute("DELETE FROM waiting WHERE worker = ?", (worker,))
        file.execute("DELETE FROM workers WHERE worker = ?", (worker,))

    def _try(self, statement: str, *values: object) -> bool:
        """Whether a statement could be executed now."""
        try:
            self._file.execute(statement, values)
        except sqlite3.Error as error:
            _log.debug("the shared limits are written later: %s", error)
            self._behind = True
            with contextlib.suppress(RuntimeError):
                asyncio.get_running_loop().call_later(_LOOK_EVERY_S, self._follow_later)
            return False
        return True

    def _is_busy(self) -> bool:
        """Begin a transaction; whether another process is writing instead."""
        try:
            self._file.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            # The lowest byte of an extended code is the code.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            return True
        return False

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._file.execute("BEGIN IMMEDIATE")
        with self._begun() as file:
            yield file

    @contextmanager
    def _begun(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._file
            self._file.execute("COMMIT")
        finally:
            if self._file.in_transaction:
                self._try("ROLLBACK")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            damaged = getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
            raise StoreError(
                f"the shared limits cannot be kept: {error}",
                file=str(self._path),
                remedy="remove the file while no run uses it: it only counts the requests of the last minute"
                if damaged
                else "see that the disk of the store has room and can be written, then resume the run",
            ) from error

    def _presence(self, worker: str) -> Path:
        return self._folder / f"{self._name}@{worker}.asking"
