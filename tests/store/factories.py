"""Rows for tests: complete by default, any column overridden by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hazardmill.store.rows import TIME
from hazardmill.store.schemas import BOOL, INT, REAL, STR, TABLES

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
_DEFAULTS: dict[Any, object] = {STR: "x", INT: 1, REAL: 0.5, BOOL: True, TIME: NOON}
_JSON = {"facts": "{}", "warnings": "[]", "config": "{}", "details": "{}", "identities": "[]"}


def row(table: str, **values: object) -> dict[str, object]:
    """A row of ``table`` with every required column."""
    known = TABLES[table]
    filled = {
        column.name: _JSON.get(column.name, _DEFAULTS[column.type])
        for column in known.columns
        if column.required or column.name in known.key
    }
    return {**filled, "run_id": "r1", **values}


def call(identity: str, attempt: int = 1, **values: object) -> dict[str, object]:
    """A row of the ledger."""
    return row("llm_calls", **{"identity": identity, "attempt": attempt, "stage": "author", **values})


def outcome(record_id: str, **values: object) -> dict[str, object]:
    """An outcome."""
    return row("outcomes", **{"record_id": record_id, "source": "neiss", "outcome": "accepted", **values})
