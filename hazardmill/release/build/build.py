"""Building a release: from the store to a folder, in one pass over the tasks.

Candidates are gathered and put into splits; then each is passed to the gates while its rows are written. If gates leave
out tasks (``--leave-out``), everything is written again without these, so that nothing of them stays. All of this
happens in a temporary folder beside the requested one, which is renamed at the end. A build that is refused or killed
therefore leaves no release; the next build into the same folder removes what a killed one left behind.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import InputError, ReleaseRefused, UsageError
from hazardmill.household.task import HouseholdTask, read_household_tasks
from hazardmill.release.build.candidates import Candidate, ReleaseCandidates, gather
from hazardmill.release.build.configs import GROUPED, base_of
from hazardmill.release.build.options import Options
from hazardmill.release.build.splits import Groups, SplitTask, assign_splits, group_of, groups_of, outline_group
from hazardmill.release.build.writer import ReleaseWriter
from hazardmill.release.documents.card import write_card
from hazardmill.release.documents.card_context import Facts
from hazardmill.release.documents.changelog import write_changelog
from hazardmill.release.documents.citation import write_citation
from hazardmill.release.documents.croissant import write_croissant
from hazardmill.release.documents.figures import write_figures
from hazardmill.release.documents.licences import write_licences
from hazardmill.release.documents.zenodo import write_zenodo
from hazardmill.release.gates.findings import GateResult
from hazardmill.release.gates.gates import Gates
from hazardmill.release.gates.household_proofs import ReadHouseholdTask, examine_household_tasks
from hazardmill.release.gates.leaving_out import LeftOut
from hazardmill.release.gates.proofs import is_scenario
from hazardmill.release.manifest import MANIFEST, Parent, ReleaseManifest, file_of, read_manifest
from hazardmill.release.read.integrity import damage
from hazardmill.scenarios.scenario import Scenario
from hazardmill.staging import check_free, clear, publish, staged_beside
from hazardmill.store.store import Store
from hazardmill.verification.task import UNREADABLE

WORKING: Final = ".working"
"""Folder, within that of the release, for rows that are too large for memory while it is built."""

ReportProgress = Callable[[int, int], None]
"""Called with the number of tasks done and the number of all tasks."""


@dataclass(frozen=True)
class BuiltRelease:
    """A release that was built, and what its gates found.

    Attributes:
        folder: Folder of the release.
        manifest: Its manifest, as written there.
        gates: One result per gate, in the order of ``GATES``; none of them stopped the release.
    """

    folder: Path
    manifest: ReleaseManifest
    gates: tuple[GateResult, ...]


def build(
    store: Store, folder: Path | None, options: Options, out: Path, report: ReportProgress = lambda done, of: None
) -> BuiltRelease:
    """Build a release from the tasks of a store, and from household tasks.

    Tasks that a gate of ``options.leave_out`` refuses are dropped; then the release is written, and all gates run,
    again on what remains, until these gates refuse nothing more.

    Two builds with the same store, review, household tasks and options give the same bytes.

    Args:
        store: The store that holds the tasks; it is only read.
        folder: Folder of the review; ignored under the policy ``none``.
        options: Version, policy, runs, gates and the other choices for this release.
        out: Folder to write the release to; it must not exist yet.
        report: Called after each task with the number of tasks done and the number of all tasks.

    Returns:
        The release. ``out`` exists now, complete and synced to disk.

    Raises:
        ReleaseRefused: At least one gate found something that stops a release (all gates have run), every task was left
            out, or the version is too small a step for what differs from the parent. Nothing was written.
        UsageError: Options contradict one another, ``out`` already exists, or another build writes to it.
        InputError: The store has no task to release, or the review, the parent or the folder of household tasks cannot
            be used.
        StoreError: The store cannot be read, or the release cannot be written.
        SandboxError: A worker process that validates tasks cannot be started, or was killed from outside.
    """
    check_free(out)
    parent = None if options.parent is None else _parent(options.parent, options)
    household = [] if options.household is None else _sort_by_name(read_household_tasks(options.household))
    with staged_beside(out) as staged:
        working = staged / WORKING
        working.mkdir()
        gathered = gather(store, folder, options, working)
        try:
            if not gathered.candidates:
                # Only household tasks are left, which nobody is asked to review.
                options = options.model_copy(update={"policy": "none"})
            built = _build(gathered, household, options, parent, staged, store, folder, report)
        finally:
            gathered.close()
        working.rmdir()
        publish(staged, out)
    return BuiltRelease(out, built.manifest, built.gates)


def _build(
    gathered: ReleaseCandidates,
    household: Sequence[ReadHouseholdTask],
    options: Options,
    parent: Parent | None,
    staged: Path,
    store: Store,
    review: Path | None,
    report: ReportProgress,
) -> BuiltRelease:
    left_out = LeftOut()
    while True:
        clear(staged, keep=WORKING)
        remaining = left_out.candidates(gathered)
        tasks = left_out.household(household)
        included = _select_candidates(remaining)
        if not included and not tasks:
            raise _nothing_left(left_out)
        groups = _groups(remaining, included, _parent_groups(options.parent))
        splits = assign_splits(
            (SplitTask(c.task_id, groups.of[c.task_id], c.source, c.danger_type) for c in included.values()),
            options.seed,
            kept=groups.kept,
        )
        writing = ReleaseWriter(remaining, options, included, groups, splits, staged)
        with Gates(options, remaining.candidates, splits, remaining.accepted) as gates, writing:
            found = _write_rows(writing, gates, included, tasks, report)
            if left_out.take(found, options.leave_out):
                continue
            results = tuple(replace(each, left_out=left_out.by(each.name)) for each in found)
            writing.refuse_if(results)
            files, archives = writing.close()
            break
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


def _write_rows(
    writing: ReleaseWriter,
    gates: Gates,
    included: Mapping[str, Candidate],
    household: Sequence[ReadHouseholdTask],
    report: ReportProgress,
) -> tuple[GateResult, ...]:
    """Write the rows of all tasks, pass each to the gates, and return what these found."""
    of = len(included) + len(household)
    for done, row in enumerate(writing.gathered.whole(included), start=1):
        added = writing.add(row)
        gates.see(row, added.beside, added.document)
        report(done, of)
    for done, examined in enumerate(examine_household_tasks(household), start=len(included) + 1):
        writing.add_household(examined)
        gates.see_household(examined)
        report(done, of)
    return gates.results()


def _nothing_left(left_out: LeftOut) -> InputError | ReleaseRefused:
    if not left_out.results:
        return InputError(
            "reviewers rejected everything: nothing is left to release", remedy="see: hazardmill review stats"
        )
    names = ", ".join(result.name for result in left_out.results)
    return ReleaseRefused(
        f"every task is left out by {names}: nothing is left to release",
        findings=tuple(line for result in left_out.results for line in result.in_words),
        summary=tuple(line for result in left_out.results for line in result.summary),
        remedy="fix what is listed, or release other runs; nothing was written",
    )


def _sort_by_name(read: Iterable[ReadHouseholdTask]) -> list[ReadHouseholdTask]:
    """Sort tasks as the rows of their config are sorted: a file may have another name than its task."""
    return sorted(read, key=lambda each: each[1].name if isinstance(each[1], HouseholdTask) else each[0].stem)


def _parent(folder: Path, options: Options) -> Parent:
    manifest = read_manifest(folder)
    if _numbers(options.version) <= _numbers(manifest.version):
        raise UsageError(
            f"version {options.version} does not come after {manifest.version}, the version of the parent",
            remedy="choose a higher version, or another parent",
        )
    if manifest.name != options.name:
        raise UsageError(
            f"the parent is a release of {manifest.name}, not of {options.name}",
            remedy="name another parent with --parent, or give this release the parent's name with --name",
        )
    return Parent(version=manifest.version, manifest_sha256=file_of(folder / MANIFEST).sha256)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _parent_groups(parent: Path | None) -> dict[str, str]:
    """Return the split of each group in the parent release, or in the latest earlier release that had the group."""
    if parent is None:
        return {}
    import pyarrow as pa
    import pyarrow.parquet as pq

    manifest = read_manifest(parent)
    kept: dict[str, str] = {**manifest.former_groups}
    for name in sorted(manifest.files):
        parts = Path(name).parts
        if len(parts) == 3 and parts[0] == "data" and base_of(parts[1]) in GROUPED:
            try:
                if (found := damage(parent / name, manifest.files[name])) is not None:
                    raise OSError(f"it {found}")
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
    """Return the candidates that reviewers did not reject, by task id.

    Tasks that reviewers have not settled yet stay in: the gate ``review`` reports them.
    """
    rejected = set() if gathered.accepted is None else set(gathered.accepted.rejected)
    return {c.task_id: c for c in gathered.candidates if c.task_id not in rejected}


def _groups(gathered: ReleaseCandidates, included: Mapping[str, Candidate], kept: Mapping[str, str]) -> Groups:
    """Return the structural group of each task.

    Only the documents of tasks without a structure id are read; all documents are, if one of these is too regular.
    """
    groups = {c.task_id: group_of(c.structure_id, {}) for c in included.values() if c.structure_id is not None}
    untold = included.keys() - groups.keys()
    # A document that cannot be read keeps this group. The gates refuse it later, with a better message.
    groups |= {task_id: f"unreadable:{task_id}" for task_id in untold}
    groups |= _of_documents(gathered, untold, lambda document: group_of(None, document))
    return groups_of(groups, lambda: _of_documents(gathered, included, outline_group), kept)


def _of_documents(
    gathered: ReleaseCandidates, task_ids: Iterable[str], say: Callable[[Mapping[str, Any]], str]
) -> dict[str, str]:
    """Apply ``say`` to each document, and return the results by id, without unreadable ones."""
    found = {}
    for row in gathered.whole(task_ids):
        # As in `gates.proofs`: a row that no version of hazardmill wrote may fail in any of these ways.
        with suppress(*UNREADABLE):
            if is_scenario(row):
                document = Scenario.from_json(json.loads(row["scenario"])).document.to_json()
            else:
                document = json.loads(row["document"])
            found[row["task_id"]] = say(document)
    return found


def _write_texts(folder: Path, facts: Facts) -> list[str]:
    """Write the card and the other texts, and return the names of their files."""
    writers = (
        write_figures,
        write_card,
        write_croissant,
        write_citation,
        write_zenodo,
        write_changelog,
        write_licences,
    )
    return sorted({name for write in writers for name in write(folder, facts)})


def _check_complete(folder: Path, manifest: ReleaseManifest) -> None:
    """Assert that the folder holds exactly the files that the manifest lists."""
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    other = sorted(name for name in there ^ (manifest.files.keys() | {MANIFEST}) if not name.startswith(f"{WORKING}/"))
    assert not other, f"files of the release are not as its manifest lists them: {', '.join(other)}"
