from __future__ import annotations

import asyncio

import pytest

from hazardmill.errors import (
    BreakerOpen,
    ConnectionFailed,
    PromptRefused,
    ProviderDown,
    RateLimited,
    RequestRefused,
    UnusableAnswer,
)
from hazardmill.llm.limits.breaker import Breaker
from hazardmill.llm.limits.limiter import Limiter

from .conftest import FakeClock

DOWN, RESET = ProviderDown("overloaded"), ConnectionFailed("reset")


def breaker_after(*ends, failures=3, seconds=0.0, each_s=1.0):
    clock = FakeClock()
    breaker = Breaker(failures, seconds, clock=clock)
    for end in ends:
        breaker.note(end)
        clock.now += each_s
    return breaker


def test_it_opens_after_so_many_failures_in_a_row_and_says_what_happened():
    breaker = breaker_after(DOWN, RESET, DOWN)
    with pytest.raises(BreakerOpen, match="3 attempts in a row failed within 2 s; the last: overloaded") as caught:
        breaker.check()
    assert "resume" in caught.value.remedy
    assert not caught.value.retryable


@pytest.mark.parametrize("life", [None, RequestRefused("no"), UnusableAnswer("declined")])
def test_any_sign_of_life_ends_the_row(life):
    breaker = breaker_after(DOWN, DOWN, life, DOWN, DOWN)
    breaker.check()
    assert breaker_after(DOWN, DOWN, life, DOWN, DOWN, DOWN).is_open


@pytest.mark.parametrize("neutral", [RateLimited("wait"), asyncio.CancelledError(), ZeroDivisionError()])
def test_what_says_nothing_of_the_provider_neither_counts_nor_ends_the_row(neutral):
    assert not breaker_after(DOWN, DOWN, neutral, neutral).is_open
    assert breaker_after(DOWN, neutral, DOWN, neutral, DOWN).is_open


def test_a_hiccup_under_many_requests_at_once_does_not_open_it():
    assert not breaker_after(*[DOWN] * 100, seconds=30, each_s=0.1).is_open
    assert breaker_after(*[DOWN] * 100, seconds=30, each_s=0.4).is_open


def test_by_default_it_takes_twenty_failures_and_half_a_minute():
    clock = FakeClock()
    breaker = Breaker(clock=clock)
    for _ in range(19):
        breaker.note(DOWN)
    clock.now += 30
    assert not breaker.is_open
    breaker.note(DOWN)
    assert breaker.is_open


def refusing(*asked, make_request, refusals=3):
    """A breaker after each of ``asked`` was refused: record id, or null for an answer, and the stage."""
    breaker = Breaker(refusals=refusals)
    for number, stage in asked:
        record_id = None if number is None else f"notes:{number}"
        error = None if number is None else PromptRefused("no such parameter")
        breaker.note(error, make_request(stage=stage, record_id=record_id))
    return breaker


def test_refusals_of_many_records_in_a_row_open_it(make_request):
    breaker = refusing(*[(n, "extract") for n in range(3)], make_request=make_request)
    with pytest.raises(
        BreakerOpen, match=r"extract requests of 3 records in a row were refused; .*such param"
    ) as caught:
        breaker.check()
    assert "child run" in caught.value.remedy


@pytest.mark.parametrize(
    "asked",
    [
        [(1, "author"), (1, "author"), (2, "author"), (1, "author")],
        [(1, "extract"), (2, "extract"), (None, "extract"), (3, "extract"), (4, "extract")],
        [(1, "extract"), (2, "extract"), (3, "judge"), (4, "judge")],
    ],
    ids=["the same records", "an answer between", "two stages"],
)
def test_a_few_refusals_do_not(asked, make_request):
    assert not refusing(*asked, make_request=make_request).is_open


def test_an_answer_to_another_stage_does_not_end_the_row_of_refusals(make_request):
    asked = [step for n in range(3) for step in ((None, "extract"), (n, "author"))]
    assert refusing(*asked, make_request=make_request).is_open


