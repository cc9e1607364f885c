"""``hazardmill task import``: PDDL with a sidecar, and folders of DESPITE."""

from __future__ import annotations

import warnings
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.cli.task.import_despite import import_despite
from hazardmill.formalism.formats.pddl.reader import import_task


@click.command(
    "import",
    epilog="Example: hazardmill task import --from pddl domain.pddl problem.pddl --dangers dangers.json --out soup",
)
@click.option(
    "--from", "language", type=click.Choice(["pddl", "despite"]), required=True, help="What the task is written in."
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--dangers",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With pddl: JSON of what PDDL cannot say: context, bounds, danger entries and their limit"
    " (sidecar.schema.json).",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Task folder to write; with despite the folder for all of them [default: nothing is written].",
)
@click.option("--jobs", type=click.IntRange(1), help="With despite: processes [default: one a core].")
@json_option
def import_(
    language: str, paths: tuple[Path, ...], dangers: Path | None, out: Path | None, jobs: int | None, as_json: bool
) -> None:
    """Make task folders of PDDL and its sidecar of dangers, or of folders of DESPITE.

    With pddl, PATHS are the files of the domain and of the problem. With despite, it is one folder with a code.py,
    or one above thousands; their code runs in the jail, and what could be better about a task is a finding.

    Exit code 1 if one of several folders failed, 3 if what is named cannot be read, or says what tasks cannot.
    """
    if language == "despite":
        if len(paths) != 1 or dangers is not None:
            raise click.UsageError("--from despite takes one folder, and no --dangers")
        import_despite(paths[0], out, jobs, as_json)
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
