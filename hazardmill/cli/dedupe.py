"""``hazardmill dedupe``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click
from duckdb import DuckDBPyConnection

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.errors import DocumentError, InputError, UsageError
from hazardmill.formalism.document.document import Document
from hazardmill.quality.contamination import OVERLAP, CorpusComparison, CorpusOverlap, N, Piece
from hazardmill.quality.duplicates import Contradiction, Duplicate, DuplicatePool
from hazardmill.quality.other_corpus import Problem, read_corpus
from hazardmill.quality.text import fields_of
from hazardmill.store.store import Store
from hazardmill.store_access import open_store
from hazardmill.text.printable import printable

FORMAT: Final = "hazardmill-dedupe/1"
"""The version of the JSON."""

_FETCHED: Final = 64
_SAY_EVERY_S: Final = 3.0

# In the order of the runs, and within a run in that of its records: who came first keeps the structure and the text.
_TASKS: Final = """
    SELECT tasks.task_id, tasks.document, tasks.danger, tasks.avoidability
    FROM {tasks} AS tasks
    LEFT JOIN outcomes ON outcomes.run_id = tasks.run_id AND outcomes.record_id = tasks.record_id
    LEFT JOIN (SELECT run_id, min("at") AS began FROM runs GROUP BY run_id) AS runs ON runs.run_id = tasks.run_id
    WHERE $run IS NULL OR tasks.run_id = $run
    ORDER BY began, tasks.run_id, ordinal, tasks.task_id
"""


@click.command(epilog="Example: hazardmill dedupe --store demo-out/store --against other/tasks")
@click.option("--run", "run_id", help="Only the tasks of this run [default: of all runs, of each task the latest].")
@click.option(
    "--against",
    type=click.Path(path_type=Path),
    metavar="DIR|STORE",
    help="Another corpus, such as a release: what does it hold of these tasks?",
)
@click.option(
    "--examples", type=click.IntRange(0), default=20, show_default=True, help="Most of each kind to list in words."
)
@store_option
@json_option
def dedupe(run_id: str | None, against: Path | None, examples: int, store_path: Path | None, as_json: bool) -> None:
    """Find tasks that are the same but for names and wording, here and in another corpus.

    A task is a duplicate of an earlier one if both have the same structure and nearly the same text. Labels that differ
    between tasks of nearly the same text, or of the same structure, are reported as contradictory. DIR may hold text,
    JSON, JSON lines, Parquet, PDDL or task folders. All definitions: docs/near-duplicates.md.

    Exit code 1 if there is a duplicate, a contradiction between nearly equal texts, a task that overlaps with the other
    corpus or has a structure that is there, or something that cannot be read; 3 if there is no task, or nothing to
    compare with.
    """
    store = open_store(store_path)
    if run_id is not None and not store.count("runs", {"run_id": run_id}):
        raise InputError(f"there is no run {run_id} here", remedy="see: hazardmill run list")
    if against is not None and against.is_dir() and against.resolve() == store.path.resolve():
        raise UsageError("a store is not compared with itself", remedy="name another one, or leave out --against")
    found = _within(store, run_id, compared=against is not None)
    if not found.tasks:
        raise InputError(
            "there is no task here", file=store.address, remedy="generate some first: hazardmill run generate --help"
        )
    if against is not None:
        found.against = _carried_past(against, found)
    if as_json:
        print_json(found.to_json())
    else:
        for line in in_words(found, examples):
            click.echo(line)
    if found.failed:
        sys.exit(1)


@dataclass
class Against:
    """What came of the comparison with another corpus."""

    place: str
    pieces: int = 0
    documents: int = 0
    skipped: int = 0
    problems: list[Problem] = field(default_factory=list)
    overlaps: list[CorpusOverlap] = field(default_factory=list)
    """Of every task."""


@dataclass
class DedupeReport:
    """Everything found in one store."""

    tasks: int = 0
    structures: set[str] = field(default_factory=set)
    without_structure: list[str] = field(default_factory=list)
    near: int = 0
    """Tasks whose text is near to an earlier one's."""
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    duplicates: list[tuple[str, Duplicate]] = field(default_factory=list)
    contradictions: list[Contradiction] = field(default_factory=list)
    comparison: CorpusComparison | None = None
    against: Against | None = None

    @property
    def failed(self) -> bool:
        """Whether anything was found that is not to be."""
        other = self.against
        return bool(
            self.unreadable
            or self.duplicates
            or any(each.basis != "structure" for each in self.contradictions)
            or (other is not None and (other.problems or any(map(_is_contaminated, other.overlaps))))
        )

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
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


