"""Parts: immutable zstd Parquet files of one table each."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from hazardmill.errors import CorruptStore, SchemaMismatch, StoreError
from hazardmill.store.durable import guarded, sync_file
from hazardmill.store.manifests import Part
from hazardmill.store.schemas import SCHEMA_VERSION, Table

_RESTORE = "restore it from a backup of the store; its manifest has its SHA-256"


def write_part(table: Table, data: pa.Table, path: Path, file: str) -> Part:
    """Write ``data`` to ``path``, durably, and describe it as the part ``file``.

    Raises:
        StoreError: If it cannot be written.
    """
    with guarded(path, "write the part"):
        pq.write_table(data, path, compression="zstd", use_dictionary=True, write_statistics=True)
        sync_file(path)
        return Part(table.name, file, data.num_rows, path.stat().st_size, hash_file(path))


def hash_file(path: Path) -> str:
    """SHA-256 (hex) of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def schema_version(schema: pa.Schema) -> int | None:
    """The schema version a part says it has; none if it says nothing."""
    text = (schema.metadata or {}).get(b"hazardmill_schema")
    return None if text is None else int(text)


def check_version(path: str, schema: pa.Schema) -> None:
    """Refuse a part of a newer schema.

    Raises:
        SchemaMismatch: Naming the part.
    """
    version = schema_version(schema)
    if version is not None and version > SCHEMA_VERSION:
        raise SchemaMismatch(
            f"the part has schema {version}; this hazardmill reads up to {SCHEMA_VERSION}",
            file=path,
            remedy="upgrade hazardmill",
        )


def read_parts(
    table: Table, paths: Sequence[Path], columns: Sequence[str], where: pc.Expression | None = None
) -> pa.Table:
    """The rows of several parts, in the order of ``paths`` and within each as written.

    Args:
        table: Their table.
        paths: The files.
        columns: What to read.
        where: An Arrow expression that rows must satisfy; none takes all.

    Raises:
        CorruptStore: If a part is gone or damaged.
        SchemaMismatch: If a newer version of hazardmill wrote a part.
    """
    if not paths:
        return table.schema.empty_table().select(list(columns))
    try:
        dataset = ds.dataset([str(path) for path in paths], schema=table.schema, format="parquet")
        for fragment in dataset.get_fragments():
            check_version(fragment.path, fragment.physical_schema)
        return dataset.to_table(columns=list(columns), filter=where)
    except StoreError:
        raise
    except (pa.ArrowException, OSError) as error:
        # Arrow does not say which of the files it was.
        raise next(filter(None, map(_damage, paths)), _unreadable(paths[0].parent)) from error


def _damage(path: Path) -> CorruptStore | None:
    try:
        pq.read_table(path)
    except FileNotFoundError:
        return CorruptStore("the part is gone", file=str(path), remedy=_RESTORE)
    except (pa.ArrowException, OSError):
        return _unreadable(path)
    return None


def _unreadable(path: Path) -> CorruptStore:
    return CorruptStore("the part cannot be read", file=str(path), remedy=_RESTORE)


def equal_to(column: str, value: object) -> pc.Expression:
    """The Arrow expression ``column = value``, where null equals null."""
    return pc.field(column).is_null() if value is None else pc.field(column) == pa.scalar(value)


def latest(data: pa.Table, key: Sequence[str]) -> pa.Table:
    """The last row of each key, in the order of ``data``."""
    positions = pa.array(range(data.num_rows), pa.int64())
    numbered = data.select(list(key)).append_column("__position", positions)
    last = numbered.group_by(list(key)).aggregate([("__position", "max")])["__position_max"]
    if len(last) == data.num_rows:
        return data
    # A mask, not take(): it keeps the chunks, so that string columns beyond 2 GB do not overflow.
    return data.filter(pc.is_in(positions, value_set=last.combine_chunks()))
