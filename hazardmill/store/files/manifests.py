"""Manifests: one small JSON file per commit, which makes its parts visible all at once.

The body carries its own SHA-256. The sequence number orders commits and has no gaps, so that a lost manifest is
noticed. A replacement (by compaction or rebuild) stands for a range of commits: while it exists, the manifests it
covers do not count, whether or not they have been removed. Each names the one before it (``chain``). Whoever publishes
holds the commit lock.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import CorruptStore, SchemaMismatch, StoreError
from hazardmill.records import content_hash
from hazardmill.store.files.chain import CommitLink, read_last, seal, unseal, write_last
from hazardmill.store.files.fsync_io import Fault, disk_errors, make_folder, no_fault, rename, store_error, write_file
from hazardmill.store.files.layout import Layout
from hazardmill.store.maintenance.findings import UPGRADE, history_remedy, rebuild_remedy
from hazardmill.store.schemas import SCHEMA_VERSION

MANIFEST_FORMAT: Final = 2
"""Format of a manifest that names others; one that names none has format 1, as before."""

_LISTINGS: Final = 100
"""Maximum number of listings of the folder; if a listed manifest is still missing after that, it is damage."""


@dataclass(frozen=True)
class Part:
    """One part file as its manifest lists it.

    Attributes:
        rows: Number of rows.
        sha256: SHA-256 (hex) of the file.
    """

    table: str
    file: str
    """Name of the file in the table's folder."""
    rows: int
    size: int
    """Size in bytes."""
    sha256: str
    schema: int = SCHEMA_VERSION
    """Version of the schema that the part was written with."""


@dataclass(frozen=True)
class CommitManifest:
    """One commit: the parts made from one journal segment; or a replacement, which stands for a range of commits."""

    sequence: int
    """Number of the commit; for a replacement the last one it stands for."""
    segment: str
    """Name of the segment; for a replacement its own name."""
    parts: tuple[Part, ...]
    """The parts, in the order of their rows."""
    committed: str
    """Time of the commit, ISO 8601 in UTC. It does not order commits, because clocks differ."""
    first: int
    """The first commit that it stands for; equal to ``sequence`` unless it is a replacement."""
    generation: int = 0
    """0 for a commit; for a replacement, one more than the highest generation it replaced."""
    absorbed: tuple[str, ...] = ()
    """Names of the segments and replacements that it stands for."""
    schema: int = SCHEMA_VERSION
    """Version of the schema when it was written."""
    previous: CommitLink | None = None
    """The commit before it; null if it begins a chain, and for a replacement of the first commits."""
    stands_for: tuple[CommitLink, ...] = ()
    """What names the last commit that a replacement stands for, in the manifest of the commit after it."""

    @cached_property
    def link(self) -> CommitLink:
        """What names it in the manifest after it."""
        return CommitLink(self.sequence, self.file, content_hash(_body(self)))

    @property
    def links(self) -> tuple[CommitLink, ...]:
        """What may name it in the manifest after it: of a replacement, also what it stands for."""
        return (self.link, *self.stands_for)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all segments and replacements whose rows it lists."""
        return (self.segment, *self.absorbed)

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"{self.sequence:010d}-{self.segment}.json"

    def covers(self, other: CommitManifest) -> bool:
        """Whether it replaces ``other``."""
        within = self.first <= other.first and other.sequence <= self.sequence
        return self.generation > other.generation and within


def read_manifest(path: Path) -> CommitManifest:
    """Return the manifest in a file.

    Args:
        path: The manifest, or the second copy of one.

    Raises:
        FileNotFoundError: It does not exist.
        CorruptStore: It was changed after it was written.
        SchemaMismatch: A newer version of hazardmill wrote it.
        StoreError: It cannot be opened.
    """  # noqa: DOC501  # the helper makes a StoreError
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise store_error(error, path, "read the manifest") from error
    store = path.parents[2 if path.parent.name == "copies" else 1]
    return parse_manifest(data, str(path), rebuild_remedy(store))


def parse_manifest(data: bytes, file: str, remedy: str) -> CommitManifest:
    """Return the manifest in the bytes of a file, after checking its checksum.

    Args:
        data: The bytes of its file.
        file: Name of the file, for errors.
        remedy: What to do if it is damaged.

    Raises:
        CorruptStore: It was changed after it was written.
        SchemaMismatch: A newer version of hazardmill wrote it.
    """
    body = unseal(data)
    if body is None:
        raise CorruptStore("the manifest does not match its checksum", file=file, remedy=remedy)
    if body["format"] > MANIFEST_FORMAT or body["schema"] > SCHEMA_VERSION:
        raise SchemaMismatch(
            f"the manifest has format {body['format']} and schema {body['schema']}; "
            f"this hazardmill reads up to {MANIFEST_FORMAT} and {SCHEMA_VERSION}",
            file=file,
            remedy=UPGRADE,
        )
    values = {name: value for name, value in body.items() if name != "format"}
    parts = tuple(Part(**part) for part in body["parts"])
    previous = CommitLink(**body["previous"]) if "previous" in body else None
    stands_for = tuple(CommitLink(**link) for link in body.get("stands_for", ()))
    read = {"parts": parts, "absorbed": tuple(body["absorbed"]), "previous": previous, "stands_for": stands_for}
    return CommitManifest(**{**values, **read})


def encode_manifest(manifest: CommitManifest) -> bytes:
    """Return the bytes of a manifest's file, with its checksum."""
    return seal(_body(manifest))


