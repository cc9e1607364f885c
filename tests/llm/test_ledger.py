from __future__ import annotations

import asyncio
import json

import pytest

from hazardmill.errors import ProviderDown
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger, LedgerIndex
from hazardmill.llm.limiter import Limiter
from hazardmill.store import Store


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "store"


def ask(folder, backend, prices, clock, run_id, *requests):
    async def main():
        store = Store(folder)
        with store.writer(run_id) as writer:
            ledger = Ledger(store, writer, run_id)
            client = Client(backend, ledger, limiter=Limiter(), prices=prices, sleep=clock.sleep, clock=clock)
            return await asyncio.gather(*(client.ask(r) for r in requests)), ledger

    return asyncio.run(main())


def test_the_store_keeps_attempts_and_later_runs_find_the_answer(
    folder, make_backend, make_request, make_completion, prices, clock
):
    backend = make_backend(ProviderDown("broken"), make_completion("naïve ☂ answer"))
    [paid], _ = ask(folder, backend, prices, clock, "run-1", make_request())
    [reused], ledger = ask(folder, backend, prices, clock, "run-2", make_request())

    assert reused == paid.model_copy(update={"paid": False})
    assert len(backend.asked) == 2
    assert ledger.attempts(paid.identity) == 2
    rows = Store(folder).rows("llm_calls")
    assert [(r["run_id"], r["attempt"], r["answered"], r["error"]) for r in rows] == [
        ("run-1", 1, False, "ProviderDown"),
        ("run-1", 2, True, None),
    ]
    assert json.loads(rows[1]["request"]) == {
        "messages": [
            {"role": "system", "content": "Be careful."},
            {"role": "user", "content": "What is dangerous here?"},
        ],
        "parameters": {"temperature": 0.5, "max_tokens": 200},
    }
    assert rows[1]["at"].tzinfo is not None


def test_a_run_that_is_still_being_written_counts(folder, make_backend, make_request, make_completion, prices, clock):
    async def main():
        store = Store(folder)
        with store.writer("run-1") as one, store.writer("run-2") as two:
            backend = make_backend(make_completion())

            def client(writer, run_id):
                ledger = Ledger(store, writer, run_id)
                return Client(backend, ledger, limiter=Limiter(), prices=prices, sleep=clock.sleep, clock=clock)

            first = await client(one, "run-1").ask(make_request())
            return first, await client(two, "run-2").ask(make_request())

    first, second = asyncio.run(main())
    assert (first.paid, second.paid) == (True, False)


def test_equal_runs_have_equal_digests_whatever_failed_on_the_way(
    tmp_path, make_backend, make_request, make_completion, prices, clock
):
    ask(tmp_path / "a", make_backend(make_completion()), prices, clock, "run-a", make_request())
    stormy = make_backend(ProviderDown("x"), ProviderDown("y"), make_completion())
    ask(tmp_path / "b", stormy, prices, clock, "run-b", make_request())
    a, b = (Store(tmp_path / name).digest() for name in "ab")
    assert a == b


def test_the_first_answer_of_an_identity_stays_its_answer():
    def row(attempt, answer):
        return {
            "identity": "i",
            "attempt": attempt,
            "answered": answer is not None,
            "answer": answer,
            "model_answered": "m",
            "backend": "b",
            "finish_reason": None,
            "prompt_tokens": None,
            "cached_tokens": None,
            "completion_tokens": None,
            "usd": None,
        }

    index = LedgerIndex([row(1, None), row(3, "first"), row(2, "second")])
    assert index.answer("i").text == "first"
    assert index.attempts("i") == 3
    assert index.next_attempt("i") == 4
    assert index.next_attempt("i") == 5
    assert index.answer("j") is None
    assert index.attempts("j") == 0
