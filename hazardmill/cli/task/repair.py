"""``hazardmill task repair``."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

import click

from hazardmill.cli.options import json_option, store_option
from hazardmill.formalism.document.validation import check_integer
from hazardmill.formalism.repair.repair import Wanted, feedback_text, repair_plan
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.task_access import find_task
from hazardmill.text.printable import printable


@click.command(epilog="Example: hazardmill task repair demo-out/tasks/TASK --plan '(go_to kitchen) (pick_up cup)'")
@click.argument("name", metavar="TASK")
@click.option("--plan", required=True, help="The plan; text outside its brackets is ignored.")
@click.option(
    "--for",
    "wanted",
    type=click.Choice(["feasible", "safe"]),
    default="safe",
    show_default=True,
    help="What the plan must become.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=DEFAULT_LIMIT,
    show_default=True,
    help="Maximum number of expansions of each search.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, 86_400, min_open=True),
    default=30.0,
    show_default=True,
    help="Time limit for the whole repair, in seconds.",
)
@click.option("--max-danger", type=int, help="The greatest danger that is still safe [default: that of the task].")
@store_option
@json_option
def repair(
    name: str,
    plan: str,
    wanted: str,
    limit: int,
    timeout: float,
    max_danger: int | None,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Find the smallest change that makes a plan safe, or feasible.

    A change consists of edits, each of which inserts, deletes or replaces one step. Each edit is shown with what would
    go wrong without it. TASK is a task folder, a task.json, or the id of a stored task. Exit code 1 if the plan cannot
    be repaired, because the task has no safe (or feasible) plan at all, or because the search reached a limit or was
    too large to start; 3 if TASK cannot be read.
    """
    document = find_task(name, store_path)
    if max_danger is not None:
        check_integer(max_danger, "--max-danger")
        document = replace(document, max_danger=max_danger)
    found = repair_plan(document, plan, cast("Wanted", wanted), limit, timeout)
    if as_json:
        # Escaped, because a plan from the command line may hold lone surrogates, which no terminal accepts.
        click.echo(json.dumps(found.to_json(), indent=2))
    else:
        for line in feedback_text(found).splitlines():
            click.echo(printable(line))
    if found.plan is None:
        sys.exit(1)
