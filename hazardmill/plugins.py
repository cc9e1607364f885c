"""Finds plugins: sources, backends and checks that installed packages add by entry points.

| group | what an entry point names | registry that it joins |
| --- | --- | --- |
| ``hazardmill.sources`` | a ``Source``, as in the ``source.py`` of a folder | ``ingest.sources.discovery`` |
| ``hazardmill.backends`` | a function from ``ModelAccess`` to a ``Backend`` | ``llm.backends.plugin`` |
| ``hazardmill.checks`` | a function of document and record | ``generation.checks.added`` |

A plugin that cannot be used is skipped, and named, unless it was asked for: then it is an error. More:
docs/plugins.md.
"""

from __future__ import annotations

import functools
import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

from hazardmill.errors import PluginError

PluginKind = Literal["source", "backend", "check"]

GROUPS: Final[dict[PluginKind, str]] = {
    "source": "hazardmill.sources",
    "backend": "hazardmill.backends",
    "check": "hazardmill.checks",
}
"""The group of entry points of each kind of plugin."""

_PAGE: Final = "docs/plugins.md"


@dataclass(frozen=True)
class Plugin:
    """One entry point of an installed package. Nothing of the package is imported before ``load``.

    Attributes:
        kind: What it adds.
        name: Name of the entry point, and of what it adds.
        target: The entry point's value, ``package.module:attribute``.
        package: Name of the package, as installed.
        version: Its version.
    """

    kind: PluginKind
    name: str
    target: str
    package: str
    version: str

    @property
    def origin(self) -> str:
        """Package and version, as kept with a run: ``hazardmill-recipes 1.2``."""
        return f"{self.package} {self.version}"

    @property
    def folder(self) -> Path:
        """The folder of the module that the entry point names, which is found without importing that module.

        Raises:
            PluginError: There is no such module.
        """
        module = self.target.partition(":")[0].strip()
        try:
            spec = find_spec(module)
        except (Exception, SystemExit) as error:
            raise self.does_not_load(error) from error
        if spec is None or spec.origin is None:
            raise self.error(f"there is no module {module}", remedy=self._renew)
        return Path(spec.origin).parent

    def load(self) -> object:
        """Return what the entry point names, importing its module.

        Raises:
            PluginError: It does not load, for whatever reason.
        """
        try:
            return EntryPoint(self.name, self.target, GROUPS[self.kind]).load()
        except (Exception, SystemExit) as error:
            raise self.does_not_load(error) from error

    def error(self, message: str, *, remedy: str | None = None, record_id: str | None = None) -> PluginError:
        """Return an error about this plugin, which names package and entry point.

        Args:
            message: What is wrong with it.
            remedy: What to do; by default, what its authors must change.
            record_id: The record that it failed on, if there is one.
        """
        return PluginError(
            f"the {self.kind} {self.name} of package {self.origin} "
            f"(entry point {self.name} = {self.target}) cannot be used: {message}",
            record_id=record_id,
            remedy=remedy or f"its authors find what is expected in {_PAGE}; without it: pip uninstall {self.package}",
        )

    def does_not_load(self, error: BaseException) -> PluginError:
        """Return the error for a module or function that raised something when it was loaded."""
        return self.error(f"it does not load: {type(error).__name__}: {error}", remedy=self._renew)

    @property
    def _renew(self) -> str:
        return f"update the package, or remove it: pip install --upgrade {self.package}, pip uninstall {self.package}"


@dataclass(frozen=True)
class BrokenPlugin:
    """A plugin that cannot be used, and why.

    Attributes:
        name: Name of the entry point; empty if the package's list of entry points cannot be read.
        error: What is wrong; says package, entry point and remedy.
    """

    name: str
    error: PluginError


@dataclass(frozen=True)
class PluginSearch:
    """The plugins of one kind.

    Attributes:
        found: Those with a name of their own, by name; none of them is loaded yet.
        broken: The others, in the order of packages and names.
    """

    found: Mapping[str, Plugin]
    broken: tuple[BrokenPlugin, ...] = ()

    def get(self, name: str) -> Plugin | None:
        """Return the plugin of this name; None if there is none.

        Raises:
            PluginError: There is one, and it cannot be used.
        """
        for each in self.broken:
            if each.name == name and name not in self.found:
                raise each.error
        return self.found.get(name)


def find_plugins(kind: PluginKind, taken: Mapping[str, str] = MappingProxyType({})) -> PluginSearch:
    """Return the plugins of one kind that installed packages declare. None of them is imported.

    Args:
        kind: The kind.
        taken: Names that plugins may not have, each with what has it. A name that two packages give belongs to neither.
    """
    declared, broken = _declared(tuple(sys.path))
    mine = [plugin for plugin in declared if plugin.kind == kind]
    times = Counter(plugin.name for plugin in mine)
    found: dict[str, Plugin] = {}
    wrong = list(broken) if kind == "source" else []
    for plugin in mine:
        error = None
        if not re.fullmatch(r"[a-z][a-z0-9_]*", plugin.name):
            error = plugin.error("a name has lower-case letters, digits and underscores, and begins with a letter")
        elif plugin.name in taken:
            error = plugin.error(f"its name is taken by {taken[plugin.name]}")
        elif times[plugin.name] > 1:
            others = [other.origin for other in mine if other.name == plugin.name and other is not plugin]
            error = plugin.error(
                f"{', '.join(others)} has a {kind} of the same name",
                remedy=f"uninstall one of the packages: pip uninstall {plugin.package}",
            )
        if error is None:
            found[plugin.name] = plugin
        else:
            wrong.append(BrokenPlugin(plugin.name, error))
    return PluginSearch(found, tuple(wrong))


@functools.lru_cache(maxsize=1)
def _declared(path: tuple[str, ...]) -> tuple[tuple[Plugin, ...], tuple[BrokenPlugin, ...]]:
    """Return what the packages on the import path declare; cached, because all packages must be looked at."""
    del path  # the key of the cache: ``distributions`` reads ``sys.path``
    kinds = {group: kind for kind, group in GROUPS.items()}
    plugins: list[Plugin] = []
    broken: list[BrokenPlugin] = []
    seen: set[str] = set()
    for package in distributions():
        if "hazardmill." not in (package.read_text("entry_points.txt") or ""):
            continue
        name = _name_of(package)
        if name in seen:
            # One earlier on the path hides it, as in an import.
            continue
        seen.add(name)
        try:
            points = [point for point in package.entry_points if point.group in kinds]
            version = package.version
        except Exception as error:
            wrong = PluginError(
                f"the entry points of package {name} cannot be read: {type(error).__name__}: {error}",
                remedy=f"install the package again: pip install --force-reinstall {name}",
            )
            broken.append(BrokenPlugin("", wrong))
            continue
        plugins += [Plugin(kinds[point.group], point.name, point.value, name, version) for point in points]
    return tuple(sorted(plugins, key=lambda each: (each.package, each.name))), tuple(broken)


def _name_of(package: Distribution) -> str:
    """Return the name of a package, without the differences in spelling that pip ignores."""
    name = str(package.metadata["Name"] or "without a name")
    return re.sub(r"[-_.]+", "-", name).lower()
