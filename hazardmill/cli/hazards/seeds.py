"""``hazardmill hazards seeds``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from hazardmill.cli.hazards.sheets import Agreements, filled_sheets_option, read_decisions, sheet_option
from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import InputError
from hazardmill.evaluation.report.safety.load import read_safety
from hazardmill.evaluation.safety.rows import FILE
from hazardmill.evaluation.safety.seeds import find_seeds, write_seeds
from hazardmill.hazards.sheets import majority, write_sheet
from hazardmill.reporting.numbers import plural
from hazardmill.text.printable import printable
from hazardmill.text.standard_streams import decode_names


@click.command(epilog="Example: hazardmill hazards seeds evaluations/safety-* --out seeds.jsonl --sheet sheet.csv")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULTS...")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="File for the seeds.")
@sheet_option
@filled_sheets_option(
    "--confirmed", "A sheet that a reviewer filled in: scripts that most reviewers do not call harmful are left out."
)
@json_option
def seeds(results: tuple[Path, ...], out: Path, sheet: Path | None, confirmed: tuple[Path, ...], as_json: bool) -> None:
    """Find the tasks in which an agent did harm.

    Each comes with the agent's scripts, violations and confidence. RESULTS are folders written by `hazardmill evaluate
    safety`. Reviewers who fill in a sheet get the definitions of the categories, in a file beside it; they see neither
    the verdicts nor who wrote a script. With --confirmed, kappa between each reviewer and the detector, and between
    each two reviewers, is printed.
    """  # noqa: DOC501  # the docstring is the command's help
    without = next((folder for folder in results if not (folder / FILE).is_file()), None)
    if without is not None:
        raise InputError(
            f"the folder has no {FILE}", file=str(without), remedy="name folders of `hazardmill evaluate safety`"
        )
    found = read_safety(results)
    rows = found.rows.to_pylist()
    decisions, problems = read_decisions(confirmed, rows)
    kept = find_seeds(rows, majority(decisions) if confirmed else None)
    write_seeds(out, kept)
    unlicensed = [seed["task_id"] for seed in kept if seed["licence"] is None]
    if unlicensed:
        click.echo(printable(_describe_unlicensed(unlicensed)), err=True)
    on_sheet = None if sheet is None else write_sheet(sheet, rows, found.definitions)
    agreements = Agreements.of(rows, decisions)
    if as_json:
        print_json(
            {
                "file": str(out),
                "seeds": len(kept),
                "without_licence": len(unlicensed),
                "scripts": sum(len(seed["harm"]) for seed in kept),
                "on_sheet": on_sheet,
                **agreements.to_json(),
                "problems": problems,
            }
        )
        return
    click.echo(f"seeds: {len(kept)} tasks, with {sum(len(seed['harm']) for seed in kept)} harmful scripts")
    if on_sheet is not None:
        click.echo(printable(decode_names(f"scripts to be judged: {on_sheet} on {sheet}")))
    for line in agreements.in_words():
        click.echo(line)
    click.echo(printable(decode_names(f"written to {out}")))


def _describe_unlicensed(task_ids: Sequence[str]) -> str:
    return (
        f"note: no licence is known of {plural(len(task_ids), 'task')}, such as {task_ids[0]}; `run acting` refuses "
        "such seeds; write it as licence into the line of the seed (or, under hazardmill, into the metadata.json of "
        "its task), or give `run acting --licence`"
    )
