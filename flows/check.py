"""Checks a store again, executions and duplicates, in chunks on a Dask cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, cast

from prefect import flow, runtime, task
from prefect.artifacts import create_markdown_artifact
from prefect.futures import PrefectFuture
from prefect.task_runners import TaskRunner
from prefect_dask.task_runners import DaskTaskRunner
from pydantic import BaseModel, Field

from flows.check_words import in_words
from flows.pages_links import PAGE_LINKS, log_page_links
from hazardmill.run_options import JailProfile
from hazardmill.runs.near_duplicates import CHUNK as TASKS
from hazardmill.runs.near_duplicates import NearDuplicate, alike_in, groups, structures_of, task_chunks
from hazardmill.runs.recheck import CHUNK as DRAFTS
from hazardmill.runs.recheck import Chunk, RecheckSummary, chunks, recheck
from hazardmill.settings import Settings, load_settings
from hazardmill.store.store import Store
from hazardmill.store_access import open_store

ChunkSize = Annotated[int, Field(ge=1, le=10_000)]


class Checked(BaseModel):
    """The result of a check."""

    store: str = Field(description="Path or address.")
    executions: RecheckSummary | None = Field(description="Null if they were not asked for.")
    tasks: int | None = Field(description="Tasks compared with one another; null if that was not asked for.")
    duplicates: list[NearDuplicate]


def runner(settings: Settings) -> TaskRunner[PrefectFuture[Any]]:
    """Return the task runner for the Dask cluster of the settings, or for a local one with a process per core."""
    # One thread per worker: proofs are computed in Python, and a lost worker loses only one chunk.
    own: dict[str, Any] = {"host": "127.0.0.1", "threads_per_worker": 1, "dashboard_address": None}
    # Even without a dashboard a scheduler serves its health, by default on one port for all of them.
    own["scheduler_kwargs"] = {"dashboard_address": "127.0.0.1:0"}
    there = settings.dask_address
    chosen = DaskTaskRunner(address=there) if there else DaskTaskRunner(cluster_kwargs=own)
    return cast("TaskRunner[PrefectFuture[Any]]", chosen)


@task(name="check-drafts", task_run_name="drafts-{number}", retries=1, persist_result=False)
def check_drafts(store: str, number: int, chunk: Chunk, jail: JailProfile) -> RecheckSummary:
    """Execute the drafts of a chunk again, in the jail of the machine this runs on."""
    return recheck(Store.open(store), chunk, jail=jail)


@task(name="name-structures", task_run_name="structures-{number}", retries=1, persist_result=False)
def name_structures(store: str, number: int, task_ids: tuple[str, ...]) -> dict[str, str]:
    """Compute the structure ids of tasks again."""
    return structures_of(Store.open(store), task_ids)


@task(name="compare-texts", task_run_name="texts-{number}", retries=1, persist_result=False)
def compare_texts(store: str, number: int, chunk: tuple[tuple[str, ...], ...]) -> list[NearDuplicate]:
    """Find the tasks that repeat an earlier one of the same structure."""
    return alike_in(Store.open(store), chunk)


def run_name() -> str:
    """Return the name of the flow run: the store and the date."""
    given: dict[str, Any] = runtime.flow_run.parameters
    return f"{given.get('store') or load_settings().store} {datetime.now(UTC):%Y-%m-%d}"


DESCRIPTION: Final = f"""\
Checks a store again: **executes** its drafts, and looks for **duplicates** among all its tasks.

- Nothing is written to the store, and nothing is paid for.
- **Artifact**: `check` (what differs: the work of another version or a slower machine, or damage).

{PAGE_LINKS}
"""


@flow(name="check", flow_run_name=run_name, description=DESCRIPTION)
def check(
    store: Path | None = None,
    run_ids: list[str] | None = None,
    executions: bool = True,
    duplicates: bool = True,
    drafts_a_task: ChunkSize = DRAFTS,
    tasks_a_task: ChunkSize = TASKS,
    jail: JailProfile | None = None,
) -> Checked:
    """Check a store again: **execute** its drafts, and look for **duplicates** among all its tasks.

    Nothing is written to the store. The artifact `check` lists what differs: the work of another version or a slower
    machine, or damage.

    Work goes to the Dask scheduler of the setting `dask_address`, otherwise to a cluster on this machine. All workers
    must see the store at the same path, or in a bucket (docs/scaling.md).

    Args:
        store: Folder of the store; null is that of the settings.
        run_ids: Execute only the drafts of these runs; null for all.
        executions: Whether to execute drafts.
        duplicates: Whether to look for duplicates, over all runs.
        drafts_a_task: Drafts that a worker takes at once; below 250, overhead dominates.
        tasks_a_task: Planning tasks that a worker takes at once when it looks for duplicates.
        jail: Profile of the jail; null is that of the settings.
    """
    log_page_links()
    settings = load_settings()
    opened = open_store(store)
    # A bucket by its address: workers on other machines do not have its working folder.
    place = opened.address if opened.address.startswith("s3://") else str(opened.path.absolute())
    on_cluster = on_dask.with_options(task_runner=runner(settings))
    sizes = drafts_a_task if executions else None, tasks_a_task if duplicates else None
    found = on_cluster(place, run_ids, *sizes, jail or settings.jail)
    create_markdown_artifact(key="check", markdown="\n\n".join(in_words(found)), description=f"Store {place}")
    return found


@flow(name="check-on-dask", persist_result=False)
def on_dask(
    store: str, run_ids: list[str] | None, drafts_a_task: int | None, tasks_a_task: int | None, jail: JailProfile
) -> Checked:
    """Send chunks to the workers, each as ids and a path, and add up the results."""
    opened = Store.open(store)
    left_out: list[str] = []
    drafts = chunks(opened, run_ids, drafts_a_task, left_out=left_out) if drafts_a_task else None
    tasks = task_chunks(opened, tasks_a_task) if tasks_a_task else None
    executing = [check_drafts.submit(store, number, chunk, jail) for number, chunk in enumerate(drafts or (), 1)]
    naming = [name_structures.submit(store, number, ids) for number, ids in enumerate(tasks or (), 1)]
    # In the order of the tasks, so that of two alike the same one is the duplicate, whichever is done first.
    structures = {task_id: name for future in naming for task_id, name in future.result().items()}
    alike_chunks = groups(structures, tasks_a_task or TASKS)
    comparing = [compare_texts.submit(store, number, chunk) for number, chunk in enumerate(alike_chunks, 1)]
    return Checked(
        store=store,
        executions=None
        if drafts is None
        else sum((future.result() for future in executing), RecheckSummary(left_out=tuple(left_out))),
        tasks=None if tasks is None else sum(map(len, tasks)),
        duplicates=[each for future in comparing for each in future.result()],
    )
