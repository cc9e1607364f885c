"""``hazardmill hazards check``, ``detect`` and ``compile``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from hazardmill.cli.hazards.maps import NO_MAP, map_option, path_of_map
from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.cli.task_file import OUT_FOLDER, write_task_file
from hazardmill.errors import HazardmillError, InputError, PlanningInputError, SearchLimitReached
from hazardmill.formalism.semantics.plan_rows import PlanId, read_plans
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.compiled import compile_rules
from hazardmill.hazards.detector import HazardDetector, HazardReport, HazardViolation
from hazardmill.hazards.hazard_map import HazardMap
from hazardmill.hazards.map_reader import load_map, read_map
from hazardmill.hazards.rule_use import MapUse, RuleUse, unused_categories
from hazardmill.hazards.rules import DocumentRules, apply_map, danger_rules
from hazardmill.task_access import find_task, read_document, task_folders
from hazardmill.text.printable import printable
from hazardmill.text.standard_streams import decode_names


@click.command(epilog="Example: hazardmill hazards check default --tasks demo-out/tasks")
@click.argument("map_name", metavar="MAP.yaml")
@click.option(
    "--tasks",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder with tasks at any depth: count in how many of them each rule applies.",
)
@json_option
def check(map_name: str, tasks: Path | None, as_json: bool) -> None:
    """Show what a map of hazards maps, and which rules never apply.

    With --tasks, the rules that apply in none of these tasks are listed. MAP.yaml may be the word default, for the map
    that ships with hazardmill. A rule that applies in no task is a finding, not an error, because one map serves many
    worlds.

    Exit code 1 if a part of the map or a task could not be read (it is reported, and the rest is checked); 3 if the map
    cannot be read at all.
    """
    reading = read_map(path_of_map(map_name))
    unread: list[HazardmillError] = list(reading.problems)
    use = MapUse(reading.hazards)
    if tasks is not None:
        unread += _count_uses(use, tasks)
    uses = use.rules
    unused = unused_categories(reading.hazards)
    for error in unread:
        click.echo(f"error: {error}", err=True)
    if as_json:
        print_json(
            {
                "file": reading.hazards.file,
                "categories": [
                    {"name": each.name, "origin": each.origin, **_rules_of(each.name, uses)}
                    for each in reading.hazards.categories
                ],
                "rules": [each.to_json() for each in uses],
                "tasks": None if tasks is None else use.tasks,
                "unused_categories": unused,
                "problems": [str(error) for error in unread],
            }
        )
    else:
        _show_map(reading.hazards, uses)
        if tasks is not None:
            applied = sum(bool(each.tasks) for each in uses)
            click.echo(f"tasks: {use.tasks}; {applied} of {len(uses)} rules apply in at least one")
        findings = [each.finding for each in uses if each.finding is not None]
        findings += [f"no rule names the category {name!r}" for name in unused]
        for finding in findings:
            click.echo(printable(f"finding: {finding}"))
    if unread:
        sys.exit(1)


def _rules_of(category: str, uses: Sequence[RuleUse]) -> dict[str, int]:
    counts = Counter(use.kind for use in uses if category in use.rule.categories)
    return {"process": counts["process"], "termination": counts["termination"]}


def _show_map(hazards: HazardMap, uses: Sequence[RuleUse]) -> None:
    click.echo(
        f"categories: {len(hazards.categories)}; rules: {len(hazards.process)} process,"
        f" {len(hazards.termination)} termination"
    )
    for category in hazards.categories:
        counts = ", ".join(f"{count} {kind}" for kind, count in _rules_of(category.name, uses).items())
        click.echo(printable(f"  {category.name} ({category.origin}): {counts}"))


@click.command(epilog="Example: hazardmill hazards detect --map none demo-out/tasks/TASK --plan '(go_to kitchen)'")
@click.argument("name", metavar="TASK")
@map_option()
@click.option("--plan", help="One plan; text outside its brackets is ignored.")
@click.option("--plans", metavar="FILE", help='JSON lines {"plan_id": ..., "plan": ...}; - reads standard input.')
@click.option(
    "--judge",
    type=click.Choice(["executed", "attempted"]),
    default="executed",
    show_default=True,
    help="What to judge if an action of a plan cannot be done: the actions before it, or also that action, by the"
    " rules without a condition.",
)
@store_option
@json_option
def detect(
    name: str,
    map_name: str,
    plan: str | None,
    plans: str | None,
    judge: str,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Find the harm that plans do on the way or leave behind.

    TASK is a task folder, a task.json, or the id of a stored task. Each violation is shown with
    its step (or the word end), its categories, and what made its rule fire. With --json, one line of JSON per plan.

    Exit code 1 if a plan is not safe, or a line of FILE or a part of the map could not be read (it is reported, and the
    rest is judged); 3 if TASK, FILE or the map cannot be read at all.
    """  # noqa: DOC501  # the docstring is the command's help
    rows: Iterable[tuple[PlanId, str] | PlanningInputError]
    if (plan is None) == (plans is None):
        raise click.UsageError("give either --plan or --plans")
    rows = [(None, plan)] if plan is not None else read_plans(plans or "")
    system = _system(name, store_path)
    problems: tuple[PlanningInputError, ...] = ()
    if map_name == NO_MAP:
        rules = danger_rules(system)
    else:
        reading = read_map(path_of_map(map_name))
        problems = reading.problems
        rules = _applied(system, reading.hazards)
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    detector = HazardDetector(system, rules)
    failed = bool(problems)
    for row in rows:
        if isinstance(row, PlanningInputError):
            failed = True
            click.echo(f"error: {row}", err=True)
            continue
        plan_id, text = row
        report = detector.detect(text, "attempted" if judge == "attempted" else "executed")
        failed = failed or not report.safe
        if as_json:
            click.echo(json.dumps({"plan_id": plan_id, **report.to_json()}))
        else:
            for line in _report_lines(plan_id, report):
                click.echo(printable(line))
    if failed:
        sys.exit(1)


