"""What follows once several runs have ended: a search for duplicates among all tasks, and one report."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

from prefect import get_run_logger, task
from prefect.artifacts import acreate_table_artifact
from prefect.cache_policies import NO_CACHE

from flows.publishing import report_path
from hazardmill.errors import HazardmillError, StoreError
from hazardmill.report.html import write_report
from hazardmill.runs.run import Run
from hazardmill.store.store import Store


@task(name="dedupe", persist_result=False, cache_policy=NO_CACHE)
async def dedupe(store: Store) -> dict[str, Any]:
    """Look for duplicates among the tasks of a store.

    This runs in a process of its own, because a large store takes gigabytes of memory.

    Returns:
        What ``hazardmill dedupe --json`` prints; empty if there is no task.

    Raises:
        HazardmillError: The command failed.
    """
    words = [sys.executable, "-m", "hazardmill.cli.main", "dedupe", "--json", "--store", store.address]
    process = await asyncio.create_subprocess_exec(*words, stdout=PIPE, stderr=PIPE)
    try:
        out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    # 1: something was found. 3: there is no task.
    if process.returncode not in (0, 1, 3):
        raise HazardmillError(f"dedupe ended with status {process.returncode}: {err.decode(errors='replace')[-500:]}")
    found: dict[str, Any] = json.loads(out) if process.returncode != 3 else {}
    counts = {name: len(value) if isinstance(value, list) else value for name, value in found.items()}
    rows = [{"what": name, "count": str(count)} for name, count in counts.items() if count is not None]
    await acreate_table_artifact(rows, key="dedupe-all", description=f"hazardmill dedupe --store {store.address}")
    return found


@task(name="publish", persist_result=False, cache_policy=NO_CACHE)
def write_page(store: Store, run_ids: list[str], name: str) -> Path:
    """Write one report on all the runs, as a page."""
    return write_report(store, run_ids, report_path(store, name))


def write_views(run: Run) -> None:
    """Write the store's DuckDB file; if that fails, the run is complete without it."""
    try:
        run.store.write_lens()
    except StoreError as error:
        get_run_logger().warning("the DuckDB file was not written; the run is complete without it: %s", error)
