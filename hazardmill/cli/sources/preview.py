"""``hazardmill sources preview``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from hazardmill.cli.options import json_option, print_json, read_facts
from hazardmill.errors import UsageError
from hazardmill.ingest.ingest import Repeat, ingest
from hazardmill.ingest.sources import Note
from hazardmill.ingest.sources.project import load_from
from hazardmill.records import Record, Reject
from hazardmill.text.printable import printable

_MOST_ITEMS: Final = 10_000
"""Items that are looked at: a file without one good record should not be read to its end."""


@click.command(epilog="Example: hazardmill sources preview neiss neiss2019.tsv -n 3")
@click.argument("name", metavar="NAME|FOLDER")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("-n", "--number", type=click.IntRange(1), default=5, show_default=True, help="Number of records to show.")
@click.option(
    "--where", "wheres", multiple=True, metavar="NAME=VALUE", help="Only records with this fact; repeat for several."
)
@json_option
def preview(name: str, path: Path | None, number: int, wheres: tuple[str, ...], as_json: bool) -> None:
    """Show the first records of an input, and what is rejected.

    PATH is a file or folder of the source [default: its sample]. Nothing is stored. Records are shown as a language
    model sees them, with the facts for --where; rejects up to the last of them with reason and remedy. FOLDER is that
    of a source that you are writing, or of its project.
    """  # noqa: DOC501  # the docstring is the command's help
    found = load_from(name)
    if len(found) > 1:
        names = ", ".join(source.name for source in found)
        raise UsageError(f"{name} has several sources: {names}", remedy="give the folder of one of them")
    (source,) = found
    run = ingest(source, path or source.sample, where=read_facts(wheres, (source.name,))[source.name], limit=number)
    records: list[Record] = []
    rejects: list[Reject] = []
    notes: list[Note] = []
    for item in run:
        if isinstance(item, Record):
            records.append(item)
        elif isinstance(item, Reject):
            rejects.append(item)
        elif not isinstance(item, Repeat):
            notes.append(item)
        if run.counts.items >= _MOST_ITEMS:
            break
    if as_json:
        print_json(
            {
                "records": [record.model_dump(mode="json") for record in records],
                "rejects": [reject.model_dump(mode="json") for reject in rejects],
                "notes": [note.model_dump(mode="json") for note in notes],
                "items": run.counts.items,
                "unselected": run.counts.unselected,
                "repeats": run.counts.repeats,
            }
        )
        return
    for record in records:
        place = record.file if record.line is None else f"{record.file}:{record.line}"
        click.echo(printable(f"{record.record_id} ({place})"))
        for line in record.context.splitlines():
            click.echo(f"  {printable(line)}")
        facts = ", ".join(f"{key}={value}" for key, value in record.facts.items())
        click.echo(f"  facts: {printable(facts)}")
        for warning in record.warnings:
            click.echo(f"  warning: {printable(str(warning))}")
    for reject in rejects[:number]:
        place = reject.file if reject.line is None else f"{reject.file}:{reject.line}"
        click.echo(printable(f"rejected ({reject.reason}) {place}: {reject.message} [{reject.remedy}]"))
    if len(rejects) > number:
        click.echo(f"and {len(rejects) - number} more rejects: --number {len(rejects)} shows them")
    for note in notes:
        click.echo(printable(f"note on {note.file}: {note.message}"))
    counts = run.counts
    click.echo(
        f"{len(records)} records, {len(rejects)} rejects, {counts.repeats} repeats, {counts.unselected} not selected,"
        f" of the first {counts.items} items"
    )
