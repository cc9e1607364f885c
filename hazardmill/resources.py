"""Find prompts, sources and the review rubric: at the top of a checkout, or bundled in the installed package."""

from __future__ import annotations

import os
from pathlib import Path

from hazardmill.errors import SettingsError

SOURCES_VARIABLE = "HAZARDMILL_SOURCES"
"""Environment variable with further folders of sources, joined by ``os.pathsep``."""

_PACKAGE = Path(__file__).resolve().parent


def _own_folder(name: str) -> Path:
    # In site-packages the neighbouring folders belong to other packages: they count only in a checkout.
    checkout = _PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    bundled = _PACKAGE / "_bundled" / name
    if bundled.is_dir():
        return bundled
    raise SettingsError(
        f"this installation of hazardmill has no folder {name!r}",
        file=str(bundled),
        remedy="install the wheel again, or run from a complete checkout",
    )


def prompts_folder() -> Path:
    """Return the folder of prompt templates.

    Raises:
        SettingsError: The installation is incomplete.
    """
    return _own_folder("prompts")


def review_folder() -> Path:
    """Return the folder with ``rubric.md``, which is copied into the folder of a review.

    Raises:
        SettingsError: The installation is incomplete.
    """
    return _own_folder("review")


def sources_folders() -> tuple[Path, ...]:
    """Return the folders of sources: our own first, then those of ``HAZARDMILL_SOURCES`` in order, without repeats.

    Raises:
        SettingsError: The installation is incomplete, or the variable names something other than a folder.
    """
    folders = [_own_folder("sources")]
    for entry in os.environ.get(SOURCES_VARIABLE, "").split(os.pathsep):
        if not entry.strip():
            continue
        folder = Path(entry.strip()).expanduser()
        if not folder.is_dir():
            raise SettingsError(
                f"{SOURCES_VARIABLE} names {str(folder)!r}, which is not a folder",
                file=str(folder),
                remedy=f"correct or unset {SOURCES_VARIABLE}: it lists folders that hold one folder per source",
            )
        if folder.resolve() not in [known.resolve() for known in folders]:
            folders.append(folder)
    return tuple(folders)


def source_folders() -> dict[str, list[Path]]:
    """Return the folders that have a ``source.py``, by name, in the order of ``sources_folders``.

    Raises:
        SettingsError: As ``sources_folders``.
    """
    found: dict[str, list[Path]] = {}
    for home in sources_folders():
        for module in sorted(home.glob("*/source.py")):
            found.setdefault(module.parent.name, []).append(module.parent)
    return found
