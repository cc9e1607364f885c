"""Names under which processes share a budget and its limits; a live process holds the lock of its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from hazardmill.errors import StoreLocked, UsageError
from hazardmill.store.files.fsync_io import make_folder
from hazardmill.store.files.locks import Lock

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def claim_name(presence: Path, name: str, worker: str, doing: str) -> Lock:
    """Return the lock of a worker's name, which is held until it is released.

    Args:
        presence: The file to lock; its folder is created if missing.
        name: Name of the budget.
        worker: Name of the worker.
        doing: What the worker does with the budget, for the message.

    Raises:
        UsageError: A name cannot be part of a file name.
        StoreLocked: A live worker uses this name.
        StoreError: The folder cannot be written.
    """
    for word in (name, worker):
        if not _NAME.fullmatch(word):
            raise UsageError(f"{word!r} cannot name a budget or a worker", remedy="use letters, digits, _ . and -")
    make_folder(presence.parent)
    lock = Lock.acquire(presence)
    if lock is None:
        raise StoreLocked(
            f"another process is already {doing} the budget {name} as worker {worker}",
            file=str(presence.parent),
            remedy="wait for it to end, or give this worker another name",
        )
    return lock
