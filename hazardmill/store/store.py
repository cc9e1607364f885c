"""The store's face: open it, write a run, read tables, query, digest, verify, recover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hazardmill.errors import StoreError, StoreLocked
from hazardmill.store import digest, lens
from hazardmill.store.commit import convert
from hazardmill.store.durable import Fault, make_folder, no_fault
from hazardmill.store.layout import Layout
from hazardmill.store.locks import Lock, exclusive
from hazardmill.store.manifests import Manifests
from hazardmill.store.rows import table_named, to_rows
from hazardmill.store.snapshot import Snapshot, read_table, take_snapshot
from hazardmill.store.verify import Finding, verify
from hazardmill.store.writer import Writer

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Store:
    """A folder of tables. Nothing is touched on disk until something is written.

    Every reading method sees one moment of the store: visible parts and rows still in the journal, of each key
    the row committed last. Several processes may read and write at once, one writer a run.

    Args:
        path: The store's folder.
        fault: Called with the name of each point a crash may hit; for tests.
    """

    def __init__(self, path: Path | str, *, fault: Fault = no_fault) -> None:
        self.path = Path(path)
        self._layout = Layout(self.path)
        self._manifests = Manifests(self._layout)
        self._fault = fault

    @classmethod
    def open(cls, path: Path | str, *, create: bool = False) -> Store:
        """The store at ``path``.

        Raises:
            StoreError: If there is none and ``create`` is false, or it cannot be created.
        """
        store = cls(path)
        if create:
            make_folder(store._layout.journal)
            make_folder(store._layout.manifests)
        elif not (store._layout.journal.is_dir() or store._layout.manifests.is_dir()):
            raise StoreError(
                "there is no store here", file=str(path), remedy="name the folder that holds journal/ and manifests/"
            )
        return store

    def writer(self, run_id: str) -> Writer:
        """Become the one writer of a run. What a killed writer of the run left becomes parts first.

        Raises:
            StoreLocked: If another writer of the run is alive.
            StoreError: If the store cannot be written, or ``run_id`` cannot be part of a file name.
            CorruptStore: If a segment of the run is damaged.
        """
        lock = Lock.acquire(self._layout.run_lock(run_id))
        if lock is None:
            raise StoreLocked(
                f"another process writes run {run_id}",
                file=str(self.path),
                remedy="wait for it to end, or stop it; then resume the run",
            )
        try:
            self._convert_left(run_id)
        except BaseException:
            lock.release()
            raise
        return Writer(self._layout, self._manifests, run_id, lock, self._fault)

    def recover(self) -> list[str]:
        """Make parts of every segment whose writer is dead. Runs that are being written are left alone.

        Returns:
            The names of the segments converted.

        Raises:
            CorruptStore: If a segment is damaged; it stays where it is.
            StoreError: If the store cannot be written.
        """
        converted = []
        for run_id in sorted({self._layout.run_of(path.stem) for path in self._layout.segments()}):
            lock = Lock.acquire(self._layout.run_lock(run_id))
            if lock is not None:
                try:
                    converted += self._convert_left(run_id)
                finally:
                    lock.release()
        return converted

    def has_table(self, table: str) -> bool:
        """Whether any row of the table was ever committed; reads no part."""
        table_named(table)
        snapshot = self.snapshot()
        return bool(snapshot.parts(table)) or any(table in segment.tables for segment in snapshot.pending)

    def count(self, table: str, where: Mapping[str, object] | None = None) -> int:
        """The number of rows; reads the key and the columns of ``where`` only."""
        known = table_named(table)
        rows: int = read_table(self.snapshot(), known, where, known.key).num_rows
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
        return read_table(self.snapshot(), table_named(table), where, columns)

    def rows_since(
        self, table: str, since: int, columns: Sequence[str] | None = None
    ) -> tuple[list[dict[str, Any]], int]:
        """The rows of a table committed after commit ``since``, and those still in the journal.

        For following a table while others write it: begin with 0, go on with the number returned. A row seen in the
        journal comes once more when it is committed.

        Returns:
            The rows as ``rows`` gives them, and the commit to go on from.
        """
        snapshot = self.snapshot()
        data = read_table(snapshot.since(since), table_named(table), None, columns)
        return to_rows(data), snapshot.through

    def connect(self) -> DuckDBPyConnection:
        """An in-memory DuckDB connection with one view a table, ``latest_tasks``, and ``parts``.

        The views show this moment; connect again to see what was committed since.
        """
        return lens.open_views(self.snapshot())

    def write_lens(self, path: Path | str | None = None) -> Path:
        """Write a DuckDB file whose views read the visible parts; by default ``store.duckdb`` in the store.

        The views name the parts by absolute path; after a move, ``SET VARIABLE hazardmill_store = 'new folder'``.
        Write it again to see later commits.

        Returns:
            The path of the file.

        Raises:
            StoreError: If the file cannot be written.
        """
        place = self.path / "store.duckdb" if path is None else Path(path)
        make_folder(place.parent)
        # Looked at inside: of two processes that write it, the last must not put an older view over a newer one.
        with exclusive(place.with_name(f".{place.name}.lock")):
            lens.write_lens(self.snapshot(), place)
        return place

    def digest(self, run_id: str | None = None) -> dict[str, str]:
        """SHA-256 (hex) by table and in ``total``: equal for equal runs (see ``hazardmill.store.digest``).

        Args:
            run_id: Restricts the digest to what this run stands on.
        """
        return digest.digest(self.snapshot(), run_id)

    def verify(self) -> list[Finding]:
        """Everything wrong with the files of the store; an empty list if all is well."""
        return verify(self._layout)

    def snapshot(self) -> Snapshot:
        """The store at this moment, for several reads that must agree."""
        return take_snapshot(self._layout, self._manifests)

    def _convert_left(self, run_id: str) -> list[str]:
        left = [path for path in self._layout.segments() if self._layout.run_of(path.stem) == run_id]
        for path in left:
            convert(self._layout, self._manifests, path, self._fault)
        return [path.stem for path in left]
