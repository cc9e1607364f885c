"""Manifests: one small JSON file a commit, which makes its parts visible all at once.

The body carries its own SHA-256. The sequence number orders commits and leaves no gaps, so that a lost manifest
is noticed. A replacement (of compaction or rebuild) stands for a range of commits: while it is there, what
it covers does not count, whether it was removed yet or not. Whoever publishes holds the commit lock.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import CorruptStore, SchemaMismatch, StoreError
from hazardmill.records import content_hash
from hazardmill.store.files.fsync_io import Fault, disk_errors, make_folder, no_fault, rename, store_error, write_file
from hazardmill.store.files.layout import Layout
from hazardmill.store.maintenance.findings import rebuild_remedy
from hazardmill.store.schemas import SCHEMA_VERSION

MANIFEST_FORMAT: Final = 1

_LISTINGS: Final = 100
"""Tries at a listing of the folder before it must be damage that a manifest is listed and not there."""


@dataclass(frozen=True)
class Part:
    """One part file as its manifest lists it."""

    table: str
    file: str
    """Name of the file in the table's folder."""
    rows: int
    size: int
    """Bytes."""
    sha256: str
    schema: int = SCHEMA_VERSION
    """Version of the schema it was written in."""


@dataclass(frozen=True)
class CommitManifest:
    """One commit: the parts made of one journal segment; or a replacement, which stands for a range of commits."""

    sequence: int
    """The commit; of a replacement the last one it stands for."""
    segment: str
    """The segment; of a replacement its own name."""
    parts: tuple[Part, ...]
    """In the order of their rows."""
    committed: str
    """When, ISO 8601 in UTC. Orders nothing: clocks differ, ``sequence`` does not."""
    first: int
    """The first commit it stands for: ``sequence``, unless it is a replacement."""
    generation: int = 0
    """0 for a commit; a replacement has one more than anything it replaced."""
    absorbed: tuple[str, ...] = ()
    """Names of the segments and replacements that it stands for."""

    @property
    def names(self) -> tuple[str, ...]:
        """Everything whose rows it lists, under any name it ever had."""
        return (self.segment, *self.absorbed)

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"{self.sequence:010d}-{self.segment}.json"

    def covers(self, other: CommitManifest) -> bool:
        """Whether it stands in the place of ``other``."""
        within = self.first <= other.first and other.sequence <= self.sequence
        return self.generation > other.generation and within


