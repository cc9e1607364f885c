"""Render a report as one self-contained HTML page, which runs no script and loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hazardmill import __version__
from hazardmill.report import examples, tables
from hazardmill.report.queries import Readable
from hazardmill.report.report_data import gather
from hazardmill.report.task_list import OPEN_AT_MOST, list_tasks
from hazardmill.reporting.html import environment, write_text
from hazardmill.reporting.numbers import NONE
from hazardmill.review.analysis.statistics import ReviewStatistics

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hazardmill.store.store import Store

TEMPLATES: Final = Path(__file__).resolve().parent / "templates"


def reports_folder(store: Store) -> Path:
    """Return the folder of the reports of a store: beside it, or in the working folder for a store in a bucket."""
    beside = Path("generated") if store.is_in_bucket else store.path.parent
    return (beside / "reports").absolute()


def write_report(
    store: Readable,
    run_ids: Sequence[str],
    path: Path,
    sources: Sequence[str] = (),
    review: ReviewStatistics | None = None,
    *,
    folder: str | None = None,
) -> Path:
    """Write the report on some runs as an HTML page.

    Args:
        store: The store with the runs.
        run_ids: The runs, oldest first; ingestion runs may be among them.
        path: The file to write; missing folders are created.
        sources: The sources to restrict the report to; empty: all.
        review: The decisions of reviewers; null: the page leaves them out.
        folder: Path of the folder with a folder per task, relative to the file; null if there is none to link to.

    Returns:
        The path.

    Raises:
        StoreError: The file cannot be written.
        DocumentError: The store holds a task that this version cannot read.
    """
    write_text(path, store.query(lambda views: render_report(views, run_ids, sources, review, folder=folder)))
    return path


def render_report(
    connection: DuckDBPyConnection,
    run_ids: Sequence[str],
    sources: Sequence[str] = (),
    review: ReviewStatistics | None = None,
    *,
    folder: str | None = None,
) -> str:
    """Return the report on some runs as HTML.

    The arguments are those of ``hazardmill.report.report_data.gather``, and ``folder`` is as in ``write_report``. The
    same rows give the same bytes.

    Raises:
        DocumentError: The store holds a task that this version cannot read.
    """
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
            listed=list_tasks(contents.tasks, folder),
            unfolded=len(contents.tasks) <= OPEN_AT_MOST,
            shown=examples.example_tasks(connection, run_ids, contents.tasks),
            version=__version__,
            # Not named `none`, which is null in a template.
            blank=NONE,
        )
    )
