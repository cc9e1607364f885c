from __future__ import annotations

import asyncio

import pytest

from hazardmill.errors import ProviderDown, ReplayMiss, RequestRefused
from hazardmill.llm.backends.replay import ReplayBackend
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limiter import Limiter

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


@pytest.mark.parametrize(
    ("text", "message"),
    [("not asked before", "no answer to this"), ("never answered", r"only failed attempts \(1\) at this")],
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
