"""What is damaged in a store, and what the rest of it says without that: a plan, made without changing anything.

Manifests that are lost are made again from what tells most: the copy of a replacement's manifest, else the parts that
carry the segment's name. Parts are in the order of their commits; where several commits are lost, the older segment
takes the lower number. Parts for which no number is left were the last commits, and come last.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hazardmill.errors import CorruptStore, SchemaMismatch, StoreError
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.manifests import (
    CommitManifest,
    Part,
    list_converted,
    list_live,
    missing_sequences,
    read_manifest,
)
from hazardmill.store.files.parts import hash_file, schema_version
from hazardmill.store.journal import Segment, read_segment
from hazardmill.store.maintenance.findings import Finding
from hazardmill.store.maintenance.quarantine import Damage
from hazardmill.store.maintenance.salvage import Salvage, salvage
from hazardmill.store.maintenance.verify import StoreFiles, check_part, find_unlisted, lost_replacements
from hazardmill.store.schemas import SCHEMA_VERSION
from hazardmill.store.snapshot import Snapshot

_NEWER = {"manifest_newer", "part_newer"}


@dataclass
class RepairPlan:
    """What is there, what is damaged, and the store as it is to be."""

    damages: list[Damage] = field(default_factory=list)
    commits: list[CommitManifest] = field(default_factory=list)
    """Every commit with its intact parts, in order."""
    replaced: list[CommitManifest] = field(default_factory=list)
    """The manifests that count now."""
    salvaged: list[Salvage] = field(default_factory=list)
    pending: list[Segment] = field(default_factory=list)
    """The segments that are no parts yet, without what is damaged."""
    rows_lost: Counter[str] = field(default_factory=Counter)
    """By table, as far as it is known."""
    commits_lost: list[int] = field(default_factory=list)
    """Commits of which nothing is left, not even what they held."""
    parts_lost: Counter[str] = field(default_factory=Counter)
    """By table, parts that no manifest listed and nobody can read: how many rows they had is not known."""
    lines_lost: int = 0
    """Damaged journal lines that tell nothing of what they held."""
    records_from: set[str] = field(default_factory=set)
    """Segments whose rows of ``records`` are lost."""

    @property
    def place(self) -> range:
        """All commits."""
        return range(1, max((manifest.sequence for manifest in self.commits), default=0) + 1)

    @property
    def republishes(self) -> bool:
        """Whether the manifests are not as they are to be."""
        return self.commits != self.replaced or bool(missing_sequences(self.commits))

    def snapshot(self, layout: Layout) -> Snapshot:
        """The store as it is to be, before rows are retracted."""
        return Snapshot(layout, tuple(self.commits), tuple(self.pending))


def survey(layout: Layout, seen: StoreFiles) -> RepairPlan:
    """Read every file that was seen.

    Raises:
        FileNotFoundError: If a segment became parts since.
        SchemaMismatch: If a newer hazardmill wrote some of it.
        StoreError: If a manifest cannot be opened.
    """
    plan = RepairPlan()
    for finding in seen.findings:
        _refuse_unread(layout, finding)
        plan.damages.append(_damage(finding, "moved to quarantine; made again from its copy or its parts", moves=True))
    plan.replaced = list(seen.manifests)
    commits = [*seen.manifests, *_restore_copies(plan, seen)]
    commits = list_live([*commits, *_regroup_parts(layout, plan, seen, commits)])
    _tell_gaps(plan, seen, commits)
    plan.commits = [_intact(layout, plan, manifest) for manifest in commits]
    _read_journal(layout, plan, seen)
    return plan


def _refuse_unread(layout: Layout, finding: Finding) -> None:
    """What is not damaged, but cannot be read by us or now, is not for a rebuild to take out."""
    if finding.code in _NEWER:
        raise SchemaMismatch(finding.message, file=str(layout.root / finding.file), remedy="upgrade hazardmill")
    if finding.code == "manifest_unreadable":
        raise StoreError(finding.message, file=str(layout.root / finding.file), remedy=finding.remedy)


def _damage(finding: Finding, action: str, *, moves: bool) -> Damage:
    return Damage(finding.code, finding.file, finding.message, action, moves)


def _commit_numbers(plan: RepairPlan) -> dict[str, int]:
    """Segment to commit of each changed manifest: its name still tells them."""
    told: dict[str, int] = {}
    for damage in plan.damages:
        number, _, owner = Path(damage.file).stem.partition("-")
        if damage.code == "manifest_changed" and number.isdigit():
            told[owner] = int(number)
    return told


def _tell_gaps(plan: RepairPlan, seen: StoreFiles, commits: Sequence[CommitManifest]) -> None:
    """Commits for which nothing stands: a segment whose parts are there and that is in the journal too can be one."""
    told, present = (
        _commit_numbers(plan),
        {n for manifest in commits for n in range(manifest.first, manifest.sequence + 1)},
    )
    committed = {path.stem for paths in seen.parts.values() for path in paths} & seen.pending.keys()
    unnamed = len(committed - told.keys())
    for number in sorted({*missing_sequences(commits), *told.values()} - present):
        file, message = f"manifests/{number:010d}-*.json", f"of commit {number} there is no manifest and no part"
        if any(told.get(name) == number for name in committed):
            action = "its segment is still in the journal"
        elif unnamed:
            unnamed -= 1
            action = "taken for a segment that is still in the journal"
        else:
            action = "given up"
            plan.commits_lost.append(number)
        plan.damages.append(Damage("manifest_missing", file, message, action))


def _restore_copies(plan: RepairPlan, seen: StoreFiles) -> list[CommitManifest]:
    """Lost manifests of replacements, from their copies."""
    found = []
    for path in lost_replacements(seen):
        file = f"manifests/copies/{path.name}"
        try:
            found.append(read_manifest(path))
        except CorruptStore as error:
            plan.damages.append(Damage("manifest_changed", file, error.message, "moved to quarantine", moves=True))
            continue
        if all(damage.file != f"manifests/{path.name}" for damage in plan.damages):
            message = "the manifest of a compaction is not there, only its copy"
            plan.damages.append(Damage("manifest_missing", f"manifests/{path.name}", message, "taken from its copy"))
    return found


def _regroup_parts(
    layout: Layout, plan: RepairPlan, seen: StoreFiles, commits: Sequence[CommitManifest]
) -> list[CommitManifest]:
    """Lost manifests, from the parts that carry their segment's name."""
    listed = {(part.table, part.file) for manifest in list_live(commits) for part in manifest.parts}
    known = list_converted(commits)
    groups: dict[str, list[Part]] = defaultdict(list)
    for path in find_unlisted(layout, seen, listed):
        file, owner = str(path.relative_to(layout.root)), layout.owner_of(path.name)
        belongs = layout.is_part(path.name)
        if owner in known:
            continue  # of a replacement that was restored: replaced, and swept
        part = _describe_part(path) if belongs else None
        if part is None:
            what = "is no readable part of this table" if belongs else "does not belong here"
            message = f"no manifest lists it, and it {what}"
            plan.damages.append(Damage("part_unlisted", file, message, "moved to quarantine", moves=True))
            plan.parts_lost[path.parent.name] += belongs
        else:
            plan.damages.append(Damage("part_unlisted", file, "its manifest is lost", "listed again"))
            groups[owner].append(part)
    return _number_commits(layout, groups, plan, commits)


