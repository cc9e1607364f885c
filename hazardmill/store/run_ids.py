"""Names of runs."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hazardmill.errors import UnknownName
from hazardmill.text.shell import command
from hazardmill.text.suggestions import unknown_name

if TYPE_CHECKING:
    from hazardmill.store.store import Store


def new_run_id(kind: str) -> str:
    """Return a new run id such as ``generate-20260131-235959-1a2b3c``.

    Ids of one kind sort by their time (UTC) and never repeat.

    Args:
        kind: First part of the id, such as ``generate``.
    """
    return f"{kind}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def known_runs(store: Store, kind: str | None = None) -> set[str]:
    """Return the ids of the runs in a store.

    Args:
        store: The store.
        kind: Only runs of this kind, such as ``generate``; null for all.
    """
    return {row["run_id"] for row in store.rows("runs", None if kind is None else {"kind": kind}, ["run_id"])}


def list_command(store: str) -> str:
    """Return the command that lists the runs of a store.

    Args:
        store: Folder or address of the store.
    """
    return command("run", "list", "--store", store)


def unknown_run(run_id: str, known: Iterable[str], store: str, *, kind: str = "run") -> UnknownName:
    """Return the error for the id of a run that a store does not have.

    Args:
        run_id: The id.
        known: Ids of the runs that could have been meant.
        store: Folder or address of the store.
        kind: What to call such a run.
    """
    message = f"there is no {kind} {run_id} in this store"
    remedy = f"see: {list_command(store)}"
    return unknown_name(message, run_id, known, file=store, remedy=remedy)
