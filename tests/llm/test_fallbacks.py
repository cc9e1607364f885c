from __future__ import annotations

import asyncio

import pytest

from hazardmill.errors import (
    BreakerOpen,
    ConnectionFailed,
    ModelRefused,
    PromptRefused,
    ProviderDown,
    RateLimited,
    RequestRefused,
    UnusableAnswer,
)
from hazardmill.llm.limits.breaker import Breaker
from hazardmill.llm.requests import Completion


class ByModel:
    """Answers each model by a script of its own; the last step repeats."""

    name = "litellm"
    host = "api.example"

    def __init__(self, **scripts):
        self.scripts = {f"toy/{name}": list(script) for name, script in scripts.items()}
        self.asked: list[str] = []

    async def complete(self, request):
        self.asked.append(request.model)
        script = self.scripts[request.model]
        step = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(step, Completion):
            return step
        raise step


@pytest.fixture
def asked(make_request):
    return make_request(fallbacks=("toy/dear", "toy/last"))


@pytest.mark.parametrize(
    ("trouble", "attempts"),
    [
        (ProviderDown("overloaded"), 2),
        (ConnectionFailed("reset"), 2),
        (ModelRefused("no such model"), 1),
        (PromptRefused("too long"), 1),
    ],
)
def test_where_the_model_cannot_answer_the_next_one_is_asked(
    make_client, make_completion, asked, store, trouble, attempts
):
    backend = ByModel(toy=[trouble], dear=[make_completion("from the other")])

    answer = asyncio.run(make_client(backend, max_attempts=2).ask(asked))

    assert backend.asked == ["toy/toy"] * attempts + ["toy/dear"]
    assert (answer.text, answer.model_answered, answer.paid) == ("from the other", "toy-1", True)
    assert answer.identity == asked.identity("litellm", "api.example"), "that of the model asked for"
    assert answer.usd == pytest.approx((600 * 20.0 + 400 * 5.0 + 100 * 80.0) / 1e6), (
        "the price of the one that answered"
    )
    assert {row["identity"] for row in store.calls} == {answer.identity}
    assert [row["attempt"] for row in store.calls] == [*range(1, attempts + 2)]
    assert [row["answered"] for row in store.calls] == [False] * attempts + [True]
    assert {row["model_asked"] for row in store.calls} == {"toy/toy"}


def test_where_the_model_has_no_room_until_the_deadline_the_next_one_is_asked(make_client, make_completion, asked):
    backend = ByModel(toy=[RateLimited("wait", retry_after=30)], dear=[make_completion("from the other")])
    answer = asyncio.run(make_client(backend, max_attempts=2, deadline_s=100).ask(asked))
    assert answer.text == "from the other"
    assert backend.asked == ["toy/toy"] * 4 + ["toy/dear"]


def test_each_attempt_says_which_model_it_was_sent_to(make_client, make_completion, asked, monkeypatch):
    sent = []
    backend = ByModel(toy=[ProviderDown("x")], dear=[make_completion()])
    client = make_client(backend, max_attempts=1)
    hand_over = client._ledger.hand_over

    def seen(attempt, number):
        sent.append((attempt.model_sent, attempt.request.model))
        return hand_over(attempt, number)

    monkeypatch.setattr(client._ledger, "hand_over", seen)
    asyncio.run(client.ask(asked))
    assert sent == [("toy/toy", "toy/toy"), ("toy/dear", "toy/toy")]


def test_a_fallback_answers_for_the_identity_and_is_not_asked_again(make_client, make_completion, make_request, asked):
    backend = ByModel(toy=[ProviderDown("x")], dear=[make_completion()])
    first = asyncio.run(make_client(backend, max_attempts=1).ask(asked))
    plain = make_request()
    again = asyncio.run(make_client(backend, run_id="run-2").ask(plain))
    assert again == first.model_copy(update={"paid": False}), "fallbacks are no part of the identity"
    assert backend.asked == ["toy/toy", "toy/dear"]


@pytest.mark.parametrize(
    "final", [RequestRefused("no credit"), UnusableAnswer("declined by the filter"), ZeroDivisionError("a bug")]
)
def test_what_is_not_about_the_model_asks_no_other(make_client, asked, final):
    backend = ByModel(toy=[final])
    with pytest.raises(type(final)):
        asyncio.run(make_client(backend).ask(asked))
    assert backend.asked == ["toy/toy"]


def test_if_none_can_answer_the_last_error_tells_of_all(make_client, asked):
    backend = ByModel(toy=[ProviderDown("one")], dear=[ModelRefused("two")], last=[RateLimited("three")])
    with pytest.raises(RateLimited) as caught:
        asyncio.run(make_client(backend, max_attempts=1).ask(asked))
    assert caught.value.message == "three; models asked before: one; two"


def test_a_model_that_is_down_is_passed_over_and_the_run_goes_on(make_client, make_completion, make_request, clock):
    backend = ByModel(toy=[ProviderDown("x")], dear=[make_completion()])

    async def main():
        client = make_client(backend, max_attempts=2, breaker=lambda: Breaker(4, 0, clock=clock))
        for number in range(5):
            await client.ask(make_request(f"record {number}", fallbacks=("toy/dear",)))
        with pytest.raises(BreakerOpen):
            await client.ask(make_request("one without a fallback"))

    asyncio.run(main())
    assert backend.asked == ["toy/toy", "toy/toy", "toy/dear"] * 2 + ["toy/dear"] * 3


def test_each_model_is_asked_once_however_often_it_is_named(make_request):
    assert make_request(fallbacks=("toy/dear", "toy/toy", "toy/dear")).models == ("toy/toy", "toy/dear")
