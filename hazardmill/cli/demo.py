"""``hazardmill demo``: the whole pipeline on the shipped samples, with recorded answers of a language model."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from hazardmill.cli.options import json_option, write_lens
from hazardmill.cli.report import review_figures
from hazardmill.cli.run.work import show, work_through
from hazardmill.errors import InputError, JailUnavailable, ReleaseRefused
from hazardmill.evaluation.answers.file import PlansFile
from hazardmill.evaluation.probes.answers import answers_to
from hazardmill.evaluation.released_tasks import ReleasedTasks
from hazardmill.evaluation.score_file import score_plans, score_run
from hazardmill.evaluation.summary import write_results_and_figures
from hazardmill.extras import require_mill
from hazardmill.generation.models import Models
from hazardmill.ingest.sources import list_sources
from hazardmill.llm.recordings import PLACE
from hazardmill.llm.requests import RECORDED_MODEL
from hazardmill.quality.corpus_thresholds import Thresholds
from hazardmill.release.build.build import build
from hazardmill.release.build.options import Options
from hazardmill.release.read.release import load_release
from hazardmill.report.folders import TASKS, write_task_folders
from hazardmill.report.html import write_report
from hazardmill.review import recorded
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.recorded import lay_out
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store
from hazardmill.text.printable import printable
from hazardmill.text.shell import command

_VERSION: Final = "0.1.0"
_ONE_KIND: Final = 0.8
"""The largest share of tasks with the commonest kind of way out: in three of four an action is inserted."""


@click.command(epilog="Example: hazardmill demo --out demo-out")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo-out"),
    show_default=True,
    help="Folder to write to; a second demo adds a run to it.",
)
@click.option(
    "--cross-check", type=click.FloatRange(0, 1), default=0.0, help="Share of tasks to check with ENHSP and Tamer too."
)
@json_option
def demo(out: Path, cross_check: float, as_json: bool) -> None:
    """Run the shipped samples through the whole pipeline, offline: no key, no network, no cost.

    The answers of a language model are replayed from recordings; everything else is computed anew. The records become
    tasks and a report; the tasks that two reviewers (language models too) approved become a release, and two rule-based
    planners are scored on it. The code that is run was written by a model, so without a working jail the command runs
    nothing and exits with code 1.
    """
    require_mill("the demo")
    clock = _Clock()
    config, reviews = _find_recordings(cross_check)
    _refuse_without_jail()
    store = Store(out / "store")
    with clock.stage("tasks"):
        run, _ = Run.start(store, config)
        review = _lay_out(reviews, out / "review")
        afterwards = command(
            "report", "--run", run.run_id, "--store", store.address, "--out", out, *_review_options(review)
        )
        work_through(run, quiet=as_json, afterwards=afterwards)
    with clock.stage("report"):
        lens = write_lens(store)
        figures = None if review is None else review_figures(store, review, [run.run_id])
        report = write_report(store, [run.run_id], out / "report.html", review=figures, folder=TASKS)
        folders = write_task_folders(store, [run.run_id], out / TASKS)
    extra: dict[str, Any] = {
        "tables": str(store.path / "<table>" / "*.parquet"),
        "duckdb": lens and str(lens),
        "tasks": {"path": str(out / TASKS), "count": len(folders)},
        "report": str(report),
        "review": review and str(review),
    }
    if (out / "release").exists():
        # From the same answers it would be the same release; from others, it must not replace one that somebody made.
        click.echo(f"release: {out / 'release'} is from an earlier demo and was left unchanged", err=True)
    elif folders and review:
        with clock.stage("release"):
            extra["release"] = _build_release(store, run.run_id, out)
        if extra["release"]:
            with clock.stage("planners"):
                extra["planners"] = _score_planners(out)
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
    """Measures how long each stage takes, in seconds."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - began, 1)


def _find_recordings(cross_check: float) -> tuple[RunConfig, list[Path]]:
    """Return the configuration of a run on the recorded samples, and the files of their reviews."""
    sources = [source for source in list_sources() if (source.folder / PLACE).is_file()]
    if not sources:
        raise InputError(
            "this installation of hazardmill has no recorded answers",
            remedy="reinstall it, or run your own records: hazardmill run generate --help",
        )
    config = RunConfig(
        inputs=tuple(RunInput(source=source.name, path=source.sample) for source in sources),
        backend="recorded",
        models=Models(extract=RECORDED_MODEL, author=RECORDED_MODEL, judge=RECORDED_MODEL),
        cross_check=cross_check,
    )
    reviews = [source.folder / recorded.PLACE for source in sources]
    return config, [path for path in reviews if path.is_file()]


def _refuse_without_jail() -> None:
    """Check, before anything is written, that code written by a model can be run here.

    Raises:
        JailUnavailable: It cannot.
    """
    try:
        Jail(profile="auto").close()
    except JailUnavailable as error:
        error.message = (
            "the demo runs code that a language model wrote, but the jail does not work on this machine: "
            f"{error.message}; "
            "nothing was run"
        )
        error.args = (error.message,)
        error.remedy = "run hazardmill doctor to see what is missing; the jail needs Linux with Landlock and seccomp"
        raise


def _lay_out(files: list[Path], folder: Path) -> Path | None:
    """Make a review folder from recorded reviews; a damaged file is reported and left out.

    Returns:
        The folder, or None if no file could be used.
    """
    if not files:
        click.echo("no release: this installation of hazardmill has no recorded reviews", err=True)
    for path in files:
        try:
            lay_out([path], ReviewFolder(folder))
        except InputError as error:
            click.echo(f"reviews left out: {error}", err=True)
    return folder if folder.exists() else None


def _review_options(review: Path | None) -> tuple[object, ...]:
    return () if review is None else ("--review", review)


def _build_release(store: Store, run_id: str, out: Path) -> dict[str, Any] | None:
    """Build a release of those tasks of the run that all reviewers approved.

    Returns:
        Its ``path`` and its ``count`` of tasks; None if gates refuse, after their findings were printed.
    """
    limits = Thresholds(commonest_way_out=_ONE_KIND)
    options = Options(name="hazardmill-demo", version=_VERSION, policy="any-reject", runs=(run_id,), thresholds=limits)
    try:
        made = build(store, out / "review", options, out / "release")
    except ReleaseRefused as error:
        click.echo(f"no release: {error}", err=True)
        for line in error.summary:
            click.echo(f"  {printable(line)}", err=True)
        return None
    return {"path": str(made.folder), "count": made.manifest.tasks}


def _score_planners(out: Path) -> dict[str, dict[str, float | None]]:
    """Score two rule-based planners on the release, and return their rates ``F`` and ``S``."""
    tasks = ReleasedTasks(load_release(str(out / "release")))
    path = out / "plans.jsonl"
    path.write_text("".join(f"{json.dumps(answer)}\n" for answer in answers_to(tasks)), encoding="utf-8")
    plans = PlansFile.read(path)
    run = score_run(tasks, plans)
    table = score_plans(tasks, plans, run=run)
    made = {"release": tasks.release, "plans_sha256": plans.sha256}
    found, _ = write_results_and_figures(table, tasks, out / "evaluation", run, made)
    return {each.model: {name: each.rates[name].value for name in ("F", "S")} for each in found}