def _against_json(other: Against) -> dict[str, Any]:
    return {
        "place": other.place,
        "pieces": other.pieces,
        "documents": other.documents,
        "skipped": other.skipped,
        "problems": [{"place": each.place, "message": each.message} for each in other.problems],
        "n": N,
        "threshold": OVERLAP,
        "overlapping": sum(map(_overlaps, other.overlaps)),
        "same_structure": sum(each.structure is not None for each in other.overlaps),
        "share_unknown": sum(each.share is None for each in other.overlaps),
        # Every task of which anything was found.
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


def _overlaps(each: CorpusOverlap) -> bool:
    return each.share is not None and each.share >= OVERLAP


def _is_contaminated(each: CorpusOverlap) -> bool:
    return _overlaps(each) or each.structure is not None


def _within(store: Store, run_id: str | None, *, compared: bool) -> DedupeReport:
    pool, found, clock = DuplicatePool(), DedupeReport(comparison=CorpusComparison() if compared else None), _Clock()
    for task_id, text, danger, avoidability in _tasks(store, run_id):
        found.tasks += 1
        clock.tell(f"{found.tasks} tasks compared")
        try:
            document = Document.from_json(json.loads(text)).to_json()
            fields = {**document["texts"], **json.loads(danger), "avoidability": avoidability}
        except DocumentError as error:
            found.unreadable.append((task_id, error.message))
            continue
        except (ValueError, TypeError, RecursionError) as error:
            found.unreadable.append((task_id, f"the task is no JSON: {error}"))
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
    cursor, rows = store.query(lambda views: _first_of_all(views, run_id))
    while rows:
        yield from rows
        rows = cursor.fetchmany(_FETCHED)


def _first_of_all(views: DuckDBPyConnection, run_id: str | None) -> tuple[DuckDBPyConnection, list[Any]]:
    """A cursor over all tasks, and the first of them; every part was read by then, for the first comes after a sort."""
    cursor = views.execute(_TASKS.format(tasks="latest_tasks" if run_id is None else "tasks"), {"run": run_id})
    return cursor, cursor.fetchmany(_FETCHED)


def _carried_past(place: Path, found: DedupeReport) -> Against:
    comparison, other, clock = found.comparison, Against(str(place)), _Clock()
    assert comparison is not None
    for item in read_corpus(place):
        if isinstance(item, Piece):
            comparison.look(item)
            clock.tell(f"{comparison.pieces} pieces of {place} read")
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


class _Clock:
    """Says how far the work is, every few seconds."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def tell(self, text: str) -> None:
        """Say it if it is time."""
        if time.monotonic() - self._last > _SAY_EVERY_S:
            self._last = time.monotonic()
            click.echo(text, err=True)


def in_words(found: DedupeReport, examples: int) -> Iterator[str]:
    """What was found, for people."""
    for title, lines in _sections(found):
        yield title
        for line in lines[:examples]:
            yield printable(f"  {line}")
        if len(lines) > examples:
            yield f"  and {len(lines) - examples} more: --json has all of them"


def _sections(found: DedupeReport) -> Iterator[tuple[str, list[str]]]:
    yield (
        f"{found.tasks} tasks of {len(found.structures)} structures; {found.near} with a text near to an earlier one's",
        [],
    )
    if found.unreadable:
        yield f"unreadable: {len(found.unreadable)}", [f"{task}: {message}" for task, message in found.unreadable]
    if found.without_structure:
        title = f"too large and regular to have a structure id: {len(found.without_structure)}"
        yield title, found.without_structure
    yield (
        f"duplicates (same structure, near text): {len(found.duplicates)}",
        [f"{task} of {twin.task_id}, Rouge-L {twin.similarity:.2f}" for task, twin in found.duplicates],
    )
    told = {"text": "near text", "both": "near text and same structure", "structure": "same structure alone"}
    for basis, name in told.items():
        alike = [each for each in found.contradictions if each.basis == basis]
        yield f"contradictory labels, {name}: {len(alike)}", [_contradicting(each) for each in alike]
    if found.against is not None:
        yield from _of_other(found.against)


def _contradicting(each: Contradiction) -> str:
    labels = "; ".join(f"{name} {ours}, there {theirs}" for name, ours, theirs in each.labels)
    return f"{each.task_id} and {each.other}: {labels}"


def _of_other(other: Against) -> Iterator[tuple[str, list[str]]]:
    skipped = f", {other.skipped} files of other kinds not read" if other.skipped else ""
    yield f"against {other.place}: {other.pieces} pieces with {other.documents} task documents{skipped}", []
    if other.problems:
        yield f"not readable: {len(other.problems)}", [f"{each.place}: {each.message}" for each in other.problems]
    overlapping = sorted((each for each in other.overlaps if _overlaps(each)), key=lambda each: -(each.share or 0))
    lines = [f"{each.task_id}: {each.found} of {each.ngrams} {N}-grams, most in {each.place}" for each in overlapping]
    yield f"tasks of whose {N}-grams at least {OVERLAP:.0%} are there: {len(lines)}", lines
    same = [each for each in other.overlaps if each.structure is not None]
    lines = [f"{each.task_id}: {each.structure}" + _and_more(each.structures - 1) for each in same]
    yield f"tasks of a structure that is there: {len(lines)}", lines
    unknown = [each.task_id for each in other.overlaps if each.share is None]
    if unknown:
        yield f"tasks without {N} words in a row, of which no share is known: {len(unknown)}", unknown


def _and_more(count: int) -> str:
    return f" and {count} more" if count else ""
