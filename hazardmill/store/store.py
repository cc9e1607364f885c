"""The entry point to a store: open it, write a run, read tables, query, digest, verify, recover."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from hazardmill.errors import PartGone, StoreError, StoreLocked
from hazardmill.files import encoding_remedy, is_utf8_path
from hazardmill.store import digest, duckdb_views
from hazardmill.store.commit import convert
from hazardmill.store.files.fsync_io import Fault, is_full, make_folder, no_fault
from hazardmill.store.files.locks import HeldLock, Lock, exclusive, is_held
from hazardmill.store.files.manifests import Manifests
from hazardmill.store.maintenance.compact import TARGET_BYTES, MaintenanceSummary, compact
from hazardmill.store.maintenance.copy import CopySummary, copy_into, refuse_journal
from hazardmill.store.maintenance.findings import Finding, command
from hazardmill.store.maintenance.manifest_swap import sweep
from hazardmill.store.maintenance.rebuild import RebuildReport, rebuild, rehearse
from hazardmill.store.maintenance.verify import refuse_losses
from hazardmill.store.maintenance.verify_rows import HARMLESS, verify_rows
from hazardmill.store.places import choose_place
from hazardmill.store.root import Root
from hazardmill.store.rows import table_named, to_rows
from hazardmill.store.snapshot import Snapshot, read_table, take_snapshot
from hazardmill.store.writer import Writer

T = TypeVar("T")

_READINGS: Final = 10
"""Maximum number of tries at reading a store that is compacted meanwhile; each compaction can spoil one."""

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Store:
    """A folder of tables, or a bucket that holds them. Nothing on disk is touched until something is written.

    Every reading method sees one moment of the store: visible parts and rows still in the journal, and for each key the
    row committed last. Several processes may read and write at the same time, with one writer per run.

    Args:
        path: The store's folder or ``s3://bucket/prefix``; also the working folder of a store in a bucket.
        fault: Called with the name of each point where a crash may happen; for tests.

    Raises:
        StoreError: ``path`` is an address but not a store's, or is not UTF-8.
        ExtraMissing: boto3 is needed, and not installed.
    """

    path: Path
    """The store's folder; for a store in a bucket, its working folder on this machine."""

    def __init__(self, path: Path | str, *, fault: Fault = no_fault) -> None:
        self._place = choose_place(path)
        self._layout = self._place.layout
        self.path = self._place.path
        if not is_utf8_path(self._layout.root):
            # Arrow and DuckDB would fail, or open another folder.
            place = os.fsencode(self._layout.root).decode("utf-8", "backslashreplace")
            raise StoreError("the store's path cannot be read as UTF-8", file=place, remedy=encoding_remedy())
        self._fault = fault
        self._root = Root(self._layout.root)

    @property
    def address(self) -> str:
        """The store's name in messages and commands: its folder as given, or ``s3://bucket/prefix``."""
        return self._place.address_text()

    @property
    def is_in_bucket(self) -> bool:
        """Whether the store is in a bucket, so that other machines can work on it."""
        return self._place.is_shared

    @property
    def _manifests(self) -> Manifests:
        return self._place.manifests

    @classmethod
    def open(cls, path: Path | str, *, create: bool = False) -> Store:
        """Return the store at ``path``.

        Args:
            path: A folder or ``s3://bucket/prefix``.
            create: Whether to create a store if there is none.

        Raises:
            NoStore: There is none and ``create`` is false.
            StoreError: It cannot be created or read.
        """
        store = cls(path)
        store._place.open(create=create)
        store._root.check()
        return store

    def writer(self, run_id: str) -> Writer:
        """Return the writer of a run; there is never more than one.

        Segments left by a killed writer of the run are converted to parts first.

        Raises:
            StoreLocked: Another writer of the run is alive.
            StoreError: The store cannot be written, or ``run_id`` cannot be part of a file name.
            CorruptStore: A segment of the run is damaged, or a commit of any run is lost.
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
        """Lock a file of a run, in the folder that was seen first."""
        self._root.check()
        held = self._place.hold(run_id, path, writes=writes)
        self._root.check()
        return held

    def hold(self, run_id: str) -> HeldLock:
        """Reserve a run until the lock is released, including times when it has no writer.

        Returns:
            The lock, to be released by the caller.

        Raises:
            StoreLocked: Another process works on it.
            StoreError: The store cannot be written, or ``run_id`` cannot be part of a file name.
        """
        held = self._acquire(run_id, self._layout.presence(run_id), writes=False)
        if held is None:
            raise self._busy(run_id, "working on")
        return held

    def is_worked_on(self, run_id: str) -> bool:
        """Return whether a process on any machine that can write this store holds or writes a run now.

        Raises:
            StoreError: ``run_id`` cannot be part of a file name, or the object store fails.
        """
        return self._place.is_held(run_id)

    def _busy(self, run_id: str, doing: str = "writing") -> StoreLocked:
        remedy = f"wait for it to end, or stop it; then resume the run{self._place.takeover_hint}"
        return StoreLocked(f"another process is {doing} run {run_id}", file=self.address, remedy=remedy)

    def recover(self) -> list[str]:
        """Convert every segment whose writer is dead to parts, and remove what a killed compaction left.

        Runs that are being written and a compaction under way are left alone.

        Returns:
            The names of the segments converted.

        Raises:
            CorruptStore: A segment is damaged (it stays in place), or a commit is lost.
            StoreError: The store cannot be written.
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
        """Remove what a killed compaction or rebuild left, unless one is under way."""
        if not self._layout.maintenance_lock.exists():
            return  # no maintenance was ever started
        lock = Lock.acquire(self._layout.maintenance_lock)
        if lock is not None:
            try:
                with exclusive(self._layout.commit_lock):
                    sweep(self._layout, self._manifests, self._fault)
            finally:
                lock.release()

    def compact(self, *, target: int = TARGET_BYTES) -> MaintenanceSummary:
        """Merge many small parts into few large ones; what is read stays the same.

        Writers and readers may continue meanwhile. See ``hazardmill.store.maintenance.compact``.

        Args:
            target: Size in bytes at which a new part is full.

        Returns:
            Parts and bytes before and after.

        Raises:
            StoreLocked: Another process compacts or rebuilds.
            CorruptStore: The store is damaged; nothing was changed.
            StoreError: The disk refuses.
        """
        self._place.refuse_maintenance("compact")
        with self._maintenance("compact"):
            done = compact(self._layout, self._manifests, self._fault, target)
            if (self.path / "store.duckdb").exists():
                self.write_lens()  # its views refer to parts that are now gone
        return done

    def copy_to(
        self, target: Store, progress: Callable[[int, int], None] | None = None, *, live: bool = False
    ) -> CopySummary:
        """Copy everything that is committed to an empty store, or to an earlier copy what it lacks.

        Args:
            target: A folder or a bucket.
            progress: Called with the number of commits copied and the total number.
            live: Whether runs may be at work; what they have not committed is not copied.

        Returns:
            Counts over the whole copy, including what an earlier, interrupted copy had brought.

        Raises:
            StoreLocked: Rows are still in the journal and the copy is not live, or this store or the target is being
                compacted or rebuilt.
            CorruptStore: This store is damaged; nothing damaged is copied.
            StoreError: The target holds something else, or a disk or an object store fails.
        """
        if self._layout.root == target._layout.root:
            raise StoreError("a store cannot be copied to itself", file=self.address, remedy="choose another target")
        self.recover()
        if not live:
            refuse_journal(self._layout, self.address)
        with ExitStack() as stack:
            self._place.hold_source(stack)
            whole = self.snapshot()
            whole.bring()
            place = target._place.receive(stack)
            return copy_into(whole.manifests, self._layout, place, target.address, progress)

    def rebuild(self, *, dry_run: bool = False) -> RebuildReport:
        """Move damaged files to quarantine, and make the store whole again as far as the rest allows.

        See ``hazardmill.store.maintenance.rebuild``. No run may be worked on meanwhile, except during a ``dry_run``.

        Args:
            dry_run: Whether to report only, without changing anything.

        Returns:
            What was found and done, or with ``dry_run`` would be done.

        Raises:
            StoreLocked: A run is worked on, or another process compacts or rebuilds.
            SchemaMismatch: A newer hazardmill wrote part of the store; nothing was changed.
            StoreError: The disk refuses; repeating the rebuild leads to the same result.
        """
        self._place.refuse_maintenance("rebuild")
        if dry_run:
            return rehearse(self._layout)
        with self._maintenance("rebuild"), self._all_runs() as runs:
            self._manifests.forget()  # they may have been read before the damage
            done = rebuild(self._layout, self._manifests, runs, self._fault)
            self.write_lens()
        return done

    @contextmanager
    def _all_runs(self) -> Iterator[set[str]]:
        """Hold all runs with segments in the journal, and make sure that nobody works on any other run."""
        runs = {self._layout.run_of(path.stem) for path in self._layout.segments()}
        with ExitStack() as held:
            for run_id in sorted(runs):
                lock = Lock.acquire(self._layout.run_lock(run_id))
                if lock is None:
                    raise self._busy(run_id)
                held.callback(lock.release)
            # Besides its writer's lock, a run under way holds a presence lock for its whole duration.
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
                "another process is compacting or rebuilding this store",
                file=str(self.path),
                remedy="wait for it to end, then try again if it is still needed",
            )
        try:
            yield
        except StoreError as error:
            if is_full(error):
                again = command(f"store {verb}", self.path)
                error.remedy = f"free some space on this disk, then run it again: {again}; nothing is lost"
            raise
        finally:
            lock.release()

    def count(self, table: str, where: Mapping[str, object] | None = None) -> int:
        """Return the number of rows. Reads only the key and the columns of ``where``."""
        known = table_named(table)
        rows: int = self.read(lambda snapshot: read_table(snapshot, known, where, known.key)).num_rows
        return rows

    def rows(
        self, table: str, where: Mapping[str, object] | None = None, columns: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        """Return the rows of a table as dictionaries, in commit order.

        Args:
            table: Name of the table.
            where: Value that each named column must have; null matches null.
            columns: Columns to read; null for all.

        Raises:
            StoreError: The table or a column is unknown, or a condition does not suit its column.
            CorruptStore: A file is damaged.
            SchemaMismatch: A newer hazardmill wrote a file.
        """
        return to_rows(self.table(table, where, columns))

    def table(
        self, table: str, where: Mapping[str, object] | None = None, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return what ``rows`` returns as an Arrow table."""
        known = table_named(table)
        return self.read(lambda snapshot: read_table(snapshot, known, where, columns))

    def rows_since(
        self, table: str, since: int, columns: Sequence[str] | None = None
    ) -> tuple[list[dict[str, Any]], int]:
        """Return the rows of a table committed after commit ``since``, and those still in the journal.

        To follow a table while others write it, begin with 0 and continue with the number returned. A row seen in the
        journal comes again when it is committed, and all rows of a compaction come again after it.

        Returns:
            The rows as ``rows`` gives them, and the commit to continue from.
        """

        def later(snapshot: Snapshot) -> tuple[list[dict[str, Any]], int]:
            data = read_table(snapshot.since(since), table_named(table), None, columns)
            return to_rows(data), snapshot.through

        return self.read(later)

    def connect(self) -> DuckDBPyConnection:
        """Return an in-memory DuckDB connection with one view per table, ``tasks_latest``, and ``parts``.

        The views show this moment; connect again to see later commits. They refer to the current parts, and fail once a
        compaction removes these; ``query`` tries again in that case.
        """
        return self.read(duckdb_views.open_views)

    def query(self, asking: Callable[[DuckDBPyConnection], T], tables: Collection[str] | None = None) -> T:
        """Return what ``asking`` returns for a connection as of ``connect``.

        If a compaction removes the connection's parts, ``asking`` is called again with a newer one. The result must not
        depend on parts that are still to be read: return rows, or a cursor that has fetched the first rows of a sorting
        query.

        Args:
            asking: Runs queries on the connection.
            tables: The tables that ``asking`` reads, null for all: each takes some milliseconds. ``tasks_latest`` comes
                with ``tasks``.

        Raises:
            PartGone: A part is lost.
            StoreError: DuckDB cannot read a part.
            duckdb.Error: The query fails.
            Exception: Whatever ``asking`` raises.
        """
        return self.read(lambda snapshot: duckdb_views.ask_views(snapshot, asking, tables))

    def write_lens(self, path: Path | str | None = None) -> Path:
        """Write a DuckDB file whose views read the visible parts; by default ``store.duckdb`` in the store.

        The views refer to the parts by absolute path. After a move, set ``SET VARIABLE hazardmill_store = 'new
        folder'``. Write the file again to see later commits.

        Returns:
            The path of the file.

        Raises:
            StoreError: The file cannot be written.
        """
        self._root.check()
        place = self.path / "store.duckdb" if path is None else Path(path)
        make_folder(place.parent)
        # Read under the lock: of two processes that write the file, the last must not replace a newer view by an older.
        with exclusive(place.with_name(f".{place.name}.lock")):
            self.read(lambda snapshot: duckdb_views.write_lens(snapshot, place.absolute()))
        return place

    def digest(self, run_id: str | None = None, without: Collection[str] = ()) -> dict[str, str]:
        """Return a SHA-256 (hex) per table and ``total``, equal for equal runs (see ``hazardmill.store.digest``).

        Args:
            run_id: Restricts the digest to what this run depends on; null for the whole store.
            without: Columns to leave out, such as the version that wrote a row.
        """
        return self.read(lambda snapshot: digest.digest(snapshot, run_id, without))

    def verify(self) -> list[Finding]:
        """Find everything wrong with the files of the store, and missing rows that other rows depend on.

        Rows are checked only if all files are intact: ``rebuild`` reports which rows were lost with damaged files. If
        an older copy took the place of everything, the journal included, nothing shows it: see ``last_commit``.

        Returns:
            The findings; empty if all is well.
        """
        found = self.verify_files()
        if all(finding.code in HARMLESS for finding in found):
            found += self.read(lambda snapshot: verify_rows(snapshot, self._layout.root))
        return found

    def verify_files(self) -> list[Finding]:
        """Find everything wrong with the files of the store, whatever rows they hold."""
        return self._place.verify()

    def last_commit(self) -> tuple[int, str | None]:
        """Return number and time (ISO 8601, UTC) of the last commit; 0 and null if there is none.

        A compaction that replaced the last commits has their number, and the time of the compaction.
        """
        last = max(self._manifests.all(), key=lambda manifest: manifest.sequence, default=None)
        return (0, None) if last is None else (last.sequence, last.committed)

    def snapshot(self) -> Snapshot:
        """Return the store at this moment, for several reads that must agree."""
        return take_snapshot(self._layout, self._manifests)

    def read(self, reading: Callable[[Snapshot], T]) -> T:
        """Return what ``reading`` returns for a snapshot of the store.

        It is called again with a later snapshot if a compaction removed parts of the first.

        Raises:
            PartGone: A part is lost.
            Exception: Whatever ``reading`` raises.
        """
        for _ in range(_READINGS):
            try:
                return reading(self.snapshot())
            except PartGone as error:
                gone = error
                if any(str(path) == error.file for path, _ in self.snapshot().listed()):
                    break
        raise gone

    def _convert_left(self, run_id: str) -> list[str]:
        left = [path for path in self._layout.segments() if self._layout.run_of(path.stem) == run_id]
        for path in left:
            convert(self._layout, self._manifests, path, self._fault)
        return [path.stem for path in left]
