"""A bucket as the target of a copy."""

from __future__ import annotations

from pathlib import Path

from hazardmill.store.bucket.local_cache import Mirror, manifest_name, part_name
from hazardmill.store.files.manifests import CommitManifest, Manifests, Part, encode_manifest
from hazardmill.store.maintenance.copy import in_use_error


class InBucket:
    """A copy in a bucket. It needs no locks, because manifests are put only where none exists."""

    def __init__(self, mirror: Mirror, manifests: Manifests) -> None:
        self._mirror = mirror
        self._manifests = manifests
        mirror.is_there(create=True)

    def manifests(self) -> list[CommitManifest]:
        """Return the manifests already there, in commit order."""
        return self._manifests.all()

    def add_part(self, part: Part, path: Path) -> None:
        """Copy one part."""
        self._mirror.bucket.upload(path, part_name(part))

    def add_manifest(self, manifest: CommitManifest) -> None:
        """Make the parts of a manifest visible.

        Raises:
            StoreError: The bucket holds a different manifest with this number.
        """  # noqa: DOC501  # the helper makes a StoreError
        name = manifest_name(manifest.sequence)
        if self._mirror.bucket.put(name, encode_manifest(manifest)) is None:
            if self._mirror.manifest(name.removeprefix("manifests/")) == manifest:
                return  # an earlier put succeeded, but its answer was lost
            raise in_use_error(self._mirror.address.uri(name))
