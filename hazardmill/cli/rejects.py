"""Prints the rejects of an input on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

import click

from hazardmill.ingest.intake import place
from hazardmill.records import Reject


def show_rejects(rejects: Iterable[Reject], *, err: bool = False) -> None:
    """Print where each reject was, what was wrong and how to fix it, then the query that lists all of them.

    Args:
        rejects: The examples to print.
        err: Whether to print to standard error.
    """
    rejects = tuple(rejects)
    for reject in rejects:
        click.echo(f"  {place(reject)}: {reject.message} [{reject.remedy}]", err=err)
    if rejects:
        click.echo('  all of them: hazardmill query "from rejects"', err=err)
