from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.errors import ProviderDown
from hazardmill.llm.backends.replay import ReplayBackend
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger, LedgerAnswer, LedgerIndex
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.requests import Usage
from hazardmill.report.cost import cost
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
    [paid], asking = ask(folder, backend, prices, clock, "run-1", make_request())
    [reused], ledger = ask(folder, backend, prices, clock, "run-2", make_request())

    assert reused == paid.model_copy(update={"paid": False})
    assert (asking.tally.requests, ledger.tally.requests) == (2, 0)
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


def attempt(run_id, number, answer, second=0):
    return {
        "run_id": run_id,
        "identity": "i",
        "attempt": number,
        "answered": answer is not None,
        "answer": answer,
        "model_answered": "m",
        "backend": "b",
        "finish_reason": None,
        "prompt_tokens": None,
        "cached_tokens": None,
        "completion_tokens": None,
        "usd": None,
        "at": datetime(2026, 11, 21, 12, 0, second, tzinfo=UTC),
    }


def test_the_first_answer_of_an_identity_stays_its_answer():
    index = LedgerIndex([attempt("a", 3, "second", 5), attempt("b", 1, "first", 4), attempt("b", 2, None, 1)])
    assert index.answer("i").text == "first"
    index.add([attempt("c", 1, "late to the index", 0)])
    assert index.answer("i").text == "first"
    assert index.answer("j") is None


@given(
    text=st.text(st.characters(exclude_categories=["Cs"])),
    tokens=st.tuples(*[st.none() | st.integers(0, 2**40)] * 4),
    usd=st.none() | st.floats(0, 1e6),
    named=st.tuples(*[st.none() | st.sampled_from(["stop", "toy/dear"])] * 2),
)
def test_an_answer_comes_out_as_it_was_taken_in(text, tokens, usd, named):
    names = ("prompt_tokens", "cached_tokens", "completion_tokens", "written_tokens")
    usage = dict(zip(names, tokens, strict=True))
    row = attempt("a", 1, text, 1) | usage | {"usd": usd, "finish_reason": named[0], "model_sent": named[1]}
    assert LedgerIndex([row]).answer("i") == LedgerAnswer(
        identity="i",
        run_id="a",
        text=text,
        model_answered=row["model_answered"],
        backend=row["backend"],
        finish_reason=named[0],
        usage=Usage(**usage),
        usd=usd,
        model_sent=named[1],
    )


def test_a_run_keeps_to_the_answer_it_paid_for():
    rows = [attempt("a", 1, "theirs", 1), attempt("b", 1, "mine", 2)]
    assert LedgerIndex(rows, run_id="b").answer("i").text == "mine"
    index = LedgerIndex(rows[:1], run_id="b")
    assert index.answer("i").text == "theirs"
    index.add(rows)
    assert index.answer("i").text == "mine"
    assert LedgerIndex(rows, run_id="c").answer("i").text == "theirs"


def test_each_run_numbers_its_own_attempts():
    rows = [attempt("a", 1, None), attempt("a", 2, None), attempt("b", 1, None)]
    for run_id, numbers in (("a", [3, 4]), ("b", [2, 3]), ("c", [1, 2]), (None, [1, 2])):
        index = LedgerIndex(rows, run_id=run_id)
        index.add(rows)  # once from the journal, once from a part
        assert (index.attempts("i"), index.attempts("j")) == (3, 0)
        assert [index.next_attempt("i"), index.next_attempt("i")] == numbers
        assert index.attempts("i") == 5


def test_two_runs_at_once_that_pay_for_the_same_both_count(
    folder, make_backend, make_request, make_completion, prices, clock
):
    async def main():
        store = Store(folder)
        with store.writer("run-1") as one, store.writer("run-2") as two:
            clients = [
                Client(make_backend(make_completion(text)), Ledger(store, writer, writer.run_id), **around)
                for writer, text in ((one, "first"), (two, "second"))
            ]
            return [await client.ask(make_request()) for client in clients]

    around = {"limiter": Limiter(), "prices": prices, "sleep": clock.sleep, "clock": clock}
    first, second = asyncio.run(main())
    assert (first.text, first.paid, second.text, second.paid) == ("first", True, "second", True)
    store = Store(folder)
    assert sorted((r["run_id"], r["attempt"], r["usd"]) for r in store.rows("llm_calls")) == [
        ("run-1", 1, first.usd),
        ("run-2", 1, second.usd),
    ]
    with store.connect() as views:
        spent = cost(views, ["run-2"])
    assert spent.paid.usd.known == second.usd > 0
    [resumed], _ = ask(folder, make_backend(), prices, clock, "run-2", make_request())
    assert resumed == second


def test_a_running_ledger_sees_what_others_paid_for_when_it_looks_again(
    folder, make_backend, make_request, make_completion, prices, clock
):
    async def main():
        store = Store(folder)
        with store.writer("run-1") as one, store.writer("run-2") as two:
            mine, theirs = Ledger(store, one, "run-1"), Ledger(store, two, "run-2")
            backend = make_backend(make_completion("a"), make_completion("b"))
            client = Client(backend, theirs, limiter=Limiter(), prices=prices, sleep=clock.sleep, clock=clock)
            seen = []
            for text in ("in the journal", "in a part"):
                answer = await client.ask(make_request(text))
                if text == "in a part":
                    two.roll()
                before = mine.lookup(answer.identity)
                mine.refresh()
                seen.append((before, mine.lookup(answer.identity).text, mine.attempts(answer.identity)))
            return seen

    assert asyncio.run(main()) == [(None, "a", 1), (None, "b", 1)]


def test_what_the_schema_has_a_column_for_is_told_of_each_attempt(
    make_client, make_backend, make_request, make_completion, store, monkeypatch
):
    newer = frozenset(("model_sent", "repair", "written_tokens", "usd_overrun"))
    monkeypatch.setattr("hazardmill.llm.ledger._newer_columns", lambda: newer)
    backend = make_backend(ProviderDown("x"), make_completion(written_tokens=50))
    asked = make_request(repair=1, fallbacks=("toy/dear",))
    paid = asyncio.run(make_client(backend, max_attempts=1).ask(asked))

    assert [(row["model_asked"], row["model_sent"], row["repair"], row["written_tokens"]) for row in store.calls] == [
        ("toy/toy", "toy/toy", 1, None),
        ("toy/toy", "toy/dear", 1, 50),
    ]
    first, second = store.calls
    assert first["usd_overrun"] is None
    reserved = 34 * 20.0 / 1e6 + 200 * 80.0 / 1e6
    assert second["usd_overrun"] == pytest.approx(paid.usd - reserved), "it counts a thousand tokens in 34 bytes"
    replayed = make_client(ReplayBackend(store, "litellm", "api.example"), run_id="run-2")
    assert asyncio.run(replayed.ask(asked)) == paid.model_copy(update={"paid": False})
