"""Where the two halves of a program lie: ``withoutconds/{id}.txt`` and ``initstate/{id}.json`` in a dataset folder.

In the public layout an id is ``{collection}/{stem}``, for stems collide across collections; in a flat one the stem.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hazardmill.stages.sources import InputFile

PROGRAMS: Final = "withoutconds"
STATES: Final = "initstate"
SUFFIX: Final = {PROGRAMS: ".txt", STATES: ".json"}

_MAX_DEPTH: Final = 4
"""How far below the given folder a dataset folder is looked for; a repository has it two or three down."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The two halves of one program; either file may be missing."""

    native_id: str
    program: InputFile
    state: InputFile


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a dataset something lies."""

    dataset: Path
    half: str
    within: str
    """Path below the half's folder, with slashes; empty for that folder itself."""


def find(path: Path) -> list[InputFile]:
    """The program file of each pair in a file or folder, also where it is missing; by id.

    Of a dataset that lacks one half altogether, that folder; of a file that is no half of a pair, the file.
    """
    if path.is_file():
        return _of_file(path)
    if any((path / half).is_dir() for half in SUFFIX):
        return _of_dataset(path, "")
    place = _place(path)
    if place is not None:
        return _of_dataset(place.dataset, "", place.within)
    return [file for home in _datasets(path) for file in _of_dataset(home, f"{home.relative_to(path).as_posix()}/")]


def pair_of(file: InputFile) -> Pair | None:
    """The pair that a program file belongs to; None if it lies in no ``withoutconds``."""
    place = _place(file.path)
    if place is None or place.half != PROGRAMS or not place.within.endswith(SUFFIX[PROGRAMS]):
        return None
    native_id = place.within.removesuffix(SUFFIX[PROGRAMS])
    before = file.name.removesuffix(f"{PROGRAMS}/{place.within}")
    within = f"{STATES}/{native_id}{SUFFIX[STATES]}"
    return Pair(native_id, file, InputFile(place.dataset / within, before + within))


def missing_half(file: InputFile) -> str | None:
    """Which half a dataset lacks altogether, if that is what ``find`` had to say."""
    return file.path.name if file.path.name in SUFFIX and not file.path.exists() else None


def _of_file(path: Path) -> list[InputFile]:
    place = _place(path)
    if place is not None and path.suffix == SUFFIX[place.half]:
        native_id = place.within.removesuffix(path.suffix)
        return [_program(place.dataset, "", native_id)]
    return [InputFile(path, path.name)] if path.suffix in SUFFIX.values() else []


def _of_dataset(dataset: Path, before: str, within: str = "") -> list[InputFile]:
    ids = {half: _ids(dataset / half, SUFFIX[half], within) for half in SUFFIX}
    if not any(ids.values()):
        return []
    for half in SUFFIX:
        if not (dataset / half).is_dir():
            return [InputFile(dataset / half, f"{before}{half}")]
    return [_program(dataset, before, native_id) for native_id in sorted(set().union(*ids.values()))]


def _ids(folder: Path, suffix: str, within: str) -> list[str]:
    files = (file.relative_to(folder) for file in (folder / within).rglob(f"*{suffix}") if file.is_file())
    return [file.as_posix().removesuffix(suffix) for file in files if not any(map(_is_aside, file.parts))]


def _program(dataset: Path, before: str, native_id: str) -> InputFile:
    within = f"{PROGRAMS}/{native_id}{SUFFIX[PROGRAMS]}"
    return InputFile(dataset / within, before + within)


def _place(path: Path) -> _Place | None:
    whole = Path(os.path.abspath(path))  # noqa: PTH100  resolve() would follow a linked file out of its folder
    for folder in (whole, *whole.parents):
        if folder.name in SUFFIX:
            within = whole.relative_to(folder).as_posix()
            return _Place(folder.parent, folder.name, "" if within == "." else within)
    return None


def _datasets(path: Path) -> list[Path]:
    found = []
    for home, folders, _ in os.walk(path):
        here = Path(home)
        if any(half in folders for half in SUFFIX):
            found.append(here)
        if found[-1:] == [here] or len(here.relative_to(path).parts) == _MAX_DEPTH:
            folders.clear()
        folders[:] = sorted(folder for folder in folders if not _is_aside(folder))
    return found


def _is_aside(name: str) -> bool:
    # Hidden files, and what macOS puts into archives (._name, __MACOSX).
    return name.startswith((".", "__"))