def read_manifest(path: Path) -> CommitManifest:
    """Read one manifest.

    Raises:
        FileNotFoundError: If it is not there.
        CorruptStore: If it was changed after it was written.
        SchemaMismatch: If a newer version of hazardmill wrote it.
        StoreError: If it cannot be opened.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise store_error(error, path, "read the manifest") from error
    store = path.parents[2 if path.parent.name == "copies" else 1]
    return parse_manifest(data, str(path), rebuild_remedy(store))


def parse_manifest(data: bytes, file: str, remedy: str) -> CommitManifest:
    """The manifest that ``data`` is.

    Args:
        data: The bytes of its file.
        file: What to call it in an error.
        remedy: What helps if it is damaged.

    Raises:
        CorruptStore: If it was changed after it was written.
        SchemaMismatch: If a newer version of hazardmill wrote it.
    """
    try:
        wrapped = json.loads(data)
        body: dict[str, Any] = wrapped["body"]
        intact = wrapped["sha256"] == content_hash(body)
    except (ValueError, KeyError, TypeError):
        intact = False
    if not intact:
        raise CorruptStore("the manifest does not match its checksum", file=file, remedy=remedy)
    if body["format"] > MANIFEST_FORMAT or body["schema"] > SCHEMA_VERSION:
        raise SchemaMismatch(
            f"the manifest has format {body['format']} and schema {body['schema']}; "
            f"this hazardmill reads up to {MANIFEST_FORMAT} and {SCHEMA_VERSION}",
            file=file,
            remedy="upgrade hazardmill",
        )
    values = {name: value for name, value in body.items() if name not in ("format", "schema")}
    parts = tuple(Part(**part) for part in body["parts"])
    return CommitManifest(**{**values, "parts": parts, "absorbed": tuple(body["absorbed"])})


def encode_manifest(manifest: CommitManifest) -> bytes:
    """The bytes of its file."""
    body = {"format": MANIFEST_FORMAT, "schema": SCHEMA_VERSION, **asdict(manifest)}
    body = json.loads(json.dumps(body))  # the hash is of what a reader will see: lists, no tuples
    return json.dumps({"body": body, "sha256": content_hash(body)}, indent=1).encode()


def list_live(manifests: Iterable[CommitManifest]) -> list[CommitManifest]:
    """Those that no other stands for, in commit order."""
    known = list(manifests)
    replacements = [manifest for manifest in known if manifest.generation]
    return sorted(
        (manifest for manifest in known if not any(other.covers(manifest) for other in replacements)),
        key=lambda manifest: manifest.sequence,
    )


def list_converted(manifests: Iterable[CommitManifest]) -> set[str]:
    """Names of all segments and replacements whose rows the manifests list."""
    return {name for manifest in manifests for name in manifest.names}


@dataclass(frozen=True)
class ManifestListing:
    """What one look at the folder found, and what follows from it."""

    files: Mapping[str, CommitManifest]
    """By name, in the order of names."""
    counting: tuple[CommitManifest, ...]
    names: frozenset[str]
    """Of all segments and replacements whose rows the counting ones list."""

    @property
    def through(self) -> int:
        """Number of the last commit up to which there is every one."""
        return last_without_gap(self.counting)

    @classmethod
    def of(cls, files: Mapping[str, CommitManifest]) -> ManifestListing:
        """Of these files."""
        counting = tuple(list_live(files.values()))
        return cls(files, counting, frozenset(list_converted(counting)))


class Manifests:
    """The manifests of a store. Each file is read once, for it never changes."""

    fetch: Callable[[Sequence[Part]], None] | None = None
    """Brings parts into the store's folder, where they are not all there."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._known = ManifestListing({}, (), frozenset())
        self._highest = 0
        """Number of the last commit that this process has seen or made."""

    def send(self, staged: Path, part: Part) -> None:
        """Put a part that is still staged where other machines can read it; nothing to do for a folder."""

    def files(self) -> list[CommitManifest]:
        """Every manifest there is, replaced ones included, in the order of their names.

        Raises:
            CorruptStore, SchemaMismatch: As ``read_manifest``.
            StoreError: If the folder cannot be listed.
        """
        return list(self._look().files.values())

    def all(self) -> list[CommitManifest]:
        """Every manifest that counts, in commit order.

        Raises:
            CorruptStore, SchemaMismatch, StoreError: As ``files``.
        """
        return list(self._look().counting)

    def list_rows_of(self, segment: str) -> bool:
        """Whether a manifest that counts lists the rows of ``segment``.

        Raises:
            CorruptStore, SchemaMismatch, StoreError: As ``files``.
        """
        return segment in self._look().names

    def _look(self) -> ManifestListing:
        """What there is now. Only names are listed again: what was read stays as it is."""
        for _ in range(_LISTINGS):
            listed, known = self._list_files(), self._known
            if listed == list(known.files):
                return known
            try:
                files = {name: known.files.get(name) or read_manifest(self._layout.manifests / name) for name in listed}
            except FileNotFoundError:
                continue  # replaced since it was listed
            # In one assignment: several threads may look at once.
            self._known = ManifestListing.of(files)
            self._highest = max(self._highest, *map(_sequence, listed), 0)
            return self._known
        raise CorruptStore(
            "a manifest is listed here and is not there",
            file=str(self._layout.manifests),
            remedy=rebuild_remedy(self._layout.root),
        )

    def _list_files(self) -> list[str]:
        """Names of the manifest files, as they were together at one moment, in commit order."""
        # A listing that runs beside a compaction may miss both what replaces and what was replaced. What a second
        # one finds unchanged was all there between the two: a replacement is in place before anything is removed.
        names = _names(self._layout.manifests)
        for _ in range(_LISTINGS):
            again = _names(self._layout.manifests)
            if again == names:
                break
            names = again
        return names

    def publish(self, segment: str, parts: Sequence[Part], fault: Fault = no_fault) -> CommitManifest:
        """Make ``parts`` visible. The caller holds the commit lock and has renamed the parts into place.

        Raises:
            CorruptStore: If a commit is gone that this process has seen.
            StoreError: If the manifest cannot be written.
        """
        # The copies too: with a lost replacement the numbers that it stood for must not be given out again.
        # Listed once, for under the lock nobody else publishes or removes.
        names = [*_names(self._layout.manifests), *_names(self._layout.copies)]
        number = max(map(_sequence, names), default=0) + 1
        if number <= self._highest:
            raise CorruptStore(
                f"commit {self._highest} was here and is gone: an older copy of the store was put in its place",
                file=str(self._layout.manifests),
                remedy="put back what was there, then resume the run; what is in the journal still is kept",
            )
        self._highest = number
        manifest = CommitManifest(number, segment, tuple(parts), now(), number)
        self._write(manifest, fault)
        return manifest

    def publish_replacement(
        self,
        name: str,
        parts: Sequence[Part],
        replaced: Sequence[CommitManifest],
        place: range,
        fault: Fault = no_fault,
    ) -> CommitManifest:
        """Make ``parts`` visible in the place of manifests. The caller as with ``publish``.

        A copy is kept: of a commit that is lost the parts tell enough, of a replacement they do not.

        Args:
            name: Its name.
            parts: What it lists, in the order of their rows.
            replaced: What it stands for.
            place: The commits that it stands for; also those of which there is no manifest.
            fault: Called at ``manifest.staged``, ``manifest.renamed`` and ``copy.renamed``.

        Raises:
            StoreError: If the manifest cannot be written.
        """
        generation = 1 + max((manifest.generation for manifest in replaced), default=0)
        absorbed = tuple(dict.fromkeys(known for manifest in replaced for known in manifest.names))
        manifest = CommitManifest(place[-1], name, tuple(parts), now(), place[0], generation, absorbed)
        self._write(manifest, fault)
        # After the manifest: a copy without its manifest always means a loss.
        self.write_copy(manifest)
        fault("copy.renamed")
        return manifest

    def adopt(self, manifest: CommitManifest) -> None:
        """Write a manifest of another store, of which this one is to be a copy. The caller as with ``publish``.

        Raises:
            StoreError: If it cannot be written.
        """
        self._write(manifest, no_fault)
        if manifest.generation:
            self.write_copy(manifest)

    def write_copy(self, manifest: CommitManifest) -> None:
        """Write the second copy of a replacement's manifest.

        Raises:
            StoreError: If it cannot be written.
        """
        self._put(manifest, self._layout.copies / manifest.file, no_fault)

    def _write(self, manifest: CommitManifest, fault: Fault) -> None:
        self._put(manifest, self._layout.manifests / manifest.file, fault)
        fault("manifest.renamed")

    def _put(self, manifest: CommitManifest, place: Path, fault: Fault) -> None:
        make_folder(self._layout.staging)
        staged = self._layout.staging / place.name
        write_file(staged, encode_manifest(manifest))
        fault("manifest.staged")
        rename(staged, place)


