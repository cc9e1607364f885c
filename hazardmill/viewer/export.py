"""A release as a folder of files that any file host can serve, and that a browser opens from disk.

A file with fragments is named after its content, and the page is written last: a reader who comes while the folder is
written again sees the release that was there before, or the new one.
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
from hazardmill.report.folders import WRITTEN
from hazardmill.viewer.collection import Collection
from hazardmill.viewer.drawing import ViewDrawing, assets
from hazardmill.viewer.index import ROWS, TEXTS, index_rows, index_texts
from hazardmill.viewer.pack import pack, pack_fragments
from hazardmill.viewer.release import ReleaseView

PER_FILE: Final = 64
"""Rows per file of fragments; the script of the page has the same number."""

_PAGE: Final = "index.html"
_OURS: Final = re.compile(
    r"index\.html|assets/[a-z]+\.(css|js|svg)|data/(rows|texts)\.js|tasks/[0-9]+-[0-9a-f]{12}\.js"
)
"""What an export may be asked to remove: anybody can edit the list of what it wrote."""


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

    The same release gives the same bytes. Files of an earlier export that are no longer needed are removed; anything
    else in the folder stays.

    Args:
        view: The release.
        folder: The folder; missing folders are created.
        progress: Called with the number of rows that are drawn, and of all.

    Returns:
        What was written.

    Raises:
        UsageError: The folder has a page that no export wrote.
        InputError: A file of the release is damaged.
        StoreError: A file cannot be written or removed.
    """
    former = _former(folder)
    collection = view.collect()
    writer = _Writer(folder)
    files: list[str] = []
    places: dict[str, int] = {}
    for fragments in _groups(view, collection, places, progress):
        # The page waits for a file by its address, so the name of the content is made before the file is.
        digest = hashlib.sha256("\0".join(fragments).encode()).hexdigest()[:12]
        name = f"tasks/{len(files)}-{digest}.js"
        writer.write(name, pack_fragments(name, fragments))
        files.append(name)
    writer.write("data/texts.js", pack(TEXTS, index_texts(collection)))
    for name, content in assets(with_stories=False).items():
        writer.write(f"assets/{name}", content)
    writer.write("data/rows.js", pack(ROWS, index_rows(collection, files, places)))
    writer.write(_PAGE, ViewDrawing(collection).page().encode())
    writer.finish(former)
    return ExportedView(folder, len(collection.rows), len(writer.written), sum(writer.written.values()))


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


def _former(folder: Path) -> set[str]:
    """Return what an earlier export wrote to a folder, and refuse a page that none did."""
    try:
        listed = read_regular(folder / WRITTEN).decode().splitlines() if (folder / WRITTEN).is_file() else []
        taken = folder.exists() and not folder.is_dir()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the list of what an earlier export wrote cannot be read: {error}",
            file=str(folder / WRITTEN),
            remedy="remove the folder, or name another",
        ) from error
    if taken or ((folder / _PAGE).exists() and _PAGE not in listed):
        raise UsageError(
            f"{folder} {'is a file' if taken else f'has an {_PAGE} that no export wrote'}",
            remedy="name an empty or a new folder",
        )
    return {name for name in listed if _OURS.fullmatch(name)}


class _Writer:
    """Writes the files of one export, each whole or not at all.

    Attributes:
        written: Size of each file in bytes, by name.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.written: dict[str, int] = {}

    def write(self, name: str, content: bytes) -> None:
        """Write a file of a name; missing folders are created."""
        path = self._folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f".{path.name}.partial")
            partial.write_bytes(content)
            partial.replace(path)
        except OSError as error:
            raise StoreError(
                f"cannot write the page: {error.strerror or error}",
                file=str(path),
                remedy="name a folder that can be written",
            ) from error
        self.written[name] = len(content)

    def finish(self, former: set[str]) -> None:
        """Write the list of what was written, and remove what an earlier export wrote and this one did not."""
        names = sorted(self.written)
        self.write(WRITTEN, "".join(f"{name}\n" for name in names).encode())
        for name in sorted(former - set(names)):
            try:
                (self._folder / name).unlink(missing_ok=True)
            except OSError as error:
                raise StoreError(
                    f"cannot remove a file of an earlier export: {error.strerror or error}",
                    file=str(self._folder / name),
                    remedy="remove it yourself",
                ) from error
