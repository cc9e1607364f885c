"""Refuse what must not be in the repository: package indexes, paths of machines, stray .pth files in the environment.

Run from the checkout: ``python scripts/check_tree.py``. Exit code 1 with one line per finding. Where packages come from
is for each machine to say: no lock file has an address, and nothing names a package index. No index is known by name
here, so that one nobody has heard of is found too.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

LOCK_FILES = re.compile(
    r"[^/]*\.lock|pylock[^/]*\.toml|(?:requirements|constraints)[^/]*\.(?:txt|in)|Pipfile"
    r"|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.ya?ml|conda-lock\.ya?ml"
)
NPM_SETTINGS = re.compile(r"\.?npmrc|package\.json")
INDEX = re.compile(
    # Written so that no line here is found itself. Options of pip and uv, their settings in files, and their variables.
    r"index[-_]url|find[-_]links|trusted[-_]host|(?<![-\w])--(?:default-)?index(?![-\w])|UV_(?:DEFAULT_)?INDEX(?![A-Z])"
    r"|\b(?:pip3?|uv)\s.*\s-[if](?=[\s=])"
    # Tables of uv, Poetry, PDM and Pipenv.
    r"|^\s*\[\[(?:tool\.\w+\.)?(?:index|source)\]\]"
    # npm and its kin, on a command line or by variable.
    r"|(?<![-\w])-{2}registry(?![-\w])|npm[-_]config[-_]registry|npm\s+config\s.*registry|npm[-_]?registry[-_]?server"
    # What such an address looks like: the simple index of Python's packages, and a line of apt's sources.
    r"|:/{2}\S+/simple(?![-\w])|^\s*deb(?:-src)?\s.*:/{2}",
    re.IGNORECASE,
)
SHORT_INDEX = re.compile(r"\s*-[if](?=[\s=])")
"""As a line of requirements has it."""
NPM_INDEX = re.compile(r"\s*(?:@[^:=]*:)?\"?registry\"?\s*[=:]")
MACHINE_PATH = re.compile(r"(?<![A-Za-z0-9_.])/(?:work|farm|home/[a-z]+|root)/")
KNOWN_PTH = re.compile(r"distutils-precedence\.pth|(?:_editable_impl)?_hazardmill\.pth")
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
        if not path.is_file():
            continue
        lock = LOCK_FILES.fullmatch(path.name) is not None
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            if lock:
                yield f"{path}: a lock file that is not UTF-8"
            continue
        npm = NPM_SETTINGS.fullmatch(path.name) is not None
        for number, line in enumerate(text.splitlines(), 1):
            if lock and "://" in line:
                yield f"{path}:{number}: an address in a lock file"
            if INDEX.search(line) or (lock and SHORT_INDEX.match(line)) or (npm and NPM_INDEX.match(line)):
                yield f"{path}:{number}: names a package index"
            if MACHINE_PATH.search(line):
                yield f"{path}:{number}: names a path of a machine"
    for pth in Path(sysconfig.get_paths()["purelib"]).glob("*.pth"):
        if not KNOWN_PTH.fullmatch(pth.name):
            yield f"{pth.name}: an unexpected .pth file runs code at every start of Python"


if __name__ == "__main__":
    found = list(findings())
    print("\n".join(found) or "the tree is clean")
    sys.exit(1 if found else 0)
