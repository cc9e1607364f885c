"""The page: one self-contained file with funnel, cost, figures and some tasks in full. No script, nothing loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hazardmill import __version__
from hazardmill.report import examples, tables
from hazardmill.report.queries import Readable
from hazardmill.report.report_data import gather
from hazardmill.reporting.html import environment, write_text
from hazardmill.reporting.numbers import NONE
from hazardmill.review.analysis.statistics import ReviewStatistics

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TEMPLATES: Final = Path(__file__).resolve().parent / "templates"


def write_report(
    store: Readable,
    run_ids: Sequence[str],
    path: Path,
    sources: Sequence[str] = (),
    review: ReviewStatistics | None = None,
) -> Path:
    """Write the page of some runs.

    Args:
        store: Where the runs are.
        run_ids: The runs, oldest first; runs of ingestion may be among them.
        path: The file to write; its folder is made.
        sources: The sources to restrict it to; all if none.
        review: What reviewers decided; null if the page is not to tell of any.

    Returns:
        The path.

    Raises:
        StoreError: The file cannot be written.
        DocumentError: The store holds a task that this version cannot read.
    """
    write_text(path, store.query(lambda views: render_report(views, run_ids, sources, review)))
    return path


def render_report(
    connection: DuckDBPyConnection,
    run_ids: Sequence[str],
    sources: Sequence[str] = (),
    review: ReviewStatistics | None = None,
) -> str:
    """The page as HTML; see ``hazardmill.report.report_data.gather`` for the arguments."""
    contents = gather(connection, run_ids, sources, review)
    return (
        environment(TEMPLATES)
        .get_template("report.html.j2")
        .render(
            it=contents,
            way=tables.funnel_table(contents.funnel),
            lost=[place for place, (_, words) in enumerate(tables.WAY) if words.startswith("-")],
            failures=tables.draft_failures(contents.funnel),
            balanced=not contents.funnel.balance(),
            price=tables.cost_of_task(contents.cost),
            spend=tables.spend(contents.cost),
            figures={figure.name: figure for figure in contents.figures},
            shown=examples.example_tasks(connection, run_ids, contents.tasks),
            version=__version__,
            # Not `none`: to a template that is null.
            blank=NONE,
        )
    )
