"""The folder of a release, held against its manifest, as what is pushed must be."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from hazardmill.release.manifest import MANIFEST, ReleaseManifest, file_of
from hazardmill.release.read.integrity import read_whole


@dataclass(frozen=True)
class LocalFile:
    """A file of the folder."""

    path: Path
    sha256: str
    bytes: int

    @cached_property
    def blob(self) -> str:
        """The id that git gives its content."""
        digest = hashlib.sha1(b"blob %d\0" % self.bytes, usedforsecurity=False)
        with self.path.open("rb") as opened:
            while chunk := opened.read(1 << 20):
                digest.update(chunk)
        return digest.hexdigest()


@dataclass(frozen=True)
class LocalRelease:
    """A release whose files are as its manifest says."""

    manifest: ReleaseManifest
    files: dict[str, LocalFile]
    """By path within the folder, the manifest among them."""

    @property
    def sha256(self) -> str:
        """Hash of the manifest's file: it stands for all bytes of the release."""
        return self.files[MANIFEST].sha256

    @property
    def tag(self) -> str:
        """The tag that it is found by."""
        return f"v{self.manifest.version}"

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files.values())


def read_folder(folder: Path) -> LocalRelease:
    """A release, each of its files read and compared with the manifest.

    Raises:
        InputError: There is no release, or a file is damaged, missing or too many.
    """
    manifest = read_whole(folder, alone=True)
    own = file_of(folder / MANIFEST)
    files = {name: LocalFile(folder / name, file.sha256, file.bytes) for name, file in sorted(manifest.files.items())}
    return LocalRelease(manifest, {**files, MANIFEST: LocalFile(folder / MANIFEST, own.sha256, own.bytes)})
