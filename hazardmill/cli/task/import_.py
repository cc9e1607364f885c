"""``hazardmill task import``."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.conversion.despite_import import ImportCounts, find_folders, import_folders
from hazardmill.formalism.formats.pddl.reader import import_task
from hazardmill.text.printable import printable

_SHOWN_FAILURES: Final = 20
_EVERY_S: Final = 3.0


@click.command(
    "import",
    epilog="Example: hazardmill task import --from pddl domain.pddl problem.pddl --dangers dangers.json --out soup",
)
@click.option("--from", "language", type=click.Choice(["pddl", "despite"]), required=True, help="The format to read.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--dangers",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With pddl: JSON with what PDDL cannot express: context, bounds, danger entries and their limit"
    " (sidecar.schema.json).",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Task folder to write; with despite, the folder above them [default: nothing is written].",
)
@click.option("--jobs", type=click.IntRange(1), help="With despite: number of processes [default: one per core].")
@json_option
def import_(
    language: str, paths: tuple[Path, ...], dangers: Path | None, out: Path | None, jobs: int | None, as_json: bool
) -> None:
    """Import tasks from PDDL with dangers, or from DESPITE folders.

    With pddl, PATHS are the domain file and the problem file. With despite, it is one folder with a code.py, or a
    folder above any number of such folders. Their code runs in the jail, and what could be better about a task is
    reported as a finding.

    Exit code 1 if one of several folders failed; 3 if the input cannot be read, or contains something that tasks cannot
    express.
    """  # noqa: DOC501  # the docstring is the command's help
    if language == "despite":
        if len(paths) != 1 or dangers is not None:
            raise click.UsageError("--from despite takes one folder, and no --dangers")
        _import_despite(paths[0], out, jobs, as_json)
        return
    if len(paths) != 2 or dangers is None or out is None or jobs is not None:
        raise click.UsageError("--from pddl takes DOMAIN PROBLEM --dangers FILE --out FOLDER, and no --jobs")
    _import_pddl(*paths, dangers, out, as_json)


def _import_pddl(domain: Path, problem: Path, dangers: Path, out: Path, as_json: bool) -> None:
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        document = import_task(domain, problem, dangers, out)
    if as_json:
        print_json(
            {
                "folder": str(out),
                "name": document.name,
                "document_hash": document.hash,
                "notes": [str(note.message) for note in notes],
            }
        )
        return
    for note in notes:
        click.echo(f"note: {note.message}", err=True)
    click.echo(f"{out}: {len(document.actions)} actions, {len(document.dangers)} danger entries")
    click.echo(f"try: hazardmill task solve {out}")


def _import_despite(root: Path, out: Path | None, jobs: int | None, as_json: bool) -> None:
    found = find_folders(root)
    counts = ImportCounts()
    progress = _ImportProgress(len(found))
    for result in import_folders(found, root, out, jobs):
        counts.add(result)
        progress(counts)
    progress.close()
    _show(counts, out, as_json)
    if counts.failures:
        sys.exit(1)


class _ImportProgress:
    """Prints a line every few seconds on standard error; on a terminal it overwrites the last one."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._last = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def __call__(self, summary: ImportCounts) -> None:
        done = summary.imported + len(summary.failures)
        now = time.monotonic()
        if now - self._last < (0.1 if self._terminal else _EVERY_S):
            return
        self._last = now
        text = f"{done}/{self._total} folders: {summary.imported} imported, {len(summary.failures)} failed"
        # On a terminal each line overwrites the last.
        click.echo(f"\r{text}" if self._terminal else text, err=True, nl=not self._terminal)

    def close(self) -> None:
        """End the line that is being overwritten."""
        if self._terminal:
            click.echo(err=True)


def _show(summary: ImportCounts, out: Path | None, as_json: bool) -> None:
    if as_json:
        print_json({**summary.to_json(), "out": None if out is None else str(out)})
        return
    for failure in summary.failures[:_SHOWN_FAILURES]:
        line = "" if failure.line is None else f", line {failure.line} of the code"
        mend = f" [{failure.mend}]" if failure.mend else ""
        click.echo(printable(f"{failure.folder}{line}: {failure.reason}: {failure.message}{mend}"), err=True)
    if len(summary.failures) > _SHOWN_FAILURES:
        click.echo(f"... and {len(summary.failures) - _SHOWN_FAILURES} more (--json lists all)", err=True)
    told = summary.to_json()
    click.echo(f"folders: {told['folders']}; imported: {told['imported']}, failed: {told['failed']}")
    for title, counts in (("failed", told["refusals"]), ("findings", told["findings"])):
        for line in _lines(title, counts):
            click.echo(printable(line))
    if out is not None and summary.imported:
        click.echo(f"written to {out}")


def _lines(title: str, counts: dict[str, Any]) -> Iterable[str]:
    for kind, told in counts.items():
        first = told["examples"][0]
        yield f"  {title} {kind}: {told['count']} (such as {Path(first['folder']).name}: {first['message']})"
