"""Generates tasks from the records of one source."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

from prefect import flow, runtime
from prefect.client.schemas.objects import State

from flows.endings import name_run, run_exists
from flows.keys import keys_for
from flows.labels import add_date, label_run
from flows.pages_links import PAGE_LINKS
from flows.parameters import Records, RunName, ShardText, SourceName, run_parameters
from flows.source_defaults import add_defaults
from flows.waves import Generated, start_run, work_through
from hazardmill.errors import UsageError
from hazardmill.run_options import ModelOptions
from hazardmill.runs.config import ALTER_NOTHING, RunConfig, RunInput
from hazardmill.runs.config_from_settings import change_config, configure_run
from hazardmill.runs.run import Run
from hazardmill.settings import load_settings
from hazardmill.store.store import Store
from hazardmill.store_access import open_store

DESCRIPTION: Final = f"""\
Turns the records of a source into **planning tasks with proofs**: extract, author, execute, judge, refine.

- **Nothing is paid for twice.** Whatever any run has asked before is answered from the store: a second run on the same
  records pays only for what changed.
- **Every run can be resumed**, after it was killed, cancelled, failed or out of money: *retry* the flow run, or start
  one with its `run_id` (and a larger `budget_usd` if the budget was reached).
- **Artifacts**: `progress-<source>`, and at the end `stage-<stage>-<source>`. The flow `publish` shows the figures:
  `run-<id>`, `cost-<source>`, `funnel-<source>`, `headline-<source>`, `cost-all`.

{PAGE_LINKS}
"""
"""The description of the flow in the UI, as Markdown."""


def run_name() -> str:
    """Return a first name of the flow run: what is given of source, shard and model, and the date."""
    given: dict[str, Any] = runtime.flow_run.parameters
    source = given.get("source") or "+".join(given.get("sources") or ["all"])
    words = [source, given.get("shard"), given.get("model")]
    return add_date(" ".join(str(word) for word in words if word))


@flow(name="generate", flow_run_name=run_name, description=DESCRIPTION)
@run_parameters(ModelOptions, RunConfig)
async def generate(
    source: SourceName,
    path: Path | None = None,
    limit: Records | None = None,
    where: dict[str, str] | None = None,
    shard: ShardText | None = None,
    *,
    store: Path | None = None,
    run_id: RunName | None = None,
    **given: Any,  # noqa: ANN401  # run options
) -> State[Generated]:
    """Turn the records of a source into planning tasks with proofs.

    Args:
        source: Source of the records.
        path: File or folder to read them from, on the worker's machine; null takes those in the store.
        limit: Maximum number of records to take.
        where: Only records with these facts, such as `{"norm": "taboo"}`.
        shard: One of several parts of the records, for several workers: `2/8` is the second of eight.
        store: Folder of the store; null is that of the worker's settings.
        run_id: Run to resume as it was started: only budget, limits, timeout, wave size, concurrency and cross-check
            can change. A new name starts a run of that name.
        **given: Options of a run; null leaves it to the worker's settings.
    """
    given = {name: value for name, value in given.items() if value is not None}
    place = open_store(store, create=True)
    run_id = run_id or name_run(f"generate-{source}")
    place.recover()
    goes_on = run_exists(place, run_id)
    if goes_on:
        config = _stored_config(place, run_id, source, given)
    else:
        wanted = RunInput(source=source, path=path, limit=limit, where=where or {}, shard=shard)
        config = configure_run(load_settings(), [wanted], await add_defaults(source, given))
    async with keys_for(config):
        if goes_on:
            run = await asyncio.to_thread(Run.load(place, run_id).resume, config)
        else:
            run = await start_run(place, config, run_id)
        await label_run(run)
        return await work_through(run)


def _stored_config(store: Store, run_id: str, source: str, given: dict[str, Any]) -> RunConfig:
    """Return the configuration of a run in the store, with the given options that may change."""
    config = Run.load(store, run_id).config
    found = "+".join(item.source for item in config.inputs)
    if found != source:
        raise UsageError(f"run {run_id} is a run of {found}", remedy=f"start generate/{found}, or leave out run_id")
    changed = {name: value for name, value in given.items() if name in ALTER_NOTHING}
    return change_config(config, changed)
