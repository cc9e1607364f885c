"""Manifests: one small JSON file a commit, which makes its parts visible all at once.

The body carries its own SHA-256. The sequence number orders commits and leaves no gaps, so that a lost manifest
is noticed. Whoever publishes holds the commit lock.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import CorruptStore, SchemaMismatch
from hazardmill.records import content_hash
from hazardmill.store.durable import Fault, make_folder, no_fault, rename, write_file
from hazardmill.store.layout import Layout
from hazardmill.store.schemas import SCHEMA_VERSION

MANIFEST_FORMAT: Final = 1


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


@dataclass(frozen=True)
class Manifest:
    """One commit: the parts made of one journal segment."""

    sequence: int
    segment: str
    parts: tuple[Part, ...]
    committed: str
    """When, ISO 8601 in UTC. Orders nothing: clocks differ, ``sequence`` does not."""


def read_manifest(path: Path) -> Manifest:
    """Read one manifest.

    Raises:
        FileNotFoundError: If it is not there.
        CorruptStore: If it was changed after it was written.
        SchemaMismatch: If a newer version of hazardmill wrote it.
    """
    try:
        wrapped = json.loads(path.read_bytes())
        body: dict[str, Any] = wrapped["body"]
        intact = wrapped["sha256"] == content_hash(body)
    except (ValueError, KeyError, TypeError):
        intact = False
    if not intact:
        raise CorruptStore(
            "the manifest does not match its checksum", file=str(path), remedy="restore it from a backup of the store"
        )
    if body["format"] > MANIFEST_FORMAT or body["schema"] > SCHEMA_VERSION:
        raise SchemaMismatch(
            f"the manifest has format {body['format']} and schema {body['schema']}; "
            f"this hazardmill reads up to {MANIFEST_FORMAT} and {SCHEMA_VERSION}",
            file=str(path),
            remedy="upgrade hazardmill",
        )
    parts = tuple(Part(**part) for part in body["parts"])
    return Manifest(body["sequence"], body["segment"], parts, body["committed"])


class Manifests:
    """The manifests of a store. Each file is read once, for it never changes."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._read: dict[str, Manifest] = {}

    def paths(self) -> list[Path]:
        """The manifest files, in commit order."""
        return sorted(self._layout.manifests.glob("*.json"))

    def all(self) -> list[Manifest]:
        """Every manifest, in commit order.

        Raises:
            CorruptStore, SchemaMismatch: As ``read_manifest``.
        """
        paths = self.paths()
        self._read = {path.name: self._read.get(path.name) or read_manifest(path) for path in paths}
        return sorted(self._read.values(), key=lambda manifest: manifest.sequence)

    def publish(self, segment: str, parts: Sequence[Part], fault: Fault = no_fault) -> Manifest:
        """Make ``parts`` visible. The caller holds the commit lock and has renamed the parts into place.

        Raises:
            StoreError: If the manifest cannot be written.
        """
        last = max((_sequence(path) for path in self.paths()), default=0)
        committed = datetime.now(UTC).isoformat(timespec="milliseconds")
        manifest = Manifest(last + 1, segment, tuple(parts), committed)
        body = {"format": MANIFEST_FORMAT, "schema": SCHEMA_VERSION, **asdict(manifest)}
        body = json.loads(json.dumps(body))  # the hash is of what a reader will see: lists, no tuples
        name = f"{manifest.sequence:010d}-{segment}.json"
        make_folder(self._layout.staging)
        staged = self._layout.staging / name
        write_file(staged, json.dumps({"body": body, "sha256": content_hash(body)}, indent=1).encode())
        fault("manifest.staged")
        rename(staged, self._layout.manifests / name)
        fault("manifest.renamed")
        return manifest


def _sequence(path: Path) -> int:
    return int(path.name.split("-", 1)[0])


def missing_sequences(manifests: Sequence[Manifest]) -> list[int]:
    """Sequence numbers below the last that no manifest has."""
    present = {manifest.sequence for manifest in manifests}
    return [number for number in range(1, max(present, default=0)) if number not in present]
