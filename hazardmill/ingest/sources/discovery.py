"""Finds sources: each is a folder with a ``source.py``; there is no registry."""

from __future__ import annotations

import functools
import hashlib
import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

from hazardmill.errors import SourceError
from hazardmill.ingest.sources.source import Source
from hazardmill.resources import SOURCES_VARIABLE, sources_folders
from hazardmill.text.suggestions import unknown_name


def list_sources() -> tuple[Source, ...]:
    """Return all sources, sorted by name.

    They are in the ``sources`` folder of the installation and in the folders that ``HAZARDMILL_SOURCES`` names.

    Raises:
        SourceError: A source's module does not load, or two folders have the same name.
    """
    return tuple(_load(folder) for _, folder in sorted(_source_folders().items()))


def load_source(name: str) -> Source:
    """Return the source called ``name``.

    Args:
        name: Name of the source, which is that of its folder.

    Raises:
        UnknownName: There is no such source.
        SourceError: Its module does not load.
    """  # noqa: DOC501  # the helper makes an UnknownName
    folders = _source_folders()
    if name not in folders:
        known = ", ".join(sorted(folders)) or "none"
        raise unknown_name(
            f"there is no source {name!r}",
            name,
            folders,
            remedy=f"known sources: {known}; {SOURCES_VARIABLE} adds folders of your own",
        )
    return _load(folders[name])


def _source_folders() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for home in sources_folders():
        for module in sorted(home.glob("*/source.py")):
            folder = module.parent
            if folder.name in found:
                raise SourceError(
                    f"two sources are called {folder.name!r}: {found[folder.name]} and {folder}",
                    file=str(module),
                    remedy="rename one folder and the `name` in its source.py",
                )
            found[folder.name] = folder
    return found


@functools.cache
def _load(folder: Path) -> Source:
    file = folder / "source.py"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", folder.name):
        raise SourceError(
            f"{folder.name!r} cannot be the name of a source",
            file=str(file),
            remedy="use lower-case letters, digits and underscores, beginning with a letter",
        )
    # Each source becomes a package named after its path, so that source.py can import its neighbours relatively,
    # and equal names in different folders never collide in sys.modules.
    package = f"_hazardmill_source_{folder.name}_{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"
    root = ModuleType(package)
    root.__path__ = [str(folder)]
    sys.modules[package] = root
    try:
        module = importlib.import_module(f"{package}.source")
    except Exception as error:
        raise SourceError(
            f"the source does not load: {type(error).__name__}: {error}",
            file=str(file),
            remedy="run the module directly to see the whole traceback",
        ) from error
    source = getattr(module, "SOURCE", None)
    if not isinstance(source, Source) or source.name != folder.name:
        raise SourceError(
            f"the module does not define SOURCE, a Source named {folder.name!r}",
            file=str(file),
            remedy="see docs/adding-a-source.md",
        )
    return source
