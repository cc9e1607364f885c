"""``hazardmill ingest``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json, read_facts, read_named_values, store_option
from hazardmill.cli.rejects import show_rejects
from hazardmill.ingest.fetch.catalogue import read_catalogue
from hazardmill.ingest.intake import ingest_into
from hazardmill.ingest.sources import load_source
from hazardmill.store_access import open_store


@click.command(epilog="Example: hazardmill ingest --source neiss --input neiss2019.tsv --limit 300")
@click.option("--source", "source_name", required=True, help="Name of the source.")
@click.option(
    "--input",
    "given",
    metavar="[SOURCE=]PATH",
    help="File or folder to read, as in `hazardmill run generate`; the same as PATH.",
)
@click.option("--limit", type=click.IntRange(1), help="Maximum number of records to read.")
@click.option(
    "--where", "wheres", multiple=True, metavar="NAME=VALUE", help="Only records with this fact; repeat for several."
)
@click.argument("path", required=False, type=click.Path(path_type=Path))
@store_option
@json_option
def ingest(
    source_name: str,
    given: str | None,
    limit: int | None,
    wheres: tuple[str, ...],
    path: Path | None,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Read records of a source into the store.

    PATH is the file or folder to read; --input can name it instead. Without either, the data of an installed package
    are read (bddl). Bad records go to the table `rejects`, with the reason. Exit code 1 if there was no record.
    """  # noqa: DOC501  # the docstring is the command's help
    if path is not None and given is not None:
        raise click.UsageError("PATH and --input name the same thing: give one of them")
    if given is not None:
        path = Path(read_named_values((given,), (source_name,), "--input")[source_name])
    if path is None:
        path = _find_installed(source_name)
    where = read_facts(wheres, (source_name,))[source_name]
    _, intake = ingest_into(open_store(store_path, create=True), source_name, path, where=where, limit=limit)
    counts = intake.counts
    if as_json:
        print_json(
            {
                **{name: value for name, value in asdict(counts).items() if name != "reasons"},
                "reasons": dict(sorted(counts.reasons.items())),
                "new_records": intake.new_records,
                "changed_records": intake.changed_records,
                "examples": [reject.model_dump(mode="json") for reject in intake.examples],
            }
        )
    else:
        click.echo(
            f"{source_name}: {counts.items} items: {counts.records} records"
            f" ({intake.new_records} new, {intake.changed_records} changed),"
            f" {counts.rejects} rejects, {counts.repeats} repeats, {counts.unselected} not selected"
        )
        for reason, count in counts.reasons.most_common():
            click.echo(f"  {count} x {reason}")
        show_rejects(intake.examples)
    if not counts.records:
        sys.exit(1)


def _find_installed(name: str) -> Path:
    """Return the input that an installed package brings.

    Raises:
        click.UsageError: There is none, so a path is required.
    """
    source = load_source(name)
    path = source.find_installed()
    if path is None:
        offer = read_catalogue(source)
        if offer is not None and offer.files:
            get = f"get one with: hazardmill sources fetch {name}"
        else:
            get = (offer.otherwise if offer is not None else None) or f"get it from {source.address}"
        raise click.UsageError(f"source {name} needs a path: give {source.expects} with --input; {get}")
    return path
