"""``hazardmill task export``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.cli.ticker import Ticker
from hazardmill.conversion.despite_export import DespiteExport, export_despite
from hazardmill.conversion.pddl_export import export_pddl
from hazardmill.task_access import find_task
from hazardmill.text.printable import printable


@click.command(epilog="Example: hazardmill task export demo-out/tasks/TASK --to pddl --augmented --out pddl")
@click.argument("name", metavar="[TASK]", required=False)
@click.option("--to", "language", type=click.Choice(["pddl", "despite"]), required=True, help="The format to write.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
@click.option(
    "--augmented",
    is_flag=True,
    help="With pddl: write danger as a numeric fluent; the basic problem has none.",
)
@click.option(
    "--goal",
    type=click.Choice(["basic", "safe", "unsafe"]),
    default="safe",
    show_default=True,
    help="What the goal of an augmented problem requires of the danger.",
)
@click.option(
    "--rename",
    is_flag=True,
    help="With pddl: rename names that PDDL cannot tell apart; the sidecar keeps the table of names.",
)
@click.option("--lossy", is_flag=True, help="With despite: approximate what a folder cannot express.")
@click.option("--force", is_flag=True, help="With despite: overwrite folders that hold something else.")
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
    """Export a task as PDDL, or tasks as DESPITE folders.

    TASK is a task folder, a task.json, or the id of a stored task; with --to despite it may also be a folder above task
    folders. With --to despite and without TASK, all tasks of the store are exported.

    With --to pddl the files are domain.pddl, problem.pddl and the sidecar dangers.json, which also holds the bounds of
    integers, because PDDL has none. An augmented problem is for planners and has no sidecar, because its dangers would
    count twice if it were read back with one. A DESPITE folder contains code.py, both PDDL files and metadata.json.
    Exit code 1 if the format cannot express a task.
    """  # noqa: DOC501  # the docstring is the command's help
    if language == "despite":
        if augmented or rename:
            raise click.UsageError("--augmented and --rename apply only to --to pddl")
        ticker = Ticker(quiet=as_json)
        done = export_despite(
            name,
            store_path,
            out,
            lossy=lossy,
            force=force,
            on_task=lambda sofar: ticker.tell(f"{sofar.counts.total()} tasks: {_count_in_words(sofar)}"),
        )
        if as_json:
            print_json(done.to_json())
        else:
            _show(done, lossy)
        if done.counts["refused"]:
            sys.exit(1)
        return
    if name is None or lossy or force:
        raise click.UsageError("--to pddl takes one TASK, and neither --lossy nor --force")
    document = find_task(name, store_path)
    files = export_pddl(document, out, augmented=augmented, goal=goal, rename=rename)
    if as_json:
        print_json({"folder": str(out), "files": sorted(files), "document_hash": document.hash})
        return
    click.echo(f"{out}: {', '.join(files)}")


def _count_in_words(summary: DespiteExport) -> str:
    said = ", ".join(f"{summary.counts[key]} {key}" for key in ("written", "unchanged", "refused"))
    return f"{said}; {summary.lossy} with losses" if summary.lossy else said


def _show(summary: DespiteExport, lossy: bool) -> None:
    click.echo(f"{summary.out}: {_count_in_words(summary)}")
    for title, table in (("refused", summary.reasons), ("lost", summary.lost)):
        for rule, entry in sorted(table.items(), key=lambda item: (-item[1]["tasks"], item[0])):
            example = entry["example"]
            shown = printable(f"{example['task']}: {example['message']}")
            click.echo(f"  {title}, {rule}: {entry['tasks']}, such as {shown}")
    if summary.refusals and not lossy:
        click.echo("  --lossy approximates what a folder cannot express")