def is_copy(path: Path, manifest: CommitManifest) -> bool:
    """Whether the file at ``path`` is a whole copy of ``manifest``."""
    try:
        return read_manifest(path) == manifest
    except (FileNotFoundError, StoreError):
        return False


def now() -> str:
    """The time as manifests tell it: ISO 8601, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _names(folder: Path) -> list[str]:
    """Names of the manifests in ``folder``, sorted; none if it is not there."""
    # Strings, not paths: this is done several times a batch, and there can be thousands.
    with disk_errors(folder, "list the manifests"):
        try:
            with os.scandir(folder) as entries:
                return sorted(entry.name for entry in entries if entry.name.endswith(".json"))
        except FileNotFoundError:
            return []


def _sequence(name: str) -> int:
    return int(name.split("-", 1)[0])


def last_without_gap(manifests: Iterable[CommitManifest]) -> int:
    """Number of the last commit up to which there is every one; ``manifests`` are in commit order."""
    last = 0
    for manifest in manifests:
        if manifest.first <= last + 1:
            last = max(last, manifest.sequence)
    return last


def missing_sequences(manifests: Iterable[CommitManifest]) -> list[int]:
    """Commits below the last for which no manifest stands."""
    present = {number for manifest in manifests for number in range(manifest.first, manifest.sequence + 1)}
    return [number for number in range(1, max(present, default=0)) if number not in present]
