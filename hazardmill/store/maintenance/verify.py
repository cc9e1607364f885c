"""Checks a store: every checksum, count, schema and key, and files that should not exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from hazardmill.errors import CorruptStore, SchemaMismatch, StoreError
from hazardmill.store.files.chain import LAST, CommitLink, find_breaks, find_lost_end, read_last
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import is_held, share
from hazardmill.store.files.manifests import (
    CommitManifest,
    Manifests,
    Part,
    is_copy,
    list_converted,
    list_live,
    missing_sequences,
    read_manifest,
)
from hazardmill.store.files.parts import hash_file, latest, own_key, schema_version
from hazardmill.store.journal import read_segment
from hazardmill.store.maintenance.findings import (
    UPGRADE,
    Finding,
    command,
    history_remedy,
    ingest_remedy,
    rebuild_remedy,
    sweep_remedy,
)
from hazardmill.store.maintenance.manifest_swap import leftovers
from hazardmill.store.schemas import SCHEMA_VERSION, TABLES

_LOOKS: Final = 10
"""Maximum number of looks at a store that is compacted meanwhile; each compaction can spoil one."""


@dataclass(frozen=True)
class StoreFiles:
    """The files of a store between two commits."""

    pending: dict[str, Path]
    """Journal segments by name."""
    parts: dict[str, list[Path]]
    """Parts by table."""
    manifests: list[CommitManifest]
    """The manifests that count."""
    replaced: list[Path]
    """Parts and manifests that an interrupted maintenance left."""
    copies: list[Path]
    """Second copies of the manifests of replacements."""
    findings: list[Finding]
    """What is wrong with the manifests, and with the file that names the last commit."""
    last: CommitLink | None
    """The last commit as the journal names it."""


def look(layout: Layout) -> StoreFiles:
    """Return the files of a store. The caller keeps commits out."""
    last, damaged = None, []
    try:
        # Before the manifests, so that it never names a later commit than they show.
        last = read_last(layout)
    except CorruptStore as error:
        damaged.append(Finding("last_changed", LAST, error.message, str(error.remedy)))
    files, findings = _read_manifests(layout)
    return _look_around(layout, files, [*damaged, *findings], last)


def _look_around(
    layout: Layout, files: list[CommitManifest], findings: list[Finding], last: CommitLink | None
) -> StoreFiles:
    left = leftovers(layout, files)
    return StoreFiles(
        {path.stem: path for path in layout.segments()},
        {name: sorted((layout.root / name).glob("*.parquet")) for name in TABLES},
        list_live(files),
        [*left.parts, *left.manifests],
        sorted(layout.copies.glob("*.json")),
        findings,
        last,
    )


def verify(layout: Layout) -> list[Finding]:
    """Find everything wrong with a store's files. Changes nothing, and others may write and compact meanwhile."""
    for _ in range(_LOOKS):
        with share(layout.commit_lock):
            # Between two commits, parts and manifests agree. Parts never change, so they are read later.
            seen = look(layout)
        findings = [*seen.findings, *_check(layout, seen)]
        if all(finding.code != "part_missing" for finding in findings):
            break
        with share(layout.commit_lock):
            # A part is missing only if it is still listed; otherwise a compaction removed it.
            if look(layout).manifests == seen.manifests:
                break
    return findings


def refuse_losses(layout: Layout, manifests: Manifests) -> None:
    """Refuse to continue if a commit is lost, because a run would make and pay for the lost rows again.

    Reads only names, and manifests that were not read yet. Whether files are intact is for ``verify``.

    Args:
        layout: The store's paths.
        manifests: The store's manifests.

    Raises:
        CorruptStore: A commit is lost, or a manifest has changed.
        SchemaMismatch: A newer hazardmill wrote a manifest.
        StoreError: A manifest cannot be read.
    """
    with share(layout.commit_lock):
        last = read_last(layout)
        seen = _look_around(layout, manifests.files(), [], last)
    # A file whose name is not one of ours belongs to no commit.
    lost = [*_lost_manifests(layout, seen), *(f for f in _unlisted_parts(layout, seen) if layout.is_part(f.file))]
    if lost:
        first, more = lost[0], f" ({len(lost) - 1} more such findings)" if lost[1:] else ""
        raise CorruptStore(
            f"{first.message}{more}; the run would make and pay for the lost rows again",
            file=str(layout.root / first.file),
            remedy=first.remedy,
        )


def _lost_manifests(layout: Layout, seen: StoreFiles) -> Iterator[Finding]:
    remedy = rebuild_remedy(layout.root)
    for number in missing_sequences(seen.manifests):
        file = f"manifests/{number:010d}-*.json"
        yield Finding("manifest_missing", file, f"commit {number} has no manifest", remedy)
    for path in lost_replacements(seen):
        message = "the manifest of a compaction is missing; only its copy exists"
        yield Finding("manifest_missing", f"manifests/{path.name}", message, remedy)
    yield from find_lost_end(layout, seen.manifests, seen.last)


def _unlisted_parts(layout: Layout, seen: StoreFiles) -> Iterator[Finding]:
    listed = {(part.table, part.file) for manifest in seen.manifests for part in manifest.parts}
    for path in find_unlisted(layout, seen, listed):
        message = "no manifest lists this part, so no reader of the store sees it"
        yield Finding("part_unlisted", str(path.relative_to(layout.root)), message, rebuild_remedy(layout.root))


