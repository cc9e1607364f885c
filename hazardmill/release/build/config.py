"""What a config of a release is, and the columns that configs are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from hazardmill.release.manifest import SCHEMA
from hazardmill.store import schemas
from hazardmill.store.schemas import Column, Table


@dataclass(frozen=True)
class Config:
    """One config of a release: a table that users load by its name.

    Attributes:
        name: Name without the suffix for share-alike rows.
        doc: One sentence about its rows, for the card.
        columns: Its columns, in the order of the files.
        sort_by: Columns by which the rows of a file are sorted; together they are unique and never null.
    """

    name: str
    doc: str
    columns: tuple[Column, ...]
    sort_by: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of its files."""
        fields = [pa.field(c.name, c.type, nullable=not (c.required or c.name in self.sort_by)) for c in self.columns]
        return pa.schema(fields, metadata={"hazardmill_config": self.name, "hazardmill_release": str(SCHEMA)})


def own_column(name: str, type_: pa.DataType, doc: str, unit: str | None = None, *, required: bool = True) -> Column:
    """Return a column that only releases have; no row may lack it unless it is not ``required``."""
    return Column(name, type_, doc, unit, required=required)


def store_columns(table: Table, names: Iterable[str]) -> tuple[Column, ...]:
    """Return columns of a store table for a release, where ``volatile`` has no meaning."""
    known = {column.name: column for column in table.columns}
    return tuple(replace(known[name], volatile=False) for name in names)


RIGHTS: Final = ("licence", "attribution")
"""Names of the columns with licence and credit of a row."""
RIGHTS_COLUMNS: Final = store_columns(schemas.TASKS, RIGHTS)
