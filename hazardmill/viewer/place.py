"""Which of the two is at a path: a store or a release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hazardmill.errors import InputError, UsageError
from hazardmill.release.manifest import MANIFEST
from hazardmill.release.read.release import Release
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.store.address import bucket_address
from hazardmill.store.store import Store
from hazardmill.viewer.opinions import PlannerResults
from hazardmill.viewer.release import ReleaseView
from hazardmill.viewer.store import StoreTasks


def open_place(path: str, *, review: Path | None = None, results: Sequence[Path] = ()) -> StoreTasks | ReleaseView:
    """Open a store or a release.

    Args:
        path: Folder of either, or the address of a store in a bucket.
        review: Folder of a review of the store; ``None``: verdicts of reviewers are not shown.
        results: Files or folders of result rows of planners.

    Returns:
        The place; of a release only the manifest has been read so far.

    Raises:
        InputError: There is neither at the path, or a file of it, of the review or of the results cannot be read.
        StoreError: The store cannot be read.
        UsageError: A review was given for a release, which has its own.
    """
    planners = PlannerResults(results)
    folder = None if review is None else ReviewFolder(review)
    if bucket_address(path) is not None:
        return StoreTasks(Store.open(path), folder, planners)
    place = Path(path)
    if (place / MANIFEST).is_file():
        if folder is not None:
            raise UsageError(
                f"{path} is a release, which has the decisions of its own review", remedy="leave out --review"
            )
        return ReleaseView(Release(place), planners)
    if not (place / "manifests").is_dir() and not (place / "journal").is_dir():
        raise InputError(
            "this is neither a store nor a release" if place.exists() else "there is no such folder",
            file=path,
            remedy="name the folder of a store (it holds journal/ and manifests/) or of a release (it holds "
            f"{MANIFEST})",
        )
    return StoreTasks(Store.open(place), folder, planners)
