"""Links to the six pages, where people look first: in descriptions of deployments, and in the log of a flow run.

The log is what both UIs show first of a flow run, and they make links of the addresses in it. Cards of artifacts are
no place for links: a click anywhere on a card opens its artifact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from prefect import get_run_logger, runtime
from prefect.artifacts import acreate_markdown_artifact
from prefect.settings import PREFECT_UI_URL

from flows.publishing import key
from hazardmill.report.dashboard.links import PAGES, artifact_key, link_artifact, link_pages

PAGE_LINKS: Final = f"**Pages:** {link_pages()}"
"""The last line of a flow's description, as Markdown."""


def log_page_links() -> None:
    """Log the addresses of the six pages, one line for each."""
    _log(PAGES)


async def show_run_links(sources: Iterable[str], run_ids: Iterable[str]) -> None:
    """Log the addresses of the six pages and of the pages of runs, and make an artifact of links to them.

    A failure is only logged, as no result depends on it.

    Args:
        sources: Sources of the records; each has a page on where its records went.
        run_ids: Runs that the flow run works on; each has a page.
    """
    mine = {artifact_key("run", run_id): f"Run {run_id}" for run_id in run_ids}
    named = sorted(set(sources))
    mine |= {artifact_key("funnel", source): f"Where the records of {source} went" for source in named}
    _log({**PAGES, **mine})
    lines = [link_pages(), *(link_artifact(name, title) for name, title in mine.items())]
    try:
        await acreate_markdown_artifact(
            key=key("pages", *named),
            markdown="\n\n".join(lines),
            description="Links to the pages of this run, and to those of all runs",
        )
    except Exception as error:
        get_run_logger().warning("there is no artifact with links to the pages: %r", error)


def _log(pages: Mapping[str, str]) -> None:
    base = PREFECT_UI_URL.value()
    if not base or runtime.flow_run.id is None:
        return
    lines = [f"{title}: {base.rstrip('/')}/artifacts/key/{name}" for name, title in pages.items()]
    get_run_logger().info("Pages, once they are drawn:\n%s", "\n".join(lines))
