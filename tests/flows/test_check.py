"""The check flow on real Dask clusters on loopback: it must find what the library finds in this process."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.recheck import Difference, RecheckSummary, chunks, recheck
from hazardmill.runs.run import Run
from hazardmill.sandbox.jail import Jail, JailResult, Limits
from hazardmill.store.store import Store
from tests.running import worked

pytestmark = [pytest.mark.full, pytest.mark.timeout(240)]

THREADS = 4

TASK = """
from hazardmill.formalism.authoring import PlanningTask


class Lamp(PlanningTask):
    title = "Switch the lamp on."
    realised_by = "switch"

    def build(self):
        on = self.fluent("on")
        dry = self.fluent("dry")
        wet = self.context("floor_is_wet")
        self.context("window_is_open")
        switch = self.action("switch").sets(on)
        self.action("wipe").sets(dry)
        self.initially(wet)
        self.goal(on)
        self.danger(switch, when=wet & ~dry, danger_type="electrical")
"""
# What would end the worker, or its zygote, if it could.
ATTACK = "import os\nos.kill(os.getppid(), 9)\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Store:
    """A run of the offline author on samples."""
    store = Store.open(tmp_path_factory.mktemp("check") / "store", create=True)
    inputs = tuple(RunInput(source=name, path=project / "sources" / name / "sample") for name in ("neiss", "bddl"))
    run, _ = Run.start(store, RunConfig(inputs=inputs, wave_size=100))

    worked(run)
    return store


@pytest.fixture(scope="module")
def expected(store: Store) -> RecheckSummary:
    """What a check in this process finds."""
    return sum((recheck(store, chunk) for chunk in chunks(store)), RecheckSummary())


@contextmanager
def cluster(workers: int, threads: int) -> Iterator[Any]:
    """A client of a cluster on loopback, each worker a process."""
    from distributed import Client, LocalCluster

    started = LocalCluster(
        n_workers=workers,
        threads_per_worker=threads,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
    )
    with started, Client(started, set_as_default=False) as client:
        yield client


def kill_one_that_works(client: Any, killed: list[int]) -> None:
    """Kill the process of the first worker that has work, while it has it."""
    pids = client.run(os.getpid)
    idle = threading.Event()
    while not killed:  # the test's own timeout bounds it
        for address, keys in client.processing().items():
            if keys and address in pids:
                os.kill(pids[address], signal.SIGKILL)
                killed.append(pids[address])
                break
        idle.wait(0.05)


def attacked(number: int) -> tuple[str, dict[str, bool], str, bool, int]:
    """On a worker: what drafts can do there, what became of one that attacks, and whether the next one runs."""
    with Jail("auto", Limits(concurrency=1)) as jail:
        failed = jail.run(ATTACK)
        task = jail.run(TASK)
        reason = "" if isinstance(failed, JailResult) else failed.reason
        return jail.profile, jail.abilities(), reason, isinstance(task, JailResult), os.getpid()


def children_of(pid: int) -> list[int]:
    return [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]


def test_a_cluster_of_its_own_finds_what_this_process_finds(
    prefect_server: None, store: Store, expected: RecheckSummary, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect.artifacts import Artifact

    from flows.check import check

    monkeypatch.delenv("HAZARDMILL_DASK_ADDRESS", raising=False)
    before = store.digest()
    found = check(store.path, drafts_a_task=40, tasks_a_task=10)

    assert found.executions == expected and expected.drafts > 100 and expected.differing == 0
    assert (found.tasks, found.duplicates) == (store.count("tasks"), [])
    assert store.digest() == before
    shown = asyncio.run(Artifact.aget("check"))
    assert shown is not None and str(store.path) in str(shown.description)
    assert f"{expected.drafts:,} drafts executed again" in shown.data and expected.digest in shown.data


def test_what_a_draft_says_is_no_markup() -> None:
    from flows.check import Checked
    from flows.check_words import in_words

    said = "`</code>![here](http://127.0.0.1/x.png)\n# Title"
    different = Difference(
        run_id="r", record_id="notes:1", draft=2, what="jail: message", stored=said, found="(none)", version="0"
    )
    done = RecheckSummary(drafts=3, differing=1, differences=(different,), jails=("fork",))
    lines = in_words(Checked(store="s", executions=done, tasks=None, duplicates=[]))
    (line,) = (line for line in lines if "notes:1" in line)
    assert line.startswith("- `r notes:1 draft 2, jail: message: was '</code>![here]") and line.endswith("is (none)`")
    assert line.count("`") == 2 and "\n" not in line and "1 differ" in lines[1]


def test_a_worker_that_is_killed_changes_nothing(
    prefect_server: None, store: Store, expected: RecheckSummary, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.check import check

    killed: list[int] = []
    with cluster(2, 1) as client, ThreadPoolExecutor(1) as executor:
        monkeypatch.setenv("HAZARDMILL_DASK_ADDRESS", client.scheduler.address)
        killing = executor.submit(kill_one_that_works, client, killed)
        found = check(store.path, duplicates=False, drafts_a_task=20)
        killing.result()

    assert len(killed) == 1 and not Path(f"/proc/{killed[0]}").exists()
    assert found.executions == expected
    assert (found.tasks, found.duplicates) == (None, [])


def test_the_jail_holds_in_a_worker_with_threads() -> None:
    with cluster(1, THREADS) as client:
        futures = client.map(attacked, range(2 * THREADS), pure=False)
        found = client.gather(futures, errors="raise")
        (pid,) = client.run(os.getpid).values()
        left = children_of(pid)

    with Jail("auto") as jail:
        profile = jail.profile
    for here, abilities, reason, runs, worker in found:
        assert (here, worker) == (profile, pid)
        assert abilities and not any(abilities.values())
        assert reason in ("exception", "crashed") and runs
    assert left == []
