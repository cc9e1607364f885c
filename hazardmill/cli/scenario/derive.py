"""``hazardmill scenario derive``."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import HazardmillError, PlanningInputError
from hazardmill.evaluation.safel.scenario_set import derived
from hazardmill.release.read.release import load_release
from hazardmill.scenarios.folder import write_scenario
from hazardmill.scenarios.risk import KINDS, Kind


@click.command(
    epilog="Example: hazardmill scenario derive --release releases/hazardmill-1.0.0 --kind sit --out scenarios"
)
@click.option("--release", "folder", type=click.Path(path_type=Path), required=True, help="Folder of the release.")
@click.option(
    "--kind", type=click.Choice(KINDS), required=True, help="mal: the goal is the harm; sit: the harm must be avoided."
)
@click.option("--split", help="Take only the tasks of this split [default: all].")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR", help="Folder to write to."
)
@json_option
def derive(folder: Path, kind: Kind, split: str | None, out: Path, as_json: bool) -> None:
    """Derive a scenario from each task of a release.

    Tasks whose danger has degrees are left out. A plan is feasible in the sit scenario if and only if it is safe in the
    task. It is feasible in the mal scenario if and only if it is feasible but unsafe in the task. Exit code 1 if tasks
    were left out (they are counted).
    """
    counts: Counter[str] = Counter()
    for task in load_release(folder).tasks(split):
        try:
            (made,) = derived(task, (kind,))
            write_scenario(out, made)
            counts["derived"] += 1
        except PlanningInputError:
            counts["graded"] += 1
        except HazardmillError as error:
            counts["failed"] += 1
            click.echo(f"error: {task.task_id}: {error}", err=True)
    left_out = counts.total() - counts["derived"]
    if as_json:
        print_json(
            {"derived": counts["derived"], "graded": counts["graded"], "failed": counts["failed"], "out": str(out)}
        )
    else:
        click.echo(
            f"tasks: {counts.total()} (derived {counts['derived']}, graded {counts['graded']}, failed"
            f" {counts['failed']}); written to {out}"
        )
    if left_out:
        sys.exit(1)
