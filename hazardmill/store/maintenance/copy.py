"""Copies a whole store: from a folder to a bucket, from a bucket to a folder, or between two of the same kind.

Parts are copied before the manifest that lists them, in commit order. An interrupted copy is therefore a whole store of
the first commits, and the same command continues it. Only committed rows are copied: a store with rows in the journal
is refused, unless the copy is of a store at work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hazardmill.errors import StoreError, StoreLocked
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.manifests import CommitManifest, Part
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
        raise in_use_error(place)
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


def in_use_error(place: str) -> StoreError:
    """Return the error for a target of a copy that holds something else."""
    return StoreError(
        "the target holds something other than a copy of this store, and is not overwritten",
        file=place,
        remedy="copy to a folder or prefix that is empty",
    )
