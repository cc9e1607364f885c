"""``hazardmill task lint``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from hazardmill.commands.options import json_option, print_json
from hazardmill.errors import DocumentError, InputError, StoreError
from hazardmill.formalism.effort import DRAFT_LIMIT

if TYPE_CHECKING:
    from hazardmill.quality.lint import Item, Report
    from hazardmill.store.store import Store

_FETCHED: Final = 64
"""Stored tasks that are held at a time."""
_SAY_EVERY_S: Final = 3.0
_LONGEST: Final = 160


@click.command(epilog="Example: hazardmill task lint demo-out/tasks")
@click.argument("place", metavar="DIR|STORE", type=click.Path(path_type=Path))
@click.option(
    "--limit-examples", type=click.IntRange(0), default=3, show_default=True, help="Most examples to show a rule."
)
@click.option(
    "--limit", type=click.IntRange(1), default=DRAFT_LIMIT, show_default=True, help="Most expansions of a search."
)
@click.option("--imported", is_flag=True, help="Count what fails as findings [default: of tasks that say so].")
@click.option("--strict", is_flag=True, help="Exit code 1 for findings too.")
@json_option
def lint(place: Path, limit_examples: int, limit: int, imported: bool, strict: bool, as_json: bool) -> None:
    """Count what is wrong with many tasks, by rule, with examples.

    DIR is a folder with task folders in it, at any depth; STORE is the folder of a store. The rules are the claims of a
    certificate, and what shows when tasks are compared: see docs/formalism.md.

    Exit code 1 if any task is refused, 3 if there is no task to look at.
    """
    from hazardmill.quality.lint import Linter
    from hazardmill.quality.lint import lint as looked_at
    from hazardmill.report.structure import structure_key

    items = tasks_in(place, imported)
    report = looked_at(_watched(items), Linter(limit, structure_key), limit_examples)
    if not report.tasks:
        raise InputError(
            "there is no task here", file=str(place), remedy="name a folder that holds task folders, or a store"
        )
    if as_json:
        print_json(report.to_json())
    else:
        for text in in_words(report):
            click.echo(text)
    if report.refused or (strict and report.found):
        sys.exit(1)


def tasks_in(place: Path, imported: bool = False) -> Iterator[Item]:
    """Each task of a store, by id, or of the folders below a folder, by path.

    Args:
        place: The store or folder.
        imported: Whether all tasks count as made elsewhere.

    Raises:
        InputError: There is no such folder.
        StoreError: The store cannot be read.
    """
    from hazardmill.store.store import Store

    if not place.is_dir():
        raise InputError("there is no such folder", file=str(place), remedy="name a folder of tasks, or a store")
    try:
        store = Store.open(place)
    except StoreError:
        return _in_folders(place, imported)
    return _in_store(store, imported)


def _in_folders(place: Path, imported: bool) -> Iterator[Item]:
    from hazardmill.commands.certify import declared_unavoidable, is_imported
    from hazardmill.commands.finding import read_document, task_folders
    from hazardmill.quality.lint import Item

    for path in task_folders(place):
        name = str(path.relative_to(place))
        try:
            document = read_document(path / "task.json")
        except DocumentError as error:
            yield Item(name, error)
            continue
        yield Item(name, document, declared_unavoidable(path), imported or is_imported(document))


def _in_store(store: Store, imported: bool) -> Iterator[Item]:
    from hazardmill.commands.certify import is_imported
    from hazardmill.formalism.document import Document
    from hazardmill.quality.lint import Item

    with store.connect() as connection:
        cursor = connection.execute("SELECT task_id, document, avoidability FROM latest_tasks ORDER BY task_id")
        while rows := cursor.fetchmany(_FETCHED):
            for name, text, avoidability in rows:
                try:
                    document = Document.from_json(json.loads(text))
                except DocumentError as error:
                    yield Item(name, error)
                except (ValueError, RecursionError) as error:
                    yield Item(name, DocumentError(f"the task is no JSON: {error}"))
                else:
                    unavoidable = avoidability == "unavoidable"
                    yield Item(name, document, unavoidable, imported or is_imported(document))


def _watched(items: Iterable[Item]) -> Iterator[Item]:
    """The same tasks; a line every few seconds says how far they are."""
    import time

    last = time.monotonic()
    for count, item in enumerate(items):
        if time.monotonic() - last > _SAY_EVERY_S:
            last = time.monotonic()
            click.echo(f"linted {count} tasks", err=True)
        yield item


def in_words(report: Report) -> Iterator[str]:
    """A report for people."""
    from hazardmill.commands.judging import printable

    for row in report.rows:
        yield f"{row.level:<9}  {row.rule}: {row.tasks} of {report.tasks} tasks"
        for each in row.examples:
            message = each.message if len(each.message) <= _LONGEST else each.message[: _LONGEST - 3] + "..."
            yield printable(f"{'':<11}{each.task}: {message}")
    yield f"{report.tasks} tasks, {report.clean} of them without any finding"
