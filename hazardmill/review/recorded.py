"""What language models decided on recorded tasks: files that travel with a source, and the review folder made of them.

``recorded/reviews.jsonl`` in the folder of a source holds slips and decisions on tasks as the files of a review folder
do, ``recorded/scenario-reviews.jsonl`` those on scenarios, and ``recorded/hazard-task-reviews.jsonl`` those on hazard
tasks, whose source is ``acting``. Each slip comes before the decisions on it. Only decisions of models are recorded;
the work of people stays where it was done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from pydantic import Discriminator, TypeAdapter

from hazardmill.errors import InputError
from hazardmill.files import read_regular
from hazardmill.records import FrozenModel
from hazardmill.review.assignments.model import ReviewAssignment
from hazardmill.review.candidates import ReviewItem
from hazardmill.review.decisions.append_log import read_line
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.decisions.history import Decision, Undo
from hazardmill.review.models import is_model
from hazardmill.store.files.fsync_io import make_folder, write_file

PLACE: Final = Path("recorded", "reviews.jsonl")
"""Path of the file on tasks in the folder of its source."""

SCENARIO_PLACE: Final = Path("recorded", "scenario-reviews.jsonl")
"""Path of the file on scenarios there."""

HAZARD_TASK_PLACE: Final = Path("recorded", "hazard-task-reviews.jsonl")
"""Path of the file on hazard tasks there."""

_PLACES: Final = {"scenario": SCENARIO_PLACE, "hazard_task": HAZARD_TASK_PLACE}

_REMEDY: Final = "reinstall hazardmill, or record again: hazardmill review record"

Line: TypeAlias = Annotated[ReviewAssignment | Decision | Undo, Discriminator("row")]

_LINE: Final[TypeAdapter[ReviewAssignment | Decision | Undo]] = TypeAdapter(Line)


class RecordedReviews(FrozenModel):
    """What was recorded of one source, on tasks, on scenarios or on hazard tasks.

    Attributes:
        source: Name of the source.
        path: The file that was written.
        tasks: Number of tasks, scenarios or hazard tasks with a decision.
        decisions: Number of decisions.
        reviewers: Names of the models, sorted.
    """

    source: str
    path: Path
    tasks: int
    decisions: int
    reviewers: tuple[str, ...]


def record_reviews(folder: ReviewFolder, items: Mapping[str, ReviewItem], out: Path) -> list[RecordedReviews]:
    """Write what models decided on tasks, scenarios and hazard tasks, one file each per source.

    Nothing is selected: rejections and undone decisions are written too.

    Args:
        folder: The review.
        items: All items; decisions on anything else are left out.
        out: Folder in which ``SOURCE/recorded/reviews.jsonl``, ``scenario-reviews.jsonl`` and
            ``hazard-task-reviews.jsonl`` are written; an existing file is replaced.

    Returns:
        One entry per file.

    Raises:
        InputError: No model has decided on any of these tasks, or a file of the review is damaged.
        StoreError: A file cannot be written.
    """
    histories = folder.histories()
    found: dict[tuple[str, Path], list[ReviewAssignment]] = defaultdict(list)
    for slip in folder.slips():
        item = items.get(slip.item)
        if slip.kind == "task" and is_model(slip.reviewer) and item is not None:
            found[item.source, _PLACES.get(item.kind, PLACE)].append(slip)
    made = []
    for (source, place), slips in sorted(found.items()):
        lines: list[ReviewAssignment | Decision | Undo] = []
        for slip in sorted(slips, key=lambda slip: (slip.item, slip.reviewer)):
            said = [entry for entry in histories[slip.reviewer].entries if entry.slip == slip.id]
            lines += [slip, *said] if said else []
        if not lines:
            continue
        path = out / source / place
        make_folder(path.parent.absolute())
        write_file(path, "".join(f"{line.line()}\n" for line in lines).encode())
        decisions = [line for line in lines if isinstance(line, Decision)]
        made.append(
            RecordedReviews(
                source=source,
                path=path,
                tasks=len({line.item for line in decisions}),
                decisions=len(decisions),
                reviewers=tuple(sorted({line.reviewer for line in decisions})),
            )
        )
    if not made:
        raise InputError(
            "no language model has reviewed any of these tasks",
            file=str(folder.path),
            remedy="name a review folder with decisions by language models (reviewers whose names begin with model-)",
        )
    return made


def lay_out(files: Iterable[Path], folder: ReviewFolder) -> int:
    """Fill a review folder from recorded files; what it holds already stays and is not written twice.

    Args:
        files: The recorded files.
        folder: The review; if it has no rubric, its folder is made and gets hazardmill's rubric.

    Returns:
        The number of decisions in the files.

    Raises:
        InputError: A file cannot be read or is damaged; the error names file and line.
        StoreError: The folder cannot be written.
    """
    lines = [line for path in files for line in _read(path)]
    folder.adopt_rubric()
    with folder.assigning() as give:
        there = set(folder.assignments().by_id)
        give([line for line in lines if isinstance(line, ReviewAssignment) and line.id not in there])
    said: dict[str, list[Decision | Undo]] = defaultdict(list)
    for line in lines:
        if not isinstance(line, ReviewAssignment):
            said[line.reviewer].append(line)
    for reviewer, entries in sorted(said.items()):
        with folder.decision_log(reviewer).writing() as (history, append):
            append([entry for entry in sorted(entries, key=lambda entry: entry.at) if entry.id not in history])
    return sum(isinstance(line, Decision) for line in lines)


def _read(path: Path) -> Iterator[ReviewAssignment | Decision | Undo]:
    try:
        data = read_regular(path)
    except OSError as error:
        raise InputError(
            f"recorded reviews cannot be read: {error.strerror}", file=str(path), remedy=_REMEDY
        ) from error
    for number, text in enumerate(data.split(b"\n"), 1):
        if not text.strip():
            continue
        try:
            line = read_line(text, path, number, _LINE.validate_python)
            if not is_model(line.reviewer):
                raise InputError(f"{line.reviewer} is not a model, and only decisions of models are recorded")
        except InputError as error:
            error.file, error.line, error.remedy = str(path), number, _REMEDY
            raise
        yield line
