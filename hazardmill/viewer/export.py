"""A release as a folder of files that any file host can serve, and that a browser opens from disk.

Every file but the page is named after its content, and the page is written last: a reader who comes while the folder is
written again, or through a cache, sees the release that was there before, or the new one. The files of the export
before stay for those who still have its page.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hazardmill.errors import InputError, StoreError, UsageError
from hazardmill.files import read_regular
from hazardmill.release.manifest import MANIFEST
from hazardmill.report.folders import WRITTEN
from hazardmill.reporting.html import write_content
from hazardmill.viewer.collection import Collection
from hazardmill.viewer.drawing import ViewDrawing, assets
from hazardmill.viewer.index import ROWS, TEXTS, index_rows, index_texts
from hazardmill.viewer.pack import pack, pack_fragments
from hazardmill.viewer.release import ReleaseView

PER_FILE: Final = 64
"""Rows per file of fragments."""

LIST: Final = ".hazardmill-view"
"""Name of the file that lists the files of the last export (``current``) and those kept of one before (``former``)."""

_PAGE: Final = "index.html"
_OURS: Final = re.compile(
    r"index\.html|(assets/(item|view|icon)|data/(rows|texts)|tasks/[0-9]+)-[0-9a-f]{12}\.(css|js|svg)"
)
"""What an export may be asked to remove: anybody can edit the list of what it wrote."""

_TAKEN: Final = {
    MANIFEST: "a release",
    "manifests": "a store",
    "journal": "a store",
    WRITTEN: "the tasks of a report",
}
"""What another command writes, and what a folder with it is."""


@dataclass(frozen=True, slots=True)
class ExportedView:
    """A folder that was written.

    Attributes:
        folder: The folder.
        rows: Number of tasks, scenarios and hazard tasks in it.
        files: Number of its files.
        bytes: Their size in all.
    """

    folder: Path
    rows: int
    files: int
    bytes: int


def export_view(view: ReleaseView, folder: Path, progress: Callable[[int, int], None] | None = None) -> ExportedView:
    """Write a release as a folder of pages, with what the release holds: no prompts, and no answers of models.

    The same release gives the same bytes. Files of an export before the last one are removed; anything else in the
    folder stays.

    Args:
        view: The release.
        folder: The folder; missing folders are created.
        progress: Called with the number of rows that are drawn, and of all.

    Returns:
        What was written.

    Raises:
        UsageError: The folder is a release or a store, or has files that no export wrote where these would be.
        InputError: A file of the release is damaged.
        StoreError: A file cannot be written or removed.
    """
    writer = _Writer(folder)
    collection = view.collect()
    files: list[str] = []
    places: dict[str, int] = {}
    for fragments in _groups(view, collection, places, progress):
        # The page waits for a file by its address, so the name of the content is made before the file is.
        name = f"tasks/{len(files)}-{_digest(chr(0).join(fragments).encode())}.js"
        writer.write(name, pack_fragments(name, fragments))
        files.append(name)
    index = {
        ROWS: pack(ROWS, index_rows(collection, files, places, PER_FILE)),
        TEXTS: pack(TEXTS, index_texts(collection)),
    }
    named = {name: (f"data/{name}-{_digest(content)}.js", content) for name, content in index.items()}
    for name, content in assets(with_stories=False).items():
        stem, _, suffix = name.partition(".")
        named[name] = f"assets/{stem}-{_digest(content)}.{suffix}", content
    for address, content in named.values():
        writer.write(address, content)
    writer.finish(ViewDrawing(collection).page({name: address for name, (address, _) in named.items()}).encode())
    return ExportedView(folder, len(collection.rows), len(writer.written), sum(writer.written.values()))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _groups(
    view: ReleaseView, collection: Collection, places: dict[str, int], progress: Callable[[int, int], None] | None
) -> Iterator[list[str]]:
    """Yield the fragments of a file each, in the order of the release, and note the place of each row."""
    rows, drawing = {row.key: row for row in collection.rows}, ViewDrawing(collection)
    group: list[str] = []
    for key, detail in view.details():
        places[key] = len(places)
        group.append(drawing.fragment(rows[key], detail))
        if progress is not None:
            progress(len(places), len(rows))
        if len(group) == PER_FILE:
            yield group
            group = []
    if group:
        yield group


def _read_list(folder: Path) -> dict[str, str]:
    """Return what earlier exports wrote to a folder, each with its state, and refuse a folder of anything else."""
    path = folder / LIST
    try:
        lines = read_regular(path).decode().splitlines() if path.is_file() else None
        is_file = folder.exists() and not folder.is_dir()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the list of what an earlier export wrote cannot be read: {error}",
            file=str(path),
            remedy="remove the folder, or name another",
        ) from error
    taken = next((f"is {kind}" for name, kind in _TAKEN.items() if (folder / name).exists()), None)
    if is_file:
        taken = "is a file"
    elif taken is None and lines is None:
        blocked = next((name for name in (_PAGE, "assets", "data", "tasks") if (folder / name).exists()), None)
        taken = None if blocked is None else f"has {blocked}, which no export wrote"
    if taken is not None:
        raise UsageError(f"{folder} {taken}", remedy="name an empty or a new folder")
    listed = (line.partition("\t") for line in lines or ())
    return {name: state for state, _, name in listed if _OURS.fullmatch(name)}


class _Writer:
    """Writes the files of one export, each whole or not at all.

    Args:
        folder: The folder.

    Attributes:
        written: Size of each file in bytes, by name.

    Raises:
        UsageError: The folder is not one for an export.
        InputError: The list of an earlier export cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._listed = _read_list(folder)
        self._before = dict(self._listed)
        self.written: dict[str, int] = {}

    def write(self, name: str, content: bytes) -> None:
        """Write a file, which is in the list before: if the export fails, the next one can remove it."""
        if name not in self._listed:
            self._write_list(self._listed | {name: "former"})
        self._put(name, content)

    def finish(self, page: bytes) -> None:
        """Write the page, and remove what neither it nor the page before it names."""
        now = {*self.written, _PAGE}
        last = {name for name, state in self._before.items() if state == "current"}
        # The same release again replaces nothing, so the page before it is still the one before this.
        kept = (self._before.keys() if last and last <= now else last) - now
        gone = self._listed.keys() - now - kept
        self._write_list(dict.fromkeys(self._listed, "former") | dict.fromkeys(now, "current"))
        self._put(_PAGE, page)
        for name in sorted(gone):
            try:
                (self._folder / name).unlink(missing_ok=True)
            except OSError as error:
                raise StoreError(
                    f"cannot remove a file of an earlier export: {error.strerror or error}",
                    file=str(self._folder / name),
                    remedy="remove it yourself",
                ) from error
        self._write_list(dict.fromkeys(kept, "former") | dict.fromkeys(now, "current"))

    def _write_list(self, listed: dict[str, str]) -> None:
        self._listed = listed
        text = "".join(f"{state}\t{name}\n" for name, state in sorted(listed.items()))
        write_content(self._folder / LIST, text.encode(), "list of files")

    def _put(self, name: str, content: bytes) -> None:
        write_content(self._folder / name, content, "page")
        self.written[name] = len(content)
