"""``hazardmill household import`` and ``export``: tasks of SPOC."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hazardmill.cli.household.options import make_folder
from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import HazardmillError, NotExpressible, PlanningInputError, UsageError
from hazardmill.household.spoc_conversion.spoc_export import export_spoc_task
from hazardmill.household.spoc_conversion.spoc_import import import_spoc_task
from hazardmill.household.spoc_format import read_spoc_folder, write_spoc_task
from hazardmill.household.task import read_household_tasks, write_household_task
from hazardmill.text.printable import printable

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command("import", epilog="Example: hazardmill household import --from spoc spoc-tasks --out household-from-spoc")
@click.argument("folder", metavar="FOLDER", type=_FOLDER)
@click.option("--from", "origin", type=click.Choice(["spoc"]), required=True, help="Format of the files.")
@click.option("--out", type=_FOLDER, required=True, metavar="DIR", help="Folder to write to.")
@json_option
def import_(folder: Path, origin: str, out: Path, as_json: bool) -> None:
    """Import the task files of a folder as household tasks.

    A task takes place in our scene of its room, with the objects that it names. What a scene cannot say of its initial
    actions is kept in the task and reported.

    Exit code 1 if a file could not be imported (it is reported, and the rest is imported); 3 if FOLDER has no task
    file.
    """
    _refuse_same_folder(folder, out)
    written: list[dict[str, Any]] = []
    errors: list[HazardmillError] = []
    named: dict[str, Path] = {}
    for path, read in read_spoc_folder(folder):
        if isinstance(read, PlanningInputError):
            errors.append(read)
            continue
        found = import_spoc_task(read, path)
        first = named.setdefault(found.task.name, path)
        if first is not path:
            message = f"its task would be called {found.task.name}, as that of {first.name}"
            remedy = "rename one of the files: names of tasks have letters, digits, dots, dashes and underscores"
            errors.append(PlanningInputError(message, file=str(path), remedy=remedy))
            continue
        target = write_household_task(found.task, make_folder(out))
        written.append({"file": str(target), "not_in_scene": list(found.untold)})
    _finish(written, errors, out, as_json)


@click.command(epilog="Example: hazardmill household export household --to spoc --out spoc-tasks")
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("--to", "target_format", type=click.Choice(["spoc"]), required=True, help="Format of the files.")
@click.option("--out", type=_FOLDER, required=True, metavar="OUT", help="Folder to write to.")
@json_option
def export(folder: Path, target_format: str, out: Path, as_json: bool) -> None:
    """Export the household tasks of DIR as task files of SPOC.

    Imported tasks come out as they went in. The states of other scenes become initial actions; what these cannot say,
    such as places without coordinates, is reported.

    Exit code 1 if a task could not be read or exported (it is reported, and the rest is exported); 3 if DIR has none.
    """
    _refuse_same_folder(folder, out)
    written: list[dict[str, Any]] = []
    errors: list[HazardmillError] = []
    for path, task in read_household_tasks(folder):
        if isinstance(task, PlanningInputError):
            errors.append(task)
            continue
        found = export_spoc_task(task)
        target = make_folder(out) / f"{task.name}.json"
        try:
            write_spoc_task(found.assignment, target)
        except NotExpressible as error:
            error.file = str(path)
            errors.append(error)
            continue
        written.append({"file": str(target), "not_in_file": list(found.untold)})
    _finish(written, errors, out, as_json)


def _refuse_same_folder(folder: Path, out: Path) -> None:
    if out.resolve() == folder.resolve():
        raise UsageError("--out is the folder that is read", remedy="name another folder")


def _finish(written: Sequence[dict[str, Any]], errors: Sequence[HazardmillError], out: Path, as_json: bool) -> None:
    for error in errors:
        click.echo(f"error: {error}", err=True)
    if as_json:
        print_json({"tasks": list(written), "errors": [str(error) for error in errors]})
    else:
        for row in written:
            [untold] = (value for key, value in row.items() if key != "file")
            for text in untold:
                click.echo(printable(f"{Path(row['file']).name}: not said: {text}"))
        click.echo(f"{len(written)} tasks, {len(errors)} files with errors; written to {out}")
    if errors:
        sys.exit(1)
