"""Where things lie in a store's folder, and what they are called.

STORE/journal/<segment>.jsonl        rows on their way; a segment is <run id>-<creation, ns, hex>-<random hex>
STORE/journal/<run id>.lock          held by the one process that writes this run
STORE/<table>/<segment>.parquet      parts; visible once a manifest lists them
STORE/manifests/<n>-<segment>.json   what was committed, in order; n counts from 1 without gaps
STORE/.staging/                      files being written, never read
STORE/commit.lock                    held while parts and their manifest are renamed into place
STORE/.store.duckdb.lock             held while the DuckDB file is written
"""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from hazardmill.errors import StoreError

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SEGMENT = re.compile(rf"(?P<run_id>{_RUN_ID.pattern})-[0-9a-f]{{16}}-[0-9a-f]{{8}}")


@dataclass(frozen=True)
class Layout:
    """The paths of one store."""

    root: Path

    @property
    def journal(self) -> Path:
        """Folder of segments and run locks."""
        return self.root / "journal"

    @property
    def manifests(self) -> Path:
        """Folder of manifests."""
        return self.root / "manifests"

    @property
    def staging(self) -> Path:
        """Folder of files that are being written."""
        return self.root / ".staging"

    @property
    def commit_lock(self) -> Path:
        """Lock file of commits."""
        return self.root / "commit.lock"

    def run_lock(self, run_id: str) -> Path:
        """Lock file of a run.

        Raises:
            StoreError: If ``run_id`` cannot be part of a file name.
        """
        if not _RUN_ID.fullmatch(run_id):
            raise StoreError(
                f"run id {run_id!r} cannot name a file",
                remedy="use letters, digits, '.', '_' and '-', at most 100, beginning with a letter or digit",
            )
        return self.journal / f"{run_id}.lock"

    def part(self, table: str, segment: str) -> Path:
        """The part that holds the rows of ``table`` from ``segment``."""
        return self.root / table / f"{segment}.parquet"

    def segments(self) -> list[Path]:
        """The segments in the journal, oldest first."""
        found = [path for path in self.journal.glob("*.jsonl") if _SEGMENT.fullmatch(path.stem)]
        return sorted(found, key=lambda path: path.stem.rsplit("-", 2)[1:])

    @staticmethod
    def new_segment(run_id: str) -> str:
        """A name no other segment has."""
        return f"{run_id}-{time.time_ns():016x}-{secrets.token_hex(4)}"

    @staticmethod
    def run_of(segment: str) -> str:
        """The run that wrote ``segment``."""
        return segment.rsplit("-", 2)[0]
