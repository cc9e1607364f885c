from __future__ import annotations

import asyncio

import pytest

from hazardmill.errors import (
    ConnectionFailed,
    NothingListens,
    ProviderDown,
    RateLimited,
    RequestRefused,
    RunStopped,
    StoreError,
)
from hazardmill.llm.limits.limiter import Limiter


def test_an_answer_is_recorded_with_its_cost_and_provenance(
    make_client, make_backend, make_request, make_completion, store
):
    answer = asyncio.run(make_client(make_backend(make_completion())).ask(make_request()))

    usd = (600 * 2.0 + 400 * 0.5 + 100 * 8.0) / 1e6
    assert (answer.text, answer.model_answered, answer.backend, answer.paid) == ("hello", "toy-1", "litellm", True)
    assert answer.usd == pytest.approx(usd)
    [row] = store.calls
    assert answer.identity == row["identity"] == make_request().identity("litellm", "api.example")
    expected = {
        "run_id": "run-1",
        "attempt": 1,
        "answered": True,
        "record_id": "neiss:1",
        "stage": "extract",
        "draft": 2,
        "host": "api.example",
        "model_asked": "toy/toy",
        "prompt_version": "3",
        "prompt_hash": "ph",
        "input_hash": "in",
        "cached_tokens": 400,
        "error": None,
    }
    assert {name: row[name] for name in expected} == expected
    assert row["usd"] == row["usd_upper"] == pytest.approx(usd)


def test_what_one_run_paid_for_no_other_pays_again(make_client, make_backend, make_request, make_completion, store):
    backend = make_backend(make_completion("first"), make_completion("second"))

    async def twice(run_id):
        client = make_client(backend, run_id=run_id)
        return [await client.ask(make_request()), await client.ask(make_request())]

    answers = asyncio.run(twice("run-1")) + asyncio.run(twice("run-2"))

    assert [a.paid for a in answers] == [True, True, False, False], "by this run, be it now or before"
    assert {a.text for a in answers} == {"first"}
    assert {a.usd for a in answers} == {answers[0].usd}
    assert len(backend.asked) == len(store.calls) == 1


def test_who_asks_the_same_at_the_same_time_shares_one_request(
    make_client, make_backend, make_request, make_completion, store
):
    async def main():
        gate = asyncio.Event()

        async def slow(_):
            await gate.wait()
            return make_completion()

        backend = make_backend(slow)
        client = make_client(backend)
        tasks = [asyncio.create_task(client.ask(make_request())) for _ in range(5)]
        other = asyncio.create_task(client.ask(make_request("Something else")))
        await asyncio.sleep(0)
        gate.set()
        return await asyncio.gather(*tasks), await other, backend

    answers, other, backend = asyncio.run(main())
    assert [a.paid for a in answers] == [True] * 5
    assert other.paid
    assert len(backend.asked) == len(store.calls) == 2


def test_the_answer_is_withheld_if_the_ledger_cannot_be_written(
    make_client, make_backend, make_request, make_completion, store
):
    backend = make_backend(make_completion())
    store.full = True

    with pytest.raises(StoreError, match="no space left"):
        asyncio.run(make_client(backend).ask(make_request()))
    assert len(backend.asked) == 1, "a full disk is no reason to ask, and pay, again"


def test_the_answer_waits_for_the_ledger(make_client, make_backend, make_request, make_completion, store):
    async def main():
        store.release = asyncio.Event()
        task = asyncio.create_task(make_client(make_backend(make_completion())).ask(make_request()))
        for _ in range(50):
            await asyncio.sleep(0)
        waited = not task.done()
        store.release.set()
        return waited, await task

    waited, answer = asyncio.run(main())
    assert waited
    assert answer.text == "hello"


def test_a_retryable_error_adds_attempts_to_the_same_identity(
    make_client, make_backend, make_request, make_completion, store, clock
):
    backend = make_backend(ProviderDown("overloaded"), ConnectionFailed("reset"), make_completion())

    answer = asyncio.run(make_client(backend).ask(make_request()))

    assert answer.paid
    assert [(r["attempt"], r["error"], r["answered"]) for r in store.calls] == [
        (1, "ProviderDown", False),
        (2, "ConnectionFailed", False),
        (3, None, True),
    ]
    assert len({r["identity"] for r in store.calls}) == 1
    first, second = clock.slept
    assert 1 <= first <= 2 <= second <= 3, "exponential, with up to a second of jitter"


