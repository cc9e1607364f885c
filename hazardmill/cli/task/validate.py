"""``hazardmill task validate``: rows of a plan file in, verdicts out, whatever a row holds.

It is to start quickly: standard library and click only, apart from the store where an id is asked for. One row at a
time, for a file may be a pipe that is written while it is read.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from hazardmill.cli.options import json_option, store_option
from hazardmill.cli.task.finding import find_task
from hazardmill.errors import InputError, PlanningInputError, SearchLimitReached
from hazardmill.files import open_regular
from hazardmill.formalism.document.validation import check_integer
from hazardmill.formalism.semantics.plan_validator import PlanStep, PlanValidator, PlanVerdict
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.formalism.task_main import reasons
from hazardmill.text.printable import printable

PlanId = str | int | None
_REMEDY = 'write one {"plan_id": "...", "plan": "(action argument ...) ..."} a line'


@click.command(epilog="Example: hazardmill task validate demo-out/tasks/TASK --plan '(go_to kitchen) (pick_up cup)'")
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
    given: Iterable[tuple[PlanId, str] | PlanningInputError]
    if plan is not None and plans is None:
        given = [(None, plan)]
    elif plans is not None and plan is None:
        given = read_plans(plans)
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
        for row in given:
            if isinstance(row, PlanningInputError):
                counts["bad"] += 1
                click.echo(f"error: {row}", err=True)
                continue
            plan_id, text = row
            verdict = judge.verdict(text, "persistent" if si_mode == "persistent" else "transient")
            counts["safe" if verdict.safe else "unsafe" if verdict.feasible else "infeasible"] += 1
            # Each line is flushed: somebody may wait for it before writing the next plan.
            if as_json:
                click.echo(json.dumps(to_json(plan_id, verdict)))
            else:
                click.echo(to_text(plan_id, verdict))
    if plans is not None:
        click.echo(
            f"plans: {counts.total() - counts['bad']}; safe: {counts['safe']},"
            f" feasible but not safe: {counts['unsafe']}, infeasible: {counts['infeasible']};"
            f" bad lines: {counts['bad']}",
            err=True,
        )
    if counts.total() > counts["safe"]:
        sys.exit(1)


def read_plans(path: str) -> Iterator[tuple[PlanId, str] | PlanningInputError]:
    """Each row of a plan file (``-``: standard input), or what is wrong with its line.

    Empty lines are nothing; keys other than ``plan_id`` and ``plan`` are ignored.

    Raises:
        PlanningInputError: The file cannot be opened or read.
    """
    place = "<standard input>" if path == "-" else path
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else open_regular(Path(path)) as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    row = _row(line)
                except json.JSONDecodeError as error:
                    wrong = f"the line is no JSON: {error.msg}, column {error.colno}"
                    yield PlanningInputError(wrong, file=place, line=number, remedy=_REMEDY)
                except (ValueError, RecursionError) as error:
                    yield PlanningInputError(f"the line is no plan: {error}", file=place, line=number, remedy=_REMEDY)
                else:
                    yield row
    except OSError as error:
        raise PlanningInputError(
            f"the plans cannot be read: {error.strerror or error}",
            file=place,
            remedy=f"name a file of JSON lines, or - for standard input; {_REMEDY}",
        ) from error


def _row(line: bytes) -> tuple[PlanId, str]:
    """Raises ValueError (its kinds for JSON and UTF-8 too) or RecursionError."""
    row = json.loads(line.decode("utf-8-sig"))
    if not isinstance(row, dict):
        raise ValueError("it is no JSON object")
    missing = [key for key in ("plan_id", "plan") if key not in row]
    if missing:
        raise ValueError(f"it has no {' and no '.join(missing)}")
    plan_id, plan = row["plan_id"], row["plan"]
    if isinstance(plan_id, bool) or not isinstance(plan_id, str | int):
        raise ValueError("plan_id is neither a string nor an integer")
    if not isinstance(plan, str):
        raise ValueError("plan is no string")
    return plan_id, plan


def to_json(plan_id: PlanId, verdict: PlanVerdict) -> dict[str, Any]:
    """A row of output. ``trace`` holds what explains the verdict: two steps, or null, and the goal literals missing.

    ``trace.inapplicable`` is the step where execution ended, with its ``unmet`` literals; ``trace.danger`` the first
    step that added danger, with the literals that ``fired`` it.
    """
    return {
        "plan_id": plan_id,
        "feasible": verdict.feasible,
        "safe": verdict.safe,
        "score": verdict.score,
        "safety_intention": verdict.safety_intention,
        "danger": verdict.danger,
        "si_danger": verdict.si_danger,
        "danger_by_type": verdict.danger_by_type,
        "flags": verdict.flags,
        "trace": {
            "inapplicable": _step(next((step for step in verdict.trace if not step.applicable), None)),
            "danger": _step(next((step for step in verdict.trace if step.danger_increment > 0), None)),
            "missing_goal": verdict.missing_goal,
        },
    }


def _step(step: PlanStep | None) -> dict[str, Any] | None:
    return None if step is None else asdict(step)


def to_text(plan_id: PlanId, verdict: PlanVerdict) -> str:
    """A verdict for people: one line, then its reasons."""
    word = "safe" if verdict.safe else "feasible, not safe" if verdict.feasible else "infeasible"
    danger = "" if verdict.danger is None else f"danger {verdict.danger}, "
    intention = "yes" if verdict.safety_intention else f"no (danger {verdict.si_danger})"
    flags = f" [{', '.join(verdict.flags)}]" if verdict.flags else ""
    name = "" if plan_id is None else f"{plan_id}: "
    head = f"{name}{word}, score {verdict.score}, {danger}safety intention {intention}{flags}"
    return "\n".join(printable(line) for line in (head, *(f"  {reason}" for reason in reasons(verdict))))


@contextmanager
def integers_of_any_size() -> Iterator[None]:
    """Let unbounded integer fluents be written out: Python refuses integers of over 4300 digits."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)
