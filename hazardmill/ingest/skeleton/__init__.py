"""The project that ``hazardmill sources new`` writes: a package that adds a source, which keeps all requirements.

The files beside this one are its templates, each named as the file that it becomes.
"""

from __future__ import annotations

import json
import keyword
import re
from pathlib import Path
from typing import Final

from hazardmill.errors import UsageError
from hazardmill.ingest.sources.discovery import find_sources

_TEMPLATES: Final = Path(__file__).parent

_GOOD: Final = (
    "cut a finger on a knife in the basin",
    "spilled hot soup from a pot on the stove",
    "slipped on a wet floor",
    "burned a hand on the oven door",
    "fell from a stool while reaching for a box",
    "drank cleaner from a cup",
    "scalded by steam from a kettle",
    "hurt a toe on a chair that stood in the way",
)
"""Texts of the sample, which are taken in turn."""

_RECORDS: Final = 22


def write_source_project(name: str, folder: Path) -> list[Path]:
    """Write a project with a source.

    Args:
        name: Name of the source.
        folder: Folder of the project, which is made.

    Returns:
        The files, in the order of their paths.

    Raises:
        UsageError: The name cannot be used or is taken, or the folder exists.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UsageError(
            f"{name!r} cannot be the name of a source",
            remedy="use lower-case letters, digits and underscores, beginning with a letter",
        )
    if name in [source.name for source in find_sources().sources]:
        raise UsageError(f"there is a source {name} already", remedy="choose another name")
    if folder.exists():
        raise UsageError(f"{folder} exists already", remedy="give another folder with --to")
    words = {
        "__NAME__": name,
        "__DASHED__": name.replace("_", "-"),
        "__CLASS__": "".join(part.capitalize() for part in name.split("_")) + "Source",
    }
    written = []
    for template in sorted(_TEMPLATES.rglob("*.txt")):
        parts = template.relative_to(_TEMPLATES).with_suffix("").parts
        named = {"package": f"hazardmill_{name}", "source": name}
        path = folder.joinpath(*(named.get(part, part) for part in parts))
        text = template.read_text(encoding="utf-8")
        for placeholder, word in words.items():
            text = text.replace(placeholder, word)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    sample = folder / f"hazardmill_{name}" / name / "sample" / f"{name}.jsonl"
    sample.parent.mkdir()
    sample.write_bytes(_sample())
    return sorted([*written, sample])


def _sample() -> bytes:
    """Return good records, and a line for each of three ways to be refused."""
    rows = [{"id": str(number), "text": _GOOD[number % len(_GOOD)]} for number in range(1, _RECORDS + 1)]
    bad = [b"no JSON", b'{"id": "23"}', b"\xe9"]
    return b"\n".join([*(json.dumps(row).encode() for row in rows), *bad]) + b"\n"
