"""Copies a whole store: from a folder to a bucket, from a bucket to a folder, or between two of the same kind.

Parts are copied before the manifest that lists them, in commit order. An interrupted copy is therefore a whole store of
the first commits, and the same command continues it. Only committed rows are copied: a store with rows in the journal
is refused, unless the copy is of a store at work.
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
    """The result of a copy.

    Attributes:
        parts: Number of parts in the copy.
    """

    commits: int
    """Number of manifests in the copy."""
    parts: int
    bytes: int
    """Total size of these parts in bytes."""
    parts_before: int
    """Number of these parts that an earlier, interrupted copy had brought."""


class Target(Protocol):
    """The store that is copied to. ``CopyFolder`` and ``InBucket`` implement it."""

    def manifests(self) -> list[CommitManifest]:
        """Return the manifests already there, in commit order."""

    def add_part(self, part: Part, path: Path) -> None:
        """Copy one part."""

    def add_manifest(self, manifest: CommitManifest) -> None:
        """Make the parts of a manifest visible; all of them have been copied."""


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
        layout: Paths of that folder.
        target: The store to copy to.
        place: Name of the target, for messages.
        progress: Called before each commit with the number of commits in the copy so far and the total number.

    Returns:
        Counts over the whole copy, including what an earlier, interrupted copy had brought.

    Raises:
        CorruptStore: A part differs from its manifest.
        StoreError: The target holds something else, or refuses.
    """  # noqa: DOC501  # the helper makes a StoreError
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
    """Refuse to copy a store with rows in the journal, because they would not be copied.

    Raises:
        StoreLocked: Names a run with such rows.
    """
    for path in layout.segments():
        raise StoreLocked(
            f"run {layout.run_of(path.stem)} has rows that are still only in the journal, and would not be copied",
            file=place,
            remedy="wait for the run to end, or resume it; then copy again; or copy without these rows, with --live",
        )


def _in_use_error(place: str) -> StoreError:
    return StoreError(
        "the target holds something other than a copy of this store, and is not overwritten",
        file=place,
        remedy="copy to a folder or prefix that is empty",
    )


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
