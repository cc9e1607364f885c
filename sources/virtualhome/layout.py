"""Where the two halves of a program are: ``withoutconds/{id}.txt`` and ``initstate/{id}.json`` in a dataset folder.

In the public layout an id is ``{collection}/{stem}``, for stems collide across collections; in a flat one the stem.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hazardmill.files import FileKind, kind_of
from hazardmill.ingest.sources import InputFile, InputRefusal, list_folder, walk

PROGRAMS: Final = "withoutconds"
STATES: Final = "initstate"
SUFFIX: Final = {PROGRAMS: ".txt", STATES: ".json"}


@dataclass(frozen=True, slots=True)
class Pair:
    """The two halves of one program; either file may be missing."""

    native_id: str
    program: InputFile
    state: InputFile


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of something in a dataset."""

    dataset: Path
    half: str
    within: str
    """Path below the half's folder, with slashes; empty for that folder itself."""


def find(path: Path) -> list[InputFile]:
    """Return the program file of each pair in a file or folder, even if it is missing, by id.

    Of a dataset that lacks one half altogether, that folder, refused; of a file that is no half of a pair, the file.
    """
    if not path.is_dir():
        return _of_file(path)
    place = _place(path)
    if place is not None and not any(half in list_folder(path).folders for half in SUFFIX):
        return _of_dataset(place.dataset, "", place.within)
    found = []
    for folder in walk(path):
        found.extend(folder.refused)
        if any(half in folder.folders for half in SUFFIX):
            found.extend(_of_dataset(folder.path, f"{folder.name}/" if folder.name else ""))
            folder.folders.clear()
        folder.folders[:] = [name for name in folder.folders if not _is_aside(name)]
    return found


def pair_of(file: InputFile) -> Pair | None:
    """Return the pair that a program file belongs to; None if it is not in a ``withoutconds`` folder."""
    place = _place(file.path)
    if place is None or place.half != PROGRAMS or not place.within.endswith(SUFFIX[PROGRAMS]):
        return None
    native_id = place.within.removesuffix(SUFFIX[PROGRAMS])
    before = file.name.removesuffix(f"{PROGRAMS}/{place.within}")
    within = f"{STATES}/{native_id}{SUFFIX[STATES]}"
    return Pair(native_id, file, InputFile(place.dataset / within, before + within))


def _of_file(path: Path) -> list[InputFile]:
    place = _place(path)
    if place is not None and path.suffix == SUFFIX[place.half]:
        native_id = place.within.removesuffix(path.suffix)
        return [_program(place.dataset, "", native_id)]
    return [InputFile(path, path.name)] if path.suffix in SUFFIX.values() else []


def _of_dataset(dataset: Path, before: str, within: str = "") -> list[InputFile]:
    there = [half for half in SUFFIX if kind_of(dataset / half) is FileKind.FOLDER]
    ids: set[str] = set()
    refused: list[InputFile] = []
    for half in there:
        # A program may have its one half in a folder that the other half lacks.
        if kind_of(dataset / half / within) is FileKind.MISSING:
            continue
        for file in _files(dataset, half, within):
            name = file.path.relative_to(dataset / half).as_posix()
            if name.endswith(SUFFIX[half]) and not (file.refusal and file.refusal.reason == "file_name"):
                # Whatever it is: it is refused with the id of its program when it is opened.
                ids.add(name.removesuffix(SUFFIX[half]))
            elif file.refusal is not None:
                refused.append(InputFile(file.path, f"{before}{half}/{name}", file.refusal))
    if not ids:
        return refused
    missing = next((half for half in SUFFIX if half not in there), None)
    if missing is not None:
        return [InputFile(dataset / missing, f"{before}{missing}", _no_folder(missing)), *refused]
    return [*(_program(dataset, before, native_id) for native_id in sorted(ids)), *refused]


def _files(dataset: Path, half: str, within: str) -> Iterator[InputFile]:
    """Return everything in a half, or in a folder in it, that is not a folder to enter."""
    for folder in walk(dataset / half / within):
        folder.folders[:] = [name for name in folder.folders if not _is_aside(name)]
        yield from folder.refused
        for name in (*folder.files, *(name for name in folder.folders if name.endswith(SUFFIX[half]))):
            if not _is_aside(name):
                yield folder.input(name)


def _no_folder(half: str) -> InputRefusal:
    return InputRefusal(
        f"no_{half}_folder",
        f"the dataset has no folder {half}",
        f"unpack the dataset whole: {PROGRAMS} and {STATES} lie side by side",
    )


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


def _is_aside(name: str) -> bool:
    # Hidden files, and what macOS puts into archives (._name, __MACOSX).
    return name.startswith((".", "__"))
