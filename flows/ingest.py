"""Ingest the public files of one source into a store."""

from __future__ import annotations

from pathlib import Path

from prefect import flow, task
from prefect.artifacts import acreate_markdown_artifact
from pydantic import BaseModel, Field

from hazardmill.records import Reject
from hazardmill.stages.intake import ingest_into, nothing_read, place
from hazardmill.store.store import Store


class Ingested(BaseModel):
    """What an ingest run counted."""

    run_id: str
    counts: dict[str, int] = Field(description="Records, new, changed, rejects, repeats.")
    examples: tuple[Reject, ...] = Field(description="The first reject of each reason, a few of them.")


@task(name="read-source", retries=1, persist_result=False)
def read_source(source: str, path: Path, store: Path, limit: int | None, where: dict[str, str]) -> Ingested:
    """Read one input; reading it again changes nothing, so a retry is harmless."""
    run_id, intake = ingest_into(Store(store), source, path, where=where, limit=limit)
    return Ingested(run_id=run_id, counts=intake.summary, examples=intake.examples)


@flow(name="ingest", flow_run_name="{source}")
async def ingest(
    source: str,
    path: Path,
    store: Path = Path("generated/store"),
    limit: int | None = None,
    where: dict[str, str] | None = None,
) -> Ingested:
    """Read the records of a source into the store; bad ones go to the table `rejects`, with reason and remedy.

    Args:
        source: Name of a source, as `hazardmill sources list` shows it.
        path: File or folder to read, on the machine of the worker.
        store: Folder of the store.
        limit: At most so many records.
        where: Only records with these facts.

    Raises:
        InputError: There was no record; the rejects are in the store, and the first is named.
    """
    result = read_source(source, path, store, limit, where or {})
    lines = [f"| {name} | {count} |" for name, count in result.counts.items()]
    if result.examples:
        lines += ["", *(f"- {place(reject)}: {reject.message} ({reject.remedy})" for reject in result.examples)]
    await acreate_markdown_artifact(
        key=f"ingest-{source.replace('_', '-')}",
        markdown="\n".join([f"### Ingest of {source}", "", "| | items |", "| --- | ---: |", *lines]),
        description=f"Run {result.run_id}",
    )
    if not result.counts["records"]:
        raise nothing_read([source], next(iter(result.examples), None))
    return result