def _body(manifest: CommitManifest) -> dict[str, Any]:
    """The JSON of a manifest, equal to that of the file it was read from: its hash names it."""
    body = asdict(manifest)
    names_others = manifest.previous is not None or manifest.stands_for
    for name in ("previous", "stands_for"):
        if not body[name]:
            del body[name]
    # As a reader will see it: lists instead of tuples.
    known: dict[str, Any] = json.loads(json.dumps({"format": MANIFEST_FORMAT if names_others else 1, **body}))
    return known


def list_live(manifests: Iterable[CommitManifest]) -> list[CommitManifest]:
    """Return the manifests that no other manifest replaces, in commit order."""
    known = list(manifests)
    replacements = [manifest for manifest in known if manifest.generation]
    return sorted(
        (manifest for manifest in known if not any(other.covers(manifest) for other in replacements)),
        key=lambda manifest: manifest.sequence,
    )


def list_converted(manifests: Iterable[CommitManifest]) -> set[str]:
    """Return the names of all segments and replacements whose rows the manifests list."""
    return {name for manifest in manifests for name in manifest.names}


@dataclass(frozen=True)
class ManifestListing:
    """The manifests found by one look at the folder."""

    files: Mapping[str, CommitManifest]
    """All manifests by file name, in the order of the names."""
    counting: tuple[CommitManifest, ...]
    names: frozenset[str]
    """Names of all segments and replacements whose rows the counting manifests list."""

    @property
    def through(self) -> int:
        """Number of the last commit up to which all commits are present."""
        return last_without_gap(self.counting)

    @classmethod
    def of(cls, files: Mapping[str, CommitManifest]) -> ManifestListing:
        """Return the listing of these files."""
        counting = tuple(list_live(files.values()))
        return cls(files, counting, frozenset(list_converted(counting)))


