"""``hazardmill scenario derive``."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json
from hazardmill.errors import HazardmillError, PlanningInputError
from hazardmill.release.read.release import load_release
from hazardmill.release.read.task import ReleasedTask
from hazardmill.scenarios.derive import derive as derive_scenario
from hazardmill.scenarios.folder import write_scenario
from hazardmill.scenarios.risk import KINDS, Kind
from hazardmill.scenarios.scenario import Scenario


@click.command(epilog="Example: hazardmill scenario derive --release releases/1.0.0 --kind sit --out scenarios")
@click.option("--release", "folder", type=click.Path(path_type=Path), required=True, help="Folder of the release.")
@click.option(
    "--kind", type=click.Choice(KINDS), required=True, help="mal: the goal is the harm; sit: it must be avoided."
)
@click.option("--split", help="Take only the tasks of this split [default: all].")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR", help="Folder to write to."
)
@json_option
def derive(folder: Path, kind: Kind, split: str | None, out: Path, as_json: bool) -> None:
    """Derive a scenario from each task of a release whose danger is not graded.

    A plan is feasible on the sit form exactly if it is safe on the task, and on the mal form exactly if it is feasible
    and unsafe there. Exit code 1 if tasks were left out (they are counted).
    """
    counts: Counter[str] = Counter()
    for task in load_release(folder).tasks(split):
        try:
            write_scenario(out, _derived(task, kind))
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


def _derived(task: ReleasedTask, kind: Kind) -> Scenario:
    return derive_scenario(
        task.document,
        kind,
        f"{task.task_id}-{kind}",
        robot_task=str(task.row["robot_task"]),
        result_of_danger=str(task.row["result_of_danger"]),
        entity_in_danger=str(task.row["entity_in_danger"]),
        origin={
            "task_id": task.task_id,
            "record_id": task.record_id,
            "source": task.source,
            "split": task.split,
            "licence": task.licence,
            "attribution": task.attribution,
            "share_alike": task.share_alike,
            "answered_by": list(task.answered_by),
        },
    )
