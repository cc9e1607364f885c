"""Finding near-duplicates among the tasks of a store, and its tasks in another corpus.

All definitions are in docs/near-duplicates.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import DocumentError, InputError, UsageError
from hazardmill.formalism.document.document import Document
from hazardmill.quality.contamination import OVERLAP, CorpusComparison, CorpusOverlap, N, Piece
from hazardmill.quality.duplicates import Contradiction, Duplicate, DuplicatePool
from hazardmill.quality.other_corpus import Problem, read_corpus
from hazardmill.quality.text import fields_of
from hazardmill.store.run_ids import known_runs, unknown_run
from hazardmill.store.store import Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


FORMAT: Final = "hazardmill-dedupe/1"
"""Format name of a report in JSON."""

_FETCHED: Final = 64

# In the order of the runs, and of the records within a run: of two duplicates, the later one is reported.
_TASKS: Final = """
    SELECT tasks.task_id, tasks.document, tasks.danger, tasks.avoidability
    FROM {tasks} AS tasks
    LEFT JOIN outcomes ON outcomes.run_id = tasks.run_id AND outcomes.record_id = tasks.record_id
    LEFT JOIN (SELECT run_id, min("at") AS began FROM runs GROUP BY run_id) AS runs ON runs.run_id = tasks.run_id
    WHERE $run IS NULL OR tasks.run_id = $run
    ORDER BY began, tasks.run_id, ordinal, tasks.task_id
"""
_TABLES: Final = ("tasks", "outcomes", "runs")


@dataclass
class CorpusFindings:
    """The result of comparing the tasks of a store with another corpus.

    Attributes:
        place: The other corpus.
        pieces: Number of pieces that were read: files, lines, rows or tasks.
        documents: Number of task documents in them.
        skipped: Number of files of kinds that are not read, and of links to folders.
        problems: Pieces that could not be read.
        overlaps: One overlap per task.
    """

    place: str
    pieces: int = 0
    documents: int = 0
    skipped: int = 0
    problems: list[Problem] = field(default_factory=list)
    overlaps: list[CorpusOverlap] = field(default_factory=list)


@dataclass
class DedupeReport:
    """The duplicates, contradictions and overlaps of the tasks of a store.

    Attributes:
        tasks: Number of tasks.
        structures: Their structure ids.
        without_structure: Ids of tasks that are too regular for a structure id.
        near: Number of tasks whose text is close to that of an earlier task.
        unreadable: Id and reason for each task that cannot be read.
        duplicates: Id of each duplicate, with the earlier task.
        contradictions: Pairs of similar tasks with different labels.
        comparison: The comparison with the other corpus while it runs; None without another corpus.
        against: Its result; None without another corpus.
    """

    tasks: int = 0
    structures: set[str] = field(default_factory=set)
    without_structure: list[str] = field(default_factory=list)
    near: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    duplicates: list[tuple[str, Duplicate]] = field(default_factory=list)
    contradictions: list[Contradiction] = field(default_factory=list)
    comparison: CorpusComparison | None = None
    against: CorpusFindings | None = None

    @property
    def failed(self) -> bool:
        """Whether there is a finding that makes the command fail.

        These are unreadable tasks, duplicates, contradictions of similar texts, overlaps, and unreadable pieces of the
        other corpus. A contradiction by structure alone does not count.
        """
        other = self.against
        return bool(
            self.unreadable
            or self.duplicates
            or any(each.basis != "structure" for each in self.contradictions)
            or (other is not None and (other.problems or any(map(_is_contaminated, other.overlaps))))
        )

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "format": FORMAT,
            "tasks": self.tasks,
            "structures": len(self.structures),
            "without_structure": self.without_structure,
            "near_text": self.near,
            "unreadable": [{"task": task, "message": message} for task, message in self.unreadable],
            "duplicates": [
                {"task": task, "twin": twin.task_id, "similarity": twin.similarity} for task, twin in self.duplicates
            ],
            "contradictions": [
                {
                    "task": each.task_id,
                    "other": each.other,
                    "basis": each.basis,
                    "similarity": each.similarity,
                    "labels": {name: [ours, theirs] for name, ours, theirs in each.labels},
                }
                for each in self.contradictions
            ],
            "against": None if self.against is None else _against_json(self.against),
        }


def dedupe_store(
    store: Store,
    run_id: str | None = None,
    against: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> DedupeReport:
    """Find tasks of a store that are the same up to names and wording, within the store and in another corpus.

    Args:
        store: The store.
        run_id: The only run to read; None for all runs, with the latest row of each task.
        against: Another corpus: a store, or a folder of text, JSON, JSON lines, Parquet, PDDL or task folders; None
            for no comparison.
        tell: Called after each task and each piece of the other corpus with a line on the progress.

    Returns:
        What was found within the store: duplicates, contradictions, and tasks that cannot be compared; and in
        ``against`` what was found in the other corpus.

    Raises:
        UnknownName: There is no such run.
        InputError: There is no task, or nothing to compare with.
        StoreError: A store cannot be read.
        UsageError: The other corpus is the store itself.
    """  # noqa: DOC501  # the helper makes an UnknownName
    if run_id is not None and not store.count("runs", {"run_id": run_id}):
        raise unknown_run(run_id, known_runs(store), store.address)
    if against is not None and against.is_dir() and against.resolve() == store.path.resolve():
        raise UsageError("a store cannot be compared with itself", remedy="name another corpus, or leave out --against")
    found = _compare_within(store, run_id, tell, compared=against is not None)
    if not found.tasks:
        raise InputError(
            "there is no task here", file=store.address, remedy="generate some first: hazardmill run generate --help"
        )
    if against is not None:
        found.against = _compare_with(against, found, tell)
    return found


def _against_json(other: CorpusFindings) -> dict[str, Any]:
    return {
        "place": other.place,
        "pieces": other.pieces,
        "documents": other.documents,
        "skipped": other.skipped,
        "problems": [{"place": each.place, "message": each.message} for each in other.problems],
        "n": N,
        "threshold": OVERLAP,
        "overlapping": sum(map(overlaps, other.overlaps)),
        "same_structure": sum(each.structure is not None for each in other.overlaps),
        "share_unknown": sum(each.share is None for each in other.overlaps),
        # Only tasks with an overlap of any size.
        "found": [
            {
                "task": each.task_id,
                "ngrams": each.ngrams,
                "found": each.found,
                "share": each.share,
                "place": each.place,
                "structure": each.structure,
                "structures": each.structures,
            }
            for each in other.overlaps
            if each.found or each.structure is not None
        ],
    }


def overlaps(each: CorpusOverlap) -> bool:
    """Check whether the share of a task's n-grams in the other corpus is at least ``OVERLAP``."""
    return each.share is not None and each.share >= OVERLAP


