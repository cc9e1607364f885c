"""Moves damaged files to quarantine: each is kept as found, with a JSON file that says what, when and why."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from hazardmill.store.files.fsync_io import disk_errors, make_folder, sync_file, sync_folder, write_file
from hazardmill.store.files.layout import Layout


@dataclass(frozen=True)
class Damage:
    """One damaged thing, and what a rebuild does about it."""

    code: str
    """A code of ``hazardmill store verify``."""
    file: str
    """The file, relative to the store."""
    message: str
    action: str
    """What the rebuild does about it."""
    moves: bool = False
    """Whether the file is moved to quarantine."""


def keep(layout: Layout, damage: Damage) -> Path | None:
    """Put a damaged file into quarantine under another name. It also stays in place, until it is safe to remove it.

    Returns:
        Its path in quarantine; null if there is no such file.

    Raises:
        StoreError: The disk refuses.
    """
    path = layout.root / damage.file
    if not path.exists():
        return None
    make_folder(layout.quarantine)
    now = datetime.now(UTC)
    place = layout.quarantine / f"{now:%Y%m%dT%H%M%S%f}-{damage.file.replace('/', '-')}"
    note = {**asdict(damage), "size": path.stat().st_size, "at": now.isoformat(timespec="milliseconds")}
    with disk_errors(place, "quarantine"):
        try:
            os.link(path, place)
        except OSError:  # not every file system supports links
            shutil.copy2(path, place)
            sync_file(place)
        write_file(place.with_name(f"{place.name}.json"), json.dumps(note, indent=1, ensure_ascii=False).encode())
        sync_folder(layout.quarantine)
    return place
