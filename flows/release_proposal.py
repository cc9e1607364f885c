"""What a review hands over to the flow ``release``: what it would take, and the command that starts it."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Final

from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound
from prefect.utilities.urls import url_for
from pydantic import BaseModel, Field

from flows.earlier_releases import suggest_version
from hazardmill.reporting.markdown import grid_markdown
from hazardmill.reporting.table import Grid
from hazardmill.review.analysis.statistics import ReviewStatistics

RELEASE: Final = "release/release"
"""The deployment that a review hands over to."""


class ReleaseProposal(BaseModel):
    """What a release of the accepted tasks would take, before its gates, and how to start it."""

    version: str = Field(description="A minor step after the latest release in `releases/`; `1.0.0` if there is none.")
    tasks: int = Field(description="Accepted tasks, scenarios and hazard tasks.")
    by_source: dict[str, int] = Field(description="The same by source.")
    not_settled: int = Field(description="Tasks that reviewers have yet to settle; a release leaves them out.")
    command: str = Field(description="Starts the release; put your repository in the place of ORG/NAME.")
    link: str | None = Field(description="Page of the deployment; null if the server does not have it, or no pages.")


async def propose_release(figures: ReviewStatistics, store: Path | None, folder: Path) -> ReleaseProposal:
    """Say what a release would take of a review, and how to start it.

    Args:
        figures: The figures of the review.
        store: Folder of the store; None is that of the worker's settings.
        folder: Folder of the review.
    """
    accepted = [task for task in figures.tasks if task.outcome == "accepted"]
    version = suggest_version(Path("releases"))
    given: dict[str, object] = {
        "options": json.dumps({"version": version, "policy": figures.accepted.policy}),
        "repo": "ORG/NAME",
        "folder": folder,
    }
    if store is not None:
        given["store"] = store
    words = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
    async with get_client() as client:
        try:
            deployment = await client.read_deployment_by_name(RELEASE)
        except ObjectNotFound:
            link = None
        else:
            link = url_for("deployment", deployment.id)
    return ReleaseProposal(
        version=version,
        tasks=len(accepted),
        by_source=dict(sorted(Counter(task.source for task in accepted).items())),
        not_settled=len(figures.tasks) - len(accepted) - len(figures.accepted.rejected),
        command=shlex.join(["prefect", "deployment", "run", RELEASE, *words]),
        link=link,
    )


def proposal_markdown(proposal: ReleaseProposal) -> str:
    """Render a proposal as Markdown."""
    rows = tuple((name, f"{count:,}") for name, count in proposal.by_source.items())
    grid = Grid("What a release would take", ("source", "accepted"), (*rows, ("all", f"{proposal.tasks:,}")))
    page = f", or its [page]({proposal.link})" if proposal.link else ""
    return (
        f"{grid_markdown(grid)}\n\n{proposal.not_settled:,} are not settled and would be left out; the gates of a "
        f"release may refuse more. To start it{page}:\n\n    {proposal.command}\n"
    )
