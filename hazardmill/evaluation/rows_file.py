"""Files of rows other than ``results.parquet``: each has its own schema, and is checked when it is read back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hazardmill.errors import InputError
from hazardmill.store.schemas import Column


@dataclass(frozen=True)
class RowsFile:
    """Reads and writes one Parquet file of a folder of results.

    Attributes:
        name: Name of the file.
        command: The command that writes it.
        columns: Its columns, in order.
        key: The columns that identify a row: no two rows share their values.
        version: Version of the schema.
        version_key: Key under which the file's metadata has the version.
        allowed: Columns with few values, and these.
        fault: Returns in words what else is wrong with a table; None if nothing is.
    """

    name: str
    command: str
    columns: Sequence[Column] = field(repr=False)
    key: tuple[str, ...]
    version: int
    version_key: bytes
    allowed: Mapping[str, frozenset[str | None]] = field(default_factory=dict, repr=False)
    fault: Callable[[pa.Table], str | None] = field(default=lambda _: None, repr=False)

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of the file, with a description of each column."""
        fields = [
            pa.field(each.name, each.type, nullable=not each.required, metadata={"doc": each.doc})
            for each in self.columns
        ]
        return pa.schema(fields, metadata={self.version_key: str(self.version).encode()})

    def table(self, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Return rows as a table with this schema, sorted by key.

        Args:
            rows: Rows as mappings; columns that they lack become null.
        """
        table = pa.Table.from_pylist(list(rows), schema=self.schema)
        return table.sort_by([(name, "ascending") for name in self.key])

    def write(self, table: pa.Table, folder: Path) -> None:
        """Write the file, whole or not at all: equal rows give equal bytes.

        Args:
            table: The rows.
            folder: The folder, which must exist.
        """
        partial = folder / f".{self.name}.partial"
        pq.write_table(table, partial, compression="zstd")
        partial.replace(folder / self.name)

    def read(self, folder: Path) -> pa.Table:
        """Read the file of a folder.

        Args:
            folder: A folder that the command has written.

        Returns:
            A table with the columns of the schema.

        Raises:
            InputError: There are no rows, they are of another version, a value is not allowed, or two rows share a key.
        """
        file = folder / self.name
        again = f"run `{self.command}` again: requests that the ledger has already are not repeated"
        try:
            table = pq.read_table(file)
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"the rows cannot be read: {error}",
                file=str(file),
                remedy=f"name a folder that `{self.command}` has written",
            ) from error
        version = (table.schema.metadata or {}).get(self.version_key)
        if version != str(self.version).encode() or not table.schema.equals(self.schema):
            raise InputError(
                "these rows have a schema that this version of hazardmill cannot read; it reads version "
                f"{self.version}",
                file=str(file),
                remedy=again,
            )
        wrong = self._strange_value(table) or self.fault(table) or self._repeated_key(table)
        if wrong is not None:
            raise InputError(f"this is not what `{self.command}` writes: {wrong}", file=str(file), remedy=again)
        return table

    def _strange_value(self, table: pa.Table) -> str | None:
        for name, allowed in self.allowed.items():
            strange = sorted({*table[name].unique().to_pylist()} - allowed, key=repr)
            if strange:
                return f"column {name} has the value {strange[0]!r}"
        return None

    def _repeated_key(self, table: pa.Table) -> str | None:
        names = list(self.key)
        counts = table.group_by(names).aggregate([([], "count_all")])
        again = counts.filter(pc.greater(counts["count_all"], 1)).select(names).to_pylist()
        if not again:
            return None
        first = min(", ".join(f"{name} {value}" for name, value in row.items() if value != "") for row in again)
        return f"more than one row has the key {first}"
