"""Finds sources: folders with a ``source.py``, and those that installed packages add (``hazardmill.plugins``)."""

from __future__ import annotations

import functools
import hashlib
import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from hazardmill.errors import InputError, SourceError
from hazardmill.ingest.sources.source import Source
from hazardmill.plugins import Plugin, PluginSearch, find_plugins
from hazardmill.resources import SOURCES_VARIABLE, source_folders
from hazardmill.text.suggestions import unknown_name


@dataclass(frozen=True)
class SourceListing:
    """All sources, and what is wrong with those that cannot be used.

    Attributes:
        sources: The sources, sorted by name.
        broken: Why each of the others cannot be used.
        origins: Package and version of each source that an installed package adds, by name.
    """

    sources: tuple[Source, ...]
    broken: tuple[InputError, ...]
    origins: dict[str, str]


def list_sources() -> tuple[Source, ...]:
    """Return all sources that can be used, sorted by name.

    They are in the ``sources`` folder of the installation, in the folders that ``HAZARDMILL_SOURCES`` names, and in
    installed packages. Broken ones are left out; ``find_sources`` says what is wrong with them.
    """
    return find_sources().sources


def find_sources() -> SourceListing:
    """Return all sources, also of installed packages, and why others cannot be used."""
    folders = source_folders()
    search = _search(folders)
    names = sorted({*folders, *search.found})
    sources: list[Source] = []
    broken: list[InputError] = []
    origins: dict[str, str] = {}
    for name in names:
        try:
            sources.append(_load_named(name, folders, search))
        except InputError as error:
            broken.append(error)
        else:
            if name not in folders:
                origins[name] = search.found[name].origin
    return SourceListing(tuple(sources), (*broken, *(each.error for each in search.broken)), origins)


def load_source(name: str) -> Source:
    """Return the source called ``name``.

    Args:
        name: Name of the source, which is that of its folder.

    Raises:
        UnknownName: There is no such source.
        SourceError: Its module does not load, or two folders have this name.
        PluginError: It belongs to an installed package, and cannot be used.
    """
    folders = source_folders()
    return _load_named(name, folders, _NO_PLUGINS if name in folders else _search(folders))


def package_of_source(name: str) -> str | None:
    """Return package and version that a source comes from; None if it is a folder of ours or of the user."""
    folders = source_folders()
    plugin = None if name in folders else _search(folders).found.get(name)
    return None if plugin is None else plugin.origin


_NO_PLUGINS = PluginSearch({})


def _search(folders: dict[str, list[Path]]) -> PluginSearch:
    # An installed package never displaces a folder: somebody may not even know that it was installed.
    return find_plugins("source", {name: f"the source in {paths[0]}" for name, paths in folders.items()})


def _load_named(name: str, folders: dict[str, list[Path]], search: PluginSearch) -> Source:
    if name in folders:
        first, *others = folders[name]
        if others:
            raise SourceError(
                f"two sources are called {name!r}: {first} and {others[0]}",
                file=str(others[0] / "source.py"),
                remedy="rename one folder and the `name` in its source.py",
            )
        return load_folder(first)
    plugin = search.get(name)
    if plugin is not None:
        return load_plugin_source(plugin)
    known = ", ".join(sorted({*folders, *search.found})) or "none"
    raise unknown_name(
        f"there is no source {name!r}",
        name,
        [*folders, *search.found],
        remedy=f"known sources: {known}; {SOURCES_VARIABLE} adds folders of your own, and packages add theirs",
    )


def load_plugin_source(plugin: Plugin) -> Source:
    """Return the source that an installed package adds.

    Args:
        plugin: Its entry point.

    Raises:
        PluginError: It does not load, or is no source of this name in its own folder.
    """
    source = plugin.load()
    if not isinstance(source, Source):
        raise plugin.error(f"{type(source).__name__} is not an instance of a subclass of Source")
    try:
        name, folder, texts = source.name, source.folder, (source.licence, source.attribution, source.expects)
    except AttributeError as error:
        raise plugin.error(f"a class variable is missing: {error}") from error
    if name != plugin.name or not all(isinstance(text, str) for text in texts):
        raise plugin.error(f"its `name` is {name!r}, and its entry point is called {plugin.name!r}")
    if folder.resolve() != plugin.folder.resolve():
        raise plugin.error(f"its `folder` is {folder}, and its module is in {plugin.folder}")
    return source


@functools.cache
def load_folder(folder: Path) -> Source:
    """Return the source in a folder.

    Args:
        folder: Has a ``source.py``, and the name of the source.

    Raises:
        SourceError: Its module does not load, or the folder cannot be a source.
    """
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
    except (Exception, SystemExit) as error:
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
