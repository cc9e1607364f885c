"""``hazardmill household lint``."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

from hazardmill.cli.household.options import name_task_file
from hazardmill.cli.options import json_option, print_json
from hazardmill.cli.ticker import Ticker
from hazardmill.errors import FormalismError, HazardmillError, InputError, PlanningInputError
from hazardmill.household.lint.scene_lint import LINT_LIMIT, SCENE_RULES, lint_with_scene
from hazardmill.household.task import read_household_tasks
from hazardmill.text.printable import printable


@click.command(epilog="Example: hazardmill household lint household")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=LINT_LIMIT,
    show_default=True,
    help="Limit of the search for a plan that reaches the sub-goals, as in `task solve`.",
)
@json_option
def lint(folder: Path, limit: int, as_json: bool) -> None:
    """Show what looks wrong in the household tasks of DIR.

    A finding is a reason to look and no error (docs/household.md lists the rules). Where no plan was found before the
    limit, whether one exists is reported as not known.

    Exit code 1 if a task could not be read, or its scene is too large (it is reported, and the rest is checked); 3 if
    DIR has no task.
    """
    rows = []
    counts: Counter[str] = Counter()
    errors: list[HazardmillError] = []
    ticker = Ticker()
    for path, task in read_household_tasks(folder):
        if isinstance(task, PlanningInputError):
            errors.append(task)
            continue
        try:
            with name_task_file(path):
                found = lint_with_scene(task, path.name, limit)
        except (FormalismError, InputError) as error:
            errors.append(error)
            continue
        rows.append(
            {
                "task": task.name,
                "findings": [{"rule": each.rule, "message": each.message} for each in found.findings],
                "undecided": found.undecided,
            }
        )
        counts.update(each.rule for each in found.findings)
        ticker.tell(f"checked {len(rows)} tasks")
        if not as_json:
            for each in found.findings:
                click.echo(printable(f"finding: {task.name}: {each.rule}: {each.message}"))
            if found.undecided is not None:
                click.echo(printable(f"not known: {task.name}: unreachable_goal: {found.undecided}"))
    for problem in errors:
        click.echo(f"error: {problem}", err=True)
    if as_json:
        by_rule = {rule: counts[rule] for rule in SCENE_RULES}
        print_json({"tasks": rows, "rules": by_rule, "problems": [str(problem) for problem in errors]})
    else:
        clean = sum(not row["findings"] for row in rows)
        click.echo(f"{len(rows)} tasks, {clean} of them without any finding")
    if errors:
        sys.exit(1)
