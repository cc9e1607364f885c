"""A copy of a whole store: from a folder to a bucket, from a bucket to a folder, or between two of a kind.

Parts are copied before the manifest that lists them, in the order of commits, so that a copy that was cut short is a
whole store of the first commits, and the same command goes on with it. Only what is committed is copied: a store that
has rows in the journal is refused.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hazardmill.errors import StoreError, StoreLocked
from hazardmill.store.bucket.local_cache import Mirror, manifest_name, part_name
from hazardmill.store.files.fsync_io import disk_errors, make_folder, rename, sync_file
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import Lock, exclusive
from hazardmill.store.files.manifests import CommitManifest, Manifests, Part, encode_manifest
from hazardmill.store.maintenance.manifest_swap import check_part


@dataclass(frozen=True)
class CopySummary:
    """What a copy came to."""

    commits: int
    """Manifests that the copy has."""
    parts: int
    bytes: int
    """Of these parts, size."""
    parts_before: int
    """Those of them that an earlier copy, which was cut short, had brought."""


class Target(Protocol):
    """Where a store is copied to."""

    def manifests(self) -> list[CommitManifest]:
        """Those that are there, in commit order."""

    def add_part(self, part: Part, path: Path) -> None:
        """Bring one part."""

    def add_manifest(self, manifest: CommitManifest) -> None:
        """Make its parts visible, which are all there."""


class CopyFolder:
    """A copy in a folder."""

    def __init__(self, layout: Layout, manifests: Manifests) -> None:
        self._layout = layout
        self._manifests = manifests
        for folder in (layout.journal, layout.manifests, layout.staging):
            make_folder(folder)

    def manifests(self) -> list[CommitManifest]:
        """Those that are there, in commit order."""
        return self._manifests.all()

    def add_part(self, part: Part, path: Path) -> None:
        """Bring one part."""
        staged = self._layout.staging / f"{part.table}.{part.file}"
        with disk_errors(staged, "write the part"):
            shutil.copyfile(path, staged)
            sync_file(staged)
        rename(staged, self._layout.root / part.table / part.file)

    def add_manifest(self, manifest: CommitManifest) -> None:
        """Make its parts visible."""
        self._manifests.adopt(manifest)


class InBucket:
    """A copy in a bucket."""

    def __init__(self, mirror: Mirror, manifests: Manifests) -> None:
        self._mirror = mirror
        self._manifests = manifests
        mirror.is_there(create=True)

    def manifests(self) -> list[CommitManifest]:
        """Those that are there, in commit order."""
        return self._manifests.all()

    def add_part(self, part: Part, path: Path) -> None:
        """Bring one part."""
        self._mirror.bucket.upload(path, part_name(part))

    def add_manifest(self, manifest: CommitManifest) -> None:
        """Make its parts visible."""
        name = manifest_name(manifest.sequence)
        if self._mirror.bucket.put(name, encode_manifest(manifest)) is None:
            if self._mirror.manifest(name.removeprefix("manifests/")) == manifest:
                return  # put before, and the answer was lost
            raise _in_use_error(self._mirror.address.uri(name))


def copy_into(
    source: Sequence[CommitManifest],
    layout: Layout,
    target: Target,
    place: str,
    progress: Callable[[int, int], None] | None = None,
) -> CopySummary:
    """Copy every commit that the target does not have.

    Args:
        source: The manifests of the store in commit order; their parts are in its folder.
        layout: That folder.
        target: Where to.
        place: What to call it.
        progress: Told before each commit of the number that is there, and is to be.

    Raises:
        CorruptStore: If a part is not as its manifest says.
        StoreError: If the target holds something else, or refuses.
    """
    there = target.manifests()
    if there != list(source[: len(there)]):
        raise _in_use_error(place)
    for number, manifest in enumerate(source[len(there) :], start=len(there)):
        if progress is not None:
            progress(number, len(source))
        for part in manifest.parts:
            target.add_part(part, check_part(layout, part))
        target.add_manifest(manifest)
    parts = [part for manifest in source for part in manifest.parts]
    before = sum(len(manifest.parts) for manifest in there)
    return CopySummary(len(source), len(parts), sum(part.size for part in parts), before)


def refuse_journal(layout: Layout, place: str) -> None:
    """See that no row is still in the journal, which is not copied.

    Raises:
        StoreLocked: Naming a run that has some.
    """
    for path in layout.segments():
        raise StoreLocked(
            f"run {layout.run_of(path.stem)} has rows that are no parts yet",
            file=place,
            remedy="wait for it to end, or resume it; then copy again",
        )


def _in_use_error(place: str) -> StoreError:
    return StoreError(
        "what is there is not a part of this store, and is not overwritten",
        file=place,
        remedy="copy to a folder or prefix that is empty",
    )


def hold_source(layout: Layout, stack: ExitStack, place: str) -> None:
    """Keep maintenance away from what is copied: it takes parts away.

    Raises:
        StoreLocked: If somebody compacts or rebuilds it, or copies it.
    """
    lock = Lock.acquire(layout.maintenance_lock)
    if lock is None:
        raise StoreLocked("another process maintains or copies this store", file=place, remedy="wait for it to end")
    stack.callback(lock.release)


def hold_target(layout: Layout, stack: ExitStack, place: str) -> None:
    """Keep commits and maintenance out of a folder that is copied to.

    Raises:
        StoreLocked: As ``hold_source``.
    """
    make_folder(layout.root)
    hold_source(layout, stack, place)
    stack.enter_context(exclusive(layout.commit_lock))
