from __future__ import annotations

import asyncio
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.errors import BudgetReached, ConnectionFailed, ProviderDown, RateLimited, SettingsError
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.budget import PICODOLLARS, Budget, picodollars
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.prices import BatchPrice, Price, Prices, check_prices
from hazardmill.llm.requests import Completion, Usage

from .conftest import FakeClock, MemoryStore, ScriptedBackend, completion, request


class CountingSharedBudget:
    """A shared budget in memory that others take from as well."""

    def __init__(self, usd):
        self.left = picodollars(usd)
        self.leased = 0

    def lease(self, amount):
        granted = min(amount, self.left)
        self.left -= granted
        self.leased += granted
        return granted

    def give_back(self, amount):
        assert 0 < amount <= self.leased
        self.left += amount
        self.leased -= amount


@given(
    limit=st.floats(0.001, 10),
    spent=st.floats(0, 0.5),
    seed=st.integers(0, 2**16),
    number=st.integers(1, 40),
    shared=st.booleans(),
)
def test_what_is_settled_and_reserved_never_exceeds_the_limit(limit, spent, seed, number, shared):
    draw = random.Random(seed)
    pool = CountingSharedBudget(limit) if shared else None
    budget = Budget(limit, 0.0 if shared else spent * limit, shared=pool)
    costs = []

    def check():
        assert budget.spent_usd + budget.reserved_usd <= limit * (1 + 1e-12)

    async def one():
        for _ in range(draw.randrange(3)):
            await asyncio.sleep(0)
        reserved = draw.random() ** 2 * limit
        reservation = await budget.reserve(reserved)
        check()
        for _ in range(draw.randrange(4)):
            await asyncio.sleep(0)
        cost = draw.choice([None, 0.0, reserved, reserved * draw.random()])
        costs.append(reserved if cost is None else cost)
        reservation.settle(cost)
        check()

    async def main():
        tasks = [asyncio.create_task(one()) for _ in range(number)]
        for task in tasks:
            if draw.random() < 0.1:
                task.cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    ends = asyncio.run(main())
    assert {type(end) for end in ends} <= {type(None), BudgetReached, asyncio.CancelledError}
    budget.close()
    before = 0.0 if shared else spent * limit
    assert budget.reserved_usd == 0
    assert budget.spent_usd == pytest.approx(before + math.fsum(costs), abs=1e-9)
    if pool is not None:
        assert pool.leased == pytest.approx(math.fsum(costs) * PICODOLLARS, abs=len(costs) + 1), "the rest went back"


def test_who_finds_no_money_waits_for_what_others_leave_over():
    async def main():
        budget = Budget(1.0)
        first = await budget.reserve(0.8)
        waiting = asyncio.create_task(budget.reserve(0.5))
        small = asyncio.create_task(budget.reserve(0.1))
        for _ in range(5):
            await asyncio.sleep(0)
        before = waiting.done(), small.done()
        first.settle(0.3)
        await asyncio.gather(waiting, small)
        return before, budget.spent_usd, budget.reserved_usd

    before, spent, reserved = asyncio.run(main())
    assert before == (False, False), "and the small one behind it waits too, lest the large one starve"
    assert (spent, reserved) == (0.3, pytest.approx(0.6))


def test_where_nothing_is_under_way_the_budget_is_reached_and_stays_so():
    async def main():
        budget = Budget(1.0, spent_usd=0.25)
        (await budget.reserve(0.5)).settle(None)
        with pytest.raises(BudgetReached) as caught:
            await budget.reserve(0.3)
        with pytest.raises(BudgetReached):
            await budget.reserve(0.001)
        (await budget.reserve(0.0)).settle(0.0)
        return caught.value

    error = asyncio.run(main())
    assert error.message == (
        "the budget of 1 USD is reached: 0.7500 USD has been spent, 0.5000 of it for requests of unknown cost, "
        "0.2500 USD is left, and the next request could cost up to 0.3000 USD"
    )
    assert (error.exit_code, "resume" in error.remedy) == (4, True)


