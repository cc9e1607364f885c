"""The store's face: open it, write a run, read tables, query, digest, verify, recover."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from hazardmill.errors import PartGone, StoreError, StoreLocked
from hazardmill.store import digest, duckdb_views
from hazardmill.store.bucket.address import bucket_address
from hazardmill.store.commit import convert
from hazardmill.store.files.fsync_io import Fault, is_full, make_folder, no_fault
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import HeldLock, Lock, exclusive, is_held
from hazardmill.store.files.manifests import Manifests
from hazardmill.store.maintenance.compact import TARGET_BYTES, MaintenanceSummary, compact
from hazardmill.store.maintenance.findings import Finding, command
from hazardmill.store.maintenance.manifest_swap import sweep
from hazardmill.store.maintenance.rebuild import RebuildReport, rebuild, rehearse
from hazardmill.store.maintenance.verify import refuse_losses, verify
from hazardmill.store.maintenance.verify_rows import HARMLESS, verify_rows
from hazardmill.store.root import Root
from hazardmill.store.rows import table_named, to_rows
from hazardmill.store.schemas import TABLES
from hazardmill.store.snapshot import Snapshot, read_table, take_snapshot
from hazardmill.store.writer import Writer

T = TypeVar("T")

_READINGS: Final = 10
"""Tries at reading what is compacted meanwhile; each compaction can spoil one."""

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hazardmill.store.bucket.copy import CopySummary
    from hazardmill.store.bucket.open import BucketStore


class Store:
    """A folder of tables, or a bucket that has them. Nothing is touched on disk until something is written.

    Every reading method sees one moment of the store: visible parts and rows still in the journal, of each key
    the row committed last. Several processes may read and write at once, one writer a run.

    Args:
        path: The store's folder, or ``s3://bucket/prefix``; also the working folder of one in a bucket.
        fault: Called with the name of each point a crash may hit; for tests.

    Raises:
        StoreError: If ``path`` is an address, and not of a store; or boto3 is wanted and not installed.
    """

    path: Path
    """The store's folder; of one in a bucket the working folder of this machine."""

    def __init__(self, path: Path | str, *, fault: Fault = no_fault) -> None:
        address = bucket_address(path)
        self._bucket: BucketStore | None = None
        self._manifests: Manifests
        if address is None:
            self.path = Path(path)
            # Absolute: Arrow and DuckDB take some relative paths for addresses, and the working folder may change.
            self._layout = Layout(self.path.absolute())
            self._manifests = Manifests(self._layout)
        else:
            from hazardmill.store.bucket.open import BucketStore

            self._bucket = BucketStore(address, path)
            self._layout, self._manifests = self._bucket.layout, self._bucket.manifests
            self.path = self._layout.root
        self._fault = fault
        self._root = Root(self._layout.root)

    @property
    def address(self) -> str:
        """What to call the store in words and commands: its folder as it was given, or ``s3://bucket/prefix``."""
        return str(self.path if self._bucket is None else self._bucket.address)

    @property
    def is_in_bucket(self) -> bool:
        """Whether other machines can work on it."""
        return self._bucket is not None

    @classmethod
    def open(cls, path: Path | str, *, create: bool = False) -> Store:
        """The store at ``path``.

        Raises:
            StoreError: If there is none and ``create`` is false, or it cannot be created.
        """
        store = cls(path)
        if store._bucket is not None:
            store._bucket.open(create=create)
        elif create:
            make_folder(store._layout.journal)
            make_folder(store._layout.manifests)
        elif not (store._layout.journal.is_dir() or store._layout.manifests.is_dir()):
            raise StoreError(
                "there is no store here", file=str(path), remedy="name the folder that holds journal/ and manifests/"
            )
        store._root.check()
        return store

    def writer(self, run_id: str) -> Writer:
        """Become the one writer of a run. What a killed writer of the run left becomes parts first.

        Raises:
            StoreLocked: If another writer of the run is alive.
            StoreError: If the store cannot be written, or ``run_id`` cannot be part of a file name.
            CorruptStore: If a segment of the run is damaged, or a commit of any run is lost.
        """
        lock = self._lock(run_id)
        if lock is None:
            raise self._busy(run_id)
        try:
            refuse_losses(self._layout, self._manifests)
            self._convert_left(run_id)
        except BaseException:
            lock.release()
            raise
        return Writer(self._layout, self._manifests, run_id, lock, self._fault, self._root)

    def _lock(self, run_id: str) -> HeldLock | None:
        return self._acquire(run_id, self._layout.run_lock(run_id), writes=True)

    def _acquire(self, run_id: str, path: Path, *, writes: bool) -> HeldLock | None:
        """The lock on a file of a run, in the folder that was seen before, if one was."""
        self._root.check()
        held = Lock.acquire(path) if self._bucket is None else self._bucket.holdings.hold(run_id, path, writes=writes)
        self._root.check()
        return held

    def hold(self, run_id: str) -> HeldLock:
        """Keep others off a run, until it is released: also while it has no writer for a moment.

        Raises:
            StoreLocked: If somebody else works on it.
            StoreError: If the store cannot be written, or ``run_id`` cannot be part of a file name.
        """
        held = self._acquire(run_id, self._layout.presence(run_id), writes=False)
        if held is None:
            raise self._busy(run_id, "works on")
        return held

    def is_worked_on(self, run_id: str) -> bool:
        """Whether somebody, on a machine that can write this store, holds or writes a run now.

        Raises:
            StoreError: If ``run_id`` cannot be part of a file name, or the object store fails.
        """
        if self._bucket is not None:
            return self._bucket.holdings.is_held(run_id)
        return any(map(is_held, (self._layout.presence(run_id), self._layout.run_lock(run_id))))

    def _busy(self, run_id: str, does: str = "writes") -> StoreLocked:
        remedy = "wait for it to end, or stop it; then resume the run"
        if self._bucket is not None:
            remedy += f" (what was killed on another machine lets go after {self._bucket.holdings.term_s:.0f} s)"
        return StoreLocked(f"another process {does} run {run_id}", file=self.address, remedy=remedy)

    def recover(self) -> list[str]:
        """Make parts of every segment whose writer is dead, and sweep what a killed compaction left.

        Runs that are being written and a compaction under way are left alone.

        Returns:
            The names of the segments converted.

        Raises:
            CorruptStore: If a segment is damaged, which stays where it is; or if a commit is lost.
            StoreError: If the store cannot be written.
        """
        self._root.check()
        refuse_losses(self._layout, self._manifests)
        converted = []
        for run_id in sorted({self._layout.run_of(path.stem) for path in self._layout.segments()}):
            lock = self._lock(run_id)
            if lock is not None:
                try:
                    converted += self._convert_left(run_id)
                finally:
                    lock.release()
        self._sweep()
        return converted

    def _sweep(self) -> None:
        """Remove what a maintenance that was killed left; one that is under way is left alone."""
        if not self._layout.maintenance_lock.exists():
            return  # there never was one
        lock = Lock.acquire(self._layout.maintenance_lock)
        if lock is not None:
            try:
                with exclusive(self._layout.commit_lock):
                    sweep(self._layout, self._manifests, self._fault)
            finally:
                lock.release()

    def compact(self, *, target: int = TARGET_BYTES) -> MaintenanceSummary:
        """Make few large parts of many small ones; what is read stays the same.

        Writers and readers go on meanwhile. See ``hazardmill.store.maintenance.compact``.

        Args:
            target: Size in bytes at which a new part is full.

        Raises:
            StoreLocked: If another process compacts or rebuilds.
            CorruptStore: If the store is damaged; nothing was changed.
            StoreError: If the disk refuses.
        """
        self._refuse_in_bucket("compact")
        with self._maintenance("compact"):
            done = compact(self._layout, self._manifests, self._fault, target)
            if (self.path / "store.duckdb").exists():
                self.write_lens()  # its views name the parts that are gone
        return done

    def copy_to(self, target: Store, progress: Callable[[int, int], None] | None = None) -> CopySummary:
        """Copy everything that is committed to a store that is empty, or the beginning of such a copy.

        Args:
            target: Where to: a folder or a bucket.
            progress: Told of the number of commits copied, and of all.

        Raises:
            StoreLocked: If rows are still in the journal, or somebody maintains the target.
            CorruptStore: If this store is damaged; nothing damaged is copied.
            StoreError: If the target holds something else, or a disk or an object store fails.
        """
        from hazardmill.store.bucket import copy

        if self._layout.root == target._layout.root:
            raise StoreError("a store cannot be copied to itself", file=self.address, remedy="name another place")
        self.recover()
        copy.refuse_journal(self._layout, self.address)
        with ExitStack() as stack:
            if self._bucket is None:
                copy.hold_source(self._layout, stack, self.address)
            whole = self.snapshot()
            whole.bring()
            place: copy.Target
            if target._bucket is not None:
                place = copy.InBucket(target._bucket.mirror, target._manifests)
            else:
                copy.hold_target(target._layout, stack, target.address)
                place = copy.CopyFolder(target._layout, target._manifests)
            return copy.copy_into(whole.manifests, self._layout, place, target.address, progress)

    def _refuse_in_bucket(self, verb: str) -> None:
        if self._bucket is not None:
            raise self._bucket.refusal(verb)

    def rebuild(self, *, dry_run: bool = False) -> RebuildReport:
        """Put what is damaged into quarantine, and make the store whole again as far as the rest allows.

        See ``hazardmill.store.maintenance.rebuild``. No run may be worked on meanwhile, but by a ``dry_run``, which
        only looks.

        Raises:
            StoreLocked: If a run is worked on, or another process compacts or rebuilds.
            SchemaMismatch: If a newer hazardmill wrote some of it; nothing was changed.
            StoreError: If the disk refuses; done again, it comes to the same end.
        """
        self._refuse_in_bucket("rebuild")
        if dry_run:
            return rehearse(self._layout)
        with self._maintenance("rebuild"), self._all_runs() as runs:
            self._manifests = Manifests(self._layout)  # what was read before the damage is not what is there
            done = rebuild(self._layout, self._manifests, runs, self._fault)
            self.write_lens()
        return done

    @contextmanager
    def _all_runs(self) -> Iterator[set[str]]:
        """Hold the runs that have something in the journal, and see that nobody works on any other."""
        runs = {self._layout.run_of(path.stem) for path in self._layout.segments()}
        with ExitStack() as held:
            for run_id in sorted(runs):
                lock = Lock.acquire(self._layout.run_lock(run_id))
                if lock is None:
                    raise self._busy(run_id)
                held.callback(lock.release)
            # Besides the lock of its writer, a run that is under way holds one for its whole length.
            for path in sorted([*self._layout.journal.glob("*.lock"), *self._layout.journal.glob("*.present")]):
                if is_held(path) and not (path.suffix == ".lock" and path.stem in runs):
                    raise self._busy(path.stem)
            yield runs

    @contextmanager
    def _maintenance(self, verb: str) -> Iterator[None]:
        self._root.check()
        lock = Lock.acquire(self._layout.maintenance_lock)
        if lock is None:
            raise StoreLocked(
                "another process compacts or rebuilds this store",
                file=str(self.path),
                remedy="wait for it to end, then try again if it is still wanted",
            )
        try:
            yield
        except StoreError as error:
            if is_full(error):
                again = command(f"store {verb}", self.path)
                error.remedy = f"free some space on this disk, then do it again: {again}; nothing is lost"
            raise
        finally:
            lock.release()

    def count(self, table: str, where: Mapping[str, object] | None = None) -> int:
        """The number of rows; reads the key and the columns of ``where`` only."""
        known = table_named(table)
        rows: int = self.read(lambda snapshot: read_table(snapshot, known, where, known.key)).num_rows
        return rows

    def rows(
        self, table: str, where: Mapping[str, object] | None = None, columns: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        """The rows of a table as dictionaries, in commit order.

        Args:
            table: Name of the table.
            where: Column to the value it must have; null matches null.
            columns: What to read; all columns if none.

        Raises:
            StoreError: For an unknown table or column, or a condition its column cannot meet.
            CorruptStore, SchemaMismatch: If a file cannot be read.
        """
        return to_rows(self.table(table, where, columns))

    def table(
        self, table: str, where: Mapping[str, object] | None = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """As ``rows``, as an Arrow table."""
        known = table_named(table)
        return self.read(lambda snapshot: read_table(snapshot, known, where, columns))

    def rows_since(
        self, table: str, since: int, columns: Sequence[str] | None = None
    ) -> tuple[list[dict[str, Any]], int]:
        """The rows of a table committed after commit ``since``, and those still in the journal.

        For following a table while others write it: begin with 0, go on with the number returned. A row seen in the
        journal comes once more when it is committed, and all of a compaction's rows come once more after it.

        Returns:
            The rows as ``rows`` gives them, and the commit to go on from.
        """

        def later(snapshot: Snapshot) -> tuple[list[dict[str, Any]], int]:
            data = read_table(snapshot.since(since), table_named(table), None, columns)
            return to_rows(data), snapshot.through

        return self.read(later)

    def connect(self) -> DuckDBPyConnection:
        """An in-memory DuckDB connection with one view a table, ``latest_tasks``, and ``parts``.

        The views show this moment; connect again to see what was committed since. They name the parts that there
        are now, and fail once a compaction takes these away: ``query`` looks again then.
        """
        return self.read(duckdb_views.open_views)

    def query(self, asking: Callable[[DuckDBPyConnection], T]) -> T:
        """What ``asking`` makes of a connection as of ``connect``; of a later one if a compaction took its parts away.

        What it gives must not hang on parts that are still to be read: rows, or a cursor that has given its first
        rows of a query that sorts. Done again, it begins anew.

        Raises:
            PartGone: If a part is lost.
            StoreError: If DuckDB cannot read a part.
            duckdb.Error: If the query fails.
            Exception: What ``asking`` raises.
        """
        return self.read(lambda snapshot: duckdb_views.ask_views(snapshot, asking))

    def write_lens(self, path: Path | str | None = None) -> Path:
        """Write a DuckDB file whose views read the visible parts; by default ``store.duckdb`` in the store.

        The views name the parts by absolute path; after a move, ``SET VARIABLE hazardmill_store = 'new folder'``.
        Write it again to see later commits.

        Returns:
            The path of the file.

        Raises:
            StoreError: If the file cannot be written.
        """
        self._root.check()
        place = self.path / "store.duckdb" if path is None else Path(path)
        make_folder(place.parent)
        # Looked at inside: of two processes that write it, the last must not put an older view over a newer one.
        with exclusive(place.with_name(f".{place.name}.lock")):
            self.read(lambda snapshot: duckdb_views.write_lens(snapshot, place.absolute()))
        return place

    def digest(self, run_id: str | None = None, without: Collection[str] = ()) -> dict[str, str]:
        """SHA-256 (hex) by table and in ``total``: equal for equal runs (see ``hazardmill.store.digest``).

        Args:
            run_id: Restricts the digest to what this run stands on.
            without: Columns to leave out, such as the version that wrote a row.
        """
        return self.read(lambda snapshot: digest.digest(snapshot, run_id, without))

    def verify(self) -> list[Finding]:
        """Everything wrong with the files of the store, and rows that others stand on and that are missing.

        Of files that are damaged the damage alone is told: what rows went with it, a rebuild finds out. A commit that
        is gone whole with everything after it leaves no trace, as in an older copy: see ``last_commit``.

        Returns:
            An empty list if all is well.
        """
        found = self.verify_files()
        if all(finding.code in HARMLESS for finding in found):
            found += self.read(lambda snapshot: verify_rows(snapshot, self._layout.root))
        return found

    def verify_files(self) -> list[Finding]:
        """Everything wrong with the files of the store, whatever rows they hold."""
        return verify(self._layout) if self._bucket is None else self._bucket.verify()

    def last_commit(self) -> tuple[int, str | None]:
        """Number and time (ISO 8601, UTC) of the last commit there is; 0 and null where there is none.

        A compaction that stands for the last commits has their number, and the time at which it was done.
        """
        last = max(self._manifests.all(), key=lambda manifest: manifest.sequence, default=None)
        return (0, None) if last is None else (last.sequence, last.committed)

    def snapshot(self) -> Snapshot:
        """The store at this moment, for several reads that must agree."""
        return take_snapshot(self._layout, self._manifests)

    def read(self, reading: Callable[[Snapshot], T]) -> T:
        """What ``reading`` makes of one moment of the store; of a later one if a compaction took its parts away.

        Raises:
            PartGone: If a part is lost.
            Exception: What ``reading`` raises.
        """
        for _ in range(_READINGS):
            try:
                return reading(self.snapshot())
            except PartGone as error:
                gone = error
                if any(str(path) == error.file for name in TABLES for _, path in self.snapshot().parts(name)):
                    break
        raise gone

    def _convert_left(self, run_id: str) -> list[str]:
        left = [path for path in self._layout.segments() if self._layout.run_of(path.stem) == run_id]
        for path in left:
            convert(self._layout, self._manifests, path, self._fault)
        return [path.stem for path in left]
