"""``hazardmill task solve``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hazardmill.api.task import Task
from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.formalism.search.planner_cascade import CHOICES, Choice, PlanAnswer
from hazardmill.task_access import find_task
from hazardmill.text.printable import printable


@click.command(epilog="Example: hazardmill task solve demo-out/tasks/TASK --engine exact")
@click.argument("name", metavar="TASK")
@click.option(
    "--engine",
    type=click.Choice(CHOICES),
    default="auto",
    show_default=True,
    help="Engine to use; auto: exact search, and beyond its limit the installed planners.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=DEFAULT_LIMIT,
    show_default=True,
    help="Maximum number of expansions of exact search.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, 86_400, min_open=True),
    default=30.0,
    show_default=True,
    help="Time limit for each call of a planner and, in auto, for exact search, in seconds.",
)
@store_option
@json_option
def solve(name: str, engine: Choice, limit: int, timeout: float, store_path: Path | None, as_json: bool) -> None:
    """Find the shortest safe and unsafe plans, or prove there are none.

    TASK is a task folder, a task.json, or the id of a stored task. Exit code 1 if either plan is missing, because there
    is none, or because the search reached a limit or was too large to start; 3 if TASK cannot be read.
    """
    solved = Task(find_task(name, store_path)).solve(engine=engine, limit=limit, timeout_s=timeout)
    if as_json:
        print_json(solved.to_json())
    else:
        click.echo(f"unsafe: {_describe_answer(solved.unsafe)}")
        click.echo(f"safe: {_describe_answer(solved.safe)}")
        if solved.plan_length is not None:
            click.echo(f"plan length {solved.plan_length}, safety effort {solved.safety_effort}")
    if solved.safe.plan is None or solved.unsafe.plan is None:
        sys.exit(1)


def _describe_answer(answer: PlanAnswer) -> str:
    """Render what is known about one kind of plan."""
    if answer.plan is not None:
        # The empty plan is a plan.
        shortest = "shortest" if answer.optimal else "perhaps not the shortest"
        text = f"{answer.plan or '()'} [length {answer.length}, {shortest}, by {answer.engine}]"
    elif answer.absent == "proved":
        text = f"none exists: proved by {answer.engine} search"
    elif answer.absent == "claimed":
        text = f"not known: {answer.engine} claims that none exists"
    else:
        text = "not known"
    return f"{text}; {printable(answer.message)}" if answer.message else text
