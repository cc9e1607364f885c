"""The releases before one: which there are, and how the release differs from the latest of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field

from hazardmill.errors import InputError
from hazardmill.release.diff.compare import diff_folders
from hazardmill.release.diff.render import lines
from hazardmill.release.manifest import MANIFEST, read_manifest
from hazardmill.text.printable import printable

_EXAMPLES: Final = 50
"""How many tasks of each kind the differences name."""


class Differences(BaseModel):
    """How a release differs from the one before it."""

    previous: str | None = Field(description="Version of that release; null if there is none.")
    summary: str = Field(description="The differences in one line.")
    text: str = Field(description="All of them, as `hazardmill release diff` prints them.")


def compare(previous: Path | None, place: Path) -> Differences:
    """Compare a release with the one before it; if they cannot be compared, the summary says why.

    Args:
        previous: Folder of the earlier release; None if there is none.
        place: Folder of the release.
    """
    if previous is None:
        return Differences(previous=None, summary="there is no earlier release beside it", text="")
    try:
        version, diff = read_manifest(previous).version, diff_folders(previous, place)
    except InputError as error:
        # Whoever decides must know; it is no reason not to ask.
        return Differences(previous=previous.name, summary=f"unknown: {printable(str(error))}", text="")
    text = list(lines(diff, _EXAMPLES))
    summary = text[1] + (f"; **{text[-len(diff.findings) - 1]}**" if diff.findings else "")
    return Differences(previous=version, summary=summary, text="\n".join(text))


def find_previous(place: Path, name: str, version: str) -> Path | None:
    """Return the folder of the latest earlier release beside a release, or None.

    Args:
        place: Folder of the release, built or not.
        name: Name of its dataset; other datasets are left out.
        version: Its version, ``X.Y.Z``.
    """
    earlier = {at: folder for at, folder in _find_releases(place.parent, name).items() if at < _numbers(version)}
    return earlier[max(earlier)] if earlier else None


def suggest_version(folder: Path, name: str = "hazardmill") -> str:
    """Return a minor step after the latest release in a folder; ``1.0.0`` if there is none.

    Args:
        folder: Folder of the folders of releases.
        name: Name of the dataset.
    """
    latest = max(_find_releases(folder, name), default=None)
    return "1.0.0" if latest is None else f"{latest[0]}.{latest[1] + 1}.0"


def _find_releases(folder: Path, name: str) -> dict[tuple[int, ...], Path]:
    """Find the releases of a dataset in a folder, by version."""
    found: dict[tuple[int, ...], Path] = {}
    for each in folder.glob(f"{name}-*"):
        version = each.name.removeprefix(f"{name}-")
        if re.fullmatch(r"\d{1,6}\.\d{1,6}\.\d{1,6}", version) and (each / MANIFEST).is_file():
            found[_numbers(version)] = each
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
