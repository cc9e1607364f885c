"""Stores in buckets: how one is opened, who holds a run, and what cannot be done there."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

from hazardmill.errors import NoStore, StoreError
from hazardmill.store.address import Address, working_folder
from hazardmill.store.bucket.copy import InBucket
from hazardmill.store.bucket.local_cache import Mirror
from hazardmill.store.bucket.manifests import SharedManifests
from hazardmill.store.bucket.objects import Bucket
from hazardmill.store.bucket.run_locks import Holdings
from hazardmill.store.bucket.verify import verify_bucket
from hazardmill.store.files.fsync_io import make_folder
from hazardmill.store.files.locks import HeldLock
from hazardmill.store.maintenance.copy import Target
from hazardmill.store.maintenance.findings import Finding


class BucketStore:
    """One machine's side of a store in a bucket: its mirror, manifests and run locks.

    Args:
        address: The bucket and prefix.
        opened: What the store was opened by: the address, or its working folder.
    """

    is_shared: Final = True

    def __init__(self, address: Address, opened: Path | str) -> None:
        is_address = str(opened).startswith("s3:/")
        folder = working_folder(address) if is_address else Path(opened).absolute()
        self.mirror = Mirror(Bucket(address), folder)
        self.layout = self.mirror.layout
        self.manifests = SharedManifests(self.layout, self.mirror)
        self.holdings = Holdings(self.mirror, self.manifests)

    @property
    def path(self) -> Path:
        """The working folder on this machine."""
        return self.layout.root

    @property
    def takeover_hint(self) -> str:
        """When another machine can continue a run whose worker was killed."""
        return f" (a process killed on another machine loses its lease after {self.holdings.term_s:.0f} s)"

    def address_text(self) -> str:
        """Return ``s3://bucket/prefix``."""
        return str(self.address)

    def hold(self, run_id: str, path: Path, *, writes: bool) -> HeldLock | None:
        """Hold a run against other processes and machines; null if one of them holds it."""
        return self.holdings.hold(run_id, path, writes=writes)

    def is_held(self, run_id: str) -> bool:
        """Return whether a process on any machine holds or writes a run now."""
        return self.holdings.is_held(run_id)

    def hold_source(self, stack: ExitStack) -> None:
        """Do nothing: nobody removes parts from a bucket."""

    def receive(self, stack: ExitStack) -> Target:
        """Return the bucket as the target of a copy."""
        return InBucket(self.mirror, self.manifests)

    @property
    def address(self) -> Address:
        """The bucket and prefix."""
        return self.mirror.address

    def open(self, *, create: bool) -> None:
        """Check that there is a store; with ``create``, make one if there is none.

        Raises:
            NoStore: There is none and ``create`` is false.
            StoreError: The object store fails.
        """
        if not self.mirror.is_there(create=create):
            raise NoStore(
                "there is no store here",
                file=str(self.address),
                remedy="give the prefix that holds store.json; a run, an ingest or `hazardmill store copy` creates one",
            )
        make_folder(self.layout.journal)
        make_folder(self.layout.manifests)

    def refuse_maintenance(self, verb: str) -> None:
        """Refuse an operation that removes files, with a way around.

        Raises:
            StoreError: Always.
        """
        raise StoreError(
            f"{verb} is not possible for a store in a bucket: other machines may be working on it",
            file=str(self.address),
            remedy=f"when no run is under way: hazardmill store copy {self.address} DIR; "
            f"hazardmill store {verb} --store DIR; hazardmill store copy DIR {self.address}-2; then use that one",
        )

    def verify(self) -> list[Finding]:
        """Find everything wrong with the objects in the bucket, and with this machine's copies of them."""
        return verify_bucket(self.mirror, self.manifests, self.holdings)
