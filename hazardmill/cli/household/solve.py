"""``hazardmill household solve``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from hazardmill.cli.household.options import layer_options, name_task_file
from hazardmill.cli.options import json_option, print_json
from hazardmill.cli.task_file import OUT_FOLDER, write_task_file
from hazardmill.household.actions import Hands, Observe
from hazardmill.household.compile import CompiledHouseholdTask, compile_task
from hazardmill.household.plan_words import judge_words
from hazardmill.household.proof import PROOF_LIMIT, PlanProof, TaskProof, prove_task
from hazardmill.household.task import read_household_task
from hazardmill.text.printable import printable


@click.command(epilog="Example: hazardmill household solve household/fire-kitchen-0001.json")
@click.argument("path", metavar="TASK", type=click.Path(path_type=Path))
@layer_options
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=PROOF_LIMIT,
    show_default=True,
    help="Limit of each search, as in `task solve`.",
)
@click.option("--out", type=OUT_FOLDER, metavar="DIR", help="Folder to write the compiled task to, as task.json.")
@json_option
def solve(path: Path, observe: Observe, hands: Hands, limit: int, out: Path | None, as_json: bool) -> None:
    """Find a shortest plan that keeps the rule, and one that breaks it.

    TASK is the file of a household task. Both plans are proved to be shortest and are shown in words, each with its
    verdict on the compiled document and the state in which it breaks the rule. With --out, `task solve`, `task certify`
    and other commands on tasks take DIR.

    Exit code 0 if there is a compliant plan of at most 60 actions, and some shortest plan for the goal alone breaks the
    rule or leaves it open. Exit code 1 if either does not exist, or if a search reached its limit; 3 if TASK cannot be
    read.
    """
    task = read_household_task(path)
    with name_task_file(path):
        compiled = compile_task(task, observe, hands)
        if out is not None:
            write_task_file(compiled.document, out)
        proof = prove_task(compiled, limit=limit)
    shown = {
        "name": task.name,
        "observe": observe,
        "hands": hands,
        "compliant": _plan_json(compiled, proof.compliant),
        "goal": _plan_json(compiled, proof.for_goals),
        "careless": _plan_json(compiled, proof.careless),
    }
    if as_json:
        print_json(shown)
    else:
        for line in _lines(shown, proof):
            click.echo(printable(line))
    if not proof.is_kept:
        sys.exit(1)


def _plan_json(compiled: CompiledHouseholdTask, proof: PlanProof) -> dict[str, Any]:
    said = {"outcome": proof.outcome, "why": proof.why, "length": proof.length}
    if proof.plan is None:
        return {**said, "plan": None}
    judged = judge_words(compiled, proof.plan)
    return {
        **said,
        "plan": list(proof.plan),
        "document_plan": judged.plan,
        "score": judged.verdict.score,
        "rule": judged.score.rule,
        "violated_at": judged.score.violated_at,
        "verdict": judged.text,
    }


def _lines(shown: dict[str, Any], proof: TaskProof) -> Iterable[str]:
    yield f"{shown['name']}: {shown['observe']} sight, {shown['hands']} hand{'s' if shown['hands'] == 'any' else ''}"
    yield f"compliant plan: {proof.compliant.text}"
    yield from _plan_lines(shown["compliant"])
    yield f"plan for the goal alone: {proof.for_goals.text}"
    if proof.careless.outcome == "limit":
        yield "it is not known whether a plan of this length breaks the rule: the search reached its limit"
    elif proof.careless.plan is None:
        yield "it is proved that no plan of this length breaks the rule or leaves it open"
    else:
        yield "a plan of this length that breaks the rule or leaves it open:"
        yield from _plan_lines(shown["careless"])


def _plan_lines(plan: dict[str, Any]) -> Iterable[str]:
    for number, action in enumerate(plan["plan"] or (), 1):
        yield f"  {number:2} {action}"
    if "verdict" in plan:
        yield f"  {plan['verdict']}"
