"""``hazardmill review assign | stats | export | import | unblind``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

import click

from hazardmill.cli.options import json_option, print_json, store_option
from hazardmill.errors import UsageError
from hazardmill.reporting.terminal_text import render_grid
from hazardmill.resources import review_folder
from hazardmill.review.analysis.intent import read_plans
from hazardmill.review.analysis.render import grids
from hazardmill.review.analysis.selection import ReviewSelection, tasks_grid
from hazardmill.review.analysis.statistics import statistics
from hazardmill.review.assignments.publish import BatchSummary, give_disputed, give_plans, give_tasks
from hazardmill.review.assignments.publish import unblind as open_eyes
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import load_kinds, load_pool
from hazardmill.review.decisions.exchange import ImportSummary, import_files
from hazardmill.review.decisions.exchange import export as write
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.policies import POLICIES
from hazardmill.review.recorded import record_reviews
from hazardmill.review.rubric import rubric_version
from hazardmill.store_access import open_store
from hazardmill.text.printable import printable

P = ParamSpec("P")
R = TypeVar("R")

_POLICIES: Final = ("any-reject", "majority", "adjudicated")


def folder_option(function: Callable[P, R]) -> Callable[P, R]:
    """Add ``--review DIR``, the folder with the rubric and the decisions."""
    return click.option(
        "--review",
        "folder",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("review"),
        show_default=True,
        help="Folder with rubric.md and decisions/; `review assign` makes it, with hazardmill's rubric.",
    )(function)


@click.command(epilog="Example: hazardmill review assign --reviewer ada --reviewer ben --tasks 200")
@click.option("--reviewer", "reviewers", multiple=True, required=True, help="Name of a reviewer; repeat for several.")
@click.option(
    "--per-task",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Reviewers per task, scenario or hazard task.",
)
@click.option(
    "--tasks",
    type=click.IntRange(0),
    help="Total number of tasks, scenarios and hazard tasks to review [default: all].",
)
@click.option(
    "--audit",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Number of drafts rejected by the judge to review too, to measure how often the judge is wrong.",
)
@click.option(
    "--calibration",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="Share of a reviewer's tasks that have a planted defect.",
)
@click.option(
    "--repeats",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="Share of a reviewer's tasks that are blind repeats.",
)
@click.option("--disputed", is_flag=True, help="Instead, assign a third reviewer to each task on which two disagree.")
@click.option(
    "--plans",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Instead, assign evaluated plans (JSON lines) to reviewers, who judge whether the planner avoided the danger "
    "on purpose; --tasks is then the number of plans.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of every random choice.")
@click.option("--dry-run", is_flag=True, help="Only report what would be assigned.")
@folder_option
@store_option
@json_option
def assign(
    reviewers: tuple[str, ...],
    per_task: int,
    tasks: int | None,
    audit: int,
    calibration: float,
    repeats: float,
    disputed: bool,
    plans: Path | None,
    seed: int,
    dry_run: bool,
    folder: Path,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Assign tasks, scenarios and hazard tasks to reviewers.

    Assignments are balanced, and stratified by source and danger type. A folder that has no rubric yet gets
    hazardmill's. Earlier assignments stay as they are. If you repeat the command with more tasks or other reviewers, it
    assigns what is missing. Reviewers never learn who else has a task, what others decided, or which tasks are repeats
    or have a planted defect.
    """  # noqa: DOC501  # the docstring is the command's help
    if disputed and plans is not None:
        raise UsageError("--disputed and --plans cannot be combined", remedy="run the command once for each")
    opened = ReviewFolder(folder)
    is_new = not opened.has_rubric
    version = rubric_version(review_folder() / "rubric.md" if is_new else opened.rubric)
    pool = load_pool(open_store(store_path))
    if disputed:
        given = give_disputed(opened, pool, reviewers, seed, dry=dry_run)
    elif plans is not None:
        found = read_plans(plans, pool)
        given = give_plans(opened, found, reviewers, most=tasks, each=per_task, seed=seed, dry=dry_run)
    else:
        wish = Wish(
            reviewers=reviewers,
            per_task=per_task,
            tasks=tasks,
            audit=audit,
            calibration=calibration,
            repeats=repeats,
            seed=seed,
        )
        given = give_tasks(opened, pool, wish, dry=dry_run)
    if not dry_run:
        opened.adopt_rubric()
    if as_json:
        print_json({**given.model_dump(mode="json"), "new_review": is_new})
    else:
        if is_new:
            click.echo(f"{folder}: a new review, by rubric {version} of hazardmill")
        _print_batch(given, dry_run)


def _print_batch(given: BatchSummary, dry: bool) -> None:
    for reviewer, kinds in given.slips.items():
        told = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
        click.echo(f"{reviewer}: {told}")
    if not given.slips:
        click.echo("everything asked for is already assigned")
    if given.waiting:
        click.echo(f"no reviewer is left for: {', '.join(given.waiting)}; name more reviewers")
    if dry:
        click.echo("dry run: nothing was written")


