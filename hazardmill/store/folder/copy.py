"""A folder as the target of a copy, and the locks of a folder that is copied."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

from hazardmill.errors import StoreLocked
from hazardmill.store.files.fsync_io import disk_errors, make_folder, rename, sync_file
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import Lock, exclusive
from hazardmill.store.files.manifests import CommitManifest, Manifests, Part


class CopyFolder:
    """A copy in a folder. The caller holds its locks (``hold_target``)."""

    def __init__(self, layout: Layout, manifests: Manifests) -> None:
        self._layout = layout
        self._manifests = manifests
        for folder in (layout.journal, layout.manifests, layout.staging):
            make_folder(folder)

    def manifests(self) -> list[CommitManifest]:
        """Return the manifests already there, in commit order."""
        return self._manifests.all()

    def add_part(self, part: Part, path: Path) -> None:
        """Copy one part."""
        staged = self._layout.staging / f"{part.table}.{part.file}"
        with disk_errors(staged, "write the part"):
            shutil.copyfile(path, staged)
            sync_file(staged)
        rename(staged, self._layout.root / part.table / part.file)

    def add_manifest(self, manifest: CommitManifest) -> None:
        """Make the parts of a manifest visible."""
        self._manifests.adopt(manifest)


def hold_source(layout: Layout, stack: ExitStack, place: str) -> None:
    """Keep compactions and rebuilds away from a store that is copied, because they remove parts.

    Args:
        layout: The store's paths.
        stack: Releases the lock when it is closed.
        place: Name of the store, for messages.

    Raises:
        StoreLocked: Another process compacts, rebuilds or copies the store.
    """
    lock = Lock.acquire(layout.maintenance_lock)
    if lock is None:
        raise StoreLocked(
            "another process is compacting, rebuilding or copying this store", file=place, remedy="wait for it to end"
        )
    stack.callback(lock.release)


def hold_target(layout: Layout, stack: ExitStack, place: str) -> None:
    """Keep commits, compactions and rebuilds away from a folder that is copied to.

    Args:
        layout: The folder's paths.
        stack: Releases the locks when it is closed.
        place: Name of the folder, for messages.

    Raises:
        StoreLocked: Another process compacts, rebuilds or copies the store.
    """
    make_folder(layout.root)
    hold_source(layout, stack, place)
    stack.enter_context(exclusive(layout.commit_lock))
