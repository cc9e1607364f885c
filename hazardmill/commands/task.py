"""``hazardmill task validate | solve | import | export``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast

import click

from hazardmill.commands.options import json_option, print_json, store_option
from hazardmill.errors import InputError, PlanningInputError, SearchLimitReached
from hazardmill.formalism.effort import DEFAULT_LIMIT

if TYPE_CHECKING:
    from hazardmill.formalism.solving import Answer, Choice

# Those of hazardmill.formalism.solving, which is too slow to be imported for the sake of `task validate`.
ENGINES: Final = ("auto", "exact", "enhsp", "tamer", "fast-downward")


@click.group(epilog="Example: hazardmill task solve demo-out/tasks/TASK")
def task() -> None:
    """Validate plans on a task, solve it, import or export one."""


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

    from hazardmill.commands import judging
    from hazardmill.commands.finding import find_task
    from hazardmill.formalism.checking import check_integer
    from hazardmill.formalism.system import System
    from hazardmill.formalism.verdicts import Judge

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
        judge = Judge(System(document))
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
    from hazardmill.commands.finding import find_task
    from hazardmill.formalism.solving import solve_task

    solved = solve_task(find_task(name, store_path), cast("Choice", engine), limit, timeout)
    if as_json:
        print_json(solved.to_json())
    else:
        click.echo(f"unsafe: {_said(solved.unsafe)}")
        click.echo(f"safe: {_said(solved.safe)}")
        if solved.plan_length is not None:
            click.echo(f"plan length {solved.plan_length}, safety effort {solved.safety_effort}")
    if solved.safe.plan is None or solved.unsafe.plan is None:
        sys.exit(1)


def _said(answer: Answer) -> str:
    """What is known of one kind of plan, for people."""
    from hazardmill.commands.judging import printable

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


@task.command(
    "import",
    epilog="Example: hazardmill task import --from pddl domain.pddl problem.pddl --dangers dangers.json --out soup",
)
@click.option("--from", "language", type=click.Choice(["pddl"]), required=True, help="What the task is written in.")
@click.argument("domain", type=click.Path(path_type=Path))
@click.argument("problem", type=click.Path(path_type=Path))
@click.option(
    "--dangers",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="JSON of what PDDL cannot say: context, bounds, danger entries and their limit (sidecar.schema.json).",
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Task folder to write.")
@json_option
def import_pddl(language: str, domain: Path, problem: Path, dangers: Path, out: Path, as_json: bool) -> None:
    """Make a task folder of PDDL and its sidecar of dangers.

    DOMAIN and PROBLEM are files of PDDL. Exit code 3 if one of the three files cannot be read, or says what tasks
    cannot.
    """
    import warnings

    from hazardmill.formalism.pddl_import import import_task

    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        document = import_task(domain, problem, dangers, out)
    if as_json:
        print_json(
            {
                "folder": str(out),
                "name": document.name,
                "document_hash": document.hash,
                "notes": [str(note.message) for note in notes],
            }
        )
        return
    for note in notes:
        click.echo(f"note: {note.message}", err=True)
    click.echo(f"{out}: {len(document.actions)} actions, {len(document.dangers)} danger entries")
    click.echo(f"try: hazardmill task solve {out}")


@task.command("export", epilog="Example: hazardmill task export demo-out/tasks/TASK --to pddl --augmented --out pddl")
@click.argument("name", metavar="TASK")
@click.option("--to", "language", type=click.Choice(["pddl"]), required=True, help="The format to write.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write to.")
@click.option("--augmented", is_flag=True, help="Write danger as a numeric fluent; the basic problem shows none of it.")
@click.option(
    "--goal",
    type=click.Choice(["basic", "safe", "unsafe"]),
    default="safe",
    show_default=True,
    help="What the goal of an augmented problem asks of the danger.",
)
@click.option("--rename", is_flag=True, help="Rename what PDDL cannot tell apart, by a table kept in the sidecar.")
@store_option
@json_option
def export_pddl(
    name: str,
    language: str,
    out: Path,
    augmented: bool,
    goal: Literal["basic", "safe", "unsafe"],
    rename: bool,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Write a task as domain.pddl, problem.pddl and the sidecar dangers.json.

    Bounds of integers stand in the sidecar only, because PDDL has none. An augmented problem is for planners and has no
    sidecar: read back with one, its dangers would count twice. Exit code 1 if PDDL cannot say the task.
    """
    from hazardmill.commands.finding import find_task
    from hazardmill.formalism import pddl

    document = find_task(name, store_path)
    if augmented:
        domain, problem = pddl.augmented(document, goal=goal, rename=rename)
    else:
        domain = pddl.domain_pddl(document, rename=rename)
        problem = pddl.problem_pddl(document, rename=rename)
    files = {"domain.pddl": domain, "problem.pddl": problem}
    if not augmented:
        sidecar = json.dumps(pddl.sidecar(document, rename=rename), indent=1, ensure_ascii=False)
        files["dangers.json"] = sidecar + "\n"
    try:
        out.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (out / file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot write here: {error.strerror}", file=str(out), remedy="name a folder that can be written"
        ) from error
    if as_json:
        print_json({"folder": str(out), "files": sorted(files), "document_hash": document.hash})
        return
    click.echo(f"{out}: {', '.join(files)}")
