"""``hazardmill scenario collect``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.errors import InputError
from hazardmill.scenarios.folder import write_scenario
from hazardmill.scenarios.scenario import Scenario
from hazardmill.store_access import open_store


@click.command(epilog="Example: hazardmill scenario collect RUN --out scenarios")
@click.argument("run_id", metavar="RUN")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR", help="Folder to write to."
)
@store_option
@json_option
def collect(run_id: str, out: Path, store_path: Path | None, as_json: bool) -> None:
    """Write the accepted scenarios of a run as files.

    The commands `scenario verify`, `scenario export` and `evaluate safel` take them.
    """  # noqa: DOC501  # the docstring is the command's help
    rows = open_store(store_path).rows("scenarios", {"run_id": run_id}, ["scenario"])
    if not rows:
        raise InputError(
            f"run {run_id} has no accepted scenario",
            remedy="name a run that was started with --kind mal or --kind sit; `hazardmill run list` lists them",
        )
    for row in rows:
        write_scenario(out, Scenario.from_json(json.loads(row["scenario"])))
    if as_json:
        print_json({"run": run_id, "written": len(rows), "out": str(out)})
    else:
        click.echo(f"scenarios: {len(rows)}; written to {out}")
