"""``hazardmill report``."""

from __future__ import annotations

from pathlib import Path

import click

from hazardmill.commands.options import json_option, lens_of, open_store, print_json, store_option
from hazardmill.errors import InputError


@click.command(epilog="Example: hazardmill report --out report --store demo-out/store")
@click.option("--run", "runs", multiple=True, help="Run to report on; repeat for several [default: the latest].")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("report"),
    show_default=True,
    help="Folder to write report.html and the task folders to.",
)
@store_option
@json_option
def report(runs: tuple[str, ...], out: Path, store_path: Path | None, as_json: bool) -> None:
    """Write report.html, one folder an accepted task, and the store's DuckDB file."""
    from hazardmill.report.folders import write_task_folders
    from hazardmill.report.html import write_report
    from hazardmill.stages.run import run_states

    store = open_store(store_path)
    known = [row["run_id"] for row in run_states(store) if row["kind"] == "generate"]
    unknown = [run_id for run_id in runs if run_id not in known]
    if unknown or not known:
        raise InputError(
            f"there is no generation run {unknown[0]} here" if unknown else "the store holds no generation run",
            remedy="see: hazardmill run list",
        )
    chosen = list(dict.fromkeys(runs)) or known[-1:]
    lens = lens_of(store)
    page = write_report(store, chosen, out / "report.html")
    folders = write_task_folders(store, chosen, out / "tasks")
    if as_json:
        tasks = [str(path) for path in folders]
        print_json({"runs": chosen, "report": str(page), "tasks": tasks, "duckdb": lens and str(lens)})
        return
    click.echo(f"{page}\n{len(folders)} task folders in {out / 'tasks'}" + (f"\n{lens}" if lens else ""))
