"""Stores in folders: how one is opened, and who holds a run."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

from hazardmill.errors import NoStore, StoreLocked
from hazardmill.store.files.fsync_io import make_folder
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import HeldLock, Lock, exclusive, is_held
from hazardmill.store.files.manifests import Manifests
from hazardmill.store.folder.copy import CopyFolder
from hazardmill.store.maintenance.copy import Target
from hazardmill.store.maintenance.findings import Finding
from hazardmill.store.maintenance.verify import verify


class FolderStore:
    """A store in a folder of this machine.

    Args:
        path: The folder.
    """

    is_shared: Final = False
    takeover_hint: Final = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Absolute: Arrow and DuckDB mistake some relative paths for addresses, and the working folder may change.
        self.layout = Layout(path.absolute())
        self.manifests = Manifests(self.layout)

    def address_text(self) -> str:
        """Return the folder as it was given."""
        return str(self.path)

    def open(self, *, create: bool) -> None:
        """Check that there is a store; with ``create``, make one if there is none.

        Raises:
            NoStore: There is none and ``create`` is false.
            StoreError: The disk refuses.
        """
        if create:
            make_folder(self.layout.journal)
            make_folder(self.layout.manifests)
        elif not (self.layout.journal.is_dir() or self.layout.manifests.is_dir()):
            raise NoStore(
                "there is no store here",
                file=str(self.path),
                remedy="give the folder that holds journal/ and manifests/: --store FOLDER, or HAZARDMILL_STORE",
            )

    def hold(self, run_id: str, path: Path, *, writes: bool) -> HeldLock | None:
        """Hold a run against other processes; null if one of them holds it."""
        return Lock.acquire(path)

    def is_held(self, run_id: str) -> bool:
        """Return whether a process holds or writes a run now."""
        return any(map(is_held, (self.layout.presence(run_id), self.layout.run_lock(run_id))))

    def refuse_maintenance(self, verb: str) -> None:
        """Do nothing: here files may be removed."""

    def verify(self) -> list[Finding]:
        """Find everything wrong with the files of the store."""
        return verify(self.layout)

    def hold_source(self, stack: ExitStack) -> None:
        """Keep compactions and rebuilds, which remove parts, away while the store is copied.

        Raises:
            StoreLocked: Another process compacts, rebuilds or copies the store.
        """
        lock = Lock.acquire(self.layout.maintenance_lock)
        if lock is None:
            raise StoreLocked(
                "another process is compacting, rebuilding or copying this store",
                file=self.address_text(),
                remedy="wait for it to end",
            )
        stack.callback(lock.release)

    def receive(self, stack: ExitStack) -> Target:
        """Return the folder as the target of a copy, locked until ``stack`` is closed.

        Raises:
            StoreLocked: Another process compacts, rebuilds or copies the store.
            StoreError: The disk refuses.
        """
        make_folder(self.layout.root)
        self.hold_source(stack)
        stack.enter_context(exclusive(self.layout.commit_lock))
        return CopyFolder(self.layout, self.manifests)
