"""The folder of a release, held against its manifest, as what is pushed must be."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from hazardmill.errors import InputError
from hazardmill.release.manifest import MANIFEST, Manifest, file_of, read_manifest

_SHOWN: Final = 5
"""Damaged files that a message names."""


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

    manifest: Manifest
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
    manifest = read_manifest(folder)
    there = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if not _is_folder(path)}
    wrong = [f"{name} is in no release" for name in sorted(there.keys() - manifest.files.keys() - {MANIFEST})]
    files = {}
    for name, wanted in sorted(manifest.files.items()):
        path = there.get(name)
        if path is None or not path.is_file():
            wrong.append(f"{name} is missing")
            continue
        found = file_of(path)
        if (found.sha256, found.bytes) != (wanted.sha256, wanted.bytes):
            wrong.append(f"{name} has other bytes than the manifest says")
        files[name] = LocalFile(path, found.sha256, found.bytes)
    if wrong:
        more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise InputError(
            f"the release is damaged: {'; '.join(wrong[:_SHOWN])}{more}",
            file=str(folder),
            remedy="build it again: hazardmill release build",
        )
    own = file_of(folder / MANIFEST)
    files[MANIFEST] = LocalFile(folder / MANIFEST, own.sha256, own.bytes)
    return LocalRelease(manifest, files)


def _is_folder(path: Path) -> bool:
    # A link to a folder is none: what it leads to is not in the manifest.
    return path.is_dir() and not path.is_symlink()