def test_a_parameter_that_no_model_takes_ends_the_run_and_fails_no_record_more(
    make_client, make_backend, make_request, store
):
    async def main():
        client = make_client(make_backend(PromptRefused("no such parameter")))
        requests = [make_request(f"record {n}", record_id=f"notes:{n}") for n in range(12)]
        return [(await asyncio.gather(client.ask(each), return_exceptions=True))[0] for each in requests]

    ends = asyncio.run(main())
    assert [end.finish_reason for end in ends[:9]] == ["request_refused"] * 9
    assert {type(end) for end in ends[9:]} == {BreakerOpen}
    assert [row["answered"] for row in store.calls] == [True] * 9 + [False], "the tenth will be asked again"


def test_an_answer_that_comes_late_does_not_close_it():
    breaker = breaker_after(DOWN, DOWN, DOWN)
    breaker.note(None)
    assert breaker.is_open


def test_requests_are_refused_at_once_and_those_under_way_may_end(
    make_client, make_backend, make_request, make_completion, store, clock
):
    async def main():
        gate = asyncio.Event()

        async def slow(_):
            await gate.wait()
            return make_completion()

        async def down(_):
            raise DOWN

        async def answer(request):
            return await (slow if "slow" in request.messages[-1].content else down)(request)

        backend = make_backend(answer)
        client = make_client(backend, max_attempts=3, breaker=lambda: Breaker(3, 0, clock=clock))
        under_way = asyncio.create_task(client.ask(make_request("slow")))
        await asyncio.sleep(0)
        ends = await asyncio.gather(
            *(client.ask(make_request(f"record {n}")) for n in range(9)), return_exceptions=True
        )
        sent = len(backend.asked)
        with pytest.raises(BreakerOpen):
            await client.ask(make_request("one more"))
        gate.set()
        return ends, sent, len(backend.asked), await under_way

    ends, sent, after, answer = asyncio.run(main())
    assert {type(end) for end in ends} == {BreakerOpen}
    assert after == sent == 4, "the slow one, and three that failed"
    assert answer.text == "hello"
    assert [row["error"] for row in store.calls if row["error"]] == ["ProviderDown"] * 3


def test_who_waited_for_the_limiter_is_not_sent_after_all(make_client, make_backend, make_request, clock):
    async def down(_):
        for _ in range(5):
            await asyncio.sleep(0)
        raise DOWN

    backend = make_backend(down)

    async def main():
        made = {"max_attempts": 1, "breaker": lambda: Breaker(1, 0, clock=clock), "limiter": Limiter(1)}
        client = make_client(backend, **made)
        tasks = [asyncio.create_task(client.ask(make_request(f"record {n}"))) for n in range(3)]
        return await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(end) for end in asyncio.run(main())] == [ProviderDown, BreakerOpen, BreakerOpen]
    assert len(backend.asked) == 1


def test_who_pauses_before_another_attempt_is_woken(make_client, make_backend, make_request, clock):
    async def main():
        async def for_ever(_):
            await asyncio.Event().wait()

        client = make_client(make_backend(DOWN), sleep=for_ever, breaker=lambda: Breaker(2, 0, clock=clock))
        tasks = [asyncio.create_task(client.ask(make_request(f"record {n}"))) for n in range(2)]
        return await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(end) for end in asyncio.run(main())] == [BreakerOpen] * 2


def test_a_later_run_begins_closed(make_client, make_backend, make_request, make_completion, clock):
    made = {"max_attempts": 1, "breaker": lambda: Breaker(1, 0, clock=clock)}

    async def ask(client, *texts):
        return await asyncio.gather(*(client.ask(make_request(text)) for text in texts), return_exceptions=True)

    broken = make_client(make_backend(DOWN), **made)
    first = asyncio.run(ask(broken, "a"))
    second = asyncio.run(ask(broken, "b"))
    assert [type(end) for end in (*first, *second)] == [ProviderDown, BreakerOpen]
    [answer] = asyncio.run(ask(make_client(make_backend(make_completion()), **made), "b"))
    assert answer.paid
