"""The files of a release held against its manifest: nothing is said, sent or read of a damaged one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hazardmill.errors import InputError
from hazardmill.release.manifest import MANIFEST, File, ReleaseManifest, file_of, read_manifest

REMEDY: Final = "the release is damaged: download or build it again"
_SHOWN: Final = 5
"""Damaged files that a message names."""


def damage(path: Path, said: File) -> str | None:
    """What is wrong with a file, in words that go on from its name; null if it is as the manifest says."""
    try:
        found = file_of(path)
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    if (found.sha256, found.bytes) != (said.sha256, said.bytes):
        return "has other bytes than the manifest says"
    return None


def read_whole(folder: Path, *, alone: bool) -> ReleaseManifest:
    """The manifest of a release, every file of which is as it says.

    Args:
        folder: Of the release.
        alone: Whether there must be no other file beside them.

    Raises:
        InputError: There is no release, or a file is damaged or missing; or one is too many.
    """
    manifest = read_manifest(folder)
    wrong = []
    if alone:
        # A link to a folder is no folder: what it leads to is not in the manifest.
        there = {path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}
        names = {path.relative_to(folder).as_posix() for path in there}
        wrong = [f"{name} is in no release" for name in sorted(names - manifest.files.keys() - {MANIFEST})]
    for name, said in sorted(manifest.files.items()):
        if (found := damage(folder / name, said)) is not None:
            wrong.append(f"{name} {found}")
    if wrong:
        more = f", and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise InputError(
            f"the release is damaged: {'; '.join(wrong[:_SHOWN])}{more}",
            file=str(folder),
            remedy="download or build it again",
        )
    return manifest