def _report_lines(plan_id: PlanId, report: HazardReport) -> Iterator[str]:
    head = "" if plan_id is None else f"{plan_id}: "
    verdict = "safe" if report.safe else f"unsafe, violations: {len(report.violations)}"
    yield f"{head}{verdict}; actions done: {report.executed} of {report.planned}"
    for violation in report.violations:
        yield f"  {_violation_line(violation)}"


def _violation_line(violation: HazardViolation) -> str:
    where = "end" if violation.step is None else f"step {violation.step} {violation.action}"
    because = "; ".join(violation.literals) or "done at all"
    inherited = ", as at the start" if violation.inherited else ""
    return f"{where}: {', '.join(violation.categories)} ({violation.rule}): {because}{inherited}"


@click.command("compile", epilog="Example: hazardmill hazards compile --map default demo-out/tasks/TASK --out harmless")
@click.argument("name", metavar="TASK")
@map_option()
@click.option("--out", type=OUT_FOLDER, required=True, metavar="DIR", help="Folder to write to.")
@store_option
@json_option
def compile_(name: str, map_name: str, out: Path, store_path: Path | None, as_json: bool) -> None:
    """Write a map of hazards into a task.

    What the map calls harm becomes the danger of the task. DIR gets a task.json. `hazardmill task solve DIR` then
    proves whether the task can be done without harm, and finds the shortest plan that does it. Where the map has rules
    about the end, each plan ends with a closing action.

    Exit code 1 if a rule cannot be written as danger; 3 if TASK or a part of the map cannot be read.
    """  # the docstring is the command's help
    system = _system(name, store_path)
    rules = danger_rules(system) if map_name == NO_MAP else _applied(system, load_map(path_of_map(map_name)))
    compiled = compile_rules(system, rules)
    target = write_task_file(compiled.document, out)
    counts = {"process": len({each.place for each in rules.process}), "termination": len(rules.termination)}
    if as_json:
        print_json(
            {
                "file": str(target),
                "document_hash": compiled.document.hash,
                "closing": compiled.closing,
                "rules": counts,
                "misfits": [misfit.place for misfit in rules.misfits if misfit.action is None],
            }
        )
        return
    closing = "" if compiled.closing is None else f"; plans end with ({compiled.closing})"
    click.echo(f"rules: {counts['process']} process, {counts['termination']} termination{closing}")
    click.echo(printable(decode_names(f"written to {target}")))


def _system(name: str, store_path: Path | None) -> System:
    try:
        return System(find_task(name, store_path))
    except SearchLimitReached as error:
        # Exit code 1 would say that plans were judged.
        raise _too_large_error(error, name) from error


def _applied(system: System, hazards: HazardMap) -> DocumentRules:
    try:
        return apply_map(system, hazards)
    except SearchLimitReached as error:
        raise _too_large_error(error, hazards.file) from error


def _too_large_error(error: SearchLimitReached, file: str) -> InputError:
    return InputError(error.message, file=file, remedy=error.remedy or "use fewer objects or parameters")


def _count_uses(use: MapUse, folder: Path) -> Iterator[HazardmillError]:
    """Count the rules that apply to the tasks in and below a folder; yield what is wrong with tasks."""
    for place in task_folders(folder):
        try:
            use.count(System(read_document(place / "task.json")))
        except SearchLimitReached as error:
            yield _too_large_error(error, str(place))
        except InputError as error:
            yield error
