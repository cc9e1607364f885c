"""What is looked at: the rows of a store or a release, and everything that is shown of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hazardmill.report.why.model import Story
from hazardmill.review.candidates import AnyContent
from hazardmill.viewer.opinions import ReviewerOpinion

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ViewRow:
    """One row of the table: a task, or a record from which there is none.

    Attributes:
        key: What the address of its page ends with, unique among all rows.
        title: Title of the task; of a record without one, what the robot would have been asked, or its id.
        label: The id that is shown below the title.
        facets: Value of each facet, by name; a facet may have several values or none.
        note: What is said of the row besides: why a record was not accepted; empty if there is nothing to say.
        text: What else the search looks at: the record and its danger.
        item: Id of the task; ``None`` if there is none, or if another record has it.
        record_id: The record.
        run_id: The run; empty in a release.
        same_as: Key of the row with the task that this record would repeat; empty if it repeats none.
    """

    key: str
    title: str
    label: str
    facets: Mapping[str, tuple[str, ...]]
    note: str
    text: str
    item: str | None
    record_id: str
    run_id: str = ""
    same_as: str = ""


@dataclass(frozen=True, slots=True)
class RowDetail:
    """Everything that is shown of one row.

    Attributes:
        content: The task, scenario or hazard task; ``None`` if the record has none.
        facts: Label and value of what the page says first: run, licence, models.
        opinions: What reviewers decided.
        results: What each planner's plans did, in words.
        story: How the record ended as it did, with prompts and answers; ``None`` in a release, which has neither.
        troubles: What cannot be shown, and why.
    """

    content: AnyContent | None
    facts: tuple[tuple[str, str], ...] = ()
    opinions: tuple[ReviewerOpinion, ...] = ()
    results: tuple[str, ...] = ()
    story: Story | None = None
    troubles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facet:
    """A column of the table by which its rows can be filtered.

    Attributes:
        name: Its name in ``ViewRow.facets``.
        label: Its heading.
    """

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What the page does not show, and where to find it.

    Attributes:
        what: How many of what: ``20 household tasks``.
        command: The command or call that shows them.
    """

    what: str
    command: str


@dataclass(frozen=True, slots=True)
class Collection:
    """The rows of a store or a release, as they were when it was read.

    Attributes:
        title: What is looked at, in a few words.
        says: Sentences about it for the head of the page.
        facets: The columns by which rows can be filtered.
        rows: The rows, in the order of the table.
        elsewhere: What is not among the rows.
        holds_answers: Whether pages have prompts and answers of models, as those of a store do.
        troubles: What cannot be shown, and why.
        fill_command: What to type so that there is something to show; empty if there is.
    """

    title: str
    says: tuple[str, ...]
    facets: tuple[Facet, ...]
    rows: Sequence[ViewRow] = field(repr=False)
    elsewhere: tuple[Elsewhere, ...] = ()
    holds_answers: bool = False
    troubles: tuple[str, ...] = ()
    fill_command: str = ""


class Viewable(Protocol):
    """A place that can be looked at."""

    def collect(self) -> Collection:
        """Return its rows."""
        ...

    def detail(self, row: ViewRow) -> RowDetail:
        """Return everything that is shown of one of its rows."""
        ...
