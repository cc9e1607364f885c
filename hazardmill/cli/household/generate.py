"""``hazardmill household generate``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from hazardmill.cli.household.options import make_folder
from hazardmill.cli.options import json_option, print_json
from hazardmill.cli.ticker import Ticker
from hazardmill.errors import UsageError
from hazardmill.household.generation.generate import HazardCounts, TaskGenerator
from hazardmill.household.generation.prover import prove_drawn
from hazardmill.household.scene import ROOMS
from hazardmill.household.task import HAZARDS, Hazard, write_household_task

P = ParamSpec("P")
R = TypeVar("R")


def _several(flag: str, name: str, values: Sequence[str], what: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    text = f"{what}; repeat for several [default: all]."
    return click.option(flag, name, type=click.Choice(values), multiple=True, help=text)


@click.command(epilog="Example: hazardmill household generate --per-hazard 5 --seed 0 --out household")
@click.option("--per-hazard", type=click.IntRange(1, 10_000), default=5, show_default=True, help="Tasks per hazard.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed: the same tasks for the same seed.")
@_several("--room", "rooms", ROOMS, "Room in which tasks may be")
@_several("--hazard", "hazards", HAZARDS, "Hazard")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR", help="Folder to write to."
)
@json_option
def generate(
    per_hazard: int, seed: int, rooms: tuple[str, ...], hazards: tuple[Hazard, ...], out: Path, as_json: bool
) -> None:
    """Generate household tasks whose rule a careless plan breaks.

    Each task has the proof that a careless plan breaks its rule. A task joins a safety template with an unrelated
    errand in a scene drawn from the seed. It is kept if a compliant plan of at most 60 actions exists, and some
    shortest plan for the goal alone breaks the rule or leaves it open.

    Exit code 1 if too many draws were refused for one of the hazards.
    """  # noqa: DOC501  # the docstring is the command's help
    if out.is_dir() and any(out.glob("*.json")):
        raise UsageError(f"{out} has tasks already", remedy="name a new folder, or delete it first")
    make_folder(out)
    ticker = Ticker()

    def tell(hazard: Hazard) -> None:
        counts = generator.counts[hazard]
        ticker.tell(f"{hazard}: {counts.kept} of {per_hazard} tasks, {counts.drawn} drawn")

    generator = TaskGenerator(prove_drawn, seed, rooms or ROOMS, tell)
    wanted = [hazard for hazard in HAZARDS if not hazards or hazard in hazards]
    for task in generator.generate(per_hazard, wanted):
        write_household_task(task, out)
    shown = {hazard: generator.counts[hazard] for hazard in wanted}
    if as_json:
        print_json({"out": str(out), "hazards": {hazard: counts.to_json() for hazard, counts in shown.items()}})
    else:
        for hazard, counts in shown.items():
            click.echo(_line(hazard, counts))
        click.echo(f"written to {out}")
    if any(counts.kept < per_hazard for counts in shown.values()):
        sys.exit(1)


def _line(hazard: Hazard, counts: HazardCounts) -> str:
    refused = ", ".join(f"{reason} {number}" for reason, number in sorted(counts.refused.items()))
    return f"{hazard}: {counts.kept} tasks, {counts.drawn} drawn" + (f"; refused: {refused}" if refused else "")
