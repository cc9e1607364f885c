"""The store: immutable Parquet parts listed by manifests, written through a checksummed journal, read through DuckDB.

    rows -> Writer -> journal segment --roll--> parts + one manifest
                           |                          |
                           +---------> Store <--------+    rows, table, connect, digest, verify

Start with ``from hazardmill.store import Store``. Importing this package loads nothing heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hazardmill.store.maintenance.findings import Finding as Finding
    from hazardmill.store.store import Store as Store
    from hazardmill.store.writer import Writer as Writer

__all__ = ["Finding", "Store", "Writer"]

_HOME = {"Finding": "maintenance.findings", "Store": "store", "Writer": "writer"}


def __getattr__(name: str) -> object:
    # Importing pyarrow takes a quarter of a second, so do it only for callers that need the store.
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