def test_who_waits_for_another_attempt_is_told_why(make_client, make_backend, make_request, make_completion, clock):
    told = []
    backend = make_backend(ProviderDown("overloaded"), RateLimited("slow down", retry_after=30), make_completion())

    asyncio.run(make_client(backend, on_retry=told.append, max_attempts=4).ask(make_request()))

    assert [(r.attempt, r.max_attempts, r.error.message, r.request) for r in told] == [
        (2, 4, "overloaded", make_request()),
        (3, None, "slow down", make_request()),
    ]
    assert [r.wait_s for r in told] == clock.slept


@pytest.mark.parametrize(
    ("errors", "attempts"),
    [
        ([NothingListens("nobody")], 2),
        ([ConnectionFailed("refused")], 4),
        ([RateLimited("wait", retry_after=1), NothingListens("nobody")], 3),
        ([ProviderDown("starting"), NothingListens("nobody")], 2),
    ],
)
def test_where_nothing_listens_on_this_machine_the_second_attempt_is_the_last(
    make_client, make_backend, make_request, errors, attempts
):
    told = []
    backend = make_backend(*errors, *errors[-1:] * 9)
    with pytest.raises(type(errors[-1])):
        asyncio.run(make_client(backend, on_retry=told.append, max_attempts=4).ask(make_request()))
    assert len(backend.asked) == attempts
    assert all(retry.max_attempts == attempts for retry in told if isinstance(retry.error, type(errors[-1])))


def test_nobody_is_told_of_an_attempt_that_does_not_come(make_client, make_backend, make_request):
    told = []
    for backend in (make_backend(RequestRefused("no")), make_backend(ProviderDown("down"))):
        with pytest.raises((RequestRefused, ProviderDown)):
            asyncio.run(make_client(backend, on_retry=told.append, max_attempts=1).ask(make_request()))
    assert told == []


def test_a_run_that_was_killed_has_paid_for_what_it_finds_again(
    make_client, make_backend, make_request, make_completion
):
    backend = make_backend(make_completion())
    before, resumed, other = (
        asyncio.run(make_client(backend, run_id=run_id).ask(make_request())) for run_id in ("run-1", "run-1", "run-2")
    )
    assert before == resumed
    assert (resumed.paid, other.paid) == (True, False)
    assert len(backend.asked) == 1


def test_unknown_cost_is_null_and_bounded_by_what_was_reserved(
    make_client, make_backend, make_request, make_completion, store
):
    unknown = make_completion(prompt_tokens=None, cached_tokens=None, completion_tokens=None)
    backend = make_backend(RateLimited("wait", retry_after=0), ProviderDown("html"), unknown)
    answer = asyncio.run(make_client(backend).ask(make_request("äöü")))

    reserved = (len("Be careful.") + 6) * 2.0 / 1e6 + 200 * 8.0 / 1e6
    assert answer.usd is None
    assert [r["usd"] for r in store.calls] == [None, None, None]
    # What was turned away at the door was not generated.
    assert [r["usd_upper"] for r in store.calls] == [0.0, pytest.approx(reserved), pytest.approx(reserved)]


def test_retry_after_is_honoured(make_client, make_backend, make_request, make_completion, clock):
    backend = make_backend(RateLimited("wait", retry_after=40), RateLimited("now", retry_after=0), make_completion())
    asyncio.run(make_client(backend).ask(make_request()))
    first, second = clock.slept
    assert 40 <= first <= 44
    assert second == 0


def test_attempts_are_limited_and_the_last_error_is_raised(make_client, make_backend, make_request, store):
    backend = make_backend(ProviderDown("one"), ProviderDown("two"), ProviderDown("three"))
    with pytest.raises(ProviderDown, match="three") as caught:
        asyncio.run(make_client(backend, max_attempts=3).ask(make_request()))
    assert len(store.calls) == 3
    assert caught.value.record_id == "neiss:1"


def test_whoever_is_told_to_wait_waits_until_the_deadline_however_often(
    make_client, make_backend, make_request, make_completion, store, clock
):
    def told(seconds):
        async def answer(_):
            if clock.now - 1000 < seconds:
                raise RateLimited("too many")
            return make_completion()

        return answer

    assert asyncio.run(make_client(make_backend(told(400)), deadline_s=600).ask(make_request())).paid
    assert len(store.calls) > 7 and max(clock.slept) <= 61
    clock.now = 1000.0
    with pytest.raises(RateLimited):
        asyncio.run(make_client(make_backend(told(9999)), deadline_s=600).ask(make_request("another")))
    assert 500 < clock.now - 1000 < 600


