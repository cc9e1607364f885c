"""The folder of a store, as it was when this process first saw it: a run must not go on in another one.

A folder that is removed, moved away or replaced leaves a process with open files that nobody else sees. Rows written
there would be acknowledged and lost, and a new folder in its place would look like a store in which nothing was done.
"""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from hazardmill.errors import StoreError
from hazardmill.store.files.fsync_io import disk_errors, is_same


def gone_error(root: Path) -> StoreError:
    """The error of a process whose store's folder is not there, or is another one."""
    return StoreError(
        "the folder of the store, or what was in it, was removed or replaced while this process worked on it",
        file=str(root),
        remedy="put back what was there (a folder that was moved away has all that was acknowledged), then resume the "
        "run; nothing was made in its place",
    )


class Root:
    """The folder of one store. It is kept open, so that no other one can have its number on the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None

    def __reduce__(self) -> tuple[type[Root], tuple[Path]]:
        # Another process sees it for the first time.
        return Root, (self._folder,)

    def check(self) -> None:
        """See that the folder is the one that was seen first; one that is not there yet is seen later.

        Raises:
            StoreError: It was removed or replaced.
        """
        if self._descriptor is not None:
            if not is_same(self._descriptor, self._folder):
                raise gone_error(self._folder)
            return
        with disk_errors(self._folder, "open the folder"):
            try:
                descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except (FileNotFoundError, NotADirectoryError):
                return
        self._descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
