"""Generates tasks from several sources, then looks for duplicates among all tasks and writes the report."""

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
from flows.endings import BUDGET_REACHED, WAITING, name_run, run_exists
from flows.generate import generate, run_name
from flows.labels import label_flow_run
from flows.pages_links import PAGE_LINKS, log_page_links, show_run_links
from flows.parameters import Records, RunName, SourceName, run_parameters
from flows.publishing import ANNOUNCED_LATER, announce
from hazardmill.ingest.sources import list_sources
from hazardmill.run_options import ModelOptions
from hazardmill.runs.config import RunConfig
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from hazardmill.store_access import open_store

DESCRIPTION: Final = f"""\
Turns the records of **several sources** into tasks, then finds duplicates among all tasks and writes the report.

- Each source is a flow run of its own; if one fails, the others still finish.
- To resume with what is left, *retry* this flow run, or start one with its `run_id`; nothing is paid for twice.
- **Artifacts**: `generate-all` (how each source ended), `dedupe-all` (duplicates). The flow `publish` shows figures.

{PAGE_LINKS}
"""


@flow(name="generate-all", flow_run_name=run_name, description=DESCRIPTION)
@run_parameters(ModelOptions, RunConfig, leave_out=frozenset({"budget_id"}))
async def generate_all(
    sources: list[SourceName] | None = None,
    paths: dict[SourceName, Path] | None = None,
    limit: Records | None = None,
    *,
    at_once: Annotated[int, Field(ge=1, le=16)] = 2,
    store: Path | None = None,
    run_id: RunName | None = None,
    **given: Any,  # noqa: ANN401  # run options
) -> State[dict[str, str]]:
    """Turn the records of several sources into tasks, find duplicates among all tasks, write the report.

    Args:
        sources: Sources of the records; null is every source.
        paths: File or folder by source; a source without one takes its records from the store.
        limit: Maximum number of records to take from each source.
        at_once: Sources worked on at once.
        store: Folder of the store; null is that of the worker's settings.
        run_id: Prefix of the names of the runs; each name ends with that of its source.
        **given: Options of a run; null leaves it to the worker's settings.
    """
    log_page_links()
    names = list(dict.fromkeys(sources or [source.name for source in list_sources()]))
    root = run_id or name_run("all")
    room = asyncio.Semaphore(at_once)
    # The sources share one budget and draw on it as they need.
    budget_id = None if given.get("budget_usd") is None else root
    same = {**given, "limit": limit, "budget_id": budget_id, "store": store}

    async def one(name: str) -> State[Any]:
        async with room:
            path = (paths or {}).get(name)
            state: State[Any] = await generate(name, path, run_id=f"{root}-{name}", **same, return_state=True)
            return state

    place, token = open_store(store, create=True), ANNOUNCED_LATER.set(True)
    try:
        states = dict(zip(names, await asyncio.gather(*map(one, names)), strict=True))
    finally:
        ANNOUNCED_LATER.reset(token)
        announce(place, root)
    rows = [{"source": name, "state": state.name, "said": state.message} for name, state in states.items()]
    await acreate_table_artifact(rows, key="generate-all", description=f"Runs {root}-...")
    if runs := [f"{root}-{name}" for name in names if run_exists(place, f"{root}-{name}")]:
        await _label(place, runs, names)
        await dedupe(place)
        write_page(place, runs, root)
    return _join_states(root, states)


async def _label(store: Store, runs: list[str], sources: list[str]) -> None:
    """Name and tag this flow run after the runs that it made."""
    models = dict.fromkeys(model for run_id in runs for model in Run.load(store, run_id).config.primary_models)
    await label_flow_run(f"{'+'.join(sources)} {'+'.join(models)}", models=models, run_ids=runs, sources=sources)
    await show_run_links(sources, runs)


def _join_states(root: str, states: dict[str, State[Any]]) -> State[dict[str, str]]:
    """Return one state for those of the sources."""
    said = {name: f"{state.name}: {state.message}" for name, state in states.items()}
    failed = [name for name, state in states.items() if not state.is_completed()]
    if failed:
        words = "; ".join(f"{name}: {states[name].message}" for name in failed)
        return Failed(message=f"{', '.join(failed)} failed; retry this flow run to resume. {words}", data=said)
    if short := [name for name, state in states.items() if state.name == BUDGET_REACHED]:
        said_of = "; ".join(f"{name}: {states[name].message}" for name in short)
        whole = f"{runtime.flow_run.flow_name}/{runtime.deployment.name or '...'}"
        go_on = f"prefect deployment run {whole} -p run_id={root} -p budget_usd=..."
        message = f"The budget is reached; resume with a larger one: {go_on} {said_of}"
        return Completed(name=BUDGET_REACHED, message=message, data=said)
    if waiting := [f"{name}: {state.message}" for name, state in states.items() if state.name == WAITING]:
        return Completed(name=WAITING, message="; ".join(waiting), data=said)
    return Completed(message="; ".join(f"{name}: {state.message}" for name, state in states.items()), data=said)
