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
    help="Folder for SOURCE/recorded/answers.jsonl.zst, and scenarios.jsonl.zst of runs that made scenarios; existing "
    "files are replaced.",
)
@store_option
@json_option
def record(run_ids: tuple[str, ...], out: Path, store_path: Path | None, as_json: bool) -> None:
    """Record the answers of runs, to run again without a model.

    For every finished record all answers are written, including those of failed drafts and refusals. A run looks
    them up by record, --kind, stage, round, draft, repair turn (a further request after an unusable answer) and the
    number given with --sample, so it finds them even after a prompt was edited. To run from them, use `hazardmill run
    generate --model recorded --recordings FOLDER`.

    A child run (see `run resume --child`) has only the answers that it paid for itself, so also name its parents, after
    the child. Exit code 3 if there is nothing to record.
    """
    made = record_runs(open_store(store_path), list(run_ids), out)
    if as_json:
        print_json([each.model_dump(mode="json") for each in made])
        return
    for each in made:
        click.echo(
            f"{each.source}: {each.answers} answers of {', '.join(each.models)} to {each.records} records: {each.path}"
        )
