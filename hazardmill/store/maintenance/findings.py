"""Everything that can be wrong with a store: the codes of ``hazardmill store verify``, and remedies."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hazardmill.store.address import display_name

CODES: Final[Mapping[str, str]] = {
    "manifest_missing": "A commit, or a compaction known by the copy of its manifest, has no manifest.",
    "manifest_changed": "A manifest does not match its checksum, or is not a manifest.",
    "manifest_unreadable": "A manifest cannot be opened: it is a folder, or the disk or its permissions refuse.",
    "manifest_newer": "A newer hazardmill wrote the manifest.",
    "last_missing": "The journal names a last commit that is gone: deleted whole, or an older copy took its place.",
    "last_changed": "The file that names the last commit, `journal/last.json`, does not match its checksum.",
    "last_unknown": "The journal does not name the last commit, so a loss of the last commits would not be seen.",
    "chain_broken": "A commit follows another manifest than the one here: files of two histories are mixed.",
    "part_missing": "A listed part does not exist.",
    "part_changed": "A part does not match the checksum in its manifest: truncated or altered.",
    "part_unreadable": "A part is as it was written, but is not readable Parquet.",
    "part_newer": "A newer hazardmill wrote the part.",
    "part_schema": "A part has other columns than its table in that version.",
    "part_rows": "The number of rows in a part differs from its manifest.",
    "part_keys": "A key occurs twice for one run in one part.",
    "part_unlisted": "No manifest lists the part: its manifest was lost, or it does not belong here.",
    "segment_corrupt": "A line of a journal segment was changed.",
    "segment_newer": "A newer hazardmill wrote the segment.",
    "segment_left": "The writer of the segment was killed; its rows are readable, but not in parts yet.",
    "copy_missing": "The second copy of a compaction's manifest is missing or changed.",
    "replaced_left": "A compaction was killed before it removed this file, which is no longer read.",
    "run_missing": "Rows belong to a run whose beginning is not in `runs`.",
    "record_missing": "Records that rows or the start of a run refer to are missing in `records`, or have changed.",
    "record_incomplete": "A record of a run has some of its rows and lacks others.",
    "answer_missing": "Dangers or drafts depend on answers that are missing in the ledger.",
}
"""Code to its meaning."""


def command(words: str, store: Path) -> str:
    """Return a command on this store, quoted for a shell.

    Args:
        words: The command without ``hazardmill`` and ``--store``.
        store: The store's folder.
    """
    return f"hazardmill {words} --store {shlex.quote(display_name(store))}"


def rebuild_remedy(store: Path) -> str:
    """Return the remedy for a lost or damaged file of the store."""
    if display_name(store) != str(store):
        check = command("store verify", store)
        return f"remove the file: it is a copy, and is downloaded again; to check the bucket: {check}"
    return f"restore the file from a backup of the store, or run: {command('store rebuild --dry-run', store)}"


def history_remedy(store: Path) -> str:
    """Return the remedy for commits that are gone, or that belong to another history of the store."""
    if display_name(store) != str(store):
        return f"restore the newer objects from their older versions, then look again: {command('store verify', store)}"
    return f"restore a newer backup of the store, or go on without them: {command('store rebuild --dry-run', store)}"


def damage_remedy(store: Path) -> str:
    """Return the remedy for damage that a reader ran into, who does not know what else is damaged."""
    rebuild = rebuild_remedy(store)
    return (
        rebuild if display_name(store) != str(store) else f"see all damage: {command('store verify', store)}; {rebuild}"
    )


def sweep_remedy(store: Path, verb: str = "remove") -> str:
    """Return the remedy for files left by a killed maintenance.

    Args:
        store: The store's folder.
        verb: What the next ingest or resume will do with the file.
    """
    return f"the next ingest or resume will {verb} it; to do so now: {command('store compact', store)}"


UPGRADE: Final = "upgrade hazardmill: pip install --upgrade hazardmill"
"""Remedy for what a newer hazardmill wrote."""


def ingest_remedy(store: Path, source: str, place: str = "PATH") -> str:
    """Return the remedy for lost records of a source.

    Args:
        store: The store's folder.
        source: Name of the source.
        place: The file or folder that was read.
    """
    return f"ingest {source} again: {command(f'ingest --source {shlex.quote(source)} {shlex.quote(place)}', store)}"


def restore_remedy(store: Path) -> str:
    """Return the remedy for what only a backup still holds."""
    restored = shlex.quote(f"{display_name(store)}-restored")
    return f"restore the store from a backup: hazardmill store copy BACKUP {restored}"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a store.

    Attributes:
        remedy: What to do about it.
    """

    code: str
    """One of ``CODES``: short and stable."""
    file: str
    """The file concerned, relative to the store."""
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}: {self.message} ({self.code}) [{self.remedy}]"
