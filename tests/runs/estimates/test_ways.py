from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.generation.author import author
from hazardmill.generation.models import Models
from hazardmill.llm.prices import BatchPrice, Price, Prices
from hazardmill.llm.requests import Usage
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.estimates.assumptions import Range
from hazardmill.runs.estimates.estimate import CostEstimate, estimate
from hazardmill.runs.estimates.model_history import LEAST
from hazardmill.runs.estimates.ways import batch_hours, batch_rounds, compare_ways, single_hours
from hazardmill.sandbox.jail import Jail
from hazardmill.store.store import Store
from tests.generation.support import danger, opened, record

MADE_UP = {"checked": "2026-11-26", "origin": "made up"}
SINGLE = {"input": 0.28, "cached_input": 0.028, "output": 0.42} | MADE_UP
"""A cached token costs a tenth, and an answer's token little more than a prompt's."""
CACHED = BatchPrice(input=0.14, cached_input=0.014, output=0.21, **MADE_UP)
UNCACHED = BatchPrice(input=0.14, cached_input=0.14, output=0.21, **MADE_UP)
NO_REPAIRS = {"extract": 0.0, "judge": 0.0}


def listed(batch: BatchPrice | None, *, has_no_batches: bool = False) -> Prices:
    return Prices({"toy": Price(model="toy", batch=batch, has_no_batches=has_no_batches, **SINGLE)})


@pytest.fixture
def measured(store: Store, jail: Jail) -> Store:
    """A store whose ledger has seen that most of an author's prompts is cached."""
    usage = Usage(prompt_tokens=4000, cached_tokens=3600, completion_tokens=300)

    async def ask_all() -> None:
        for number in range(LEAST):
            await author(record(number), danger(), 1, (), mill)

    with opened(store, ScriptedBackend(author="no code", usage=usage), jail) as mill:
        asyncio.run(ask_all())
    return store


def estimated(store: Store, notes: Path, prices: Prices) -> CostEstimate:
    """Estimate a run whose author alone has a price."""
    inputs, models = (RunInput(source="notes", path=notes),), Models(extract="toy/else", author="toy", judge="toy/else")
    return estimate(store, RunConfig(inputs=inputs, models=models, backend="litellm"), prices)


def test_batches_are_cheaper_where_the_cache_discount_holds_in_them(measured: Store, notes: Path) -> None:
    found = estimated(measured, notes, listed(CACHED))
    ways = {each.model: each for each in found.ways}["toy"]
    assert (ways.stages, ways.batches, ways.cache_holds, ways.cheaper) == (("author",), "priced", True, "batch")
    assert ways.usd == found.stages["author"].usd and ways.batch_usd == found.stages["author"].batch_usd


def test_python_drafts_are_dearer_in_batches_that_have_no_cache_discount(measured: Store, notes: Path) -> None:
    found = estimated(measured, notes, listed(UNCACHED))
    ways = {each.model: each for each in found.ways}["toy"]
    assert (ways.batches, ways.cache_holds, ways.cheaper) == ("priced", False, "single")
    assert ways.usd is not None and ways.batch_usd is not None
    author = found.stages["author"]
    tokens = author.prompt_tokens.expected * 0.14 + author.completion_tokens.expected * 0.21
    assert ways.usd.expected < ways.batch_usd.expected == pytest.approx(tokens / 1e6, rel=1e-3)


def test_a_batch_finds_less_in_the_cache_and_nothing_of_earlier_drafts(measured: Store, notes: Path) -> None:
    found = estimated(measured, notes, listed(CACHED)).stages["author"]
    assert found.usd is not None and found.batch_usd is not None
    prompt, output = found.prompt_tokens.expected, found.completion_tokens.expected * 0.21
    # Nine tenths were cached in single requests, of which 92 in 100 would remain if every draft were the first.
    fewer_hits = (prompt * 0.14 - prompt * 0.9 * 0.92 * (0.14 - 0.014) + output) / 1e6
    assert found.batch_usd.expected > fewer_hits * 1.01


