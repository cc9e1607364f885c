"""``hazardmill demo``: the main job end to end, on the shipped samples, with the offline author."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from hazardmill.commands.options import json_option, lens_of

if TYPE_CHECKING:
    from hazardmill.store.store import Store

_VERSION: Final = "0.1.0"
_OF_RULES: Final = "tasks of rules give their danger away by its place"
"""Why the gate on the corpus is waived."""


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
    """Run the shipped samples through the whole mill, offline: no key, no network, no cost.

    From records to tasks and their report, then to a release, on which two planners that are rules are scored.
    """
    from hazardmill.commands.running import command, show, work_through
    from hazardmill.errors import JailUnavailable
    from hazardmill.llm.requests import OFFLINE_MODEL
    from hazardmill.report.folders import write_task_folders
    from hazardmill.report.html import write_report
    from hazardmill.sandbox.jail import Jail
    from hazardmill.stages.config import RunConfig, RunInput
    from hazardmill.stages.mill import Models
    from hazardmill.stages.run import Run
    from hazardmill.stages.sources import list_sources
    from hazardmill.store.store import Store

    clock = _Clock()
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
            "models": Models(extract=OFFLINE_MODEL, author=OFFLINE_MODEL, judge=OFFLINE_MODEL),
            "jail": jail,
            "cross_check": cross_check,
        }
    )
    with clock.stage("tasks"):
        run, _ = Run.start(store, config)
        afterwards = command("report", "--run", run.run_id, "--store", store.address, "--out", out)
        work_through(run, quiet=as_json, afterwards=afterwards)
    with clock.stage("report"):
        lens = lens_of(store)
        report = write_report(store, [run.run_id], out / "report.html")
        folders = write_task_folders(store, [run.run_id], out / "tasks")
    extra: dict[str, Any] = {
        "tables": str(store.path / "<table>" / "*.parquet"),
        "duckdb": lens and str(lens),
        "tasks": {"path": str(out / "tasks"), "count": len(folders)},
        "report": str(report),
    }
    if folders and not (out / "release").exists():
        # A second demo makes the same tasks again, and would have the same release.
        with clock.stage("release"):
            extra["release"] = _release(store, run.run_id, out / "release")
        with clock.stage("planners"):
            extra["planners"] = _planners(out)
    if as_json:
        extra["seconds"] = clock.seconds
    else:
        extra["planners"] = "; ".join(
            f"{name}: {rates['S']:.0%} safe, {rates['F']:.0%} feasible"
            for name, rates in extra.get("planners", {}).items()
        )
        extra["took"] = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in clock.seconds.items())
    show(store, [run.run_id], as_json=as_json, extra={name: said for name, said in extra.items() if said})
    if not as_json and folders:
        click.echo(f"try: {sys.executable} {folders[0] / 'code.py'}")


class _Clock:
    """How long each stage took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - began, 1)


def _release(store: Store, run_id: str, folder: Path) -> dict[str, Any]:
    """Build a release of the run's tasks."""
    from hazardmill.release.build import build
    from hazardmill.release.options import Options

    options = Options(
        name="hazardmill-demo",
        version=_VERSION,
        policy="none",
        runs=(run_id,),
        allow_offline=True,
        waive={"corpus": _OF_RULES},
    )
    made = build(store, None, options, folder)
    return {"path": str(made.folder), "count": made.manifest.tasks}


def _planners(out: Path) -> dict[str, dict[str, float | None]]:
    """Score two planners that are rules on the release; their rates ``F`` and ``S``."""
    from hazardmill.commands.evaluate import release_at, written
    from hazardmill.commands.evaluated_release import ReleasedTasks
    from hazardmill.evaluation.evaluating import score_plans, score_run
    from hazardmill.evaluation.plans_file import PlansFile
    from hazardmill.testing.stand_ins.answering import answers_to

    tasks = ReleasedTasks(release_at(str(out / "release")))
    path = out / "plans.jsonl"
    path.write_text("".join(f"{json.dumps(answer)}\n" for answer in answers_to(tasks)), encoding="utf-8")
    plans = PlansFile.read(path)
    run = score_run(tasks, plans)
    table = score_plans(tasks, plans, run=run)
    made = {"release": tasks.release, "plans_sha256": plans.sha256}
    found, _ = written(table, tasks, out / "evaluation", run, made)
    return {each.model: {name: each.rates[name].value for name in ("F", "S")} for each in found}
