"""Checking a store: every checksum, count, schema and key, and files that should not be there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hazardmill.errors import CorruptStore, SchemaMismatch
from hazardmill.store.journal import read_segment
from hazardmill.store.layout import Layout
from hazardmill.store.locks import is_held, shared
from hazardmill.store.manifests import Manifest, Part, missing_sequences, read_manifest
from hazardmill.store.parts import hash_file, latest, schema_version
from hazardmill.store.schemas import SCHEMA_VERSION, TABLES


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a store."""

    code: str
    """Short and stable: ``part_changed``, ``manifest_missing``, ..."""
    file: str
    """The file concerned, relative to the store."""
    message: str
    remedy: str


_RESTORE = "restore the file from a backup of the store"


def verify(layout: Layout) -> list[Finding]:
    """Everything wrong with the store; nothing on disk is changed, and writers may go on meanwhile."""
    with shared(layout.commit_lock):
        # Between two commits, parts and manifests agree; the parts themselves never change and are read later.
        pending = {path.stem: path for path in layout.segments()}
        files = {name: sorted((layout.root / name).glob("*.parquet")) for name in TABLES}
        manifests, findings = _read_manifests(layout)
    findings += [
        Finding("manifest_missing", f"manifests/{number:010d}-*.json", f"commit {number} has no manifest", _RESTORE)
        for number in missing_sequences(manifests)
    ]
    listed = {f"{part.table}/{part.file}" for manifest in manifests for part in manifest.parts}
    for manifest in manifests:
        for part in manifest.parts:
            findings += _check_part(layout, part)
    for name, paths in files.items():
        findings += [
            Finding(
                "part_unlisted",
                f"{name}/{path.name}",
                "no manifest lists this part, so no reader of the store sees it",
                "restore its manifest from a backup, or move the part away",
            )
            for path in paths
            if f"{name}/{path.name}" not in listed and path.stem not in pending
        ]
    converted = {manifest.segment for manifest in manifests}
    for path in pending.values():
        findings += _check_segment(layout, path, path.stem in converted)
    return findings


def _read_manifests(layout: Layout) -> tuple[list[Manifest], list[Finding]]:
    manifests, findings = [], []
    for path in sorted(layout.manifests.glob("*.json")):
        try:
            manifests.append(read_manifest(path))
        except SchemaMismatch as error:
            findings.append(Finding("manifest_newer", f"manifests/{path.name}", error.message, str(error.remedy)))
        except CorruptStore as error:
            findings.append(Finding("manifest_changed", f"manifests/{path.name}", error.message, str(error.remedy)))
    return manifests, findings


def _check_part(layout: Layout, part: Part) -> Iterator[Finding]:
    file = f"{part.table}/{part.file}"
    path = layout.root / file
    if not path.exists():
        yield Finding("part_missing", file, "a manifest lists this part, and it is not there", _RESTORE)
        return
    if path.stat().st_size != part.size or hash_file(path) != part.sha256:
        yield Finding("part_changed", file, "the part does not match the checksum in its manifest", _RESTORE)
        return
    try:
        content = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        yield Finding("part_unreadable", file, f"the part is no readable Parquet: {error}", _RESTORE)
        return
    with content:
        yield from _check_content(part, file, content)


def _check_content(part: Part, file: str, content: pq.ParquetFile) -> Iterator[Finding]:
    table = TABLES.get(part.table)
    version = schema_version(content.schema_arrow)
    if table is None or (version or 0) > SCHEMA_VERSION:
        yield Finding("part_newer", file, f"the part has schema {version}, newer than this hazardmill", "upgrade")
        return
    if version == SCHEMA_VERSION and not content.schema_arrow.equals(table.schema):
        yield Finding("part_schema", file, f"its columns are not those of table {table.name}", _RESTORE)
        return
    if content.metadata.num_rows != part.rows:
        found = content.metadata.num_rows
        yield Finding("part_rows", file, f"its manifest says {part.rows} rows, the part has {found}", _RESTORE)
    keys = content.read(columns=list(table.key))
    if latest(keys, table.key).num_rows != keys.num_rows:
        yield Finding("part_keys", file, f"a key ({', '.join(table.key)}) occurs twice in it", _RESTORE)


def _check_segment(layout: Layout, path: Path, converted: bool) -> Iterator[Finding]:
    file = f"journal/{path.name}"
    run_id = layout.run_of(path.stem)
    try:
        read_segment(path)
    except FileNotFoundError:
        return  # became parts meanwhile
    except SchemaMismatch as error:
        yield Finding("segment_newer", file, error.message, str(error.remedy))
        return
    except CorruptStore as error:
        yield Finding("segment_corrupt", file, f"line {error.line}: {error.message}", str(error.remedy))
        return
    if not is_held(layout.run_lock(run_id)) and path.exists():
        what = "is listed by a manifest and was not removed" if converted else "was not made into parts"
        yield Finding(
            "segment_left",
            file,
            f"the segment {what}: its writer was killed",
            f"resume run {run_id}; if it was an ingest, ingest again",
        )
