"""Export of one moment of a store for other tools: plain Parquet, Delta Lake tables, or a DuckLake catalogue.

All three hold one Parquet file per table, with the latest row of each key. ``delta`` adds a log beside each file, and
``ducklake`` one catalogue of all files; both are written by their own libraries, which only the extras install.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

import pyarrow.parquet as pq

from hazardmill import __version__
from hazardmill.errors import ExtraMissing, StoreError, UsageError
from hazardmill.staging import check_free, publish, staged_beside
from hazardmill.store.files.parts import COMPRESSION, hash_file, is_latest
from hazardmill.store.maintenance.manifest_swap import row_groups
from hazardmill.store.schemas import TABLES, Table
from hazardmill.store.snapshot import Snapshot, read_batches, read_table
from hazardmill.store.store import Store

Format = Literal["parquet", "ducklake", "delta"]

DESCRIPTION: Final = "export.json"
"""Name of the file in the exported folder that describes the rest, as ``StoreExport``."""

CATALOGUE: Final = "catalog.sqlite"
"""Name of the DuckLake catalogue in the exported folder."""

_PACKAGES: Final = {"delta": "deltalake", "ducklake": "ducklake"}
"""Format to the package that writes it; the extra is named like the format."""


@dataclass(frozen=True)
class ExportedTable:
    """The file of one table."""

    file: str
    """Path in the exported folder."""
    key: tuple[str, ...]
    """Columns whose values no two rows share."""
    rows: int
    bytes: int
    """Size of the file in bytes."""
    sha256: str
    """SHA-256 (hex) of the file."""


@dataclass(frozen=True)
class StoreExport:
    """What an export holds, and which moment of which store it shows."""

    format: Format
    hazardmill_version: str
    store: str
    """Folder or address of the store, as it was given."""
    commit: int
    """Number of the last commit; 0 if there is none."""
    manifest: str | None
    """Name of the last commit's manifest; null if there is none."""
    committed: str | None
    """Time of the last commit, ISO 8601 in UTC; null if there is none."""
    journal_rows: int
    """Number of rows that were in the journal and in no commit yet; they are exported too."""
    tables: dict[str, ExportedTable]


def export_store(store: Store, format_: Format, out: Path) -> StoreExport:
    """Write one moment of a store to a new folder, which appears as a whole or not at all.

    Runs may be at work meanwhile. In memory are the keys of one table and some ten megabytes of its rows at a time.

    Args:
        store: The store, in a folder or a bucket.
        format_: The kind of export.
        out: The folder to make; it must not exist.

    Returns:
        What was written; the same is in ``export.json``.

    Raises:
        UsageError: ``out`` exists, is being written by another process, or cannot be the place of a DuckLake.
        ExtraMissing: The package that writes the format is not installed.
        CorruptStore: The store is damaged.
        StoreError: The store cannot be read, or the folder cannot be written.
    """
    out = out.absolute()
    if format_ == "ducklake" and not {"?", "#", "%"}.isdisjoint(str(out)):
        raise UsageError(
            "the path of a DuckLake cannot contain ? # %", file=str(out), remedy="name a folder without them"
        )
    package = _PACKAGES.get(format_)
    if package is not None and find_spec(package) is None:
        raise ExtraMissing(f"{package} is not installed, which writes {format_}", extra=format_)
    check_free(out)
    with staged_beside(out) as staged:
        # Again from the beginning if a compaction removes parts meanwhile: the files have the same names.
        made = store.read(lambda snapshot: _write_tables(snapshot, format_, store.address, staged))
        _CATALOGUERS[format_](made, staged, out)
        (staged / DESCRIPTION).write_text(json.dumps(asdict(made), indent=1) + "\n")
        publish(staged, out)
    return made


def _write_tables(snapshot: Snapshot, format_: Format, address: str, folder: Path) -> StoreExport:
    last = max(snapshot.manifests, key=lambda manifest: manifest.sequence, default=None)
    return StoreExport(
        format=format_,
        hazardmill_version=__version__,
        store=address,
        commit=0 if last is None else last.sequence,
        manifest=None if last is None else last.file,
        committed=None if last is None else last.committed,
        journal_rows=sum(len(segment.rows(name)) for segment in snapshot.pending for name in TABLES),
        # In a DuckLake, the files of the schema `main` lie in a folder of that name.
        tables={
            name: _write_table(snapshot, table, folder, f"{'main/' if format_ == 'ducklake' else ''}{name}")
            for name, table in TABLES.items()
        },
    )


def _write_table(snapshot: Snapshot, table: Table, folder: Path, place: str) -> ExportedTable:
    keys = read_table(snapshot, table, None, table.key, superseded=True)
    file, columns = f"{place}/{table.name}.parquet", [column.name for column in table.columns]
    path, rows = folder / file, 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, table.schema, **COMPRESSION) as writer:
        for group in row_groups(read_batches(snapshot, table, columns, is_latest(keys, table.key))):
            writer.write_table(group.replace_schema_metadata(table.schema.metadata), row_group_size=group.num_rows)
            rows += group.num_rows
    return ExportedTable(file, table.key, rows, path.stat().st_size, hash_file(path))


def _write_nothing(made: StoreExport, staged: Path, out: Path) -> None:
    """Leave the files as they are: the catalogue of plain Parquet is ``export.json``."""


def _write_delta_logs(made: StoreExport, staged: Path, out: Path) -> None:
    """Turn each table's folder into a Delta table. The log names files relative to it, so that it can be moved."""
    from deltalake import convert_to_deltalake
    from deltalake.exceptions import DeltaError

    for name, table in made.tables.items():
        try:
            convert_to_deltalake((staged / table.file).parent, name=name)
        except DeltaError as error:
            raise StoreError(f"deltalake cannot make a table: {error}", file=str(out / name)) from error


def _write_ducklake(made: StoreExport, staged: Path, out: Path) -> None:
    """Write a catalogue of the files, in one DuckLake snapshot."""
    import ducklake

    place = staged / CATALOGUE
    try:
        with ducklake.create(f"sqlite:///{place}", data_path=f"{staged}/") as lake, lake.transaction() as changes:
            for name, table in made.tables.items():
                created = changes.create_table(name, ducklake.Schema(TABLES[name].schema))
                created.write_data_files(Path(table.file).name)
    except RuntimeError as error:
        raise StoreError(f"the DuckLake cannot be made: {error}", file=str(out)) from error
    with closing(sqlite3.connect(place)) as catalogue, catalogue:
        # Where the files will be. Not quoted as in an address, because DuckDB takes it literally.
        catalogue.execute("UPDATE ducklake_metadata SET value = ? WHERE key = 'data_path'", (f"file://{out}/",))


_CATALOGUERS: Final[dict[Format, Callable[[StoreExport, Path, Path], None]]] = {
    "parquet": _write_nothing,
    "delta": _write_delta_logs,
    "ducklake": _write_ducklake,
}
