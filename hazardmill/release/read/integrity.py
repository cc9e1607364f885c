"""Checking the files of a release against its manifest, before anything of it is compared, sent or read."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hazardmill.errors import InputError
from hazardmill.release.manifest import MANIFEST, File, ReleaseManifest, file_of, read_manifest

REMEDY: Final = "the release is damaged: download or build it again"
_SHOWN: Final = 5
"""Maximum number of damaged files that a message names."""


def damage(path: Path, said: File) -> str | None:
    """Compare a file with its entry in the manifest.

    Args:
        path: The file.
        said: Its entry in the manifest.

    Returns:
        What is wrong, as the rest of a sentence that starts with the file's name; None if hash and size agree.
    """
    try:
        found = file_of(path)
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    if (found.sha256, found.bytes) != (said.sha256, said.bytes):
        return "has other bytes than the manifest lists"
    return None


def read_whole(folder: Path, *, alone: bool) -> ReleaseManifest:
    """Return the manifest of a release, after checking every file that it lists.

    Args:
        folder: Folder of the release.
        alone: Whether any other file in the folder counts as damage.

    Raises:
        InputError: The folder has no release, a file is damaged or missing, or (with ``alone``) a file is not listed.
    """
    manifest = read_manifest(folder)
    wrong = []
    if alone:
        # A link to a folder counts as a file: what it leads to is not in the manifest.
        there = {path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}
        names = {path.relative_to(folder).as_posix() for path in there}
        wrong = [f"{name} is not part of it" for name in sorted(names - manifest.files.keys() - {MANIFEST})]
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