def test_one_who_stops_waiting_lets_the_next_go_on():
    async def main():
        budget = Budget(1.0)
        first = await budget.reserve(0.9)
        large, small = (asyncio.create_task(budget.reserve(usd)) for usd in (0.5, 0.1))
        for _ in range(3):
            await asyncio.sleep(0)
        large.cancel()
        (await small).settle(0.1)
        first.settle(0.9)
        return budget.spent_usd

    assert asyncio.run(main()) == 1.0


def test_a_reservation_is_settled_once():
    async def main():
        budget = Budget(1.0)
        reservation = await budget.reserve(0.5)
        reservation.settle(0.2)
        reservation.settle(0.4)
        return budget.spent_usd, budget.reserved_usd

    assert asyncio.run(main()) == (0.2, 0.0)


def test_a_provider_that_counts_more_is_settled_logged_and_reported(caplog):
    async def main():
        pool = CountingSharedBudget(1.0)
        budget = Budget(1.0, shared=pool)
        (await budget.reserve(0.25)).settle(0.75)
        with pytest.raises(BudgetReached):
            await budget.reserve(0.5)
        return budget, pool

    budget, pool = asyncio.run(main())
    assert (budget.overruns, budget.overrun_usd, budget.spent_usd) == (1, 0.5, 0.75)
    assert pool.leased == picodollars(0.75), "others cannot count on it"
    assert "overrun: a request cost 0.750000 USD, but 0.250000 were reserved" in caplog.text


def test_a_small_budget_is_leased_in_slices():
    async def main():
        pool = CountingSharedBudget(10.0)
        budget = Budget(10.0, shared=pool)
        leased = []
        for _ in range(12):
            (await budget.reserve(0.02)).settle(0.01)
            leased.append(pool.leased / PICODOLLARS)
        return leased

    leased = asyncio.run(main())
    assert leased[0] == 0.1
    assert len(set(leased)) == 2, "twelve requests, two leases"


@pytest.mark.parametrize(("limit", "spent"), [(0, 0), (-1, 0), (math.inf, 0), (math.nan, 0), (1, -0.1)])
def test_a_budget_that_makes_no_sense_is_refused(limit, spent):
    with pytest.raises(ValueError, match="must be positive and finite"):
        Budget(limit, spent)


def test_sums_are_rounded_against_us():
    assert [picodollars(usd) for usd in (0.0, 1e-13, 1.5e-12, 0.28e-6)] == [0, 1, 2, 280_000]


# The estimate of a prompt.


@given(st.lists(st.tuples(st.integers(1, 5000), st.floats(0.05, 1.5)), min_size=20, max_size=60), st.integers(1, 9000))
def test_a_calibrated_estimate_is_never_below_what_was_charged_for_prompts_like_it(seen, length):
    budget = Budget(1.0, calibrated=True)
    for size, density in seen:
        asked = request("x" * size)
        budget.learn(asked, Usage(prompt_tokens=math.ceil((size + 11) * density)))
    estimate = budget.prompt_tokens(request("x" * length))
    densest = max(math.ceil((size + 11) * density) / (size + 11) for size, density in seen)
    assert estimate >= math.floor((length + 11) * densest)
    assert estimate <= max(length + 11, math.ceil((length + 11) * densest))


def test_by_default_and_before_enough_was_seen_a_token_a_byte_is_reserved():
    asked = request("x" * 100)
    plain, calibrated = Budget(1.0), Budget(1.0, calibrated=True)
    for _ in range(19):
        for budget in (plain, calibrated):
            budget.learn(asked, Usage(prompt_tokens=28))
    assert plain.prompt_tokens(asked) == calibrated.prompt_tokens(asked) == 111
    calibrated.learn(asked, Usage(prompt_tokens=28))
    assert calibrated.prompt_tokens(asked) == math.ceil(111 * 1.25 * 28 / 111)
    assert calibrated.prompt_tokens(request("x" * 100, model="toy/dear")) == 111, "each model has its own tokenizer"


