"""What can be wrong with a store: every code of ``hazardmill store verify``, and what helps."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hazardmill.store.bucket.address import display_name

CODES: Final[Mapping[str, str]] = {
    "manifest_missing": "A commit, or a compaction known by the copy of its manifest, has no manifest.",
    "manifest_changed": "A manifest does not match its checksum, or is none.",
    "manifest_unreadable": "A manifest cannot be opened: it is a folder, or the disk or its permissions refuse.",
    "manifest_newer": "A newer hazardmill wrote the manifest.",
    "part_missing": "A listed part is not there.",
    "part_changed": "A part does not match the checksum in its manifest: truncated or altered.",
    "part_unreadable": "A part is as it was written, and no readable Parquet.",
    "part_newer": "A newer hazardmill wrote the part.",
    "part_schema": "A part has other columns than its table in that version.",
    "part_rows": "A part has another number of rows than its manifest says.",
    "part_keys": "A key occurs twice for one run in one part.",
    "part_unlisted": "No manifest lists the part: its manifest was lost, or it does not belong here.",
    "segment_corrupt": "A line of a journal segment was changed.",
    "segment_newer": "A newer hazardmill wrote the segment.",
    "segment_left": "The writer of the segment was killed; its rows are read, and are no parts yet.",
    "copy_missing": "The second copy of a compaction's manifest is missing or changed.",
    "replaced_left": "A compaction was killed before it removed this file, which nobody reads any more.",
    "run_missing": "Rows are of a run whose beginning is not in `runs`.",
    "record_missing": "Rows are about, or a run was started on, records that are not in `records` as they were.",
    "record_incomplete": "A record of a run has some of its rows and lacks others.",
    "answer_missing": "Dangers or drafts stand on answers that the ledger does not have.",
}
"""Code to what it means."""


def command(words: str, store: Path) -> str:
    """A command on this store, as it is typed into a shell."""
    return f"hazardmill {words} --store {shlex.quote(display_name(store))}"


def rebuild_remedy(store: Path) -> str:
    """What helps where a file of the store is lost or damaged."""
    if display_name(store) != str(store):
        check = command("store verify", store)
        return f"remove the file: it is a copy, and is fetched again; see what the bucket has: {check}"
    return f"restore the file from a backup of the store, or see: {command('store rebuild --dry-run', store)}"


def sweep_remedy(store: Path, verb: str = "remove") -> str:
    """What ends the leftovers of a maintenance that was killed."""
    return f"the next ingest or resume will {verb} it, or: {command('store compact', store)}"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a store."""

    code: str
    """One of ``CODES``: short and stable."""
    file: str
    """The file concerned, relative to the store."""
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}: {self.message} ({self.code}) [{self.remedy}]"
