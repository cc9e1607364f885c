"""Where a store is: what a folder and a bucket do in their own ways, and which of the two it is.

Everything else works on files in ``layout`` and commits through ``manifests``, wherever the store is.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from hazardmill.store.address import bucket_address
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import HeldLock
from hazardmill.store.files.manifests import Manifests
from hazardmill.store.maintenance.copy import Target
from hazardmill.store.maintenance.findings import Finding


class StorePlace(Protocol):
    """A folder or a bucket that holds a store. ``FolderStore`` and ``BucketStore`` implement it."""

    @property
    def path(self) -> Path:
        """The store's folder as it was given; for a bucket its working folder on this machine."""

    @property
    def layout(self) -> Layout:
        """Paths of the files that are read and written here."""

    @property
    def manifests(self) -> Manifests:
        """The commits: how they are read, and published."""

    @property
    def is_shared(self) -> bool:
        """Whether other machines can work on the store."""

    @property
    def takeover_hint(self) -> str:
        """What to add to the advice to wait for another process that holds a run."""

    def address_text(self) -> str:
        """Return the store's name in messages and commands."""

    def open(self, *, create: bool) -> None:
        """Check that there is a store; with ``create``, make one if there is none.

        Raises:
            NoStore: There is none and ``create`` is false.
            StoreError: It cannot be created or read.
        """

    def hold(self, run_id: str, path: Path, *, writes: bool) -> HeldLock | None:
        """Hold a run until the lock is released; null if another process or machine holds it.

        Args:
            run_id: The run.
            path: Lock file that keeps other processes of this machine away.
            writes: Whether commits will follow.

        Raises:
            StoreError: The place cannot be written.
        """

    def is_held(self, run_id: str) -> bool:
        """Return whether any process that can write this store holds or writes a run now."""

    def refuse_maintenance(self, verb: str) -> None:
        """Refuse ``compact`` or ``rebuild`` where files may not be removed.

        Raises:
            StoreError: It is impossible here; says what to do instead.
        """

    def verify(self) -> list[Finding]:
        """Find everything wrong with the files of the store."""

    def hold_source(self, stack: ExitStack) -> None:
        """Keep away whoever would remove parts while the store is copied, until ``stack`` is closed.

        Raises:
            StoreLocked: Another process compacts, rebuilds or copies the store.
        """

    def receive(self, stack: ExitStack) -> Target:
        """Return the store as the target of a copy, which others leave alone until ``stack`` is closed.

        Raises:
            StoreLocked: Another process compacts, rebuilds or copies the store.
            StoreError: The place cannot be written.
        """


def choose_place(path: Path | str) -> StorePlace:
    """Return the folder or bucket that holds the store at ``path``.

    Args:
        path: A folder or ``s3://bucket/prefix``; also the working folder of a store in a bucket.

    Raises:
        StoreError: ``path`` is an address but not a store's.
        ExtraMissing: boto3 is needed, and not installed.
    """
    address = bucket_address(path)
    if address is None:
        from hazardmill.store.folder.open import FolderStore

        return FolderStore(Path(path))
    # Loaded only where it is needed: it brings the S3 client.
    from hazardmill.store.bucket.open import BucketStore

    return BucketStore(address, path)