def test_an_unknown_price_lets_no_budget_begin(prices):
    check_prices(["toy/toy", "toy/dear"], prices)
    with pytest.raises(SettingsError, match="the price of b/b, x/y is unknown") as caught:
        check_prices(["x/y", "toy/toy", "b/b", "x/y"], prices)
    assert "prices.yaml" in caught.value.file
    assert "without a budget" in caught.value.remedy


def test_an_unknown_price_inside_a_batch_lets_no_budget_begin():
    made_up = {"checked": "2026-11-01", "origin": "made up"}
    batch = BatchPrice(input=1.0, cached_input=1.0, output=4.0, **made_up)
    listed = Prices({"toy/known": _price(batch=batch, **made_up), "toy/single": _price(**made_up)})
    check_prices(["toy/known"], listed, batch=True)
    check_prices(["toy/known", "toy/single"], listed)
    with pytest.raises(SettingsError, match="the price of toy/single inside a batch is unknown") as caught:
        check_prices(["toy/known", "toy/single"], listed, batch=True)
    assert "without --batch" in caught.value.remedy


# Through the client.

UPPER = (len("Be careful.") + len("What is dangerous here?")) * 2.0 / 1e6 + 200 * 8.0 / 1e6


def test_the_reservation_is_what_the_request_may_cost_and_the_cost_replaces_it(
    make_client, make_backend, make_request, make_completion, store
):
    seen = []

    async def main():
        budget = Budget(1.0)

        async def answer(_):
            seen.append(budget.reserved_usd)
            return make_completion()

        answered = await make_client(make_backend(answer), budget=budget).ask(make_request())
        return answered.usd, budget

    usd, budget = asyncio.run(main())
    assert seen == [pytest.approx(UPPER)]
    assert budget.spent_usd == pytest.approx(usd)
    assert budget.overruns == 1, "this provider counts a thousand tokens in 34 bytes"
    assert budget.overrun_usd == pytest.approx(usd - UPPER)


@pytest.mark.parametrize(
    ("end", "kept"),
    [
        (RateLimited("wait", retry_after=9999), 0.0),
        (ProviderDown("html"), UPPER),
        (ConnectionFailed("reset"), UPPER),
        (completion(prompt_tokens=None, cached_tokens=None, completion_tokens=None), UPPER),
        (completion(prompt_tokens=10, cached_tokens=0, completion_tokens=10), 100 / 1e6),
        # What was counted bounds the cost, whatever was cached.
        (completion(prompt_tokens=10, cached_tokens=None, completion_tokens=10), 100 / 1e6),
    ],
)
def test_what_is_unknown_keeps_its_reservation(end, kept, make_client, make_backend, make_request, store):
    budget = Budget(1.0)
    client = make_client(make_backend(end), budget=budget, max_attempts=1)
    asyncio.run(_ended(client.ask(make_request())))
    [row] = store.calls
    assert budget.spent_usd == row["usd_upper"] == pytest.approx(kept)
    assert (row["usd"] is None) is not (isinstance(end, Completion) and end.usage.cached_tokens == 0)


async def _ended(asking):
    [end] = await asyncio.gather(asking, return_exceptions=True)
    return end


def test_a_resumed_run_counts_what_its_rows_hold(make_client, make_backend, make_request, make_completion, store):
    backend = make_backend(ProviderDown("x"), make_completion())
    asyncio.run(make_client(backend).ask(make_request()))
    asyncio.run(make_client(backend, run_id="another run").ask(make_request("else")))
    ledger = Ledger(store, store, "run-1")
    assert ledger.spent_usd() == pytest.approx(UPPER + store.calls[1]["usd"])
    assert Ledger(store, store, "new").spent_usd() == 0.0


def test_no_budget_can_be_kept_over_attempts_that_nothing_bounds(make_client, make_backend, make_request, store):
    unpriced = make_request(model="nobody/nothing")
    asyncio.run(_ended(make_client(make_backend(ProviderDown("x")), max_attempts=1).ask(unpriced)))
    with pytest.raises(SettingsError, match=r"the cost of attempts in run run-1 is unknown \(nobody/nothing\)"):
        Ledger(store, store, "run-1").spent_usd()


