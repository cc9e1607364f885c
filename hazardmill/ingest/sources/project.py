"""The sources that somebody is writing: in a folder with a ``source.py``, or in a project with a ``pyproject.toml``."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

from hazardmill.errors import SourceError
from hazardmill.ingest.sources.discovery import load_folder, load_plugin_source, load_source
from hazardmill.ingest.sources.source import Source
from hazardmill.plugins import GROUPS, Plugin


def load_from(given: str) -> tuple[Source, ...]:
    """Return the sources that a name or a path stands for.

    Args:
        given: Name of a source; or path of a folder with a ``source.py``, or of a project whose ``pyproject.toml`` has
            entry points for sources, installed or not. A folder called like a source needs a ``./`` before it.

    Raises:
        UnknownName: It is no path, and no source has this name.
        SourceError: There is no source in the folder, or it does not load.
        PluginError: The source of the project cannot be used.
    """  # the functions called here raise the others
    folder = Path(given)
    if os.sep not in given and given not in (".", "..") and not (folder / "pyproject.toml").is_file():
        return (load_source(given),)
    if (folder / "source.py").is_file():
        return (load_folder(folder.resolve()),)
    if (folder / "pyproject.toml").is_file():
        return _sources_of_project(folder.resolve())
    raise SourceError(
        "there is neither a source.py nor a pyproject.toml here",
        file=given,
        remedy="give the folder of a source, or of a project that adds one; `hazardmill sources new NAME` writes one",
    )


def _sources_of_project(folder: Path) -> tuple[Source, ...]:
    file = folder / "pyproject.toml"
    try:
        project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
        points = dict(project.get("entry-points", {}).get(GROUPS["source"], {}))
    except (OSError, ValueError, AttributeError) as error:
        raise SourceError(f"it cannot be read: {error}", file=str(file), remedy="correct the file") from error
    if not points:
        raise SourceError(
            f"it has no entry points of {GROUPS['source']}", file=str(file), remedy="see docs/plugins.md for an example"
        )
    # As an editable installation would have it.
    for place in (folder, folder / "src"):
        if place.is_dir() and str(place) not in sys.path:
            sys.path.insert(0, str(place))
    package, version = str(project.get("name", folder.name)), str(project.get("version", "unknown"))
    return tuple(
        load_plugin_source(Plugin("source", name, str(target), package, version)) for name, target in points.items()
    )