def _number_commits(
    layout: Layout, groups: dict[str, list[Part]], plan: RepairPlan, commits: Sequence[CommitManifest]
) -> list[CommitManifest]:
    made = []
    taken = {number for manifest in commits for number in range(manifest.first, manifest.sequence + 1)}
    for name in sorted(groups):
        replacement = layout.replacement_of(name)
        if replacement is not None:
            parts = sorted(groups.pop(name), key=lambda part: (part.table, part.file))
            owner, place = replacement
            if taken.isdisjoint(place):
                made.append(CommitManifest(place[-1], owner, tuple(parts), "", place[0], 1))
            else:
                # What was committed since its loss has numbers that it stood for: it comes before, and hides nothing.
                made.append(CommitManifest(0, owner, tuple(parts), "", 0))
    told = _commit_numbers(plan)
    present = {number for manifest in [*commits, *made] for number in range(manifest.first, manifest.sequence + 1)}
    last = max([0, *present, *told.values()])
    gaps = [number for number in range(1, last + 1) if number not in present and number not in told.values()]
    for owner in sorted(groups, key=layout.creation_key):
        if owner in told:
            number = told[owner]
        elif gaps:
            number = gaps.pop(0)
        else:
            number = last = last + 1
        made.append(CommitManifest(number, owner, tuple(groups[owner]), "", number))
    return made


def _describe_part(path: Path) -> Part | None:
    """An unlisted part as a manifest would list it; none if it is not whole, or of another table."""
    try:
        data = pq.read_table(path)
    except (pa.ArrowException, OSError):
        return None
    said = (data.schema.metadata or {}).get(b"hazardmill_table", b"").decode()
    version = schema_version(data.schema)
    if said != path.parent.name or version is None or version > SCHEMA_VERSION:
        return None
    return Part(said, path.name, data.num_rows, path.stat().st_size, hash_file(path), version)


def _intact(layout: Layout, plan: RepairPlan, manifest: CommitManifest) -> CommitManifest:
    """A commit without its damaged parts."""
    parts = []
    for part in manifest.parts:
        findings = list(check_part(layout, part))
        for finding in findings:
            _refuse_unread(layout, finding)
        if not findings:
            parts.append(part)
            continue
        there = (layout.root / part.table / part.file).exists()
        action = f"{'moved to quarantine' if there else 'given up'}: {part.rows} rows"
        plan.damages.append(_damage(findings[0], action, moves=there))
        plan.rows_lost[part.table] += part.rows
        if part.table == "records":
            plan.records_from.update(manifest.names)
    return replace(manifest, parts=tuple(parts)) if len(parts) < len(manifest.parts) else manifest


def _read_journal(layout: Layout, plan: RepairPlan, seen: StoreFiles) -> None:
    known = list_converted(plan.commits)
    for name, path in seen.pending.items():
        saved = salvage(path)
        if saved is None:
            plan.pending += [] if name in known else [read_segment(path)]
            continue
        plan.salvaged.append(saved)
        lost = ", ".join(map(str, saved.lines_lost))
        message = f"line {lost} does not match its checksum"
        if name in known:
            action = "moved to quarantine: all its rows are in parts"
        else:
            action = f"moved to quarantine; {len(saved.segment.groups)} intact lines stay"
            plan.pending.append(saved.segment)
            plan.rows_lost += saved.rows_lost
            plan.lines_lost += saved.unknown
        plan.damages.append(Damage("segment_corrupt", f"journal/{path.name}", message, action, moves=True))
