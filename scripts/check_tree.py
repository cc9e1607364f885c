"""Refuse what must not be in the repository: registry addresses, machine paths, stray .pth files in the environment.

Run from the checkout: ``python scripts/check_tree.py``. Exit code 1 with one line a finding.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

REGISTRY = re.compile(
    r"(?:extra-)?index-url|find-links|files\.pythonhosted\.org|pypi\.org/simple|registry\.npmjs\.org|deb\.debian\.org"
)
MACHINE_PATH = re.compile(r"(?<![A-Za-z0-9_.])/(?:work|farm|home/[a-z]+|root)/")
LOCK_FILES = re.compile(r"(?:\.lock|requirements[^/]*\.txt|pylock[^/]*\.toml|package-lock\.json)$")
KNOWN_PTH = re.compile(r"distutils-precedence\.pth|_editable_impl_hazardmill\.pth")
"""setuptools' own, and the editable install of this project."""


def tracked() -> Iterator[Path]:
    """The files git tracks, or would."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], capture_output=True, check=True
    )
    return (Path(name) for name in listed.stdout.decode().split("\0") if name)


def findings() -> Iterator[str]:
    """One line for each thing that must not be."""
    for path in tracked():
        if path == Path("scripts/check_tree.py") or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if REGISTRY.search(line) or (LOCK_FILES.search(path.name) and "://" in line):
                yield f"{path}:{number}: names a registry"
            if MACHINE_PATH.search(line):
                yield f"{path}:{number}: names a path of a machine"
    for pth in Path(sysconfig.get_paths()["purelib"]).glob("*.pth"):
        if not KNOWN_PTH.fullmatch(pth.name):
            yield f"{pth.name}: an unexpected .pth file runs code at every start of Python"


if __name__ == "__main__":
    found = list(findings())
    print("\n".join(found) or "the tree is clean")
    sys.exit(1 if found else 0)
