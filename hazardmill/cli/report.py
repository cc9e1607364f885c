"""``hazardmill report``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from hazardmill.cli.options import json_option, print_json, store_option, write_lens
from hazardmill.errors import InputError
from hazardmill.extras import require_mill
from hazardmill.report.folders import TASKS, write_task_folders
from hazardmill.report.html import write_report
from hazardmill.report.markdown import write_markdown
from hazardmill.review.analysis.statistics import ReviewStatistics, statistics
from hazardmill.review.candidates import load_pool
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.runs.status import latest_states
from hazardmill.store.run_ids import list_command, unknown_run
from hazardmill.store.store import Store
from hazardmill.store_access import open_store
from hazardmill.text.suggestions import unknown_name


@click.command(epilog="Example: hazardmill report --out report --store demo-out/store")
@click.option("--run", "runs", multiple=True, help="Run to report on; repeat for several [default: the latest].")
@click.option("--source", "sources", multiple=True, help="Only this source; repeat for several [default: all].")
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "md"]),
    default="html",
    show_default=True,
    help="One self-contained page, or Markdown with its figures as SVG files.",
)
@click.option(
    "--out",
    "--output",
    "out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("report"),
    show_default=True,
    help="Folder for the report and the task folders.",
)
@click.option(
    "--review",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of a review to include in the report [default: none].",
)
@store_option
@json_option
def report(
    runs: tuple[str, ...],
    sources: tuple[str, ...],
    form: str,
    out: Path,
    folder: Path | None,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Write report.html or report.md, one folder per accepted task, and the store's DuckDB file."""
    require_mill("a report")
    store = open_store(store_path)
    known = [row["run_id"] for row in latest_states(store) if row["kind"] == "generate"]
    unknown = [run_id for run_id in runs if run_id not in known]
    if unknown or not known:
        if unknown:
            raise unknown_run(unknown[0], known, store.address, kind="generation run")
        remedy = f"see: {list_command(store.address)}"
        raise InputError("this store has no generation run", file=store.address, remedy=remedy)
    chosen = list(dict.fromkeys(runs)) or known[-1:]
    wanted = list(dict.fromkeys(sources))
    _check_sources(store, chosen, wanted)
    write = write_markdown if form == "md" else write_report
    review = None if folder is None else review_figures(store, folder, chosen, wanted)
    page = write(store, chosen, out / f"report.{form}", wanted, review, folder=TASKS)
    folders = write_task_folders(store, chosen, out / TASKS, wanted)
    # Last: where a part is damaged, the report has ended with what to do about it.
    lens = write_lens(store)
    if as_json:
        tasks = [str(path) for path in folders]
        print_json(
            {
                "runs": chosen,
                "sources": wanted or None,
                "report": str(page),
                "tasks": tasks,
                "duckdb": lens and str(lens),
            }
        )
        return
    click.echo(f"{page}\n{len(folders)} task folders in {out / TASKS}" + (f"\n{lens}" if lens else ""))


def review_figures(store: Store, folder: Path, runs: Sequence[str], sources: Sequence[str] = ()) -> ReviewStatistics:
    """Return the figures of a review of what some runs made, under the policy ``any-reject``.

    Args:
        store: The store with the runs.
        folder: The folder of the review.
        runs: Ids of the runs.
        sources: Only tasks from these; all if empty.
    """
    accepted = {
        row[key]
        for table, key in (("tasks", "task_id"), ("scenarios", "scenario_id"), ("hazard_tasks", "hazard_task_id"))
        for run in runs
        for row in store.rows(table, {"run_id": run}, [key])
    }
    pool = {
        name: item
        for name, item in load_pool(store).items()
        if (name in accepted if item.slip_kind == "task" else item.run_id in runs)
        and (not sources or item.source in sources)
    }
    return statistics(ReviewFolder(folder), pool)


def _check_sources(store: Store, runs: Sequence[str], sources: Sequence[str]) -> None:
    """Refuse a source that has no record in any of the runs: its report would be empty."""
    if not sources:
        return
    there = {
        record_id.partition(":")[0]
        for run_id in runs
        for row in store.rows("runs", {"run_id": run_id}, ["selection"])
        for record_id in json.loads(row["selection"] or "{}")
    }
    for source in sources:
        if source not in there:
            raise unknown_name(
                f"there is no record of source {source} in {', '.join(runs)}",
                source,
                there,
                remedy=f"name one of {', '.join(sorted(there)) or 'another run'}",
            )
