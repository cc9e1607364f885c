"""Which parts are as their manifests say: a part is hashed before it is first read, and again only if its file changed.

Page checksums alone do not suffice. DuckDB ignores them, and they do not cover the footer, which rules out rows. What
changes under an unchanged file, as a decaying disk does, is found by page checksums and by ``store verify``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

from hazardmill.files import file_stamp
from hazardmill.store.files.manifests import Part
from hazardmill.store.files.parts import first_damaged, gone_error

_WORTH_SAVING: Final = 2**20
"""Bytes hashed by a process that are worth a write: they take some milliseconds."""

_MOST_BYTES: Final = 2**26
"""Size in bytes at which the file is begun anew, because most of its lines are of parts that no longer exist."""


class VerifiedParts:
    """The parts of a store that this or an earlier process found to be intact.

    The file has one line per part: its path, its ``file_stamp``, its SHA-256. A line says only that a file with this
    stamp had this hash. A damaged line matches no file.

    Args:
        place: The file that keeps them for other processes. If it cannot be written, each process hashes for itself.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._unsaved: list[str] = []
        self._unsaved_bytes = 0
        self._lines: set[str] = set()
        with contextlib.suppress(OSError):
            if place.stat().st_size < _MOST_BYTES:
                self._lines.update(place.read_text("ascii", "replace").splitlines())
            else:
                place.unlink()

    def refuse_damage(self, parts: Iterable[tuple[Path, Part]]) -> None:
        """Refuse parts that are missing or not as their manifest says.

        Args:
            parts: The files, with their entries in a manifest.

        Raises:
            PartGone: A part does not exist.
            CorruptStore: A part is damaged.
        """  # noqa: DOC501  # the helpers make the errors
        for path, part in parts:
            try:
                # Taken before the hash: if the file changes meanwhile, the line does not match it.
                line = f"{part.table}/{part.file} {file_stamp(path)} {part.sha256}"
            except FileNotFoundError:
                raise gone_error(path) from None
            if line in self._lines:
                continue
            if (damage := first_damaged([(path, part)])) is not None:
                raise damage
            self._lines.add(line)
            self._unsaved.append(line)
            self._unsaved_bytes += part.size
        if self._unsaved_bytes >= _WORTH_SAVING:
            self._save()

    def _save(self) -> None:
        lines, self._unsaved, self._unsaved_bytes = self._unsaved, [], 0
        with contextlib.suppress(OSError), self._place.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))


@lru_cache(maxsize=64)
def verified_parts(place: Path) -> VerifiedParts:
    """Return the parts verified so far, as kept in ``place``; the same for all callers in this process."""
    return VerifiedParts(place)
