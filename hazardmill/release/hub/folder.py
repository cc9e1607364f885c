"""Reading the folder of a release before it is pushed, with all files checked against the manifest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hazardmill.release.manifest import MANIFEST, ReleaseManifest, file_of
from hazardmill.release.read.integrity import read_whole


@dataclass(frozen=True)
class LocalFile:
    """A file of the folder.

    Attributes:
        path: Its path on this machine.
        sha256: Hash of its content, hex.
        bytes: Its size.
    """

    path: Path
    sha256: str
    bytes: int

    @cached_property
    def blob(self) -> str:
        """Git id (SHA-1) of its content."""
        digest = hashlib.sha1(b"blob %d\0" % self.bytes, usedforsecurity=False)
        with self.path.open("rb") as opened:
            while chunk := opened.read(1 << 20):
                digest.update(chunk)
        return digest.hexdigest()


@dataclass(frozen=True)
class LocalRelease:
    """A release on this machine whose files agree with its manifest.

    Attributes:
        manifest: Its manifest.
        files: Path within the folder to file, the manifest included.
    """

    manifest: ReleaseManifest
    files: dict[str, LocalFile]

    @property
    def sha256(self) -> str:
        """Hash of the manifest file, which stands for all bytes of the release."""
        return self.files[MANIFEST].sha256

    @property
    def tag(self) -> str:
        """Tag of the release on a hub: ``vX.Y.Z``."""
        return f"v{self.manifest.version}"

    @property
    def bytes(self) -> int:
        """Size of all files together."""
        return sum(file.bytes for file in self.files.values())


def read_folder(folder: Path) -> LocalRelease:
    """Return the release in a folder, after comparing each file with the manifest.

    Raises:
        InputError: The folder has no release, a file is damaged or missing, or the manifest does not list a file.
    """
    manifest = read_whole(folder, alone=True)
    own = file_of(folder / MANIFEST)
    files = {name: LocalFile(folder / name, file.sha256, file.bytes) for name, file in sorted(manifest.files.items())}
    return LocalRelease(manifest, {**files, MANIFEST: LocalFile(folder / MANIFEST, own.sha256, own.bytes)})
