from __future__ import annotations

import asyncio

import pytest

from hazardmill.errors import PromptRefused, ProviderDown, ReplayMiss, RequestRefused
from hazardmill.llm.backends.replay import ReplayBackend
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.limiter import Limiter

from .conftest import MemoryStore


@pytest.fixture
def replayed(make_client, make_backend, make_request, make_completion, store):
    """A run that paid for one answer and failed at another, and the paid answer."""
    answer = asyncio.run(make_client(make_backend(ProviderDown("x"), make_completion())).ask(make_request()))
    with pytest.raises(RequestRefused):
        asyncio.run(make_client(make_backend(RequestRefused("no"))).ask(make_request("never answered")))
    return answer


def test_it_answers_from_the_ledger_under_the_old_identity(replayed, make_request, prices, store):
    elsewhere = MemoryStore()
    backend = ReplayBackend(store, "litellm", "api.example")
    client = Client(backend, Ledger(elsewhere, elsewhere, "again"), limiter=Limiter(), prices=prices)

    answer = asyncio.run(client.ask(make_request()))

    assert answer == replayed.model_copy(update={"paid": False})
    [row] = elsewhere.calls
    assert row["identity"] == replayed.identity
    assert row["usd"] == replayed.usd
    assert row["usd_upper"] == 0.0, "nothing was paid this time"


def test_what_the_provider_turned_away_is_turned_away_again(make_client, make_backend, make_request, prices, store):
    refused = asyncio.run(make_client(make_backend(PromptRefused("risk", filtered=True))).ask(make_request()))
    elsewhere = MemoryStore()
    backend = ReplayBackend(store, "litellm", "api.example")
    client = Client(backend, Ledger(elsewhere, elsewhere, "again"), limiter=Limiter(), prices=prices)
    assert asyncio.run(client.ask(make_request())) == refused.model_copy(update={"paid": False})
    assert (refused.text, refused.finish_reason, refused.usd) == ("", "content_filter", 0.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [("not asked before", "no answer to this"), ("never answered", r"only attempts without an answer \(1\) at this")],
)
def test_what_the_ledger_does_not_answer_is_a_miss(replayed, make_request, make_client, store, text, message):
    backend = ReplayBackend(store, "litellm", "api.example")
    with pytest.raises(ReplayMiss, match=message) as caught:
        asyncio.run(backend.complete(make_request(text)))
    assert caught.value.record_id == "neiss:1"
    assert "extract" in caught.value.message
    assert not caught.value.retryable


def test_another_host_is_another_identity(replayed, make_request, store):
    with pytest.raises(ReplayMiss):
        asyncio.run(ReplayBackend(store, "litellm", "other.example").complete(make_request()))


def test_the_price_of_a_replayed_fallback_is_that_of_the_model_that_answered(
    make_client, make_backend, make_request, make_completion
):
    known = make_completion().model_copy(update={"model_sent": "toy/dear"})
    answer = asyncio.run(make_client(make_backend(known)).ask(make_request()))
    assert answer.usd == pytest.approx((600 * 20.0 + 400 * 5.0 + 100 * 80.0) / 1e6)


STAGES = ("extract", "author", "judge")


def mill_a_record(client, make_request, wording):
    """Each stage is shown the answer of the one before, as the real ones are."""

    async def main():
        shown = "a narrative"
        for stage in STAGES:
            shown = (await client.ask(make_request(f"{wording[stage]}: {shown}", stage=stage))).text

    asyncio.run(main())


@pytest.mark.parametrize(
    ("changed", "paid"),
    [
        ({}, []),
        ({"extract": "find the danger, please"}, ["extract"]),
        ({"extract": "find another danger"}, ["extract", "author", "judge"]),
        ({"author": "write it better"}, ["author", "judge"]),
        ({"author": "write it, please"}, ["author"]),
        ({"judge": "judge it harder"}, ["judge"]),
    ],
)
def test_a_changed_stage_pays_again_for_itself_and_for_those_whose_messages_it_changes(
    make_client, make_backend, make_request, make_completion, changed, paid
):
    async def answer(asked):
        # Courtesy makes no difference to what is answered.
        return make_completion("answer to " + asked.messages[-1].content.replace(", please", ""))

    wording = {"extract": "find the danger", "author": "write it", "judge": "judge it"}
    first, second = make_backend(answer), make_backend(answer)
    mill_a_record(make_client(first), make_request, wording)
    mill_a_record(make_client(second, run_id="run-2"), make_request, wording | changed)

    assert [asked.stage for asked in first.asked] == list(STAGES)
    assert [asked.stage for asked in second.asked] == paid


def test_a_changed_stage_fails_the_replay_where_it_changes_a_message(
    make_client, make_backend, make_request, make_completion, store
):
    async def answer(asked):
        return make_completion("answer to " + asked.messages[-1].content)

    wording = {"extract": "find the danger", "author": "write it", "judge": "judge it"}
    mill_a_record(make_client(make_backend(answer)), make_request, wording)
    replayed = ReplayBackend(store, "litellm", "api.example")
    mill_a_record(make_client(replayed, run_id="run-2"), make_request, wording)
    with pytest.raises(ReplayMiss, match="this judge request"):
        mill_a_record(make_client(replayed, run_id="run-3"), make_request, wording | {"judge": "judge it harder"})