def test_what_was_turned_away_does_not_count_among_the_attempts(make_client, make_backend, make_request, store):
    crowd = [RateLimited("too many")] * 4
    backend = make_backend(*crowd, ProviderDown("one"), *crowd, ProviderDown("two"), *crowd, ProviderDown("three"))
    with pytest.raises(ProviderDown, match="three"):
        asyncio.run(make_client(backend, max_attempts=3, deadline_s=3600).ask(make_request()))
    assert len(store.calls) == 15


def test_a_provider_that_says_now_again_and_again_is_not_asked_without_end(
    make_client, make_backend, make_request, store, clock
):
    with pytest.raises(RateLimited):
        asyncio.run(make_client(make_backend(RateLimited("now", retry_after=0))).ask(make_request()))
    assert clock.slept[:5] == [0] * 5 and min(clock.slept[5:]) > 30
    assert len(store.calls) < 30


def test_a_client_that_is_closed_sends_nothing_more_and_wakes_who_pauses(
    make_client, make_backend, make_request, make_completion, store
):
    async def main():
        gate, resting = asyncio.Event(), asyncio.Event()

        async def answer(request):
            if request.messages[-1].content == "busy":
                raise ProviderDown("busy")
            await gate.wait()
            return make_completion()

        async def for_ever(_):
            resting.set()
            await asyncio.Event().wait()

        client = make_client(make_backend(answer), sleep=for_ever)
        slow = asyncio.create_task(client.ask(make_request("slow")))
        busy = asyncio.create_task(client.ask(make_request("busy")))
        await resting.wait()
        client.close()
        with pytest.raises(RunStopped):
            await busy
        with pytest.raises(RunStopped, match="no more requests are sent"):
            await client.ask(make_request("late"))
        gate.set()
        paid = await slow
        client.reopen()
        return paid, await client.ask(make_request("late"))

    assert all(answer.paid for answer in asyncio.run(main()))
    assert [row["answered"] for row in store.calls] == [False, True, True]


def test_a_pause_beyond_the_deadline_is_not_begun(make_client, make_backend, make_request, store, clock):
    backend = make_backend(RateLimited("come back tomorrow", retry_after=86_400))
    with pytest.raises(RateLimited):
        asyncio.run(make_client(backend, deadline_s=60).ask(make_request()))
    assert clock.slept == []
    assert len(store.calls) == 1


def test_the_deadline_counts_attempts_and_pauses(make_client, make_backend, make_request, store, clock):
    async def slow_failure(_):
        clock.now += 10
        raise ProviderDown("late", retry_after=10)

    with pytest.raises(ProviderDown):
        asyncio.run(make_client(make_backend(slow_failure), deadline_s=55, max_attempts=99).ask(make_request()))
    assert len(store.calls) == 3, "10 s an attempt and 10 to 11 s a pause: the third leaves no room for another pause"


def test_an_attempt_that_never_ends_is_ended_by_the_deadline(make_client, make_backend, make_request, store):
    async def never(_):
        await asyncio.Event().wait()

    with pytest.raises(ConnectionFailed, match=r"within 0\.02 s.*--deadline"):
        asyncio.run(make_client(make_backend(never), deadline_s=0.02, max_attempts=1).ask(make_request()))
    assert store.calls[0]["error"] == "ConnectionFailed"
    assert store.calls[0]["usd_upper"] > 0


def test_waiting_for_the_limiter_is_not_counted(make_client, make_backend, make_request, make_completion, clock):
    limiter = Limiter(requests_per_minute=1, clock=clock, sleep=clock.sleep)
    client = make_client(make_backend(make_completion()), limiter=limiter, deadline_s=5)

    async def main():
        return [await client.ask(make_request(text)) for text in ("one", "two", "three")]

    assert all(answer.paid for answer in asyncio.run(main()))
    assert clock.now >= 1120


def test_what_cannot_help_is_not_repeated(make_client, make_backend, make_request, store):
    backend = make_backend(RequestRefused("no credit", remedy="top up"))
    with pytest.raises(RequestRefused, match="no credit"):
        asyncio.run(make_client(backend).ask(make_request()))
    assert [(r["error"], r["usd"], r["usd_upper"]) for r in store.calls] == [("RequestRefused", None, 0.0)]


def test_a_bug_in_a_backend_is_recorded_and_raised_as_it_is(make_client, make_backend, make_request, store):
    with pytest.raises(ZeroDivisionError):
        asyncio.run(make_client(make_backend(ZeroDivisionError("oh"))).ask(make_request()))
    assert [r["error"] for r in store.calls] == ["ZeroDivisionError"]


