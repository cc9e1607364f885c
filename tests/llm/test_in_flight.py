"""What is on disk of a request while it is under way, and after a kill."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from hazardmill.errors import ProviderDown, StoreError
from hazardmill.llm.backends.litellm import LitellmBackend
from hazardmill.llm.backends.replay import ReplayBackend
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import IN_FLIGHT, Ledger, LedgerIndex
from hazardmill.llm.limits.budget import Budget
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.store import Store
from hazardmill.testing.offline_author.backend import OfflineBackend

UPPER = (len("Be careful.") + len("What is dangerous here?")) * 2.0 / 1e6 + 200 * 8.0 / 1e6


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def ask(prices, clock):
    def ask(folder, backend, *requests, run_id="run-1", **settings):
        async def main():
            store = Store(folder)
            with store.writer(run_id) as writer:
                around = {"clock": clock, "sleep": clock.sleep, "limiter": Limiter(), "prices": prices} | settings
                client = Client(backend, Ledger(store, writer, run_id), **around)
                return await asyncio.gather(*(client.ask(asked) for asked in requests), return_exceptions=True)

        return asyncio.run(main())

    return ask


def test_an_attempt_is_on_disk_before_it_is_sent_and_its_end_takes_its_place(
    folder, ask, make_backend, make_request, make_completion
):
    seen = []

    async def answer(_):
        seen.extend(Store(folder).rows("llm_calls"))
        return make_completion(prompt_tokens=10, cached_tokens=0, completion_tokens=5)

    ask(folder, make_backend(answer, metered=True), make_request())

    [before], [after] = seen, Store(folder).rows("llm_calls")
    told = ("attempt", "answered", "error", "answer", "usd", "latency_s", "model_asked")
    assert [before[name] for name in told] == [1, False, IN_FLIGHT, None, None, None, "toy/toy"]
    assert before["usd_upper"] == pytest.approx(UPPER)
    assert [after[name] for name in told[:4]] == [1, True, None, "hello"]
    assert after["usd_upper"] == after["usd"] == pytest.approx(60 / 1e6)


CHILD = """
import asyncio, os, signal, sys
sys.path.insert(0, sys.argv[2])
from tests.llm.conftest import FakeClock, ScriptedBackend, completion, request
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.prices import Price, Prices
from hazardmill.store import Store

async def answer(asked):
    if "answered" in asked.messages[-1].content:
        return completion(prompt_tokens=10, cached_tokens=0, completion_tokens=5)
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    store = Store(sys.argv[1])
    made_up = {"checked": "2026-11-01", "origin": "made up"}
    prices = Prices({"toy/toy": Price(model="toy/toy", input=2.0, cached_input=0.5, output=8.0, **made_up)})
    with store.writer("run-1") as writer:
        backend = ScriptedBackend([answer], metered=True)
        client = Client(backend, Ledger(store, writer, "run-1"), limiter=Limiter(), prices=prices)
        await client.ask(request("answered before"))
        await client.ask(request())

asyncio.run(main())
"""


def test_what_a_kill_left_under_way_counts_as_spent_and_is_no_answer(
    folder, tmp_path, project, ask, make_backend, make_request, make_completion
):
    killed = subprocess.run([sys.executable, "-c", CHILD, str(folder), str(project)], capture_output=True, check=False)
    assert killed.returncode == -9, killed.stderr.decode()
    left = Store(folder).rows("llm_calls", {"error": IN_FLIGHT})
    assert [(row["attempt"], row["answered"]) for row in left] == [(1, False)]
    with Store(folder).writer("run-1") as writer:
        ledger = Ledger(Store(folder), writer, "run-1")
        assert ledger.spent_usd() == pytest.approx(60 / 1e6 + UPPER)
        assert ledger.lookup(left[0]["identity"]) is None

    paid = make_completion(prompt_tokens=10, cached_tokens=0, completion_tokens=5)
    backend = make_backend(ProviderDown("x"), ProviderDown("y"), paid, metered=True)
    both = (make_request("answered before"), make_request())
    first, second = ask(folder, backend, *both, max_attempts=3)

    assert (first.paid, second.paid) == (True, True)
    assert len(backend.asked) == 3, "the cut one is no failed attempt, and what was answered is not asked again"
    rows = Store(folder).rows("llm_calls", {"identity": second.identity})
    assert [(row["attempt"], row["error"]) for row in rows] == [
        (1, IN_FLIGHT),
        (2, "ProviderDown"),
        (3, "ProviderDown"),
        (4, None),
    ]
    ask(tmp_path / "calm", make_backend(paid, metered=True), *both)
    assert Store(folder).digest() == Store(tmp_path / "calm").digest()


def test_a_kill_leaves_less_of_the_budget(folder, project, ask, make_backend, make_request, make_completion):
    subprocess.run([sys.executable, "-c", CHILD, str(folder), str(project)], capture_output=True, check=False)
    store = Store(folder)
    with store.writer("run-1") as writer:
        spent = Ledger(store, writer, "run-1").spent_usd()
    budget = Budget(2 * UPPER, spent)
    [end] = ask(folder, make_backend(make_completion(), metered=True), make_request(), budget=budget)
    assert type(end).__name__ == "BudgetReached"


def test_one_that_is_called_off_before_it_is_sent_cost_nothing(
    make_client, make_backend, make_request, make_completion, store
):
    async def main():
        store.release = asyncio.Event()
        budget = Budget(1.0)
        backend = make_backend(make_completion(), metered=True)
        task = asyncio.create_task(make_client(backend, budget=budget).ask(make_request()))
        for _ in range(9):
            await asyncio.sleep(0)
        task.cancel()
        for _ in range(9):
            await asyncio.sleep(0)
        store.release.set()
        await asyncio.wait([task])
        return backend.asked, budget.spent_usd, budget.reserved_usd

    assert asyncio.run(main()) == ([], 0.0, 0.0)
    assert [(row["error"], row["usd_upper"]) for row in store.log] == [
        (IN_FLIGHT, pytest.approx(UPPER)),
        ("CancelledError", 0.0),
    ]


def test_nothing_is_sent_that_could_not_be_written_down(
    make_client, make_backend, make_request, make_completion, store
):
    backend = make_backend(make_completion(), metered=True)
    store.full = True
    with pytest.raises(StoreError):
        asyncio.run(make_client(backend).ask(make_request()))
    assert backend.asked == []


def test_only_who_may_be_charged_for_nothing_writes_before_it_sends(
    make_client, make_backend, make_request, make_completion, store
):
    assert LitellmBackend.metered
    assert not any(getattr(backend, "metered", False) for backend in (OfflineBackend, ReplayBackend))
    asyncio.run(make_client(make_backend(make_completion())).ask(make_request()))
    assert len(store.log) == 1


def test_a_number_is_never_given_out_twice(make_client, make_backend, make_request, make_completion, store):
    asyncio.run(make_client(make_backend(make_completion(), metered=True)).ask(make_request()))
    before = store.log[:1]
    assert LedgerIndex(before, run_id="run-1").next_attempt(before[0]["identity"]) == 2
    assert LedgerIndex(before).answer(before[0]["identity"]) is None
