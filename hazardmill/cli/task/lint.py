"""``hazardmill task lint``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from duckdb import DuckDBPyConnection
from pydantic import ValidationError

from hazardmill.cli.options import json_option, print_json
from hazardmill.cli.task.certify import declared_unavoidable, is_imported
from hazardmill.cli.task.finding import read_document, task_folders
from hazardmill.errors import DocumentError, InputError, StoreError
from hazardmill.files import read_regular
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.quality.corpus_thresholds import CorpusReport, Gate, Thresholds
from hazardmill.quality.lint import Linter, LintItem, Report
from hazardmill.quality.lint import lint as looked_at
from hazardmill.quality.structure import structure_id
from hazardmill.report.corpus import gate_figure, gate_threshold
from hazardmill.sandbox.proving import provers
from hazardmill.store.store import Store
from hazardmill.text.printable import printable

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
@click.option("--gate", is_flag=True, help="Exit code 1 too unless every gate of the corpus is passed.")
@click.option(
    "--threshold",
    "settings",
    multiple=True,
    metavar="NAME=NUMBER",
    help="What a gate insists on; repeat for several. `enough` is the fewest tasks of which shares say anything.",
)
@json_option
def lint(
    place: Path,
    limit_examples: int,
    limit: int,
    imported: bool,
    strict: bool,
    gate: bool,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Count what is wrong with many tasks, by rule, with examples.

    DIR is a folder with task folders in it, at any depth; STORE is the folder of a store. The rules are the claims of a
    certificate, and what shows when tasks are compared: see docs/formalism.md. The gates hold figures of the whole
    corpus against thresholds: see docs/report.md.

    Exit code 1 if any task is refused, 3 if there is no task to look at. With --gate a gate that is unknown is not
    passed.
    """
    thresholds = thresholds_of(settings)
    items = tasks_in(place, imported)
    prove = partial(provers().run, limit)
    linter = Linter(limit, partial(prove, structure_id), partial(prove, certify))
    report = looked_at(_watched(items), linter, limit_examples, thresholds)
    if not report.tasks:
        raise InputError(
            "there is no task here", file=str(place), remedy="name a folder that holds task folders, or a store"
        )
    if as_json:
        print_json(report.to_json())
    else:
        for text in in_words(report):
            click.echo(text)
    if report.refused or (strict and report.found) or (gate and report.corpus.passed is not True):
        sys.exit(1)


def thresholds_of(settings: tuple[str, ...]) -> Thresholds:
    """The thresholds, some of them as ``NAME=NUMBER`` says.

    Raises:
        click.BadParameter: There is no such threshold, or it cannot have that value.
    """
    given: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in Thresholds.model_fields:
            raise click.BadParameter(
                f"{setting!r} is not NAME=NUMBER with a name of {', '.join(Thresholds.model_fields)}",
                param_hint="--threshold",
            )
        given[name] = value
    try:
        return Thresholds.model_validate(given)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise click.BadParameter(f"{wrong['loc'][0]}: {wrong['msg']}", param_hint="--threshold") from error


def tasks_in(place: Path, imported: bool = False) -> Iterator[LintItem]:
    """Each task of a store, by id, or of the folders below a folder, by path.

    Args:
        place: The store or folder.
        imported: Whether all tasks count as made elsewhere.

    Raises:
        InputError: There is no such folder.
        StoreError: The store cannot be read.
    """
    if not place.is_dir():
        raise InputError("there is no such folder", file=str(place), remedy="name a folder of tasks, or a store")
    try:
        store = Store.open(place)
    except StoreError:
        return _in_folders(place, imported)
    return _in_store(store, imported)


def _in_folders(place: Path, imported: bool) -> Iterator[LintItem]:
    for path in task_folders(place):
        name = str(path.relative_to(place))
        try:
            document = read_document(path / "task.json")
        except DocumentError as error:
            yield LintItem(name, error)
            continue
        source, danger = _origin(path)
        yield LintItem(
            name, document, declared_unavoidable(path), imported or is_imported(document), source=source, danger=danger
        )


def _origin(folder: Path) -> tuple[str | None, dict[str, Any] | None]:
    """Source and danger formalization of a task, as its folder's metadata says; null where it does not."""
    try:
        metadata = _object(read_regular(folder / "metadata.json")) or {}
    except OSError:
        return None, None
    ours, danger = metadata.get("hazardmill"), metadata.get("danger_formalization")
    source = ours.get("source") if isinstance(ours, dict) else None
    return source if isinstance(source, str) else None, danger if isinstance(danger, dict) else None


def _object(text: str | bytes) -> dict[str, Any] | None:
    """A JSON object; null where the text is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _in_store(store: Store, imported: bool) -> Iterator[LintItem]:
    cursor, rows = store.query(_first_of_all)
    while rows:
        for name, source, danger, text, avoidability in rows:
            try:
                document = Document.from_json(json.loads(text))
            except DocumentError as error:
                yield LintItem(name, error)
            except (ValueError, RecursionError) as error:
                yield LintItem(name, DocumentError(f"the task is no JSON: {error}"))
            else:
                yield LintItem(
                    name,
                    document,
                    avoidability == "unavoidable",
                    imported or is_imported(document),
                    source=source,
                    danger=_object(danger),
                )
        rows = cursor.fetchmany(_FETCHED)


def _first_of_all(views: DuckDBPyConnection) -> tuple[DuckDBPyConnection, list[Any]]:
    """A cursor over all tasks, and the first of them; every part was read by then, for the first comes after a sort."""
    cursor = views.execute("SELECT task_id, source, danger, document, avoidability FROM latest_tasks ORDER BY task_id")
    return cursor, cursor.fetchmany(_FETCHED)


def _watched(items: Iterable[LintItem]) -> Iterator[LintItem]:
    """The same tasks; a line every few seconds says how far they are."""
    last = time.monotonic()
    for count, item in enumerate(items):
        if time.monotonic() - last > _SAY_EVERY_S:
            last = time.monotonic()
            click.echo(f"linted {count} tasks", err=True)
        yield item


def in_words(report: Report) -> Iterator[str]:
    """A report for people."""
    for row in report.rows:
        yield f"{row.level:<9}  {row.rule}: {row.tasks} of {report.tasks} tasks"
        for each in row.examples:
            message = each.message if len(each.message) <= _LONGEST else each.message[: _LONGEST - 3] + "..."
            yield printable(f"{'':<11}{each.task}: {message}")
    yield f"{report.tasks} tasks, {report.clean} of them without any finding"
    for text in corpus_in_words(report.corpus):
        yield printable(text)


def corpus_in_words(corpus: CorpusReport) -> Iterator[str]:
    """The gates for people, and what the corpus is made of."""
    for gate in corpus.gates:
        word = {True: "passed", False: "FAILED", None: "unknown"}[gate.passed]
        yield f"gate {word:<8} {gate.name}: {_figure(gate)}"
        for example in gate.examples:
            yield f"{'':<14}{example}"
    found = corpus.structures
    if found.effective is not None and found.effective_simpson is not None:
        yield (
            f"structures: {found.kinds:,} distinct; effective number {found.effective:.1f} (exp of the entropy), "
            f"{found.effective_simpson:.1f} (1 / sum of squared shares)"
        )


def _figure(gate: Gate) -> str:
    why = f"; {gate.why}" if gate.why else ""
    return f"{gate_figure(gate)}, wanted {gate_threshold(gate)}; {gate.says} (n = {gate.tasks:,}{why})"
