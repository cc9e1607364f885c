"""Where things lie in a store's folder, and what they are called.

STORE/journal/<segment>.jsonl        rows on their way; a segment is <run id>-<creation, ns, hex>-<random hex>
STORE/journal/<run id>.lock          held by the one process that writes this run
STORE/journal/<run id>.present       held while a run is worked on, also between two writers
STORE/journal/last.json              names the last commit
STORE/<table>/<segment>.parquet      parts; visible once a manifest lists them
STORE/<table>/<replacement>.<k>.parquet  parts of a compaction or rebuild; a replacement is named
                                     <kind>-<first commit>-<last commit>-<random hex>
STORE/manifests/<n>-<segment>.json   what was committed, in order; n counts from 1 without gaps
STORE/manifests/<n>-<replacement>.json  what stands in the place of the commits that it names
STORE/manifests/copies/              a second copy of each replacement's manifest
STORE/quarantine/                    damaged files that a rebuild took out, each with a JSON that says why
STORE/.staging/                      files being written, never read
STORE/.verified                      the parts that were found to be intact, so that they are not hashed at each reading
STORE/commit.lock                    held while parts and their manifest are renamed into place
STORE/maintenance.lock               held by the one process that compacts or rebuilds
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
_REPLACEMENT = re.compile(r"(?P<name>(compact|rebuild)-(?P<first>\d{10})-(?P<last>\d{10})-[0-9a-f]{8})(\..*)?")
_SEGMENT = re.compile(rf"(?P<run_id>{_RUN_ID.pattern})-[0-9a-f]{{16}}-[0-9a-f]{{8}}")


@dataclass(frozen=True)
class Layout:
    """The paths of one store.

    Attributes:
        root: The store's folder.
    """

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
    def copies(self) -> Path:
        """Folder of second copies of the manifests of replacements."""
        return self.manifests / "copies"

    @property
    def quarantine(self) -> Path:
        """Folder of damaged files."""
        return self.root / "quarantine"

    @property
    def maintenance_lock(self) -> Path:
        """Lock file of compaction and rebuild."""
        return self.root / "maintenance.lock"

    @property
    def staging(self) -> Path:
        """Folder of files that are being written."""
        return self.root / ".staging"

    @property
    def verified(self) -> Path:
        """File of the parts that were found to be intact."""
        return self.root / ".verified"

    @property
    def commit_lock(self) -> Path:
        """Lock file of commits."""
        return self.root / "commit.lock"

    def presence(self, run_id: str) -> Path:
        """Lock file for the work on a run; it is held even while the run has no writer."""
        return self.run_lock(run_id).with_suffix(".present")

    def run_lock(self, run_id: str) -> Path:
        """Return the path of the lock file of a run's writer.

        Raises:
            StoreError: ``run_id`` cannot be part of a file name.
        """
        if not _RUN_ID.fullmatch(run_id):
            raise StoreError(
                f"run id {run_id!r} cannot name a file",
                remedy="use letters, digits, '.', '_' and '-', at most 100, beginning with a letter or digit",
            )
        return self.journal / f"{run_id}.lock"

    def part(self, table: str, segment: str) -> Path:
        """Path of the part that holds the rows of ``table`` from ``segment``."""
        return self.root / table / f"{segment}.parquet"

    def segments(self) -> list[Path]:
        """Paths of the segments in the journal, oldest first."""
        found = [path for path in self.journal.glob("*.jsonl") if _SEGMENT.fullmatch(path.stem)]
        return sorted(found, key=lambda path: self.creation_key(path.stem))

    @staticmethod
    def new_segment(run_id: str) -> str:
        """Return a new, unique segment name."""
        return f"{run_id}-{time.time_ns():016x}-{secrets.token_hex(4)}"

    @staticmethod
    def run_of(segment: str) -> str:
        """Return the run that wrote a segment."""
        return segment.rsplit("-", 2)[0]

    @staticmethod
    def is_segment(name: str) -> bool:
        """Whether a name has the form of a segment's name."""
        return _SEGMENT.fullmatch(name) is not None

    @staticmethod
    def creation_key(segment: str) -> tuple[str, str]:
        """Return a key that sorts segments by creation."""
        _, created, unique = segment.rsplit("-", 2)
        return created, unique

    @staticmethod
    def new_replacement(kind: str, place: range) -> str:
        """Return a new, unique name for a replacement; ``kind`` is ``compact`` or ``rebuild``."""
        return f"{kind}-{place[0]:010d}-{place[-1]:010d}-{secrets.token_hex(4)}"

    @staticmethod
    def replacement_of(file: str) -> tuple[str, range] | None:
        """Return the replacement that a part belongs to, with the commits it replaces; null for a part of a commit."""
        match = _REPLACEMENT.fullmatch(file)
        return match and (match["name"], range(int(match["first"]), int(match["last"]) + 1))

    @staticmethod
    def is_part(file: str) -> bool:
        """Whether a path ends in a name that a part could have."""
        owner = Layout.owner_of(Path(file).name)
        return Layout.is_segment(owner) or Layout.replacement_of(owner) is not None

    @staticmethod
    def owner_of(file: str) -> str:
        """Return the segment or replacement that a part was made for, given the part's file name."""
        replacement = Layout.replacement_of(file)
        return replacement[0] if replacement else file.removesuffix(".parquet")
