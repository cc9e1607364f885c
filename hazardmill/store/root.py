"""The folder of a store as this process first saw it: a run must not continue in another folder.

If a folder is removed, moved away or replaced, a process is left with open files that nobody else sees. Rows written
there would be acknowledged and lost, and a new folder in its place would look like an empty store.
"""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from hazardmill.errors import StoreError
from hazardmill.store.files.fsync_io import disk_errors, is_same


def gone_error(root: Path) -> StoreError:
    """Return the error for a store's folder that is missing or has been replaced.

    Args:
        root: The store's folder.
    """
    return StoreError(
        "the store's folder, or files in it, were removed or replaced while this process worked on it",
        file=str(root),
        remedy="put the folder back (if it was moved away, it still holds every acknowledged row), then resume the "
        "run; nothing was created in its place",
    )


class Root:
    """The folder of one store. It is kept open, so that no other folder can get its inode number.

    It can be pickled; in another process it starts without having seen the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None

    def __reduce__(self) -> tuple[type[Root], tuple[Path]]:
        # In another process the folder is seen for the first time.
        return Root, (self._folder,)

    def check(self) -> None:
        """Check that the folder is still the one that was seen first.

        A folder that does not exist yet is checked later.

        Raises:
            StoreError: The folder was removed or replaced.
        """  # noqa: DOC501  # the helper makes a StoreError
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
