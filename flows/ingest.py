"""Ingests the public files of one source into a store."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from prefect import flow, runtime, task
from prefect.artifacts import acreate_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed
from pydantic import BaseModel, Field

from flows.endings import may_be_accident
from flows.pages_links import PAGE_LINKS, log_page_links
from flows.parameters import Records, SourceName
from flows.publishing import key
from hazardmill.ingest.intake import ingest_into, nothing_read, place
from hazardmill.records import Reject
from hazardmill.store.store import Store
from hazardmill.store_access import open_store
from hazardmill.text.printable import printable


class Ingested(BaseModel):
    """The counts of an ingest run."""

    run_id: str
    counts: dict[str, int] = Field(description="Records, new, changed, rejects, repeats.")
    examples: tuple[Reject, ...] = Field(description="The first reject of each reason, at most a few.")


@task(name="read-source", retries=1, retry_condition_fn=may_be_accident, persist_result=False, cache_policy=NO_CACHE)
def read_source(source: str, path: Path, store: Store, limit: int | None, where: dict[str, str]) -> Ingested:
    """Read one input. Reading it again changes nothing, so a retry is harmless."""
    run_id, intake = ingest_into(store, source, path, where=where, limit=limit)
    return Ingested(run_id=run_id, counts=intake.summary, examples=intake.examples)


def run_name() -> str:
    """Return the name of the flow run: source and date."""
    return f"{runtime.flow_run.parameters.get('source')} {datetime.now(UTC):%Y-%m-%d}"


DESCRIPTION: Final = f"""\
Reads the records of a source into the store. Bad ones go to the table `rejects`, with **reason and remedy**.

- Reading the same files again changes nothing.
- **Artifact**: `ingest-<source>` (counts, and the first reject of each reason).

{PAGE_LINKS}
"""


@flow(name="ingest", flow_run_name=run_name, description=DESCRIPTION)
async def ingest(
    source: SourceName,
    path: Path,
    store: Path | None = None,
    limit: Records | None = None,
    where: dict[str, str] | None = None,
) -> State[Ingested]:
    """Read the records of a source into the store.

    Args:
        source: Name of the source.
        path: File or folder to read, on the worker's machine.
        store: Folder of the store; null is that of the worker's settings.
        limit: Maximum number of records to read.
        where: Only records with these facts, such as `{"norm": "taboo"}`.

    Raises:
        InputError: There was no record. The rejects are in the store, and the message names the first.
    """
    log_page_links()
    result = read_source(source, path, open_store(store, create=True), limit, where or {})
    lines = [f"| {name} | {count} |" for name, count in result.counts.items()]
    # Indented, so that input is shown verbatim and never rendered as Markdown.
    lines += ["", *(f"    {printable(f'{place(bad)}: {bad.message} ({bad.remedy})')}" for bad in result.examples)]
    await acreate_markdown_artifact(
        key=key("ingest", source),
        markdown="\n".join([f"### Ingest of {source}", "", "| | items |", "| --- | ---: |", *lines]),
        description=f"Run {result.run_id}",
    )
    if not result.counts["records"]:
        raise nothing_read([source], next(iter(result.examples), None))
    said = ", ".join(f"{count} {name}" for name, count in result.counts.items())
    return Completed(message=f"Run {result.run_id}: {said}", data=result)
