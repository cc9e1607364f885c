"""``hazardmill task``: validate and solve here, its other commands in modules of their own."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.cli.task.certify import certify
from hazardmill.cli.task.check import check
from hazardmill.cli.task.formats import export, import_
from hazardmill.cli.task.lint import lint
from hazardmill.cli.task.repair import repair
from hazardmill.cli.task.verify import verify
from hazardmill.errors import InputError, PlanningInputError, SearchLimitReached
from hazardmill.formalism.search.budget import DEFAULT_LIMIT

if TYPE_CHECKING:
    from hazardmill.formalism.document.document import Document
    from hazardmill.formalism.search.exact import PartialSearch
    from hazardmill.formalism.search.planner_cascade import Choice, PlanAnswer

# Those of ``planner_cascade``, which is too slow to be imported for the sake of `task validate`.
ENGINES: Final = ("auto", "exact", "enhsp", "tamer", "fast-downward")


@click.group(epilog="Example: hazardmill task solve demo-out/tasks/TASK")
def task() -> None:
    """Check code, judge plans, solve, certify, verify and repair; look over many tasks; import and export."""


@task.command(epilog="Example: hazardmill task validate demo-out/tasks/TASK --plan '(go_to kitchen) (pick_up cup)'")
@click.argument("name", metavar="TASK")
@click.option("--plan", help="One plan; text outside of its brackets is ignored.")
@click.option(
    "--plans", metavar="FILE", help='JSON lines {"plan_id": ..., "plan": ...}; - reads standard input, line by line.'
)
@click.option(
    "--si-mode",
    type=click.Choice(["transient", "persistent"]),
    default="transient",
    show_default=True,
    help="Safety intention: whether forced values serve one action only, or stay.",
)
@click.option("--max-danger", type=int, help="Greatest danger that is still safe [default: what the task says].")
@store_option
@json_option
def validate(
    name: str,
    plan: str | None,
    plans: str | None,
    si_mode: str,
    max_danger: int | None,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Say whether plans are feasible and safe, and why not.

    TASK is a task folder, a task.json, or the id of a stored task. With --json, one line of JSON a plan.

    Exit code 1 if a plan is not safe or a line of FILE is no plan (it is reported, and the rest goes on), 3 if TASK
    or FILE cannot be read.
    """
    from dataclasses import replace

    from hazardmill.cli.task import validate as judging
    from hazardmill.cli.task.finding import find_task
    from hazardmill.formalism.document.validation import check_integer
    from hazardmill.formalism.semantics.plan_validator import PlanValidator
    from hazardmill.formalism.semantics.transition_system import System

    rows: Iterable[tuple[judging.PlanId, str] | PlanningInputError]
    if plan is not None and plans is None:
        rows = [(None, plan)]
    elif plans is not None and plan is None:
        rows = judging.rows(plans)
    else:
        raise click.UsageError("give either --plan or --plans")
    document = find_task(name, store_path)
    if max_danger is not None:
        check_integer(max_danger, "--max-danger")
        document = replace(document, max_danger=max_danger)
    try:
        judge = PlanValidator(System(document))
    except SearchLimitReached as error:
        # Exit code 1 would say that the plans were judged.
        raise InputError(error.message, file=name, remedy=error.remedy or "use fewer objects or parameters") from error
    counts: Counter[str] = Counter()
    with judging.integers_of_any_size():
        for row in rows:
            if isinstance(row, PlanningInputError):
                counts["bad"] += 1
                click.echo(f"error: {row}", err=True)
                continue
            plan_id, text = row
            verdict = judge.verdict(text, "persistent" if si_mode == "persistent" else "transient")
            counts["safe" if verdict.safe else "unsafe" if verdict.feasible else "infeasible"] += 1
            # Each line is flushed: somebody may wait for it before writing the next plan.
            if as_json:
                click.echo(json.dumps(judging.to_json(plan_id, verdict)))
            else:
                click.echo(judging.to_text(plan_id, verdict))
    if plans is not None:
        click.echo(
            f"plans: {counts.total() - counts['bad']}; safe: {counts['safe']},"
            f" feasible but not safe: {counts['unsafe']}, infeasible: {counts['infeasible']};"
            f" bad lines: {counts['bad']}",
            err=True,
        )
    if counts.total() > counts["safe"]:
        sys.exit(1)


@task.command(epilog="Example: hazardmill task solve demo-out/tasks/TASK --engine exact")
@click.argument("name", metavar="TASK")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="auto",
    show_default=True,
    help="Who is asked; auto: exact search, and beyond its limit the installed planners.",
)
@click.option(
    "--limit", type=click.IntRange(1), default=DEFAULT_LIMIT, show_default=True, help="Expansions of exact search."
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, 86_400, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds for each question to a planner, and in auto for exact search.",
)
@store_option
@json_option
def solve(name: str, engine: str, limit: int, timeout: float, store_path: Path | None, as_json: bool) -> None:
    """Find the shortest safe and unsafe plan, or prove none.

    TASK is a task folder, a task.json, or the id of a stored task. Exit code 1 if either plan is missing, be it that
    there is none or that the search was refused, 3 if TASK cannot be read.
    """
    from hazardmill.cli.task.finding import find_task
    from hazardmill.formalism.search.exact import attempt_to_solve
    from hazardmill.formalism.search.planner_cascade import solve_task
    from hazardmill.sandbox.proving import provers

    def search(document: Document, limit: int, timeout_s: float | None) -> PartialSearch:
        return provers().run(limit, attempt_to_solve, document, limit, timeout_s)

    solved = solve_task(find_task(name, store_path), cast("Choice", engine), limit, timeout, search)
    if as_json:
        print_json(solved.to_json())
    else:
        click.echo(f"unsafe: {_said(solved.unsafe)}")
        click.echo(f"safe: {_said(solved.safe)}")
        if solved.plan_length is not None:
            click.echo(f"plan length {solved.plan_length}, safety effort {solved.safety_effort}")
    if solved.safe.plan is None or solved.unsafe.plan is None:
        sys.exit(1)


def _said(answer: PlanAnswer) -> str:
    """What is known of one kind of plan, for people."""
    from hazardmill.text.printable import printable

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


for command in (check, certify, verify, repair, lint, import_, export):
    task.add_command(command)
