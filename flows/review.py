"""Review: assigns tasks, imports files of decisions, and publishes the figures and the accepted tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

from prefect import flow, task
from prefect.artifacts import acreate_markdown_artifact
from pydantic import BaseModel, Field

from flows.release_proposal import ReleaseProposal, proposal_markdown, propose_release
from hazardmill.reporting.markdown import grid_markdown
from hazardmill.reporting.table import Grid
from hazardmill.review.analysis.render import grids as review_grids
from hazardmill.review.analysis.statistics import ReviewStatistics, statistics
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import load_kinds, load_pool
from hazardmill.review.decisions.exchange import ImportSummary, import_files
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.events import Name
from hazardmill.review.policies import Policy
from hazardmill.store_access import open_store

DESCRIPTION: Final = """\
Assigns tasks to **reviewers**, imports the decisions that they made elsewhere, and reports what people accept.

- Set `reviewers` to assign tasks to them, and `files` to import decisions. It can be repeated at any time.
- The **artifact** `review` has rates, agreement, the time left, what a release would take, and how to start it.
- Reviewers decide in the app: `hazardmill review serve`.
"""


class Reviewed(BaseModel):
    """The state of a review."""

    policy: Policy
    accepted: tuple[str, ...] = Field(description="Ids of the tasks that people accept.")
    counts: dict[str, int] = Field(description="Accepted tasks, and the others by reason.")
    given: dict[str, dict[str, int]] = Field(description="Assignments made now, by reviewer and kind.")
    imported: ImportSummary | None = Field(description="Result of the import; null if there were no files.")
    minutes_left: dict[str, float | None] = Field(
        description="Minutes that the open tasks of each reviewer will take; null while too few times are known."
    )
    release: ReleaseProposal


@task(name="give-out", persist_result=False)
def give_out(store: Path | None, folder: Path, wish: Wish) -> dict[str, dict[str, int]]:
    """Assign what is not assigned yet. Repeated, it assigns nothing, so a retry is harmless."""
    return give_tasks(ReviewFolder(folder), load_pool(open_store(store)), wish).slips


@task(name="take-in", retries=1, persist_result=False)
def take_in(store: Path | None, folder: Path, files: list[Path]) -> ImportSummary:
    """Import decisions; importing them twice changes nothing."""
    return import_files(ReviewFolder(folder), files, kinds=load_kinds(open_store(store, create=store is None)))


@task(name="figures", persist_result=False)
def figures_of(store: Path | None, folder: Path, policy: Policy) -> ReviewStatistics:
    """Compute the figures of the review."""
    return statistics(ReviewFolder(folder), load_pool(open_store(store)), policy)


@flow(name="review", flow_run_name="review {policy}", description=DESCRIPTION)
async def review(
    store: Path | None = None,
    folder: Path = Path("review"),
    reviewers: tuple[Name, ...] = (),
    per_task: Annotated[int, Field(ge=1)] = 2,
    tasks: Annotated[int, Field(ge=0)] | None = None,
    audit: Annotated[int, Field(ge=0)] = 0,
    seed: int = 0,
    files: tuple[Path, ...] = (),
    policy: Policy = "any-reject",
) -> Reviewed:
    """Assign tasks, scenarios and hazard tasks to reviewers, import decisions, and report which ones people accept.

    Args:
        store: Folder of the store; null is that of the worker's settings.
        folder: Folder of the rubric and of people's decisions, on the worker's machine.
        reviewers: Names of the reviewers; if none, nothing is assigned.
        per_task: Reviewers per task.
        tasks: Total number of tasks to review; null for all.
        audit: Total number of drafts rejected by the judge to review too.
        seed: Seed of the random assignment.
        files: Decisions made elsewhere, CSV or JSON lines; the artifact lists refused lines.
        policy: Rule by which the reviewers' decisions accept a task.
    """
    ReviewFolder(folder).rubric_version()
    given = {}
    if reviewers:
        wish = Wish(reviewers=reviewers, per_task=per_task, tasks=tasks, audit=audit, seed=seed)
        given = give_out(store, folder, wish)
    imported = take_in(store, folder, list(files)) if files else None
    figures = figures_of(store, folder, policy)
    proposal = await propose_release(figures, store, folder)
    await acreate_markdown_artifact(
        key="review",
        markdown=f"{_markdown(figures, imported)}\n{proposal_markdown(proposal)}",
        description=f"Review in {folder} of {store or 'the store of the settings'}",
    )
    accepted = figures.accepted
    return Reviewed(
        policy=policy,
        accepted=accepted.accepted,
        counts=accepted.counts,
        given=given,
        imported=imported,
        minutes_left={name: one.minutes_left for name, one in figures.reviewers.items()},
        release=proposal,
    )


def _markdown(figures: ReviewStatistics, imported: ImportSummary | None) -> str:
    grids = [replace(grid, words=len(grid.head)) for grid in review_grids(figures)]
    if imported is not None:
        counts = (("new", imported.new), ("known", imported.known), ("refused", len(imported.refused)))
        rows = tuple((name, f"{count:,}") for name, count in (*counts, ("conflicts", len(imported.conflicts))))
        grids.append(Grid("Files imported", ("", "lines"), rows))
        refused = tuple((f"{line.file}:{line.line}", line.message, line.remedy) for line in imported.refused)
        if refused:
            grids.append(Grid("Lines refused", ("where", "why", "what to do"), refused, words=3))
    return "\n\n".join(map(grid_markdown, grids)) + "\n"