class Manifests:
    """The manifests of a store. Each file is read once, because it never changes.

    Args:
        layout: The store's paths.
    """

    fetch: Callable[[Sequence[Part]], None] | None = None
    """Downloads parts to the store's folder; null if all are there."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._known: ManifestListing
        self._highest: int
        """Number of the last commit that this process has seen or made."""
        self.forget()

    def forget(self) -> None:
        """Forget what was read, and which commit was the last. The caller holds the locks of all runs."""
        self._known, self._highest = ManifestListing({}, (), frozenset()), 0

    def send(self, staged: Path, part: Part) -> None:
        """Upload a staged part to where other machines can read it; does nothing for a store in a folder."""

    def files(self) -> list[CommitManifest]:
        """Return every manifest that exists, including replaced ones, in the order of their names.

        Raises:
            CorruptStore: A manifest is damaged.
            SchemaMismatch: A newer version of hazardmill wrote a manifest.
            StoreError: The folder cannot be listed.
        """
        return list(self._look().files.values())

    def all(self) -> list[CommitManifest]:
        """Return every manifest that counts, in commit order.

        Raises:
            CorruptStore: A manifest is damaged.
            SchemaMismatch: A newer version of hazardmill wrote a manifest.
            StoreError: The folder cannot be listed.
        """
        return list(self._look().counting)

    def list_rows_of(self, segment: str) -> bool:
        """Return whether a manifest that counts lists the rows of ``segment``.

        Raises:
            CorruptStore: A manifest is damaged.
            SchemaMismatch: A newer version of hazardmill wrote a manifest.
            StoreError: The folder cannot be listed.
        """
        return segment in self._look().names

    def _look(self) -> ManifestListing:
        """Look at the folder again. Only names are listed; manifests that were read before are not read again."""
        for _ in range(_LISTINGS):
            listed, known = self._list_files(), self._known
            if listed == list(known.files):
                return known
            try:
                files = {name: known.files.get(name) or read_manifest(self._layout.manifests / name) for name in listed}
            except FileNotFoundError:
                continue  # replaced since it was listed
            # In one assignment, because several threads may look at the same time.
            self._known = ManifestListing.of(files)
            self._highest = max(self._highest, *map(_sequence, listed), 0)
            return self._known
        raise CorruptStore(
            "a manifest is listed here but does not exist",
            file=str(self._layout.manifests),
            remedy=rebuild_remedy(self._layout.root),
        )

    def _list_files(self) -> list[str]:
        """Names of the manifest files that existed together at one moment, in commit order."""
        # A listing during a compaction may miss both the replacement and what it replaced. If a second listing is
        # the same, everything in it existed between the two: a replacement is in place before anything is removed.
        names = _names(self._layout.manifests)
        for _ in range(_LISTINGS):
            again = _names(self._layout.manifests)
            if again == names:
                break
            names = again
        return names

    def publish(self, segment: str, parts: Sequence[Part], fault: Fault = no_fault) -> CommitManifest:
        """Make ``parts`` visible. The caller holds the commit lock and has renamed the parts into place.

        Args:
            segment: The segment that the parts were made from.
            parts: The parts.
            fault: Called at ``manifest.staged`` and ``manifest.renamed``.

        Returns:
            The manifest; its number is one more than the greatest that exists.

        Raises:
            CorruptStore: A commit that this process has seen is gone.
            StoreError: The manifest cannot be written.
        """
        before = self._read_end()
        number = 1 if before is None else before.sequence + 1
        manifest = CommitManifest(
            number, segment, tuple(parts), now(), number, previous=None if before is None else before.link
        )
        self._highest = number
        self._write(manifest, fault)
        # The journal names no later one: `_read_end` would have refused.
        write_last(self._layout, manifest.link)
        return manifest

    def _read_end(self) -> CommitManifest | None:
        """The manifest of the last commit; null if there is none. The caller holds the commit lock."""
        # Include the copies: if a replacement is lost, the numbers that it stood for must not be reused.
        # Listing once is enough, because under the lock nobody else publishes or removes.
        paths = [folder / name for folder in (self._layout.manifests, self._layout.copies) for name in _names(folder)]
        last, end = read_last(self._layout), max((_sequence(path.name) for path in paths), default=0)
        highest = max(self._highest, 0 if last is None else last.sequence)
        if end < highest:
            raise CorruptStore(
                f"commit {highest} existed but is gone: it was deleted, or the store was replaced by an older copy",
                file=str(self._layout.manifests),
                remedy=f"{history_remedy(self._layout.root)}; then resume the run: rows in the journal are kept",
            )
        ends = [path for path in paths if _sequence(path.name) == end]
        read = [self._known.files.get(path.name) or read_manifest(path) for path in ends]
        return max(read, key=lambda manifest: manifest.generation, default=None)

    def _name_last(self, manifest: CommitManifest) -> None:
        """Let the journal name this commit as the last, unless it names a later one."""
        try:
            last = read_last(self._layout)
        except CorruptStore:
            return  # kept as it is: only a rebuild may go on without knowing what it named
        if last is None or last.sequence <= manifest.sequence:
            write_last(self._layout, manifest.link)

    def rename_last(self) -> None:
        """Let the journal name the last commit that there is. The caller holds the commit lock.

        Raises:
            StoreError: The disk refuses.
        """
        end = max(self.all(), key=lambda manifest: manifest.sequence, default=None)
        if end is not None:
            write_last(self._layout, end.link)

    def publish_replacement(
        self,
        name: str,
        parts: Sequence[Part],
        replaced: Sequence[CommitManifest],
        place: range,
        fault: Fault = no_fault,
    ) -> CommitManifest:
        """Make ``parts`` visible in place of existing manifests. The conditions of ``publish`` apply.

        A second copy of the manifest is kept: a lost commit can be reconstructed from its parts, a lost replacement
        cannot.

        Args:
            name: Name of the replacement.
            parts: The parts that it lists, in the order of their rows.
            replaced: The manifests that it replaces.
            place: The commits that it stands for, including those without a manifest.
            fault: Called at ``manifest.staged``, ``manifest.renamed`` and ``copy.renamed``.

        Returns:
            The manifest of the replacement.

        Raises:
            StoreError: The manifest cannot be written.
        """
        generation = 1 + max((manifest.generation for manifest in replaced), default=0)
        absorbed = tuple(dict.fromkeys(known for manifest in replaced for known in manifest.names))
        # A commit made meanwhile names the last of those that are replaced.
        stands_for = tuple(link for known in replaced if known.sequence == place[-1] for link in known.links)
        manifest = CommitManifest(
            place[-1], name, tuple(parts), now(), place[0], generation, absorbed, stands_for=stands_for
        )
        self._write(manifest, fault)
        # Written after the manifest, so that a copy without its manifest always means a loss.
        self.write_copy(manifest)
        fault("copy.renamed")
        self._name_last(manifest)
        return manifest

    def adopt(self, manifest: CommitManifest) -> None:
        """Write a manifest of another store that this store becomes a copy of. The conditions of ``publish`` apply.

        Raises:
            StoreError: The manifest cannot be written.
        """
        self._write(manifest, no_fault)
        if manifest.generation:
            self.write_copy(manifest)
        self._name_last(manifest)

    def write_copy(self, manifest: CommitManifest) -> None:
        """Write the second copy of a replacement's manifest.

        Raises:
            StoreError: The copy cannot be written.
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
    """Whether the file at ``path`` is an intact copy of ``manifest``."""
    try:
        return read_manifest(path) == manifest
    except (FileNotFoundError, StoreError):
        return False


