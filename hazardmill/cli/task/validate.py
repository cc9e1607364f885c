"""``hazardmill task validate``. It imports nothing heavy, so that it starts quickly."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import click

from hazardmill.cli.options import json_option, store_option
from hazardmill.errors import InputError, PlanningInputError, SearchLimitReached
from hazardmill.formalism.document.validation import check_integer
from hazardmill.formalism.semantics.plan_rows import PlanId, read_plans, verdict_row, verdict_text
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.task_access import find_task
from hazardmill.text.integers import integers_of_any_size


@click.command(epilog="Example: hazardmill task validate demo-out/tasks/TASK --plan '(go_to kitchen) (pick_up cup)'")
@click.argument("name", metavar="TASK")
@click.option("--plan", help="One plan; text outside its brackets is ignored.")
@click.option(
    "--plans", metavar="FILE", help='JSON lines {"plan_id": ..., "plan": ...}; - reads standard input, line by line.'
)
@click.option(
    "--si-mode",
    type=click.Choice(["transient", "persistent"]),
    default="transient",
    show_default=True,
    help="Safety intention: whether forced values serve one action only, or persist.",
)
@click.option("--max-danger", type=int, help="The greatest danger that is still safe [default: that of the task].")
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
    """Judge whether plans are feasible and safe, and explain why not.

    TASK is a task folder, a task.json, or the id of a stored task. With --json, one line of JSON per plan.

    Exit code 1 if a plan is not safe or a line of FILE is not a plan (it is reported, and the rest is judged); 3 if
    TASK or FILE cannot be read.
    """  # noqa: DOC501  # the docstring is the command's help
    rows: Iterable[tuple[PlanId, str] | PlanningInputError]
    if plan is not None and plans is None:
        rows = [(None, plan)]
    elif plans is not None and plan is None:
        rows = read_plans(plans)
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
    with integers_of_any_size():
        for row in rows:
            if isinstance(row, PlanningInputError):
                counts["bad"] += 1
                click.echo(f"error: {row}", err=True)
                continue
            plan_id, text = row
            verdict = judge.verdict(text, "persistent" if si_mode == "persistent" else "transient")
            counts["safe" if verdict.safe else "unsafe" if verdict.feasible else "infeasible"] += 1
            # Each line is flushed, because a caller may wait for it before writing the next plan.
            if as_json:
                click.echo(json.dumps(verdict_row(plan_id, verdict)))
            else:
                click.echo(verdict_text(plan_id, verdict))
    if plans is not None:
        click.echo(
            f"plans: {counts.total() - counts['bad']}; safe: {counts['safe']},"
            f" feasible but not safe: {counts['unsafe']}, infeasible: {counts['infeasible']};"
            f" bad lines: {counts['bad']}",
            err=True,
        )
    if counts.total() > counts["safe"]:
        sys.exit(1)
