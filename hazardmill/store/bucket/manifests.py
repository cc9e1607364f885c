"""Manifests that several machines publish into one bucket.

A commit is a conditional put of the manifest under the next number. Of two machines that want the same number, one gets
it; the other reads what the first published and takes the next number. Nothing is ever overwritten.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hazardmill.errors import StoreError
from hazardmill.store.bucket.leases import Lease
from hazardmill.store.bucket.local_cache import Mirror, manifest_name, part_name
from hazardmill.store.files.fsync_io import Fault, no_fault
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import exclusive
from hazardmill.store.files.manifests import CommitManifest, ManifestListing, Manifests, Part, encode_manifest, now

_TRIES: Final = 1000
"""Maximum number of times that a commit may lose its number to another one; each time another commit was made."""


@dataclass
class _Written:
    """A run that this process writes."""

    lease: Lease
    through: int
    """Commits up to this number may be anybody's."""
    own: set[str]
    """Segments of this machine."""


class SharedManifests(Manifests):
    """The manifests of a store in a bucket. New ones are copied to the working folder at each look.

    Args:
        layout: Paths of the working folder.
        mirror: The working folder and its bucket.
    """

    def __init__(self, layout: Layout, mirror: Mirror) -> None:
        super().__init__(layout)
        self.fetch = mirror.fetch
        self._mirror = mirror
        self._written: dict[str, _Written] = {}
        self._pulling = threading.Lock()

    def __getstate__(self) -> dict[str, object]:
        # A run is written only by the process that took it.
        return {**self.__dict__, "_written": {}, "_pulling": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._pulling = threading.Lock()

    def _look(self) -> ManifestListing:
        with self._pulling:
            known = super()._look()
            return super()._look() if self._mirror.pull(known) else known

    def last(self) -> int:
        """Return the number of the last commit; 0 if there is none."""
        end = _end(self._look())
        return 0 if end is None else end.sequence

    def begin(self, run_id: str, lease: Lease, own: Collection[str]) -> None:
        """Allow this process to publish commits of a run.

        Args:
            run_id: The run, which no other process of this machine writes.
            lease: Its lease, taken or renewed a moment ago.
            own: Segments of the run in the journal.
        """
        self._written[run_id] = _Written(lease, self.last(), set(own))

    def fence(self, run_id: str, lease: Lease) -> None:
        """Publish an empty commit of a run, so that a former holder notices its loss before its next commit.

        Raises:
            StoreLocked: The run was taken over from this machine.
            StoreError: The object store fails.
        """
        self.begin(run_id, lease, ())
        # Whatever the former holder commits until then counts.
        self._written[run_id].through = 10**10
        with exclusive(self._layout.commit_lock):
            self.publish(self._layout.new_segment(run_id), ())
        del self._written[run_id]

    def send(self, staged: Path, part: Part) -> None:
        """Upload a part to the bucket."""
        self._mirror.bucket.upload(staged, part_name(part))

    def publish(self, segment: str, parts: Sequence[Part], fault: Fault = no_fault) -> CommitManifest:
        """Make uploaded ``parts`` visible to every machine. The caller holds the commit lock of the folder.

        Returns:
            The manifest, with the number that it got in the bucket; the one already there if an earlier put
            succeeded but its answer was lost.

        Raises:
            StoreLocked: Another machine has taken over the run.
            StoreError: The object store or the disk fails, or this process does not write the run.
        """
        run_id = self._layout.run_of(segment)
        written = self._written.get(run_id)
        if written is None:
            raise StoreError(f"this process does not write run {run_id}", remedy="write through Store.writer")
        for _ in range(_TRIES):
            known = self._look()
            if segment in known.names:
                # An earlier put succeeded, but its answer was lost.
                return next(manifest for manifest in known.counting if segment in manifest.names)
            foreign = (m.segment for m in known.counting if m.sequence > written.through)
            if any(self._layout.run_of(name) == run_id and name not in written.own for name in foreign):
                raise written.lease.lose()
            written.lease.check()
            before = _end(known)
            number = 1 if before is None else before.sequence + 1
            manifest = CommitManifest(
                number, segment, tuple(parts), now(), number, previous=None if before is None else before.link
            )
            fault("manifest.staged")
            if self._mirror.bucket.put(manifest_name(number), encode_manifest(manifest)):
                fault("manifest.put")
                written.own.add(segment)
                self._mirror.write(manifest)
                fault("manifest.renamed")
                self._name_last(manifest)
                return manifest
        raise StoreError(
            "cannot commit: each time, the next commit number was already taken",
            file=self._mirror.address.uri("manifests/"),
            remedy="try again; if this happens again, check that listings of the bucket include recent puts",
        )


def _end(known: ManifestListing) -> CommitManifest | None:
    return max(known.counting, key=lambda manifest: manifest.sequence, default=None)