def _is_contaminated(each: CorpusOverlap) -> bool:
    return overlaps(each) or each.structure is not None


def _compare_within(store: Store, run_id: str | None, tell: Callable[[str], None], *, compared: bool) -> DedupeReport:
    pool, found = DuplicatePool(), DedupeReport(comparison=CorpusComparison() if compared else None)
    for task_id, text, danger, avoidability in _tasks(store, run_id):
        found.tasks += 1
        tell(f"{found.tasks} tasks compared")
        try:
            document = Document.from_json(json.loads(text)).to_json()
            fields = {**document["texts"], **json.loads(danger), "avoidability": avoidability}
        except DocumentError as error:
            found.unreadable.append((task_id, error.message))
            continue
        except (ValueError, TypeError, RecursionError) as error:
            found.unreadable.append((task_id, f"the task is not JSON: {error}"))
            continue
        look = pool.look(task_id, document, fields)
        if look.structure is None:
            found.without_structure.append(task_id)
        else:
            found.structures.add(look.structure)
        found.near += bool(look.near)
        if look.twin is not None:
            found.duplicates.append((task_id, look.twin))
        found.contradictions += look.contradictions
        if found.comparison is not None:
            found.comparison.add(task_id, look.structure, fields_of(fields))
    return found


def _tasks(store: Store, run_id: str | None) -> Iterator[tuple[str, str, str, str]]:
    cursor, rows = store.query(lambda views: _first_of_all(views, run_id), _TABLES)
    while rows:
        yield from rows
        rows = cursor.fetchmany(_FETCHED)


def _first_of_all(views: DuckDBPyConnection, run_id: str | None) -> tuple[DuckDBPyConnection, list[Any]]:
    """Return a cursor over all tasks, and the first of them.

    The first tasks come after a sort, so that all parts have been read by then: the store may change afterwards.
    """
    cursor = views.execute(_TASKS.format(tasks="tasks_latest" if run_id is None else "tasks"), {"run": run_id})
    return cursor, cursor.fetchmany(_FETCHED)


def _compare_with(place: Path, found: DedupeReport, tell: Callable[[str], None]) -> CorpusFindings:
    comparison, other = found.comparison, CorpusFindings(str(place))
    assert comparison is not None
    for item in read_corpus(place):
        if isinstance(item, Piece):
            comparison.look(item)
            tell(f"{comparison.pieces} pieces of {place} read")
        elif isinstance(item, Problem):
            other.problems.append(item)
        else:
            other.skipped += 1
    other.pieces, other.documents = comparison.pieces, comparison.documents
    other.overlaps = list(comparison.overlaps())
    if not other.pieces:
        first = f": {other.problems[0].place} {other.problems[0].message}" if other.problems else ""
        raise InputError(
            f"there is nothing to compare with{first}",
            file=str(place),
            remedy="name a store, or a folder with text, JSON, JSON lines, Parquet, PDDL with dangers.json, or tasks",
        )
    return other
