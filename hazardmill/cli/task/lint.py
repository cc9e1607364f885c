"""``hazardmill task lint``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.cli.thresholds import read_thresholds
from hazardmill.cli.ticker import Ticker
from hazardmill.errors import InputError
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.quality.corpus_thresholds import CorpusReport, Gate
from hazardmill.quality.lint import Linter, LintItem, Report
from hazardmill.quality.lint import lint as lint_tasks
from hazardmill.quality.lint_items import lint_items
from hazardmill.quality.structure import structure_id
from hazardmill.report.corpus import gate_figure, gate_threshold
from hazardmill.sandbox.proving import provers
from hazardmill.text.printable import printable

if TYPE_CHECKING:
    pass


_LONGEST: Final = 160


@click.command(epilog="Example: hazardmill task lint demo-out/tasks")
@click.argument("place", metavar="DIR|STORE", type=click.Path(path_type=Path))
@click.option(
    "--limit-examples",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    help="Maximum number of examples per rule.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=DRAFT_LIMIT,
    show_default=True,
    help="Maximum number of expansions of a search.",
)
@click.option(
    "--imported",
    is_flag=True,
    help="Treat all tasks as imported, so that failed claims are findings [default: for tasks that say so].",
)
@click.option("--strict", is_flag=True, help="Exit code 1 for findings too.")
@click.option("--gate", is_flag=True, help="Give exit code 1 also if the corpus does not pass every gate.")
@click.option(
    "--threshold",
    "settings",
    multiple=True,
    metavar="NAME=NUMBER",
    help="Threshold of a gate; repeat for several. `enough` is the fewest tasks for which shares are computed.",
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
    """Count problems across many tasks, by rule, with examples.

    DIR is a folder with task folders at any depth; STORE is the folder of a store. The rules are the claims of a
    certificate, and further rules that compare tasks (docs/formalism.md). The gates compare figures of the whole corpus
    with thresholds (docs/report.md).

    Exit code 1 if any task is refused, 3 if there is no task to check. With --gate, a gate that cannot be decided
    counts as failed.
    """  # noqa: DOC501  # the docstring is the command's help
    thresholds = read_thresholds(settings)
    items = lint_items(place, imported)
    prove = partial(provers().run, limit)
    linter = Linter(limit, partial(prove, structure_id), partial(prove, certify))
    report = lint_tasks(_count_aloud(items), linter, limit_examples, thresholds)
    if not report.tasks:
        raise InputError(
            "there is no task here", file=str(place), remedy="name a folder that holds task folders, or a store"
        )
    if as_json:
        print_json(report.to_json())
    else:
        for text in in_words(report):
            click.echo(text)
    if report.has_refusals or (strict and report.has_findings) or (gate and report.corpus.passed is not True):
        sys.exit(1)


def _count_aloud(items: Iterable[LintItem]) -> Iterator[LintItem]:
    """Pass the tasks on, and print now and then how many there were."""
    ticker = Ticker()
    for count, item in enumerate(items):
        ticker.tell(f"linted {count} tasks")
        yield item


def in_words(report: Report) -> Iterator[str]:
    """Render the findings for people, by rule."""
    for row in report.rows:
        yield f"{row.level:<9}  {row.rule}: {row.tasks} of {report.tasks} tasks"
        for each in row.examples:
            message = each.message if len(each.message) <= _LONGEST else each.message[: _LONGEST - 3] + "..."
            yield printable(f"{'':<11}{each.task}: {message}")
    yield f"{report.tasks} tasks, {report.clean} of them without any finding"
    for text in corpus_in_words(report.corpus):
        yield printable(text)


def corpus_in_words(corpus: CorpusReport) -> Iterator[str]:
    """Render the gates and the make-up of the corpus for people."""
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