def test_a_request_that_nothing_bounds_is_not_sent(make_client, make_backend, make_request, make_completion):
    backend = make_backend(make_completion())
    client = make_client(backend, budget=Budget(1.0))
    for asked in (make_request(parameters={}), make_request(model="nobody/nothing")):
        with pytest.raises(SettingsError, match="no upper bound"):
            asyncio.run(client.ask(asked))
    assert backend.asked == []


def test_a_fallback_is_reserved_at_its_own_price(make_client, make_request, make_completion, store):
    reserved = {}
    budget = Budget(1.0)

    async def answer(asked):
        reserved[asked.model] = budget.reserved_usd
        if asked.model == "toy/toy":
            raise ProviderDown("x")
        return make_completion()

    client = make_client(ScriptedBackend([answer]), budget=budget, max_attempts=1)
    asyncio.run(client.ask(make_request(fallbacks=("toy/dear",))))
    assert reserved == {"toy/toy": pytest.approx(UPPER), "toy/dear": pytest.approx(10 * UPPER)}


def test_what_waits_for_the_breaker_or_is_called_off_gives_its_money_back(
    make_client, make_backend, make_request, make_completion
):
    async def main():
        budget = Budget(1.0)
        client = make_client(make_backend(make_completion()), budget=budget, limiter=Limiter(1))
        async with client._limiter.slot():
            task = asyncio.create_task(client.ask(make_request()))
            for _ in range(9):
                await asyncio.sleep(0)
            before = budget.reserved_usd
            task.cancel()
            await asyncio.wait([task])
        return before, budget.reserved_usd, budget.spent_usd

    assert asyncio.run(main()) == (pytest.approx(UPPER), 0.0, 0.0)


@given(seed=st.integers(0, 2**16), limit=st.floats(0.001, 0.02), number=st.integers(1, 25), flight=st.integers(1, 8))
def test_a_run_of_any_luck_stays_within_its_budget_and_its_ledger_says_the_same(seed, limit, number, flight):
    draw = random.Random(seed)
    store, clock = MemoryStore(), FakeClock()
    budget = Budget(limit)

    async def answer(asked):
        for _ in range(draw.randrange(3)):
            await asyncio.sleep(0)
        end = draw.random()
        if end < 0.3:
            raise draw.choice([ProviderDown("x"), ConnectionFailed("x"), RateLimited("x", retry_after=1)])
        if end < 0.4:
            return completion(prompt_tokens=None)
        length = sum(len(m.content.encode()) for m in asked.messages)
        return completion(
            prompt_tokens=draw.randint(1, length), cached_tokens=0, completion_tokens=draw.randint(0, 200)
        )

    async def main():
        limiter = Limiter(flight, clock=clock, sleep=clock.sleep)
        made_up = {"checked": "2026-11-01", "origin": "made up"}
        prices = Prices({"toy/toy": _price(**made_up)})
        client = Client(
            ScriptedBackend([answer], metered=True),
            Ledger(store, store, "run-1"),
            limiter=limiter,
            prices=prices,
            budget=budget,
            clock=clock,
            sleep=clock.sleep,
            max_attempts=3,
        )
        tasks = [client.ask(request(f"record {n}" * draw.randint(1, 20))) for n in range(number)]
        return await asyncio.gather(*tasks, return_exceptions=True)

    ends = asyncio.run(main())
    spent = math.fsum(row["usd_upper"] for row in store.calls)
    assert spent <= limit
    assert budget.spent_usd == pytest.approx(spent)
    assert Ledger(store, store, "run-1").spent_usd() == pytest.approx(spent)
    # At every moment, for a kill may come at any: what the rows on disk say so far is within the limit.
    for written in range(len(store.log)):
        so_far = {(row["identity"], row["attempt"]): row["usd_upper"] for row in store.log[: written + 1]}
        assert math.fsum(so_far.values()) <= limit * (1 + 1e-12)
    assert not [end for end in ends if isinstance(end, Exception) and type(end) not in _EXPECTED]


_EXPECTED = (BudgetReached, ProviderDown, ConnectionFailed, RateLimited)


def _price(**fields):

    return Price(model="toy/toy", input=2.0, cached_input=0.5, output=8.0, **fields)
