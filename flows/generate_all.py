"""Generate tasks from several sources, then look for duplicates among all tasks and write the report."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any, Final

from prefect import flow, runtime
from prefect.artifacts import acreate_table_artifact
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed
from pydantic import Field

from flows.afterwards import dedupe, write_page
from flows.endings import BUDGET_REACHED, is_there, own_name
from flows.generate import generate, run_name
from flows.parameters import Address, AuthorFormat, BatchSize, Concurrency, Records, RunName, Seconds, SourceName, Usd
from hazardmill.ingest.sources import list_sources
from hazardmill.store_access import open_store

DESCRIPTION: Final = """\
Turns the records of **several sources** into tasks, then finds duplicates among all tasks and writes the report.

- Each source is a flow run of its own; one that fails keeps no other one from its end.
- *Retry* this flow run, or start one with its `run_id`, to go on with what is left; nothing is paid for twice.
- **Artifacts**: those of each source, `generate-all` (how each ended), `dedupe-all` (what is the same in other words).
"""


@flow(name="generate-all", flow_run_name=run_name, description=DESCRIPTION)
async def generate_all(
    sources: list[SourceName] | None = None,
    paths: dict[SourceName, Path] | None = None,
    limit: Records | None = None,
    model: str | None = None,
    extract_model: str | None = None,
    judge_model: str | None = None,
    api_base: Address | None = None,
    author_format: AuthorFormat | None = None,
    budget_usd: Usd | None = None,
    batch_size: BatchSize | None = None,
    concurrency: Concurrency | None = None,
    attempt_timeout: Seconds | None = None,
    at_once: Annotated[int, Field(ge=1, le=16)] = 2,
    store: Path | None = None,
    run_id: RunName | None = None,
) -> State[dict[str, str]]:
    """Turn the records of several sources into tasks, find duplicates among all tasks, write the report.

    Args:
        sources: Whose records; null is every source.
        paths: File or folder by source; of a source without one, those the store holds.
        limit: At most so many records of each source.
        model: Model of all stages, as litellm names it; `recorded` answers for the shipped samples, without any.
        extract_model: Another model for the extract stage.
        judge_model: Another model for the judge stage.
        api_base: Address of an OpenAI-compatible server; no key in it.
        author_format: What the author writes, `python` or `document`.
        budget_usd: Most that all sources together may spend; null is no limit.
        batch_size: Records a batch, at most 50.
        concurrency: Records worked on, and requests sent, at once, for each source.
        attempt_timeout: Seconds for one attempt at a request.
        at_once: Sources worked on at once.
        store: Folder of the store; null is that of the worker's settings.
        run_id: Beginning of the names of the runs, each followed by the name of its source.
    """
    names = list(dict.fromkeys(sources or [source.name for source in list_sources()]))
    root = run_id or own_name("all")
    room = asyncio.Semaphore(at_once)
    same: dict[str, Any] = {
        "limit": limit,
        "model": model,
        "extract_model": extract_model,
        "judge_model": judge_model,
        "api_base": api_base,
        "author_format": author_format,
        "budget_usd": budget_usd,
        # One purse: the sources take from it as they need.
        "budget_id": None if budget_usd is None else root,
        "batch_size": batch_size,
        "concurrency": concurrency,
        "attempt_timeout": attempt_timeout,
        "store": store,
    }

    async def one(name: str) -> State[Any]:
        async with room:
            path = (paths or {}).get(name)
            state: State[Any] = await generate(name, path, run_id=f"{root}-{name}", **same, return_state=True)
            return state

    states = dict(zip(names, await asyncio.gather(*map(one, names)), strict=True))
    rows = [{"source": name, "state": state.name, "said": state.message} for name, state in states.items()]
    await acreate_table_artifact(rows, key="generate-all", description=f"Runs {root}-...")
    place = open_store(store, create=True)
    if runs := [f"{root}-{name}" for name in names if is_there(place, f"{root}-{name}")]:
        await dedupe(place)
        write_page(place, runs, root)
    return _ended(root, states)


def _ended(root: str, states: dict[str, State[Any]]) -> State[dict[str, str]]:
    """One state of those of the sources."""
    said = {name: f"{state.name}: {state.message}" for name, state in states.items()}
    failed = [name for name, state in states.items() if not state.is_completed()]
    if failed:
        words = "; ".join(f"{name}: {states[name].message}" for name in failed)
        return Failed(message=f"{', '.join(failed)} failed; retry this flow run to go on. {words}", data=said)
    if short := [name for name, state in states.items() if state.name == BUDGET_REACHED]:
        said_of = "; ".join(f"{name}: {states[name].message}" for name in short)
        whole = f"{runtime.flow_run.flow_name}/{runtime.deployment.name or '...'}"
        go_on = f"prefect deployment run {whole} -p run_id={root} -p budget_usd=..."
        message = f"The budget is reached; go on with a larger one: {go_on} {said_of}"
        return Completed(name=BUDGET_REACHED, message=message, data=said)
    return Completed(message="; ".join(f"{name}: {state.message}" for name, state in states.items()), data=said)
