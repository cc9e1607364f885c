"""Writing ``tasks.tar.zst``: the released tasks as task folders in the format of DESPITE.

The same tasks give the same bytes: entries come in the order of task ids, and their owner, mode and time are fixed.
"""

from __future__ import annotations

import datetime
import io
import json
import re
import tarfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from hazardmill.errors import StoreError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.despite.adapt import Obstacle, adapt, refusal
from hazardmill.formalism.formats.despite.write import FILES, TaskOrigin, adapted_files
from hazardmill.release.build.configs import config_name
from hazardmill.release.manifest import Archive

ENDING: Final = ".tar.zst"

_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,119}")


class Archives:
    """Two zstd-compressed tar archives of task folders, one per kind of licence, which are written as tasks arrive.

    Tasks must be added in the order of their ids. An archive is opened when its first task arrives, so that a release
    without share-alike tasks has no ``tasks_by_sa.tar.zst``.

    Args:
        folder: Folder of the release; ``tasks.tar.zst`` and ``tasks_by_sa.tar.zst`` are written there.
        day: Modification date of every file in the archives; None for 1970-01-01.
    """

    def __init__(self, folder: Path, day: datetime.date | None) -> None:
        self._folder = folder
        self._mtime = (
            0 if day is None else int(datetime.datetime.combine(day, datetime.time(), datetime.UTC).timestamp())
        )
        self._open: dict[str, tuple[pa.NativeFile, tarfile.TarFile]] = {}
        self._written = 0
        self._unsayable = 0
        self._reasons: Counter[str] = Counter()

    def add(self, row: Mapping[str, Any], document: Document) -> bool:
        """Add the folder of a task to the archive of its licence.

        Args:
            row: Row of the table ``tasks``.
            document: The document of the same task.

        Returns:
            False if a task folder of DESPITE cannot express the task, or its id cannot name a folder. The task is then
            counted under the rules that it breaks, and is in no archive.

        Raises:
            StoreError: The archive cannot be written.
        """
        danger = json.loads(row["danger"])
        adapted = adapt(document, danger)
        reasons = refusal(adapted)
        if not _PLAIN.fullmatch(row["task_id"]):
            reasons += (Obstacle("folder_name", "the task's id cannot name a folder"),)
        if reasons:
            self._unsayable += 1
            self._reasons.update({reason.rule for reason in reasons})
            return False
        plans = {key: row[key] for key in ("safe_plan", "unsafe_plan", "licence", "attribution")}
        files = adapted_files(document, adapted, TaskOrigin(row["task_id"], danger=danger, **plans))
        try:
            archive = self._archive(config_name("tasks", row["licence"]) + ENDING)
            for name in FILES:
                self._add(archive, f"{row['task_id']}/{name}", files[name].encode())
        except OSError as error:
            raise StoreError(
                f"the archive of tasks cannot be written: {error.strerror or error}",
                file=str(self._folder),
                remedy="free some space on this disk, or name a folder that can be written",
            ) from error
        self._written += 1
        return True

    def close(self) -> tuple[str, ...]:
        """Finish the archives, and return their file names in order."""
        names = tuple(sorted(self._open))
        self.abandon()
        return names

    def abandon(self) -> None:
        """Close the files, whether or not all tasks were added."""
        for stream, archive in self._open.values():
            archive.close()
            stream.close()
        self._open.clear()

    @property
    def figures(self) -> Archive:
        """How many tasks were added and left out, as the manifest lists them."""
        return Archive(tasks=self._written, unsayable=self._unsayable, reasons=dict(sorted(self._reasons.items())))

    def _archive(self, name: str) -> tarfile.TarFile:
        if name not in self._open:
            stream = pa.CompressedOutputStream(pa.OSFile(str(self._folder / name), "wb"), "zstd")
            archive = tarfile.open(fileobj=stream, mode="w|", format=tarfile.USTAR_FORMAT)  # noqa: SIM115  kept open
            self._open[name] = stream, archive
        return self._open[name][1]

    def _add(self, archive: tarfile.TarFile, name: str, content: bytes) -> None:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        entry.mtime = self._mtime
        entry.mode = 0o644
        archive.addfile(entry, io.BytesIO(content))
