"""Commands of hazardmill with a key in their environment, and a look for that key wherever it must not be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.authorities import TRUSTED

KEY = "sk-planted-5b1e-never-to-be-seen"


def hazardmill(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user does, with nothing in its environment but what is given."""
    return subprocess.run(
        [sys.executable, "-m", "hazardmill.cli.main", *map(str, words)],
        env={"PATH": "/usr/bin:/bin", **TRUSTED, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def inputs(paths: Mapping[str, Path], limits: Mapping[str, int]) -> list[object]:
    """The words that give a command its sources."""
    words: list[object] = []
    for source, path in paths.items():
        words += ["--source", source, "--input", f"{source}={path}"]
        words += ["--limit", f"{source}={limits[source]}"] if source in limits else []
    return words


def where_it_is(key: str, folder: Path, said: Mapping[str, str]) -> list[str]:
    """Files below a folder, by name or content, and texts that hold a key."""
    holds = [name for name, text in said.items() if key in text]
    for path in folder.rglob("*"):
        if key in path.name or (path.is_file() and key.encode() in path.read_bytes()):
            holds.append(str(path.relative_to(folder)))
    return holds
