"""Checks a store in a bucket: reads every object, then checks the working folder like any store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hazardmill.errors import CorruptStore, SchemaMismatch
from hazardmill.store.bucket.local_cache import Mirror, manifest_name, part_name
from hazardmill.store.bucket.manifests import SharedManifests
from hazardmill.store.bucket.run_locks import Holdings
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.manifests import CommitManifest
from hazardmill.store.maintenance.findings import Finding, command
from hazardmill.store.maintenance.verify import verify
from hazardmill.store.schemas import TABLES

_RESTORE: Final = "restore it from an older version of the object, or from a copy of the store"


def verify_bucket(mirror: Mirror, manifests: SharedManifests, holdings: Holdings) -> list[Finding]:
    """Return everything wrong with a store in a bucket. Downloads every part again, so it reads the whole bucket.

    Args:
        mirror: The working folder and its bucket.
        manifests: The store's manifests.
        holdings: The runs that are held; their unlisted parts are on their way.

    Raises:
        StoreError: The object store or the disk fails.
    """
    # List the objects first: parts put meanwhile are then listed by a manifest that is read later.
    listed = {f"{table}/{name}" for table in TABLES for name, _ in mirror.bucket.names(table)}
    numbers = {name for name, _ in mirror.bucket.names("manifests")}
    try:
        known = manifests.all()
    except (CorruptStore, SchemaMismatch) as error:
        code = "manifest_newer" if isinstance(error, SchemaMismatch) else "manifest_changed"
        place = str(error.file).removeprefix(f"{mirror.address}/")
        return [Finding(code, place, error.message, str(error.remedy))]
    found = [*_check_manifests(mirror, known, numbers), *_check_parts(mirror, known)]
    found += _find_unlisted(mirror, holdings, listed, manifests.files())
    # The copies show the rest; skip objects whose download already failed.
    told = {finding.file for finding in found}
    here = (finding for finding in verify(mirror.layout) if _object_of(finding, known) not in told)
    # A bucket holds each manifest once, this folder can download it again, and it may never have committed.
    return [*found, *(finding for finding in here if finding.code not in ("copy_missing", "last_unknown"))]


def _object_of(finding: Finding, known: list[CommitManifest]) -> str:
    names = {f"{part.table}/{part.file}": part_name(part) for manifest in known for part in manifest.parts}
    return names.get(finding.file, finding.file)


def _check_manifests(mirror: Mirror, known: list[CommitManifest], numbers: set[str]) -> Iterator[Finding]:
    for manifest in known:
        place = manifest_name(manifest.sequence)
        name = place.removeprefix("manifests/")
        if name not in numbers:
            # A manifest that was put after listing the bucket exists by now.
            if mirror.bucket.size(place) is None:
                yield Finding("manifest_missing", place, "this machine has read the manifest, but it is gone", _RESTORE)
            continue
        try:
            if mirror.manifest(name) != manifest:
                message = "the manifest differs from the one that this machine read before"
                yield Finding("manifest_changed", place, message, _RESTORE)
        except CorruptStore as error:
            yield Finding("manifest_changed", place, error.message, str(error.remedy))


def _check_parts(mirror: Mirror, known: list[CommitManifest]) -> Iterator[Finding]:
    for manifest in known:
        for part in manifest.parts:
            name = part_name(part)
            try:
                mirror.bring(part)
            except CorruptStore as error:
                code = "part_missing" if mirror.bucket.size(name) is None else "part_changed"
                yield Finding(code, name, error.message, str(error.remedy))


def _find_unlisted(
    mirror: Mirror, holdings: Holdings, listed: set[str], files: list[CommitManifest]
) -> Iterator[Finding]:
    known = {part_name(part) for manifest in files for part in manifest.parts}
    for name in sorted(listed - known):
        owner = Layout.owner_of(name.rpartition("/")[2].removesuffix(".parquet").rpartition(".")[0])
        if Layout.is_segment(owner):
            run_id = Layout.run_of(owner)
            if holdings.is_held(run_id):
                continue  # on its way
            message = f"no manifest lists this part: a worker of run {run_id} was killed before it committed"
            again = command(f"run resume {run_id}", mirror.layout.root)
            remedy = f"on the machine it ran on: {again}; if the run has ended, the object can be removed"
        else:
            message, remedy = "no manifest lists this object", "find out where it comes from; nothing reads it here"
        yield Finding("part_unlisted", name, message, remedy)
