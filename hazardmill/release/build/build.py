"""``build``: from the store to the folder of a release, in one pass over the tasks.

Candidates are gathered, put into splits, and shown to the gates one by one, while their rows are written. All of it
happens in a folder beside the one asked for, which is renamed at the end: a build that is refused or killed leaves no
release, and what a killed one leaves is removed by the next one of the same name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hazardmill.errors import InputError, UsageError
from hazardmill.release.build.candidates import Candidate, ReleaseCandidates, gather
from hazardmill.release.build.configs import base_of
from hazardmill.release.build.options import Options
from hazardmill.release.build.splits import Groups, SplitTask, assign_splits, group_of, groups_of, outline_group
from hazardmill.release.build.staging import check_free, publish, staged_beside
from hazardmill.release.build.writer import Writing
from hazardmill.release.gates.findings import GateResult
from hazardmill.release.gates.gates import Gates
from hazardmill.release.manifest import MANIFEST, Parent, ReleaseManifest, file_of, read_manifest
from hazardmill.release.texts.card import write_card
from hazardmill.release.texts.card_context import Facts
from hazardmill.release.texts.changelog import write_changelog
from hazardmill.release.texts.citation import write_citation
from hazardmill.release.texts.croissant import write_croissant
from hazardmill.release.texts.figures import write_figures
from hazardmill.release.texts.licences import write_licences
from hazardmill.store.store import Store

ReportProgress = Callable[[int, int], None]
"""Called with the tasks done and those in all."""


@dataclass(frozen=True)
class BuiltRelease:
    """A release that was built."""

    folder: Path
    manifest: ReleaseManifest
    gates: tuple[GateResult, ...]


def build(
    store: Store, folder: Path | None, options: Options, out: Path, report: ReportProgress = lambda done, of: None
) -> BuiltRelease:
    """Build a release.

    Args:
        store: Where the tasks are; is only read.
        folder: Folder of the review; not looked at under the policy ``none``.
        options: What is asked for.
        out: Folder of the release, which must not be there yet.
        report: Called after each task with the tasks done and their total.

    Raises:
        ReleaseRefused: Gates found what a release must not have, all of them having run; or the version is too small
            for what differs from the parent. Nothing was written.
        UsageError: The options do not go together, or ``out`` is there.
        InputError: Store, review or parent cannot be used.
        StoreError: The store cannot be read, or the release not written.
    """
    check_free(out)
    parent = None if options.parent is None else _parent(options.parent, options)
    with staged_beside(out) as staged:
        working = staged / ".working"
        working.mkdir()
        gathered = gather(store, folder, options, working)
        try:
            built = _build(gathered, options, parent, staged, store, folder, report)
        finally:
            gathered.close()
        working.rmdir()
        publish(staged, out)
    return BuiltRelease(out, built.manifest, built.gates)


def _build(
    gathered: ReleaseCandidates,
    options: Options,
    parent: Parent | None,
    staged: Path,
    store: Store,
    review: Path | None,
    report: ReportProgress,
) -> BuiltRelease:
    included = _select_candidates(gathered)
    if not included:
        raise InputError(
            "reviewers are against every task that there is: nothing is left to release",
            remedy="see: hazardmill review stats",
        )
    groups = _groups(gathered, included, _parent_groups(options.parent))
    splits = assign_splits(
        (SplitTask(c.task_id, groups.of[c.task_id], c.source, c.danger_type) for c in included.values()),
        options.seed,
        kept=groups.kept,
    )
    writing = Writing(gathered, options, included, groups, splits, staged)
    with Gates(options, gathered.candidates, splits, gathered.accepted) as gates, writing:
        for done, row in enumerate(gathered.whole(included), start=1):
            added = writing.add(row)
            gates.see(row, added.beside, added.document)
            report(done, len(included))
        results = gates.results()
        writing.refuse_if(results)
        files, archives = writing.close()
    facts = writing.facts(files, archives, results, parent, store, review)
    texts = _write_texts(staged, facts)
    manifest = facts.manifest.model_copy(
        update={
            "files": dict(sorted({**files, **archives, **{name: file_of(staged / name) for name in texts}}.items()))
        }
    )
    manifest.write(staged)
    _check_complete(staged, manifest)
    return BuiltRelease(staged, manifest, results)


def _parent(folder: Path, options: Options) -> Parent:
    manifest = read_manifest(folder)
    if _numbers(options.version) <= _numbers(manifest.version):
        raise UsageError(
            f"version {options.version} does not come after {manifest.version}, the version of the parent",
            remedy="choose a higher one, or another parent",
        )
    if manifest.name != options.name:
        raise UsageError(
            f"the parent is a release of {manifest.name}, not of {options.name}",
            remedy="name the right one, or its name",
        )
    return Parent(version=manifest.version, manifest_sha256=file_of(folder / MANIFEST).sha256)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _parent_groups(parent: Path | None) -> dict[str, str]:
    """Group to the split that it has in the parent release, or had in one before."""
    if parent is None:
        return {}
    import pyarrow as pa
    import pyarrow.parquet as pq

    manifest = read_manifest(parent)
    kept: dict[str, str] = {**manifest.former_groups}
    for name in sorted(manifest.files):
        parts = Path(name).parts
        if len(parts) == 3 and parts[0] == "data" and base_of(parts[1]) in ("tasks", "unavoidable"):
            try:
                groups = pq.read_table(parent / name, columns=["group"])["group"].to_pylist()
            except (OSError, KeyError, pa.ArrowException) as error:
                raise InputError(
                    f"the parent release cannot be read: {error}",
                    file=str(parent / name),
                    remedy="name a whole release, or build without a parent",
                ) from error
            kept.update(dict.fromkeys(groups, Path(name).stem))
    return kept


def _select_candidates(gathered: ReleaseCandidates) -> dict[str, Candidate]:
    """The candidates that nobody is against. What is not settled stays: the gate on the review says so."""
    rejected = set() if gathered.accepted is None else set(gathered.accepted.rejected)
    return {c.task_id: c for c in gathered.candidates if c.task_id not in rejected}


def _groups(gathered: ReleaseCandidates, included: Mapping[str, Candidate], kept: Mapping[str, str]) -> Groups:
    """The structural group of each task; documents are read of those that have no structure id, of all if need be."""
    groups = {c.task_id: group_of(c.structure_id, {}) for c in included.values() if c.structure_id is not None}
    untold = included.keys() - groups.keys()
    # The gates refuse what cannot be read, and say so better.
    groups |= {task_id: f"unreadable:{task_id}" for task_id in untold}
    groups |= _of_documents(gathered, untold, lambda document: group_of(None, document))
    return groups_of(groups, lambda: _of_documents(gathered, included, outline_group), kept)


def _of_documents(
    gathered: ReleaseCandidates, task_ids: Iterable[str], say: Callable[[Mapping[str, Any]], str]
) -> dict[str, str]:
    """What is said of the documents of tasks, by task; those that cannot be read are not in it."""
    found = {}
    for row in gathered.whole(task_ids):
        # As in `gate_proofs`: whatever comes of a row that no version wrote.
        with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
            found[row["task_id"]] = say(json.loads(row["document"]))
    return found


def _write_texts(folder: Path, facts: Facts) -> list[str]:
    """Write everything that people read, and give the files' names."""
    writers = (write_figures, write_card, write_croissant, write_citation, write_changelog, write_licences)
    return sorted({name for write in writers for name in write(folder, facts)})


def _check_complete(folder: Path, manifest: ReleaseManifest) -> None:
    """Nothing may lie in the folder that the manifest does not list."""
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    other = sorted(name for name in there ^ (manifest.files.keys() | {MANIFEST}) if not name.startswith(".working/"))
    assert not other, f"files of the release are not as its manifest lists them: {', '.join(other)}"
