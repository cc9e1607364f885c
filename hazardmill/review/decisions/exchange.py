"""Export decisions to files, import files of reviewers who worked elsewhere, and find conflicts between them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from pydantic import ValidationError

from hazardmill.errors import InputError, UsageError
from hazardmill.files import read_regular
from hazardmill.records import FrozenModel
from hazardmill.review.assignments.model import ReviewAssignment
from hazardmill.review.decisions.append_log import first_problem, read_line
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.decisions.history import Decision, DecisionHistory, Undo, read_entry
from hazardmill.review.rubric import ItemKind, describe_wrong_reasons
from hazardmill.store.files.fsync_io import make_folder, rename, write_file
from hazardmill.text.csv_tables import read_csv, write_csv

COLUMNS: Final = (
    "row",
    "id",
    "reviewer",
    "at",
    "slip",
    "item",
    "about",
    "verdict",
    "reasons",
    "note",
    "seen",
    "seconds",
    "rubric",
    "app",
    "submission",
    "undoes",
)
_AHEAD: Final = timedelta(days=1)
"""Tolerance for clocks that differ; a time further in the future is refused."""

Entry = Decision | Undo


class RefusedLine(FrozenModel):
    """A line that was not imported.

    Attributes:
        file: The file.
        line: Number of the line, from 1.
        message: What is wrong with it.
        remedy: What the reader can do about it.
    """

    file: str
    line: int
    message: str
    remedy: str


class Conflict(FrozenModel):
    """Two different decisions of one reviewer on one slip, made in separate copies of the review; both are kept.

    Attributes:
        reviewer: Name of the reviewer.
        slip: Id of the slip.
        item: Id of the task or plan.
        counts: Id of the decision that counts, the later one.
        verdict: Verdict of that decision.
        gives_way: Id of the other decision.
        other_verdict: Verdict of the other decision.
    """

    reviewer: str
    slip: str
    item: str
    counts: str
    verdict: str
    gives_way: str
    other_verdict: str


class ImportSummary(FrozenModel):
    """The result of an import.

    Attributes:
        files: The files, in the order given.
        new: Number of decisions and undos that were added.
        known: Number of lines that the review already had.
        refused: Lines that were not imported.
        conflicts: Slips on which the review and a file had different last decisions.
    """

    files: tuple[str, ...]
    new: int
    known: int
    refused: tuple[RefusedLine, ...]
    conflicts: tuple[Conflict, ...]


def entries(folder: ReviewFolder, reviewers: Iterable[str] = ()) -> list[Entry]:
    """Return decisions and undos, by reviewer and time.

    Args:
        folder: The review.
        reviewers: Names to restrict to; empty for everybody.

    Raises:
        UsageError: There is no reviewer of one of these names.
        InputError: A file of the review is damaged.
    """
    asked = set(reviewers)
    unknown = asked - set(folder.reviewers())
    if unknown:
        raise UsageError(
            f"there is no reviewer {sorted(unknown)[0]}", remedy=f"name one of the reviewers: {_names(folder)}"
        )
    return [
        entry for name, history in folder.histories().items() if not asked or name in asked for entry in history.entries
    ]


def export(folder: ReviewFolder, path: Path, reviewers: Iterable[str] = ()) -> int:
    """Write decisions and undos to a file, replacing one that exists.

    Args:
        folder: The review.
        path: A file whose name ends in ``.csv`` or ``.jsonl``.
        reviewers: Names to restrict to; empty for everybody.

    Returns:
        The number of decisions and undos written.

    Raises:
        UsageError: The name has another ending, or there is no such reviewer.
        InputError: A file of the review is damaged.
        StoreError: The file cannot be written.
    """
    found = entries(folder, reviewers)
    text = to_csv(found) if _kind(path) == "csv" else "".join(f"{entry.line()}\n" for entry in found)
    make_folder(path.absolute().parent)
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    write_file(staged, text.encode())
    rename(staged, path.absolute())
    return len(found)


def to_csv(found: Iterable[Entry]) -> str:
    """Return decisions and undos as CSV with a header.

    Cells that a spreadsheet could take for a formula begin with an apostrophe, which the import removes. Lines end in
    CR LF.
    """
    return write_csv(
        COLUMNS, ([_cell(values.get(name)) for name in COLUMNS] for values in (entry.to_json() for entry in found))
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    return " ".join(value) if isinstance(value, list) else str(value)


def import_files(
    folder: ReviewFolder,
    files: Sequence[Path],
    *,
    reviewer: str | None = None,
    kinds: Mapping[str, ItemKind] = MappingProxyType({}),
) -> ImportSummary:
    """Import decisions and undos from files.

    Faulty lines are refused one by one and the others kept. Importing a file twice changes nothing.

    Args:
        folder: The review.
        files: Files named ``.csv``, with the columns of an export, or ``.jsonl``.
        reviewer: The only reviewer whose decisions are accepted; ``None`` accepts everybody's.
        kinds: What each item is, by id, as far as known: its rejections must have reasons of that kind.

    Returns:
        The number of new and known lines, the refused lines, and the conflicts.

    Raises:
        UsageError: A name has another ending.
        InputError: A file cannot be read at all, or a file of the review is damaged.
        StoreError: The review cannot be written.
    """
    slips = {slip.id: slip for slip in folder.slips()}
    new = known = 0
    refused: list[RefusedLine] = []
    conflicts: list[Conflict] = []
    for path in files:
        by_reviewer: dict[str, list[tuple[int, Entry]]] = defaultdict(list)
        for number, found in _read(path):
            if isinstance(found, InputError):
                refused.append(_refusal(path, number, found.message, found.remedy or _AS_WRITTEN))
            elif (wrong := _find_forgery(found, slips, reviewer, folder, kinds)) is not None:
                refused.append(_refusal(path, number, *wrong))
            else:
                by_reviewer[found.reviewer].append((number, found))
        for name, lines in sorted(by_reviewer.items()):
            with folder.decision_log(name).writing() as (history, append):
                added, wrongs = _pick_new(history, path, lines)
                refused += wrongs
                conflicts += _conflicts(history, [entry for _, entry in lines], added)
                append(added)
                new += len(added)
                known += len(lines) - len(added) - len(wrongs)
    refused.sort(key=lambda each: (list(map(str, files)).index(each.file), each.line))
    return ImportSummary(
        files=tuple(map(str, files)), new=new, known=known, refused=tuple(refused), conflicts=tuple(conflicts)
    )


_AS_WRITTEN: Final = "send the file as hazardmill wrote it: hazardmill review export"


def _refusal(path: Path, line: int, message: str, remedy: str) -> RefusedLine:
    return RefusedLine(file=str(path), line=line, message=message, remedy=remedy)


def _kind(path: Path) -> Literal["csv", "jsonl"]:
    kind = path.suffix.lower()
    if kind not in (".csv", ".jsonl"):
        raise UsageError(
            f"{path.name} is neither CSV nor JSON lines", remedy="give it a name that ends in .csv or .jsonl"
        )
    return "csv" if kind == ".csv" else "jsonl"


def _read(path: Path) -> Iterator[tuple[int, Entry | InputError]]:
    kind = _kind(path)
    try:
        data = read_regular(path)
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", file=str(path)) from error
    if kind == "csv":
        yield from _read_csv(path, data)
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            try:
                entry = read_line(line, path, number, read_entry)
            except InputError as error:
                yield number, error
                continue
            # The id matches the line as it stands; it must also match the line as hazardmill would write it.
            yield (
                number,
                entry if entry.is_whole else InputError("the line was not written by hazardmill", remedy=_AS_WRITTEN),
            )


def _read_csv(path: Path, data: bytes) -> Iterator[tuple[int, Entry | InputError]]:
    for line, given in read_csv(path, data, COLUMNS, _AS_WRITTEN):
        yield line, given if isinstance(given, InputError) else _of_cells(given)


def _of_cells(given: Mapping[str, str]) -> Entry | InputError:
    model: type[Decision] | type[Undo] = Undo if given["row"] == "undo" else Decision
    values: dict[str, Any] = {name: text for name, text in given.items() if name in model.model_fields or text}
    if model is Decision:
        values["reasons"] = given["reasons"].split()
        values["seconds"] = given["seconds"] or None
    try:
        entry = read_entry(values)
    except ValidationError as error:
        return InputError(first_problem(error), remedy=_AS_WRITTEN)
    if entry.is_whole:
        return entry
    return InputError("the row was altered: its id does not match its contents", remedy=_AS_WRITTEN)


def _find_forgery(
    entry: Entry,
    slips: dict[str, ReviewAssignment],
    reviewer: str | None,
    folder: ReviewFolder,
    kinds: Mapping[str, ItemKind],
) -> tuple[str, str] | None:
    """Return why nobody can have been asked for this entry, and the remedy; ``None`` if nothing is wrong."""
    if reviewer is not None and entry.reviewer != reviewer:
        return (
            f"this is a decision of {entry.reviewer}",
            f"leave out --reviewer, which asks for those of {reviewer} only",
        )
    slip = slips.get(entry.slip)
    if slip is None:
        return f"assignment {entry.slip} does not exist in this review", "import it into the review that it was made in"
    if slip.reviewer != entry.reviewer:
        return (
            f"slip {entry.slip} is not {entry.reviewer}'s",
            "only the reviewer to whom an item is assigned may decide it",
        )
    if isinstance(entry, Decision) and (entry.item, entry.about) != (slip.item, about(slip)):
        return f"slip {entry.slip} is about another {about(slip)}", "import it into the review that it was made in"
    if isinstance(entry, Decision) and (wrong := describe_wrong_reasons(entry.reasons, kinds.get(entry.item))):
        return wrong, "decide again, with a reason that applies to this item"
    if entry.at > folder.now() + _AHEAD:
        return (
            f"it was decided at {entry.at.isoformat()}, which is in the future",
            "correct the clock, and decide again",
        )
    return None


def about(slip: ReviewAssignment) -> Literal["task", "plan"]:
    """Return whether a slip asks about a task (or what is asked about alike: scenario, hazard task) or a plan."""
    return "plan" if slip.kind == "plan" else "task"


def _pick_new(
    history: DecisionHistory, path: Path, lines: Sequence[tuple[int, Entry]]
) -> tuple[list[Entry], list[RefusedLine]]:
    """Return the entries of a file that are new, and the lines that contradict what is already recorded."""
    added: list[Entry] = []
    wrong: list[RefusedLine] = []
    both = DecisionHistory(history.entries)
    decisions = {entry.id for _, entry in lines if isinstance(entry, Decision)}
    for number, entry in lines:
        if entry.id in both:
            continue
        same_key = both.find_submission(entry.submission)
        if same_key is not None:
            message = "this submission is already recorded here, with a different answer"
            wrong.append(_refusal(path, number, message, _AS_WRITTEN))
        elif isinstance(entry, Undo) and entry.undoes not in both and entry.undoes not in decisions:
            message = "this row undoes a decision that is neither in this file nor in the review"
            wrong.append(_refusal(path, number, message, "import the whole file, including that decision"))
        else:
            both.add(entry)
            added.append(entry)
    return added, wrong


def _conflicts(history: DecisionHistory, file: Sequence[Entry], added: Sequence[Entry]) -> Iterator[Conflict]:
    """Yield the slips on which the review and the file each have a last decision, and the two differ."""
    theirs, both = DecisionHistory(file), DecisionHistory([*history.entries, *added])
    for slip in theirs.slips():
        ours, other = history.current(slip), theirs.current(slip)
        # If one side has the other's last decision and a later one, it has merely continued: no conflict.
        if ours is None or other is None or ours.id in theirs or other.id in history or ours.says_the_same(other):
            continue
        counts = both.current(slip)
        if counts is not None:
            gives_way = ours if counts.id == other.id else other
            yield Conflict(
                reviewer=counts.reviewer,
                slip=slip,
                item=counts.item,
                counts=counts.id,
                verdict=counts.verdict,
                gives_way=gives_way.id,
                other_verdict=gives_way.verdict,
            )


def _names(folder: ReviewFolder) -> str:
    return ", ".join(folder.reviewers()) or "none"
