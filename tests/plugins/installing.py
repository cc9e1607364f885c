"""Puts packages with plugins on the import path, with the files that an installation would write."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path

KITCHEN = Path(__file__).parent / "hazardmill-kitchen"
"""A package with a source, a backend and a check."""


def lay_kitchen(site: Path) -> Path:
    """The kitchen as pip would install it into a folder of packages."""
    project = tomllib.loads((KITCHEN / "pyproject.toml").read_text())["project"]
    shutil.copytree(KITCHEN / "hazardmill_kitchen", site / "hazardmill_kitchen")
    return lay_package(site, project["name"], project["version"], project["entry-points"])


def lay_package(
    site: Path,
    name: str,
    version: str,
    points: Mapping[str, Mapping[str, str]],
    modules: Mapping[str, str] | None = None,
) -> Path:
    """A package of these entry points (by group and name) and modules (text by file name)."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [
        line
        for group, named in points.items()
        for line in (f"[{group}]", *(f"{point} = {value}" for point, value in named.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join([*lines, ""]))
    for file, text in (modules or {}).items():
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        (site / file).write_text(text)
    return site
