"""Verifying the tasks in any place: a task folder, a folder that contains task folders, or a store."""

from __future__ import annotations

from pathlib import Path

from hazardmill.errors import InputError, NoStore
from hazardmill.store.store import Store
from hazardmill.verification.findings import TaskFinding
from hazardmill.verification.folder import verify_folders
from hazardmill.verification.stored import VerifiedTasks, verify_store


def verify_place(place: str) -> VerifiedTasks:
    """Verify all tasks in one place.

    Args:
        place: A task folder, a folder that contains task folders, or the folder or address of a store.

    Returns:
        Number of tasks that were verified, and the findings about all of them.

    Raises:
        InputError: There is no such folder, it has no task, or it has one that cannot be read or was imported.
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
    """Return the store at a place; None if the place is a folder without a store.

    Raises:
        InputError: There is no such folder.
        NoStore: The address has no store.
        StoreError: The store cannot be read.
    """
    if not Path(place).is_dir() and "://" not in place:
        raise InputError("there is no such folder or store", file=place, remedy="name a task folder, or a store")
    try:
        return Store.open(place)
    except NoStore:
        if "://" in place:
            raise
        return None
