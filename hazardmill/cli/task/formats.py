"""``hazardmill task import | export``: PDDL with a sidecar, and folders of DESPITE."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.errors import InputError


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
        from hazardmill.cli.task.import_ import import_despite

        if len(paths) != 1 or dangers is not None:
            raise click.UsageError("--from despite takes one folder, and no --dangers")
        import_despite(paths[0], out, jobs, as_json)
        return
    if len(paths) != 2 or dangers is None or out is None or jobs is not None:
        raise click.UsageError("--from pddl takes DOMAIN PROBLEM --dangers FILE --out FOLDER, and no --jobs")
    _import_pddl(*paths, dangers, out, as_json)


def _import_pddl(domain: Path, problem: Path, dangers: Path, out: Path, as_json: bool) -> None:
    import warnings

    from hazardmill.formalism.formats.pddl.reader import import_task

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


@click.command(epilog="Example: hazardmill task export demo-out/tasks/TASK --to pddl --augmented --out pddl")
@click.argument("name", metavar="[TASK]", required=False)
@click.option("--to", "language", type=click.Choice(["pddl", "despite"]), required=True, help="The format to write.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
@click.option(
    "--augmented",
    is_flag=True,
    help="With pddl: write danger as a numeric fluent; the basic problem shows none of it.",
)
@click.option(
    "--goal",
    type=click.Choice(["basic", "safe", "unsafe"]),
    default="safe",
    show_default=True,
    help="What the goal of an augmented problem asks of the danger.",
)
@click.option(
    "--rename", is_flag=True, help="With pddl: rename what it cannot tell apart, by a table kept in the sidecar."
)
@click.option("--lossy", is_flag=True, help="With despite: write what a folder cannot say as nearly as it can.")
@click.option("--force", is_flag=True, help="With despite: write over folders that hold something else.")
@store_option
@json_option
def export(
    name: str | None,
    language: str,
    out: Path,
    augmented: bool,
    goal: Literal["basic", "safe", "unsafe"],
    rename: bool,
    lossy: bool,
    force: bool,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Write a task as PDDL, or tasks as folders of DESPITE.

    TASK is a task folder, a task.json, or the id of a stored task; with despite also a folder above task folders, or
    nothing for all tasks of the store.

    PDDL is domain.pddl, problem.pddl and the sidecar dangers.json. Bounds of integers stand in the sidecar only,
    because PDDL has none. An augmented problem is for planners and has no sidecar: read back with one, its dangers
    would count twice. A folder of DESPITE is code.py, both PDDL files and metadata.json. Exit code 1 if the format
    cannot say a task.
    """
    if language == "despite":
        from hazardmill.cli.task.export import export_despite

        if augmented or rename:
            raise click.UsageError("--augmented and --rename are for --to pddl")
        export_despite(name, store_path, out, lossy=lossy, force=force, as_json=as_json)
        return
    if name is None or lossy or force:
        raise click.UsageError("--to pddl takes one TASK, and neither --lossy nor --force")
    _export_pddl(name, store_path, out, augmented, goal, rename, as_json)


def _export_pddl(
    name: str,
    store_path: Path | None,
    out: Path,
    augmented: bool,
    goal: Literal["basic", "safe", "unsafe"],
    rename: bool,
    as_json: bool,
) -> None:
    from hazardmill.cli.task.finding import find_task
    from hazardmill.formalism.formats.pddl import writer

    document = find_task(name, store_path)
    if augmented:
        domain, problem = writer.augmented(document, goal=goal, rename=rename)
    else:
        domain = writer.domain_pddl(document, rename=rename)
        problem = writer.problem_pddl(document, rename=rename)
    files = {"domain.pddl": domain, "problem.pddl": problem}
    if not augmented:
        sidecar = json.dumps(writer.sidecar(document, rename=rename), indent=1, ensure_ascii=False)
        files["dangers.json"] = sidecar + "\n"
    try:
        out.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (out / file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot write here: {error.strerror}", file=str(out), remedy="name a folder that can be written"
        ) from error
    if as_json:
        print_json({"folder": str(out), "files": sorted(files), "document_hash": document.hash})
        return
    click.echo(f"{out}: {', '.join(files)}")
