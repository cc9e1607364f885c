"""``hazardmill why``."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.report.why.build import build_story
from hazardmill.report.why.page import write_page
from hazardmill.report.why.render_text import render_text
from hazardmill.store_access import open_store


@click.command(epilog="Example: hazardmill why neiss:249900101 --store demo-out/store --html why.html")
@click.argument("name", metavar="TASK_ID|SCENARIO_ID|RECORD_ID")
@click.option("--run", "run_id", help="Run to explain [default: the latest one with this record].")
@click.option("--full", is_flag=True, help="Print prompts, answers, code and evidence in full.")
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write everything to one self-contained page, and print nothing else unless --json or --full is given.",
)
@click.option(
    "--reread/--no-reread",
    default=True,
    show_default=True,
    help="Check that the record is still in its file; this takes seconds if it is near the end of a large file.",
)
@store_option
@json_option
def why(
    name: str,
    run_id: str | None,
    full: bool,
    page: Path | None,
    reread: bool,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Explain why a record ended as it did, and what is proved about its task.

    Shows step by step the bytes of the record, every prompt, answer, check and decision, and both plans.
    """
    story = build_story(open_store(store_path), name, run_id, reread=reread)
    if page is not None:
        written = write_page(story, page)
        if not (as_json or full):
            click.echo(written)
            return
    if as_json:
        print_json(story.model_dump(mode="json"))
        return

    # Wider lines are hard to read.
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    click.echo(render_text(story, full=full, width=width), nl=False)
