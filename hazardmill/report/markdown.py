"""Render a report as Markdown: tables, and figures as SVG files beside it.

The figures are files and not ``data:`` addresses, which sites that show Markdown leave out, and which would fill pages
of the text with base64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hazardmill import __version__
from hazardmill.report import tables
from hazardmill.report.queries import Readable
from hazardmill.report.report_data import ReportData, gather
from hazardmill.report.task_list import SourceTasks, list_in_markdown, list_tasks
from hazardmill.reporting.html import write_text
from hazardmill.reporting.markdown import code, escape_markdown, figure_files, figure_markdown, fold_grid, grid_markdown
from hazardmill.reporting.numbers import UNKNOWN
from hazardmill.review.analysis.statistics import ReviewStatistics

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_OFFLINE: Final = (
    "> **Written by the offline author.** Answers in these runs came from hazardmill's rule-based stand-in"
    " (`offline-author`), not from a language model. They show that the pipeline works; they say nothing about any"
    " model, and the tasks are not a dataset."
)


def write_markdown(
    store: Readable,
    run_ids: Sequence[str],
    path: Path,
    sources: Sequence[str] = (),
    review: ReviewStatistics | None = None,
    *,
    folder: str | None = None,
) -> Path:
    """Write the report on some runs as Markdown, and its figures into the folder ``report-figures`` beside it.

    Args:
        store: The store with the runs.
        run_ids: The runs, oldest first.
        path: The file to write; missing folders are created.
        sources: The sources to restrict the report to; empty: all.
        review: The decisions of reviewers; null: the report leaves them out.
        folder: Path of the folder with a folder per task, relative to the file; null if there is none to link to.

    Returns:
        The path.

    Raises:
        StoreError: A file cannot be written.
        DocumentError: The store holds a task that this version cannot read.
    """
    text, figures = store.query(lambda views: render_markdown(views, run_ids, sources, review, folder=folder))
    for name, svg in figures.items():
        write_text(path.parent / name, svg)
    write_text(path, text)
    return path


def render_markdown(
    connection: DuckDBPyConnection,
    run_ids: Sequence[str],
    sources: Sequence[str] = (),
    review: ReviewStatistics | None = None,
    *,
    folder: str | None = None,
) -> tuple[str, dict[str, str]]:
    """Render the report on some runs as Markdown.

    The arguments are those of ``hazardmill.report.report_data.gather``, and ``folder`` is that of ``write_markdown``.

    Returns:
        The text, and its figures: path relative to the text, to SVG.

    Raises:
        DocumentError: The store holds a task that this version cannot read.
    """
    contents = gather(connection, run_ids, sources, review)
    blocks = list(_blocks(contents, list_tasks(contents.tasks, folder)))
    first = next(place for place, block in enumerate(blocks) if block.startswith("## "))
    text = "\n\n".join([*blocks[:first], _contents(blocks), *blocks[first:]]) + "\n"
    return text, figure_files(contents.figures)


def _contents(blocks: Sequence[str]) -> str:
    """Return links to all sections; their anchors are those that GitHub, GitLab and most other sites make."""
    titles = [block.removeprefix("## ") for block in blocks if block.startswith("## ")]
    return "\n".join(f"- [{title}](#{title.lower().replace(' ', '-')})" for title in titles)


def _blocks(it: ReportData, listed: Sequence[SourceTasks]) -> Iterator[str]:
    figures = {figure.name: figure for figure in it.figures}
    yield "# From records to proved tasks"
    yield f"Report of {', '.join(map(code, it.run_ids))}, written by hazardmill {__version__}."
    if it.sources:
        yield (f"Restricted to {', '.join(map(code, it.sources))}; requests made for no single record are left out.")
    if it.offline:
        yield _OFFLINE
    if it.recorded is not None:
        yield f"> **Recorded answers.** {escape_markdown(it.recorded.summary)}"
    if it.funnel.balance():
        yield f"> **The funnel does not add up.** {escape_markdown(it.notes[-1])}"
    yield "\n".join(f"- **{escape_markdown(figure)}** {words}" for figure, words in it.headline)
    yield "\n".join(_run(run) for run in it.runs)
    yield "## Where the records went"
    yield grid_markdown(tables.funnel_table(it.funnel))
    yield "\n".join(f"- {escape_markdown(note)}" for note in it.notes)
    for name in ("funnel", "losses", "drafts"):
        yield figure_markdown(figures[name])
    if it.funnel.draft_failures:
        yield fold_grid(tables.draft_failures(it.funnel))
    yield "## What it cost"
    yield grid_markdown(tables.cost_of_task(it.cost))
    yield figure_markdown(figures["cost"])
    yield fold_grid(tables.spend(it.cost))
    yield "## What the tasks are about"
    for name in ("flows", "groups", "types", "effort"):
        yield figure_markdown(figures[name])
    yield "## The tasks as a corpus"
    for grid in it.gates:
        yield grid_markdown(grid)
    if it.reviewed:
        yield "## Who reviewed the tasks"
        yield escape_markdown(it.reviewed)
        for grid in it.reviews:
            yield fold_grid(grid)
    yield "## Beside the published figures of DESPITE"
    yield figure_markdown(figures["published"])
    yield grid_markdown(it.published)
    if listed:
        yield "## All tasks"
        yield from list_in_markdown(listed)


def _run(run: dict[str, object]) -> str:
    parts = (run["kind"], run["state"], run["began"], run["models"], run["backends"], run["jails"])
    return f"- {code(str(run['run_id']))}: {', '.join(escape_markdown(str(part or UNKNOWN)) for part in parts)}"
