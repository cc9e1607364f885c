"""``hazardmill demo``: the main job end to end, on the shipped samples, with the offline author."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hazardmill.commands.options import json_option, lens_of


@click.command(epilog="Example: hazardmill demo --out demo-out")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo-out"),
    show_default=True,
    help="Folder to write to; a second demo there adds a run.",
)
@click.option(
    "--cross-check", type=click.FloatRange(0, 1), default=0.0, help="Share of tasks shown to ENHSP and Tamer."
)
@json_option
def demo(out: Path, cross_check: float, as_json: bool) -> None:
    """Run the shipped samples through the whole mill, offline: no key, no network, no cost."""
    from hazardmill.commands.running import command, show, work_through
    from hazardmill.errors import JailUnavailable
    from hazardmill.report.folders import write_task_folders
    from hazardmill.report.html import write_report
    from hazardmill.sandbox.jail import Jail
    from hazardmill.stages.config import RunConfig, RunInput
    from hazardmill.stages.run import Run
    from hazardmill.stages.sources import list_sources
    from hazardmill.store.store import Store

    jail = "auto"
    try:
        Jail(profile="auto").close()
    except JailUnavailable as error:
        # The author of the demo is ours; code of a real model would be refused here.
        jail = "minimal"
        click.echo(f"jail: minimal, because {error.message}; good enough for the demo, whose author is ours", err=True)
    store = Store(out / "store")
    config = RunConfig.model_validate(
        {
            "inputs": [RunInput(source=source.name, path=source.sample) for source in list_sources()],
            "jail": jail,
            "cross_check": cross_check,
        }
    )
    run, _ = Run.start(store, config)
    afterwards = command("report", "--run", run.run_id, "--store", store.address, "--out", out)
    work_through(run, quiet=as_json, afterwards=afterwards)
    lens = lens_of(store)
    report = write_report(store, [run.run_id], out / "report.html")
    folders = write_task_folders(store, [run.run_id], out / "tasks")
    show(
        store,
        [run.run_id],
        as_json=as_json,
        extra={
            "tables": str(store.path / "<table>" / "*.parquet"),
            "duckdb": lens and str(lens),
            "tasks": {"path": str(out / "tasks"), "count": len(folders)},
            "report": str(report),
        },
    )
    if not as_json and folders:
        click.echo(f"try: {sys.executable} {folders[0] / 'code.py'}")
