"""Limits that several processes on a machine keep together: requests under way, requests and tokens per minute.

They are kept in a SQLite file, in one transaction per admission. Nothing in it is worth keeping: a process that is
killed leaves requests that count as under way only while it holds the lock of its name, and a minute later the rest is
forgotten.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final

from hazardmill.errors import StoreError, StoreLocked, UsageError
from hazardmill.llm.limits.limiter import WINDOW_S
from hazardmill.store.files.fsync_io import make_folder
from hazardmill.store.files.locks import Lock, is_held

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

_LOOK_EVERY_S: Final = 0.05
"""Seconds between two looks for a place that another process may have freed."""

_WAITS_FOR_S: Final = 1.0
"""Seconds for which a process that looked for a place in vain counts as waiting for one."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, worker TEXT, at REAL, tokens INTEGER, under_way INTEGER);
CREATE TABLE IF NOT EXISTS waiting (worker TEXT PRIMARY KEY, at REAL);
"""


class SharedPlace:
    """The place of one admitted request.

    Attributes:
        number: Its row in the file.
    """

    __slots__ = ("_limits", "number")

    def __init__(self, limits: SharedLimits, number: int) -> None:
        self._limits = limits
        self.number = number

    def settle(self, tokens: int) -> None:
        """Replace the estimate by the number of tokens that the provider counted."""
        self._limits._settle(self, tokens)


class SharedLimits:
    """One worker's access to limits that several workers keep together. A context manager.

    In any 60 seconds at most ``requests_per_minute`` requests of all workers are admitted, with at most
    ``tokens_per_minute`` tokens in total, and at most ``max_in_flight`` are under way; null means no limit. A request
    that is larger than the whole token limit is admitted when the window is empty. Each worker keeps to the limits that
    it was given itself, so give all of them the same. While several workers wait for a place, none has more than its
    equal share.

    Args:
        folder: Folder of the file; created if missing.
        name: Name of the limits; one file per name.
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
        for word in (name, worker):
            if not _NAME.fullmatch(word):
                raise UsageError(f"{word!r} cannot name limits or a worker", remedy="use letters, digits, _ . and -")
        make_folder(folder)
        self._folder, self._name, self._worker = folder, name, worker
        self._in_flight, self._requests, self._tokens = max_in_flight, requests_per_minute, tokens_per_minute
        self._clock = clock
        self._line = asyncio.Lock()
        self._freed = asyncio.Event()
        lock = Lock.acquire(self._presence(worker))
        if lock is None:
            raise StoreLocked(
                f"another process already keeps the limits {name} as worker {worker}",
                file=str(folder),
                remedy="wait for it to end, or give this worker another name",
            )
        self._lock = lock
        try:
            with self._errors():
                # Every transaction is begun below. Nothing is synced: after a loss of power nothing is under way.
                self._file = sqlite3.connect(self._path, timeout=60.0, isolation_level=None)
                self._file.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; {_TABLES}")
                # What an earlier process of this name left.
                self._file.execute("UPDATE requests SET under_way = 0 WHERE worker = ?", (worker,))
        except BaseException:
            lock.release()
            raise

    @asynccontextmanager
    async def place(self, tokens: int = 0) -> AsyncIterator[SharedPlace]:
        """Wait for a place and hold it for the block.

        Args:
            tokens: Tokens that the request may use, prompt and answer together.

        Yields:
            The place, which counts for ``tokens`` tokens until it is settled.

        Raises:
            StoreError: The file cannot be written, or it is damaged.
        """
        # One of this process looks at a time: in order of arrival, and without a crowd at the file.
        async with self._line:
            while (got := self._admit(tokens)) is None:
                self._freed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._freed.wait(), _LOOK_EVERY_S)
        try:
            yield got
        finally:
            self._leave(got)

    def close(self) -> None:
        """Release the worker's name."""
        self._file.close()
        self._lock.release()

    def __enter__(self) -> SharedLimits:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _admit(self, tokens: int) -> SharedPlace | None:
        """Take a place if the limits allow one now; otherwise note that this worker waits."""
        now = self._clock()
        with self._transaction() as file:
            # A row of the future is of before the machine's last start.
            file.execute("DELETE FROM requests WHERE NOT under_way AND (at <= ? OR at > ?)", (now - WINDOW_S, now))
            if not (self._has_room(file, now) and self._is_slow_enough(file, now, tokens)):
                file.execute("INSERT OR REPLACE INTO waiting VALUES (?, ?)", (self._worker, now))
                return None
            added = file.execute(
                "INSERT INTO requests (worker, at, tokens, under_way) VALUES (?, ?, ?, 1)", (self._worker, now, tokens)
            )
            return SharedPlace(self, int(added.lastrowid or 0))

    def _has_room(self, file: sqlite3.Connection, now: float) -> bool:
        if self._in_flight is None:
            return True
        query = "SELECT worker, count(*) FROM requests WHERE under_way GROUP BY worker"
        under_way = Counter(dict(file.execute(query)))
        for worker in [name for name in under_way if name != self._worker and not is_held(self._presence(name))]:
            file.execute("UPDATE requests SET under_way = 0 WHERE worker = ?", (worker,))
            del under_way[worker]
        if under_way.total() >= self._in_flight:
            return False
        rows = file.execute("SELECT worker FROM waiting WHERE at BETWEEN ? AND ?", (now - _WAITS_FOR_S, now))
        waiting = {worker for (worker,) in rows} - {self._worker}
        share = self._in_flight // len(waiting | set(under_way) | {self._worker})
        return not waiting or under_way[self._worker] < max(1, share)

    def _is_slow_enough(self, file: sqlite3.Connection, now: float, tokens: int) -> bool:
        if self._requests is None and self._tokens is None:
            return True
        query = "SELECT count(*), coalesce(sum(tokens), 0) FROM requests WHERE at > ? AND at <= ?"
        ((sent, used),) = file.execute(query, (now - WINDOW_S, now))
        if self._requests is not None and sent >= self._requests:
            return False
        return self._tokens is None or not sent or used + tokens <= self._tokens

    def _settle(self, place: SharedPlace, tokens: int) -> None:
        with self._errors():
            self._file.execute("UPDATE requests SET tokens = ? WHERE id = ?", (tokens, place.number))

    def _leave(self, place: SharedPlace) -> None:
        with self._errors():
            self._file.execute("UPDATE requests SET under_way = 0 WHERE id = ?", (place.number,))
        self._freed.set()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._errors():
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield self._file
            except BaseException:
                self._file.execute("ROLLBACK")
                raise
            self._file.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"the shared limits cannot be kept: {error}",
                file=str(self._path),
                remedy="remove the file while no run uses it: it only counts the requests of the last minute",
            ) from error

    @property
    def _path(self) -> Path:
        return self._folder / f"{self._name}.limits"

    def _presence(self, worker: str) -> Path:
        return self._folder / f"{self._name}@{worker}.asking"