def test_the_time_of_an_answer_is_taken_from_the_ledger(measured: Store, notes: Path) -> None:
    known = estimated(measured, notes, listed(CACHED))
    unknown = estimated(Store.open(notes.parent / "empty", create=True), notes, listed(CACHED))
    assert known.hours is not None and unknown.hours is not None
    # The answers of the script took no time, against 8 seconds that are assumed; 8 are under way at once.
    saved = known.stages["author"].requests.expected * 8 / 8 / 3600
    assert unknown.hours.expected - known.hours.expected == pytest.approx(saved, rel=0.05)


@pytest.mark.parametrize("has_no_batches", [True, False])
def test_without_a_price_inside_a_batch_neither_way_is_called_cheaper(
    measured: Store, notes: Path, has_no_batches: bool
) -> None:
    found = estimated(measured, notes, listed(None, has_no_batches=has_no_batches))
    ways = {each.model: each for each in found.ways}["toy"]
    assert ways.batches == ("none" if has_no_batches else "unpriced")
    assert ways.usd is not None and ways.batch_usd is None and ways.cheaper is None
    assert (found.batch_hours is None) == (found.batch_rounds is None) == has_no_batches
    assert found.hours is not None


def test_the_cheaper_way_may_be_another_in_the_cheapest_case() -> None:
    single = Range(low=1, expected=3, high=9)
    mixed = compare_ways("toy", ("judge",), single, Range(low=2, expected=2, high=5), listed(UNCACHED))
    assert (mixed.cheaper, mixed.holds_always) == ("batch", False)
    clear = compare_ways("toy", ("judge",), single, Range(low=0.5, expected=2, high=5), listed(CACHED))
    assert (clear.cheaper, clear.holds_always) == ("batch", True)
    assert compare_ways("toy", ("judge",), single, single, listed(CACHED)).cheaper is None


@pytest.mark.parametrize(
    ("given", "rounds"),
    [
        ((10, 10, 1.0, NO_REPAIRS), 1 + 2),
        ((0, 10, 1.0, NO_REPAIRS), 2),
        ((10, 0, 1.0, NO_REPAIRS), 1),
        # One in two needs another draft: 10, 5, 2.5, 1.25, 0.625 records are left for the five that there can be.
        ((10, 10, 2.0, NO_REPAIRS), 1 + 5 * 2),
        ((1, 1, 2.0, NO_REPAIRS), 1 + 2 * 2),
        # One in ten is asked again, once: there is no hundredth of ten questions.
        ((10, 10, 1.0, {"extract": 0.1, "judge": 0.1}), 2 + 1 + 2),
        ((1000, 1000, 1.0, {"extract": 0.1, "judge": 0.0}), 3 + 2),
    ],
)
def test_the_slowest_record_decides_how_many_rounds_there_are(given, rounds) -> None:
    assert batch_rounds(*given) == rounds


def test_a_danger_that_was_sent_back_is_extracted_between_two_drafts() -> None:
    assert batch_rounds(10, 10, 2.0, NO_REPAIRS, sent_back=True) == 1 + 5 * 2 + 4


def test_waves_that_cannot_be_under_way_together_wait_for_each_other() -> None:
    assert batch_hours(3, 200, None, "expected") == 3
    assert batch_hours(3, 200, 25, "high") == 3 * 24
    assert batch_hours(3, 225, 25, "expected") == 2 * 3


def test_the_slowest_of_the_limits_decides_how_long_single_requests_take() -> None:
    given = {"requests": 100, "seconds": 800, "tokens": 60_000}
    assert single_hours(**given, concurrency=8, rpm=None, tpm=None) == pytest.approx(100 / 3600)
    assert single_hours(**given, concurrency=8, rpm=10, tpm=None) == pytest.approx(10 / 60)
    assert single_hours(**given, concurrency=8, rpm=10, tpm=1000) == pytest.approx(1.0)
