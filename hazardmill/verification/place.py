"""Whatever holds tasks, verified: a task folder, a folder above several, or a store."""

from __future__ import annotations

from pathlib import Path

from hazardmill.errors import InputError, StoreError
from hazardmill.store.store import Store
from hazardmill.verification.findings import TaskFinding
from hazardmill.verification.folder import verify_folders
from hazardmill.verification.stored import VerifiedTasks, verify_store


def verify_place(place: str) -> VerifiedTasks:
    """Verify the tasks that are in one place.

    Args:
        place: A task folder, a folder above several, or the folder or address of a store.

    Raises:
        InputError: There is no such folder, no task in it, or one that cannot be read.
        StoreError: The store cannot be read.
    """
    store = _open_if_store(place)
    if store is not None:
        return verify_store(store)
    tasks = 0
    found: list[TaskFinding] = []
    for _, findings in verify_folders(Path(place)):
        tasks += 1
        found += findings
    return VerifiedTasks(tasks, tuple(found))


def _open_if_store(place: str) -> Store | None:
    """Open the store; null where a folder is none."""
    # An address, or a path that is wrong: the store says what is wrong with it.
    if not Path(place).is_dir() and "://" not in place:
        raise InputError("there is no such folder or store", file=place, remedy="name a task folder, or a store")
    try:
        return Store.open(place)
    except StoreError:
        if "://" in place:
            raise
        return None
