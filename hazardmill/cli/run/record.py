"""``hazardmill run record``."""

from __future__ import annotations

from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.runs.recording import record_runs
from hazardmill.store_access import open_store


@click.command(epilog="Example: hazardmill run record generate-20260131-235959-1a2b3c --out recordings")
@click.argument("run_ids", nargs=-1, required=True, metavar="RUN_ID...")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder to write SOURCE/recorded/answers.jsonl.zst to; what is there is replaced.",
)
@store_option
@json_option
def record(run_ids: tuple[str, ...], out: Path, store_path: Path | None, as_json: bool) -> None:
    """Record the answers of runs, so that the same records can be run again without a model.

    Of every record that came to an end all answers are written, those of failed drafts and of refusals too. They are
    found by record, stage, round, draft, repair turn and sample, also after a prompt was edited. To run from them:
    `hazardmill run generate --model recorded --recordings FOLDER`.

    A child run has paid only for what changed: name its parents behind it. Exit code 3 if there is nothing to record.
    """
    made = record_runs(open_store(store_path), list(run_ids), out)
    if as_json:
        print_json([each.model_dump(mode="json") for each in made])
        return
    for each in made:
        click.echo(
            f"{each.source}: {each.answers} answers of {', '.join(each.models)} to {each.records} records: {each.path}"
        )