def test_attempts_of_a_later_run_are_numbered_on(make_client, make_backend, make_request, make_completion, store):
    with pytest.raises(ProviderDown):
        asyncio.run(make_client(make_backend(ProviderDown("x")), max_attempts=2).ask(make_request()))
    asyncio.run(make_client(make_backend(make_completion()), run_id="run-2").ask(make_request()))
    assert [(r["run_id"], r["attempt"]) for r in store.calls] == [("run-1", 1), ("run-1", 2), ("run-2", 1)]


def test_secrets_reach_neither_ledger_nor_exception(make_client, make_backend, make_request, store, monkeypatch):
    monkeypatch.setenv("TOY_API_KEY", "planted-credential-123")
    backend = make_backend(RequestRefused("bad key planted-credential-123"))
    with pytest.raises(RequestRefused) as caught:
        asyncio.run(make_client(backend).ask(make_request()))
    assert "planted" not in f"{caught.value} {caught.value.args} {caught.value.__dict__}"
    assert "planted" not in str(store.calls)
    assert "bad key [secret]" in store.calls[0]["error_message"]


@pytest.mark.parametrize(("text", "finish"), [("", "stop"), ("half an ans", "length"), ("I will not", "refusal")])
def test_an_answer_of_no_use_was_paid_for_all_the_same(
    text, finish, make_client, make_backend, make_request, make_completion, store
):
    answer = asyncio.run(make_client(make_backend(make_completion(text, finish))).ask(make_request()))
    assert (answer.text, answer.finish_reason) == (text, finish)
    assert store.calls[0]["answered"]


def test_one_who_is_cancelled_leaves_the_answer_to_the_others(
    make_client, make_backend, make_request, make_completion, store
):
    async def main():
        gate = asyncio.Event()

        async def slow(_):
            await gate.wait()
            return make_completion()

        client = make_client(make_backend(slow))
        first, second = (asyncio.create_task(client.ask(make_request())) for _ in range(2))
        for _ in range(5):
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        gate.set()
        return first.cancelled(), await second

    cancelled, answer = asyncio.run(main())
    assert cancelled
    assert answer.text == "hello"
    assert [r["answered"] for r in store.calls] == [True]


def test_a_request_that_nobody_waits_for_is_called_off_and_written_down(make_client, make_backend, make_request, store):
    async def never(_):
        await asyncio.Event().wait()

    async def main():
        client = make_client(make_backend(never))
        tasks = [asyncio.create_task(client.ask(make_request())) for _ in range(2)]
        for _ in range(5):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        return [task.cancelled() for task in tasks]

    assert asyncio.run(main()) == [True, True]
    [row] = store.calls
    assert (row["error"], row["answered"], row["usd"]) == ("CancelledError", False, None)
    assert row["usd_upper"] > 0


def test_an_answer_that_came_is_written_down_even_if_its_asker_is_cancelled(
    make_client, make_backend, make_request, make_completion, store
):
    async def main():
        store.release = asyncio.Event()
        task = asyncio.create_task(make_client(make_backend(make_completion())).ask(make_request()))
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        store.release.set()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(main())
    assert [r["answered"] for r in store.calls] == [True]


def test_the_limiter_bounds_what_is_under_way(make_client, make_backend, make_request, make_completion):
    under_way, most = 0, 0

    async def counted(_):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(3):
            await asyncio.sleep(0)
        under_way -= 1
        return make_completion()

    async def main():
        client = make_client(make_backend(counted), limiter=Limiter(3))
        await asyncio.gather(*(client.ask(make_request(f"record {n}")) for n in range(20)))

    asyncio.run(main())
    assert most == 3


def test_an_answer_is_handed_over_before_anything_else_runs(store, make_client, make_request, make_completion) -> None:
    """A kill takes an answer only out of the write under way and the next: nothing may come in between."""
    seen: list[str] = []

    class Noting:
        name, host, metered = "litellm", "api.example", False

        async def complete(self, request):
            await asyncio.sleep(0)
            # What the event loop has to do next, whatever that is.
            asyncio.get_running_loop().call_soon(seen.append, "something else")
            seen.append("read")
            return make_completion()

    hand_over = store.hand_over
    store.hand_over = lambda rows: (seen.append("handed over"), hand_over(rows))[1]
    asyncio.run(make_client(Noting()).ask(make_request()))
    assert seen == ["read", "handed over", "something else"]