def now() -> str:
    """Return the current time as manifests give it: ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _names(folder: Path) -> list[str]:
    """Names of the manifests in ``folder``, sorted; empty if the folder does not exist."""
    # Strings instead of paths: this runs several times per wave, and there can be thousands of files.
    with disk_errors(folder, "list the manifests"):
        try:
            with os.scandir(folder) as entries:
                return sorted(entry.name for entry in entries if entry.name.endswith(".json"))
        except FileNotFoundError:
            return []


def _sequence(name: str) -> int:
    return int(name.split("-", 1)[0])


def last_without_gap(manifests: Iterable[CommitManifest]) -> int:
    """Return the number of the last commit up to which all commits are present.

    Args:
        manifests: Manifests in commit order.
    """
    last = 0
    for manifest in manifests:
        if manifest.first <= last + 1:
            last = max(last, manifest.sequence)
    return last


def missing_sequences(manifests: Iterable[CommitManifest], last: int = 0) -> list[int]:
    """Return the numbers of commits that no manifest covers.

    Args:
        manifests: The manifests.
        last: Number of the last commit, if it is known from elsewhere.
    """
    present = {number for manifest in manifests for number in range(manifest.first, manifest.sequence + 1)}
    return [number for number in range(1, max([last, *present]) + 1) if number not in present]
