"""Reading a store of which some parts are damaged: what they held is missing, and everything else is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hazardmill.errors import CorruptStore
from hazardmill.store.schemas import TABLES
from hazardmill.store.store import Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")


def query_readable(
    store: Store, asking: Callable[[DuckDBPyConnection], T], tables: Collection[str], needed: Collection[str]
) -> tuple[T, Mapping[str, str]]:
    """Return what a query finds if tables with a damaged part are taken as empty.

    Args:
        store: The store.
        asking: Runs the query, as in ``Store.query``.
        tables: The tables that it reads.
        needed: Those without which there is nothing to show.

    Returns:
        What ``asking`` returns, and what is wrong with each table that was taken as empty.

    Raises:
        CorruptStore: A part of a needed table is damaged or lost.
        StoreError: The store cannot be read.
    """
    damaged: dict[str, str] = {}

    def ask(views: DuckDBPyConnection) -> T:
        for name in damaged:
            views.register(name, TABLES[name].no_rows)
        return asking(views)

    while True:
        try:
            return store.query(ask, [name for name in tables if name not in damaged]), damaged
        except CorruptStore as error:
            # Parts of a table are in the folder of its name.
            table = Path(error.file or "").parent.name
            if table not in tables or table in needed or table in damaged:
                raise
            damaged[table] = str(error)
