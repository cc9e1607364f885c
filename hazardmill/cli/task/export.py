"""``hazardmill task export``: PDDL with a sidecar, and folders of DESPITE."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.cli.task.export_despite import export_despite
from hazardmill.cli.task.finding import find_task
from hazardmill.errors import InputError
from hazardmill.formalism.formats.pddl import writer


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
    document = find_task(name, store_path)
    if augmented:
        domain, problem = writer.write_augmented(document, goal=goal, rename=rename)
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
