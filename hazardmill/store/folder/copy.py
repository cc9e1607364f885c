"""A folder as the target of a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

from hazardmill.store.files.fsync_io import disk_errors, make_folder, rename, sync_file
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.manifests import CommitManifest, Manifests, Part


class CopyFolder:
    """A copy in a folder. The caller holds its locks (``FolderStore.receive``)."""

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
