"""What the commands that score answers one by one share: asking, what is not there yet, and what is printed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hazardmill.cli.evaluate.score import answer_all
from hazardmill.cli.evaluate.words import render_turned_away
from hazardmill.cli.options import print_json
from hazardmill.errors import HazardmillError, RunWaiting
from hazardmill.evaluation.scored_run import ScoredRun
from hazardmill.store_access import open_store
from hazardmill.text.printable import printable

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ScoredAnswers:
    """Scored answers, and what the summary says of where they are from.

    Attributes:
        table: The rows.
        folder: Where they are written.
        name: Name of the evaluation.
        said: What the summary says.
        questions: What was asked, as JSON values; None if nobody was asked.
        missing: Number of answers that are not there yet.
        waiting: Why they are not there; None if all are.
    """

    table: pa.Table = field(repr=False)
    folder: Path
    name: str
    said: Mapping[str, Any] = field(default_factory=dict)
    questions: Iterable[Mapping[str, Any]] | None = None
    missing: int = 0
    waiting: RunWaiting | None = None


def score_answers(
    run: ScoredRun[Any],
    total: int,
    of: str,
    out: Path | None,
    store_path: Path | None,
    *,
    name: str,
    said: Mapping[str, Any],
    questions: Iterable[Mapping[str, Any]] | None = None,
    quiet: bool,
    wait: bool,
    what: str = "tasks",
) -> ScoredAnswers:
    """Ask, and score the answers; where requests travel together, those that are there so far.

    Args:
        run: What is asked.
        total: Number of tasks, scenarios or episodes that it is asked about.
        of: What to call all of them.
        out: Where rows and figures will be written; None for a folder with the name of the evaluation.
        store_path: The store, created if missing; None for that of the settings.
        name: Name of the evaluation.
        said: What the summary says of it.
        questions: What is asked, as JSON values.
        quiet: Whether to print no progress.
        wait: Whether to wait for requests that were sent together.
        what: The word for what is counted.

    Returns:
        The rows, and how many answers are not there yet.

    Raises:
        UsageError: The folder holds something else.
        RunStopped: Interrupted, out of money, or the disk refused; the same command resumes.
        ProviderError: The provider cannot be asked, or did not read a single request; likewise.
    """  # ``answer_all`` raises them
    folder = out or Path("evaluations") / name
    waiting: RunWaiting | None = None
    missing = 0
    try:
        table = answer_all(run, total, of, folder, store_path, quiet=quiet, wait=wait, what=what, named=name)
    except RunWaiting as error:
        waiting = error
        table, missing = asyncio.run(run.rows_so_far(open_store(store_path)))
    return ScoredAnswers(table, folder, name, said, questions, missing, waiting)


def show_scores(
    found: ScoredAnswers, summary: Mapping[str, Any], lines: Iterable[str], *, as_json: bool, missing: str
) -> None:
    """Print what was found, and say that the command is to be called again if answers are not there yet.

    Args:
        found: The scored answers.
        summary: The summary as written.
        lines: The figures in words.
        as_json: Whether to print the summary instead.
        missing: What to say of things whose answers are not there yet, after their number.

    Raises:
        RunWaiting: Answers are not there yet.
    """
    if as_json:
        print_json({**summary, "folder": str(found.folder)})
    else:
        for line in (
            *lines,
            *render_turned_away(summary["turned_away"], found.table.num_rows),
            *((f"{found.missing} {missing}",) * bool(found.missing)),
            f"digest: {summary['digest']}",
            f"rows and figures: {found.folder}",
        ):
            click.echo(printable(line))
    if found.waiting is not None:
        raise found.waiting


def complain(errors: Iterable[HazardmillError]) -> None:
    """Print what is wrong with input that is left out."""
    for error in errors:
        click.echo(printable(f"error: {error}"), err=True)