@click.command(epilog="Example: hazardmill review stats --policy adjudicated --json")
@click.option(
    "--policy",
    type=click.Choice(_POLICIES),
    default="any-reject",
    show_default=True,
    help="Rule by which the reviewers' decisions accept a task.",
)
@click.option("--source", "sources", multiple=True, help="Only tasks of this source; repeat for several.")
@click.option(
    "--danger-type",
    "danger_types",
    multiple=True,
    help="Only tasks of this danger type, scenarios of this kind and hazard, or hazard tasks of this first category; "
    "repeat for several.",
)
@click.option(
    "--reviewer",
    "reviewers",
    multiple=True,
    help="Only tasks that were assigned to this reviewer, with what everybody decided on them; repeat for several.",
)
@click.option("--list", "listed", is_flag=True, help="List the tasks too, each with its outcome and its verdicts.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the bootstrap.")
@folder_option
@store_option
@json_option
def stats(
    policy: str,
    sources: tuple[str, ...],
    danger_types: tuple[str, ...],
    reviewers: tuple[str, ...],
    listed: bool,
    seed: int,
    folder: Path,
    store_path: Path | None,
    as_json: bool,
) -> None:
    """Print rates, agreement and times, and compare judge and people.

    Unknown figures are null, with the reason; --json also has every task with its verdicts. All definitions:
    docs/review.md.
    """
    chosen = next(known for known in POLICIES if known == policy)
    selection = ReviewSelection(sources, danger_types, reviewers)
    pool = load_pool(open_store(store_path))
    figures = statistics(open_review(folder), pool, chosen, selection=selection, seed=seed)
    if as_json:
        print_json(figures.model_dump(mode="json"))
        return

    for grid in (*grids(figures), *([tasks_grid(figures.tasks)] if listed else [])):
        for line in render_grid(grid):
            click.echo(line)
    if figures.stale:
        click.echo(f"{figures.stale} decisions are on tasks that have changed since, and are asked for again")


@click.command(epilog="Example: hazardmill review export decisions.csv --reviewer ada")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--reviewer", "reviewers", multiple=True, help="Only decisions of this reviewer; repeat for several [default: all]."
)
@folder_option
@json_option
def export(file: Path, reviewers: tuple[str, ...], folder: Path, as_json: bool) -> None:
    """Write decisions and undos to FILE, as CSV or JSON lines.

    The extension of FILE decides which.
    """
    count = write(open_review(folder), file, reviewers)
    if as_json:
        print_json({"file": str(file), "lines": count})
    else:
        click.echo(f"{file}: {count} lines")


@click.command("import", epilog="Example: hazardmill review import from-ada.jsonl from-ben.csv")
@click.argument("files", type=click.Path(path_type=Path, dir_okay=False), nargs=-1, required=True)
@click.option("--reviewer", help="Accept only decisions of this reviewer.")
@click.option(
    "--store",
    "store_path",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the store, which says which reasons an item can be rejected for "
    "[default: setting `store`, if that store exists].",
)
@folder_option
@json_option
def import_(
    files: tuple[Path, ...], reviewer: str | None, store_path: Path | None, folder: Path, as_json: bool
) -> None:
    """Import decisions made elsewhere.

    Importing a file twice changes nothing. Conflicts are reported, and both sides are kept. Exit code 1 if a line was
    refused, or if two decisions of one reviewer on one task conflict (the later one counts).
    """
    opened = open_review(folder)
    kinds = load_kinds(open_store(store_path, create=store_path is None))
    result = import_files(opened, files, reviewer=reviewer, kinds=kinds)
    if as_json:
        print_json(result.model_dump(mode="json"))
    else:
        _print_imported(result)
    if result.refused or result.conflicts:
        sys.exit(1)


def _print_imported(result: ImportSummary) -> None:
    click.echo(f"{result.new} new, {result.known} known, {len(result.refused)} refused")
    for line in result.refused:
        click.echo(printable(f"  {line.file}:{line.line}: {line.message} [{line.remedy}]"))
    for each in result.conflicts:
        said = f"{each.verdict} counts, {each.other_verdict} does not"
        click.echo(printable(f"  conflict of {each.reviewer} on {each.item}: {said} (slip {each.slip})"))


@click.command(epilog="Example: hazardmill review record --review review --store store --out recordings")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder for SOURCE/recorded/reviews.jsonl; an existing file is replaced.",
)
@folder_option
@store_option
@json_option
def record(out: Path, folder: Path, store_path: Path | None, as_json: bool) -> None:
    """Record what language models decided, to ship with answers.

    Reviewers whose names begin with `model-` are language models. Decisions of people are not recorded.
    """
    made = record_reviews(open_review(folder), load_pool(open_store(store_path)), out)
    if as_json:
        print_json([each.model_dump(mode="json") for each in made])
        return
    for each in made:
        said = f"{each.decisions} decisions of {', '.join(each.reviewers)} on {each.tasks} tasks"
        click.echo(f"{each.source}: {said}: {each.path}")


@click.command(epilog="Example: hazardmill review unblind --review review")
@folder_option
@json_option
def unblind(folder: Path, as_json: bool) -> None:
    """Show reviewers what others and the judge decided, from now on.

    This cannot be undone.
    """
    done = open_eyes(open_review(folder))
    if as_json:
        print_json({"unblinded_now": done})
    else:
        click.echo("the review is unblinded" if done else "the review was already unblinded")


def open_review(path: Path) -> ReviewFolder:
    """Return the review in a folder; only ``review assign`` begins one.

    Raises:
        InputError: The folder has no rubric, or one that cannot be read.
    """
    folder = ReviewFolder(path)
    # An empty review in its place would hide a misspelt folder, or a command in the wrong one.
    folder.rubric_version()
    return folder