def _check(layout: Layout, seen: StoreFiles) -> Iterator[Finding]:
    yield from _lost_manifests(layout, seen)
    yield from (finding for _, finding in find_breaks(layout, seen.manifests))
    if seen.last is None and any(manifest.previous for manifest in seen.manifests) and not seen.findings:
        message = "the journal does not name the last commit: if later ones existed, their loss cannot be seen"
        yield Finding("last_unknown", LAST, message, history_remedy(layout.root))
    yield from _check_copies(layout, seen)
    for path in seen.replaced:
        file, message = str(path.relative_to(layout.root)), "it was replaced and is no longer read, but was not removed"
        yield Finding("replaced_left", file, message, sweep_remedy(layout.root))
    for manifest in seen.manifests:
        for part in manifest.parts:
            yield from check_part(layout, part)
    yield from _unlisted_parts(layout, seen)
    known = list_converted(seen.manifests)
    for path in seen.pending.values():
        yield from _check_segment(layout, path, path.stem in known)


def find_unlisted(layout: Layout, seen: StoreFiles, listed: set[tuple[str, str]]) -> list[Path]:
    """Return the parts that no manifest lists and that nothing else explains.

    Args:
        layout: The store's paths.
        seen: The store's files.
        listed: Table and file of every listed part.
    """
    replaced = set(seen.replaced)
    return [
        path
        for name, paths in seen.parts.items()
        for path in paths
        if (name, path.name) not in listed and path.stem not in seen.pending and path not in replaced
    ]


def lost_replacements(seen: StoreFiles) -> list[Path]:
    """Return second copies whose manifest is missing, of replacements whose commits have no other manifests."""
    counting, replaced = {manifest.file for manifest in seen.manifests}, set(seen.replaced)
    return [path for path in seen.copies if path.name not in counting and path not in replaced]


def _check_copies(layout: Layout, seen: StoreFiles) -> Iterator[Finding]:
    for manifest in seen.manifests:
        if manifest.generation and not is_copy(layout.copies / manifest.file, manifest):
            file, message = (
                f"manifests/copies/{manifest.file}",
                "the second copy of this manifest is missing or changed",
            )
            yield Finding("copy_missing", file, message, sweep_remedy(layout.root, "write"))


def _read_manifests(layout: Layout) -> tuple[list[CommitManifest], list[Finding]]:
    manifests, findings = [], []
    for path in sorted(layout.manifests.glob("*.json")):
        try:
            manifests.append(read_manifest(path))
        except SchemaMismatch as error:
            findings.append(Finding("manifest_newer", f"manifests/{path.name}", error.message, str(error.remedy)))
        except CorruptStore as error:
            findings.append(Finding("manifest_changed", f"manifests/{path.name}", error.message, str(error.remedy)))
        except StoreError as error:
            # What blocks it is outside the store; only then does anybody know whether the manifest is whole.
            again = command("store verify", layout.root)
            remedy = f"{error.remedy}; then: {again}" if error.remedy else rebuild_remedy(layout.root)
            findings.append(Finding("manifest_unreadable", f"manifests/{path.name}", error.message, remedy))
    return manifests, findings


def check_part(layout: Layout, part: Part) -> Iterator[Finding]:
    """Yield what is wrong with a listed part.

    Args:
        layout: The store's paths.
        part: The part as its manifest lists it.
    """
    file, remedy = f"{part.table}/{part.file}", rebuild_remedy(layout.root)
    path = layout.root / file
    try:
        intact = path.stat().st_size == part.size and hash_file(path) == part.sha256
        if not intact:
            yield Finding("part_changed", file, "the part does not match the checksum in its manifest", remedy)
            return
        with pq.ParquetFile(path) as content:
            yield from _check_content(part, file, content, remedy)
    except FileNotFoundError:
        yield Finding("part_missing", file, "a manifest lists this part, but it does not exist", remedy)
    except (pa.ArrowException, OSError) as error:
        yield Finding("part_unreadable", file, f"the part is not readable Parquet: {error}", remedy)


def _check_content(part: Part, file: str, content: pq.ParquetFile, remedy: str) -> Iterator[Finding]:
    table = TABLES.get(part.table)
    version = schema_version(content.schema_arrow)
    if table is None or (version or 0) > SCHEMA_VERSION:
        message = f"the part has schema {version}, newer than this hazardmill"
        yield Finding("part_newer", file, message, UPGRADE)
        return
    if not content.schema_arrow.equals(table.schema):
        yield Finding("part_schema", file, f"its columns are not those of table {table.name}", remedy)
        return
    if content.metadata.num_rows != part.rows:
        found = content.metadata.num_rows
        yield Finding("part_rows", file, f"its manifest lists {part.rows} rows, but the part has {found}", remedy)
    key = own_key(table)
    keys = content.read(columns=key)
    if latest(keys, key).num_rows != keys.num_rows:
        yield Finding("part_keys", file, f"a key ({', '.join(key)}) occurs twice in it", remedy)


def _check_segment(layout: Layout, path: Path, converted: bool) -> Iterator[Finding]:
    file = f"journal/{path.name}"
    run_id = layout.run_of(path.stem)
    try:
        read_segment(path)
    except FileNotFoundError:
        return  # converted to parts meanwhile
    except SchemaMismatch as error:
        yield Finding("segment_newer", file, error.message, str(error.remedy))
        return
    except CorruptStore as error:
        yield Finding("segment_corrupt", file, f"line {error.line}: {error.message}", str(error.remedy))
        return
    if not is_held(layout.run_lock(run_id)) and path.exists():
        what = "is listed by a manifest, but was not removed" if converted else "was not converted to parts"
        yield Finding(
            "segment_left",
            file,
            f"the segment {what}: its writer was killed",
            f"{command(f'run resume {run_id}', layout.root)}; "
            f"if it was an ingest, {ingest_remedy(layout.root, 'SOURCE')}",
        )
