"""``hazardmill scenario verify``, ``correct``, ``import`` and ``export``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import HazardmillError, InputError, UsageError
from hazardmill.scenarios.correct import correct as correct_scenario
from hazardmill.scenarios.folder import (
    CORRECTIONS,
    Counts,
    correction_row,
    export_pddl,
    import_pddl,
    read_scenarios,
    write_scenario,
)
from hazardmill.scenarios.verify import verify as verify_scenario
from hazardmill.text.printable import printable

_FOLDER: Final = click.Path(path_type=Path, file_okay=False)
_SHOWN: Final = 20
_declarations_option = click.option(
    "--declarations", is_flag=True, help="Check declarations only, neither plans nor risk."
)


@click.command(epilog="Example: hazardmill scenario verify scenarios")
@click.argument("folder", metavar="DIR", type=_FOLDER)
@json_option
def verify(folder: Path, as_json: bool) -> None:
    """Check each scenario of DIR: what it declares, its plans, its risk.

    There must be exactly one shortest plan, of five steps or more, and a risk that a careless plan runs into.

    With --json, one line of JSON per scenario. Exit code 1 if a scenario did not pass or could not be read.
    """
    counts: Counter[str] = Counter()
    for item in read_scenarios(folder):
        if isinstance(item, HazardmillError):
            counts["unread"] += 1
            click.echo(f"error: {item}", err=True)
            continue
        found = verify_scenario(item)
        counts["passed" if not found.problems else found.problems[0].code] += 1
        if as_json:
            row = {
                "id": item.id,
                "passed": not found.problems,
                "reason": found.reason,
                "problems": [problem.text for problem in found.problems],
                "plan": found.plan,
                "steps": found.steps,
                "shortest_plans": found.shortest_plans,
                "careless_plan": found.careless_plan,
                "notes": [problem.text for problem in found.notes],
            }
            click.echo(json.dumps(row))
        else:
            for problem in found.problems[:_SHOWN]:
                click.echo(printable(f"{item.id}: {problem.text}"))
    click.echo(_listed("scenarios", counts), err=as_json)
    if counts.total() > counts["passed"]:
        sys.exit(1)


@click.command(epilog="Example: hazardmill scenario correct scenarios --out corrected")
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option(
    "--out", type=_FOLDER, metavar="OUT", help="Folder for the scenarios that passed or were mended [default: none]."
)
@_declarations_option
@json_option
def correct(folder: Path, out: Path | None, declarations: bool, as_json: bool) -> None:
    """Mend each scenario of DIR by fixed rules.

    No rule touches the goal, the instruction or the risk. Each scenario gets at most three rounds of corrections, and
    is verified after each. If it still does not pass, it is discarded, with the reason. OUT gets the other scenarios,
    and corrections.jsonl with all changes. Exit code 1 if a scenario was discarded or could not be read.
    """  # noqa: DOC501  # the docstring is the command's help
    if out is not None and out.resolve() == folder.resolve():
        raise UsageError("--out is the same folder as DIR", remedy="name another folder")
    counts = Counts()
    lines = []
    for item in read_scenarios(folder):
        if isinstance(item, HazardmillError):
            counts.unread += 1
            click.echo(f"error: {item}", err=True)
            continue
        done = correct_scenario(item, search=not declarations)
        counts.add(done)
        row = correction_row(done)
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
        if out is not None and done.outcome != "discarded":
            write_scenario(out, done.scenario)
        if not as_json and done.outcome == "discarded":
            click.echo(printable(f"{item.id}: discarded: {done.verification.problems[0].text}"))
    if out is not None:
        _write_lines(out, lines)
    if as_json:
        print_json({**counts.to_json(), "out": None if out is None else str(out)})
    else:
        click.echo(_listed("scenarios", counts.outcomes))
        if counts.rules:
            click.echo(f"  changes: {', '.join(f'{rule} {n}' for rule, n in sorted(counts.rules.items()))}")
        if counts.reasons:
            click.echo(f"  discarded for: {', '.join(f'{code} {n}' for code, n in sorted(counts.reasons.items()))}")
        if out is not None:
            click.echo(f"written to {out}")
    if counts.unread or counts.outcomes["discarded"]:
        sys.exit(1)


def _write_lines(out: Path, lines: list[str]) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / CORRECTIONS).write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"the file cannot be written: {error.strerror}",
            file=str(out / CORRECTIONS),
            remedy="name a folder that can be written",
        ) from error


@click.command(
    "import",
    epilog="Example: hazardmill scenario import --base domain.pddl problem.pddl --risk risk.json --out scenarios",
)
@click.option(
    "--base", type=click.Path(path_type=Path), required=True, metavar="DOMAIN.pddl", help="Domain of the problems."
)
@click.argument("problems", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PROBLEM.pddl...")
@click.option(
    "--risk",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="The risk of the only problem, or risks by scenario id [default: none].",
)
@click.option("--out", type=_FOLDER, required=True, metavar="DIR", help="Folder to write to.")
@json_option
def import_(base: Path, problems: tuple[Path, ...], risk: Path | None, out: Path, as_json: bool) -> None:
    """Import problems of a PDDL domain as scenarios, well formed or not.

    Problems that are not well formed are imported too: `scenario verify` finds what is wrong with them, and `scenario
    correct` mends what it can.

    Exit code 1 if a problem could not be read (it is reported, and the rest is imported); 3 if the domain could not.
    """
    counts: Counter[str] = Counter()
    for item in import_pddl(base, problems, risk):
        if isinstance(item, HazardmillError):
            counts["unread"] += 1
            click.echo(f"error: {item}", err=True)
        else:
            write_scenario(out, item)
            counts["imported"] += 1
    if as_json:
        print_json({**dict(sorted(counts.items())), "out": str(out)})
    else:
        click.echo(f"{_listed('problems', counts)}; written to {out}")
    if counts["unread"]:
        sys.exit(1)


@click.command(epilog="Example: hazardmill scenario export scenarios --to pddl --out pddl")
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("--to", "language", type=click.Choice(["pddl"]), required=True, help="The format to write.")
@click.option("--out", type=_FOLDER, metavar="OUT", help="Folder for the scenarios' folders [default: DIR-pddl].")
@json_option
def export(folder: Path, language: str, out: Path | None, as_json: bool) -> None:
    """Write PDDL and risk.json of each scenario of DIR.

    Each scenario gets a folder of its own.

    Exit code 1 if a scenario could not be read or expressed (it is reported, and the rest is written).
    """
    target = out or folder.with_name(f"{folder.name}-{language}")
    counts: Counter[str] = Counter()
    for item in read_scenarios(folder):
        try:
            if isinstance(item, HazardmillError):
                raise item
            export_pddl(item, target / item.id)
        except HazardmillError as error:
            counts["unwritten"] += 1
            named = "" if isinstance(item, HazardmillError) else f"{item.id}: "
            click.echo(f"error: {named}{error}", err=True)
        else:
            counts["written"] += 1
    if as_json:
        print_json({**dict(sorted(counts.items())), "out": str(target)})
    else:
        click.echo(f"{_listed('scenarios', counts)}; written to {target}")
    if counts["unwritten"]:
        sys.exit(1)


def _listed(what: str, counts: Counter[str]) -> str:
    named = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()) if count)
    return f"{what}: {counts.total()} ({named or 'none'})"
