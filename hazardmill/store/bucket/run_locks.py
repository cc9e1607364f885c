"""The runs of a store in a bucket that this process holds, exclusive of other processes and machines."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from pathlib import Path

from hazardmill.errors import StoreError
from hazardmill.store.bucket.leases import TERM_S, Lease
from hazardmill.store.bucket.local_cache import Mirror
from hazardmill.store.bucket.manifests import SharedManifests
from hazardmill.store.files.fsync_io import make_folder, remove
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import Lock, exclusive, is_held
from hazardmill.store.maintenance.quarantine import Damage, keep
from hazardmill.store.schemas import TABLES


@dataclass
class _Shared:
    """The lease of a run, and the number of holds of this process that depend on it."""

    lease: Lease
    holds: int = 0


class Holdings:
    """The runs that this process holds.

    Args:
        mirror: The working folder and its bucket.
        manifests: The store's manifests.
        term_s: Seconds after which another machine can take over a run whose worker died.
    """

    def __init__(self, mirror: Mirror, manifests: SharedManifests, term_s: float = TERM_S) -> None:
        self._mirror = mirror
        self._manifests = manifests
        self.term_s = term_s
        self._leases: dict[str, _Shared] = {}
        self._guard = threading.Lock()

    def __getstate__(self) -> dict[str, object]:
        # A run is held only by the process that took it.
        return {**self.__dict__, "_leases": {}, "_guard": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._guard = threading.Lock()

    @property
    def _layout(self) -> Layout:
        return self._mirror.layout

    def hold(self, run_id: str, path: Path, *, writes: bool) -> RunHold | None:
        """Hold a run until it is released.

        Args:
            run_id: The run.
            path: Lock file that keeps other processes of this machine away.
            writes: Whether commits will follow.

        Returns:
            The hold; null if another process or machine holds the run.

        Raises:
            StoreLocked: This process held the run, and another machine has taken it over.
            StoreError: The object store or the disk fails.
        """
        self._mirror.is_there(create=True)
        lock = Lock.acquire(path)
        if lock is None:
            return None
        hold = RunHold(self, run_id, lock)
        try:
            # One at a time, so that the state found on the lease is dealt with before anyone continues.
            with exclusive(self._layout.journal / f"{run_id}.settling"):
                if not self._join(run_id, hold):
                    hold.release()
                    return None
                if writes:
                    lease = self._leases[run_id].lease
                    lease.check(now=True)
                    self._manifests.begin(run_id, lease, self._left(run_id))
        except BaseException:
            hold.release()
            raise
        return hold

    def _join(self, run_id: str, hold: RunHold) -> bool:
        with self._guard:
            shared = self._leases.get(run_id)
            if shared is not None:
                shared.holds += 1
                hold.counts = True
                return True
        lease = Lease(self._mirror.bucket, run_id, self._mirror.machine, self.term_s)
        taken = lease.take(self._manifests.last())
        if taken is None:
            return False
        with self._guard:
            self._leases[run_id] = _Shared(lease, 1)
            hold.counts = True
        if taken.left is not None:
            self._set_aside(run_id, taken.left)
        if taken.owes:
            self._manifests.fence(run_id, lease)
        if taken.owes or taken.left is not None:
            lease.settle()
        return True

    def _left(self, run_id: str) -> list[str]:
        return [path.stem for path in self._layout.segments() if self._layout.run_of(path.stem) == run_id]

    def _set_aside(self, run_id: str, left: int) -> None:
        """Remove journal rows that another machine has made again; committed later, they would hide its rows."""
        segments = set(self._left(run_id))
        files = self._manifests.files()
        others = [m for m in files if m.sequence > left and self._layout.run_of(m.segment) == run_id]
        if not any(manifest.segment not in segments for manifest in others):
            return
        make_folder(self._layout.quarantine)
        for name in sorted(segments - {manifest.segment for manifest in others}):
            message = "another machine took over the run and has committed since: it made these rows again"
            file = f"journal/{name}.jsonl"
            keep(self._layout, Damage("segment_left", file, message, "removed from the journal", moves=True))
            # Parts first: without its segment, a part that no manifest lists would be reported as a loss.
            for path in (*(self._layout.part(table, name) for table in TABLES), self._layout.root / file):
                remove(path)

    def let_go(self, run_id: str) -> None:
        """Give up one hold; with the last hold of this process the lease ends."""
        with self._guard:
            shared = self._leases[run_id]
            shared.holds -= 1
            if shared.holds:
                return
            del self._leases[run_id]
        here = (self._layout.run_lock(run_id), self._layout.presence(run_id))
        # If the object store cannot be told now, the lease expires after its term.
        with contextlib.suppress(StoreError):
            shared.lease.release(free=not any(map(is_held, here)))

    def is_held(self, run_id: str) -> bool:
        """Return whether any process, here or on another machine, works on a run.

        Raises:
            StoreError: The object store fails.
        """
        if any(map(is_held, (self._layout.run_lock(run_id), self._layout.presence(run_id)))):
            return True
        if not self._mirror.is_there():
            return False
        return Lease(self._mirror.bucket, run_id, self._mirror.machine, self.term_s).is_elsewhere()


class RunHold:
    """A run held against other processes and machines until it is released. Made by ``Holdings.hold``."""

    def __init__(self, holdings: Holdings, run_id: str, lock: Lock) -> None:
        self.counts = False
        """Whether it depends on the lease."""
        self._holdings = holdings
        self._run_id = run_id
        self._lock: Lock | None = lock

    def release(self) -> None:
        """Release the run. Releasing it twice is harmless."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()
            if self.counts:
                self._holdings.let_go(self._run_id)

    def is_in_place(self) -> bool:
        """Whether the lock file that keeps other processes of this machine away is still the one with that name."""
        return self._lock is not None and self._lock.is_in_place()
