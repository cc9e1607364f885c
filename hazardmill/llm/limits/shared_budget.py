"""One budget for several workers on a machine: a small file from which each worker leases slices.

The file ``<name>.json`` holds the limit and each worker's lease in picodollars. It is changed under an exclusive lock
and replaced as a whole, durably, before anybody spends what was granted. Whatever is killed at whatever moment, the
leases never exceed the limit, and a worker never spends more than its lease.

What a worker has spent stays leased to it for good. While it lives, it holds a lock of its own. The lease of a dead
worker can be reclaimed, except for what its ledger rows say it spent. Reading those rows takes time, during which no
lock is held. Therefore each time a worker opens the budget, that opening gets a number, and nothing is reclaimed from a
worker that has opened it again in the meantime.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from hazardmill.errors import CorruptStore, StoreLocked
from hazardmill.llm.limits.budget import PICODOLLARS, picodollars
from hazardmill.llm.limits.workers import claim_name
from hazardmill.store.files.fsync_io import disk_errors, rename, write_file
from hazardmill.store.files.locks import Lock, exclusive, is_held


@dataclass
class _Content:
    """The content of the file."""

    limit: int
    leases: dict[str, int]
    unsettled: dict[str, int]
    """Workers whose spending has not been settled since they last opened the budget, with the number of that
    opening."""
    openings: int


class SharedBudgetFile:
    """One worker's access to a shared budget. A context manager; implements ``SharedBudget``.

    Args:
        folder: Folder of the file; created if missing.
        name: Name of the budget; one file per budget.
        worker: Name under which this process leases; only one live process may use it.
        limit_usd: Maximum spend in US dollars of all workers together. The last worker to open the budget sets it, so
            that a run can be resumed with more.
        spent_usd: What the ledger says this worker has spent before. What it had leased beyond that is given back.

    Raises:
        StoreLocked: A live worker uses this name.
        UsageError: A name cannot be part of a file name.
        StoreError: The folder cannot be written.
        CorruptStore: The file is damaged.
    """

    def __init__(self, folder: Path, name: str, worker: str, limit_usd: float, spent_usd: float = 0.0) -> None:
        self._folder = folder
        self._name = name
        self._worker = worker
        self._lock = lock = claim_name(self._presence(worker), name, worker, "spending from")
        try:
            with self._changing() as content:
                content.limit = picodollars(limit_usd)
                content.leases[worker] = picodollars(spent_usd)
                content.openings += 1
                content.unsettled[worker] = content.openings
        except BaseException:
            lock.release()
            raise

    def lease(self, amount: int) -> int:
        """Lease up to ``amount`` picodollars, durably; return what was granted."""
        with self._changing() as content:
            granted = max(0, min(amount, content.limit - sum(content.leases.values())))
            content.leases[self._worker] += granted
        return granted

    def give_back(self, amount: int) -> None:
        """Return picodollars that were leased and not spent."""
        with self._changing() as content:
            content.leases[self._worker] -= min(amount, content.leases[self._worker])

    def leases(self) -> dict[str, float]:
        """Return the US dollars leased by each worker, spent or not."""
        with exclusive(self._guard):
            return {worker: amount / PICODOLLARS for worker, amount in self._read().leases.items()}

    def dead_workers(self) -> dict[str, int]:
        """Return workers that have died and were not settled since, with the number of their last opening."""
        with exclusive(self._guard):
            unsettled = self._read().unsettled
        return {worker: opening for worker, opening in unsettled.items() if not is_held(self._presence(worker))}

    def reclaim(self, worker: str, spent_usd: float, opening: int | None = None) -> float:
        """Give back what a dead worker leased and did not spend.

        Args:
            worker: The dead worker.
            spent_usd: What its ledger rows say it spent, with the reservation where the cost is unknown.
            opening: Number of the worker's opening (``dead_workers``) before its rows were read. If the worker has
                opened the budget again since, it may have spent more, and nothing is given back.

        Returns:
            US dollars given back.

        Raises:
            StoreLocked: The worker is alive.
        """
        # Hold the worker's lock, so that it cannot come back to life in the middle.
        lock = Lock.acquire(self._presence(worker))
        if lock is None:
            raise StoreLocked(f"worker {worker} is still running", file=str(self._folder), remedy="wait for it to end")
        try:
            with self._changing() as content:
                if opening is not None and content.unsettled.get(worker) != opening:
                    return 0.0
                before = content.leases.get(worker, 0)
                content.leases[worker] = picodollars(spent_usd)
                content.unsettled.pop(worker, None)
                return (before - content.leases[worker]) / PICODOLLARS
        finally:
            lock.release()

    def close(self) -> None:
        """Release the worker's name. What is leased stays leased."""
        self._lock.release()

    def __enter__(self) -> SharedBudgetFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _path(self) -> Path:
        return self._folder / f"{self._name}.json"

    @property
    def _guard(self) -> Path:
        return self._folder / f"{self._name}.lock"

    def _presence(self, worker: str) -> Path:
        return self._folder / f"{self._name}@{worker}.present"

    @contextmanager
    def _changing(self) -> Iterator[_Content]:
        """Yield the content for changes in the body; it is on disk when the body ends."""
        with exclusive(self._guard):
            content = self._read()
            before = copy.deepcopy(content)
            yield content
            if content != before:
                staged = self._path.with_suffix(".new")
                write_file(staged, json.dumps(dataclasses.asdict(content), indent=1, sort_keys=True).encode())
                rename(staged, self._path)

    def _read(self) -> _Content:
        try:
            with disk_errors(self._path, "read the shared budget"):
                text = self._path.read_bytes() if self._path.exists() else b'{"limit": 0, "leases": {}}'
            content = json.loads(text)
            leases = _counts(content["leases"])
            # Early files had no numbers: their workers may not have been settled.
            unsettled = _counts(content.get("unsettled", dict.fromkeys(leases, 0)))
            return _Content(int(content["limit"]), leases, unsettled, int(content.get("openings", 0)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptStore(
                f"the shared budget cannot be read: {error}",
                file=str(self._path),
                remedy="remove the file: each run, when resumed, records its spending there again from its ledger",
            ) from error


def _counts(values: dict[str, int]) -> dict[str, int]:
    return {str(worker): int(value) for worker, value in values.items()}
