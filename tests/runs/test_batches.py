"""Runs whose requests travel in batches: the same rows, whatever becomes of the batches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories.batch_provider import BatchesInProcess

from hazardmill.errors import (
    AnswerTooLarge,
    BudgetReached,
    ConnectionFailed,
    ModelRefused,
    PromptRefused,
    ProviderDown,
    ProviderError,
    RateLimited,
    RequestRefused,
    RunStopped,
    RunWaiting,
)
from hazardmill.llm.batches import booking
from hazardmill.llm.batches.provider import BatchLimits, BatchLine, BatchState, BatchStatus, LineResult
from hazardmill.llm.prices import BatchPrice, Price, Prices
from hazardmill.runs.resources import RunResources
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.running import worked
from tests.runs.batching import RECORDS, Many, backend, raising, state
from tests.runs.test_run import config, started

MORE = [(True, 1), (True, 4), (False, 1), (False, 100)]
TOY = Price(model="toy", input=1, cached_input=1, output=1, checked="2026-11-26", origin="a test")


_ORDINARY: list[Store] = []


@pytest.fixture
def ordinary_store(tmp_path_factory: pytest.TempPathFactory, notes: Path) -> Store:
    """The same records asked one by one: once for all tests, which all have the same notes. Nobody writes to it."""
    if not _ORDINARY:
        _ORDINARY.append(_asked_one_by_one(tmp_path_factory.mktemp("ordinary") / "store", notes))
    return _ORDINARY[0]


def _asked_one_by_one(path: Path, notes: Path) -> Store:
    store, asked = Store.open(path, create=True), backend()
    resources = RunResources(backend=lambda access, store: asked)
    run, _ = Run.start(store, config(notes, backend="litellm"), "run", resources=resources)

    worked(run)
    assert len(run.selection) >= RECORDS
    return store


@pytest.fixture
def ordinary(ordinary_store: Store) -> dict[str, str]:
    """The digest of the same records asked one by one."""
    return ordinary_store.digest()


@pytest.fixture
def paid_for(ordinary_store: Store) -> int:
    return ordinary_store.count("llm_calls", {"answered": True})


@pytest.mark.parametrize(
    ("wait", "size"), [(False, 4), (True, 100), *(pytest.param(*case, marks=pytest.mark.full) for case in MORE)]
)
def test_it_gives_what_single_requests_give(
    store: Store, notes: Path, ordinary: dict[str, str], paid_for: int, wait: bool, size: int
) -> None:
    provider = BatchesInProcess(backend(), ready_at=3)
    many = Many(store, provider, wait=wait)
    many.start(notes, wave_size=size)
    sessions = many.to_the_end()
    assert store.digest() == ordinary
    assert provider.backend.count() == paid_for
    assert (sessions == 1) is wait
    # Each of a hundred in one wave: one batch for extraction, and one per stage and draft at most.
    assert len(provider.jobs) <= 8 or size < 100
    calls = store.rows("llm_calls", None, ["channel", "batch", "batch_line", "attempt"])
    assert {call["channel"] for call in calls} == {"batch"}
    names = {row["batch"]: row for row in store.rows("batches")}
    assert {call["batch"] for call in calls} == set(names)
    assert all(row["state"] == "collected" and row["end"] == "ended" for row in names.values())
    assert sum(row["answered"] for row in names.values()) == paid_for
    if wait:
        assert many.slept and many.slept[0] == 5.0


FAULTS: dict[str, dict[str, Any]] = {
    "not created": {"before_create": raising(ProviderDown("busy"), RateLimited("slower"), ConnectionFailed("reset"))},
    "created, and the id lost": {"after_create": raising(ProviderDown("busy"), ConnectionFailed("reset"))},
    "refused as a whole": {"ends": {1: BatchState.FAILED, 2: BatchState.FAILED}},
    "expired in part": {
        "ends": {1: BatchState.EXPIRED, 3: BatchState.EXPIRED},
        "change": lambda number, results: results[::2] if number in (1, 3) else results,
    },
    "cancelled": {
        "ends": {2: BatchState.CANCELLED},
        "change": lambda number, results: [] if number == 2 else results,
    },
    "lines missing": {"change": lambda number, results: results[1:] if number % 2 else results},
    "lines doubled": {"change": lambda number, results: [*results, *results]},
    "lines of nobody": {"change": lambda number, results: [LineResult("x" * 64, results[0].completion), *results]},
    "out of order": {"change": lambda number, results: results[::-1]},
    "lines failed": {
        "change": lambda number, results: [
            LineResult(each.custom_id, error=ProviderDown("500")) if (number + place) % 3 == 0 else each
            for place, each in enumerate(results)
        ]
    },
}


@pytest.mark.parametrize("wait", [True, pytest.param(False, marks=pytest.mark.full)])
@pytest.mark.parametrize("fault", FAULTS)
def test_it_ends_as_without_faults(store: Store, notes: Path, ordinary: dict[str, str], fault: str, wait: bool) -> None:
    provider = BatchesInProcess(backend(), ready_at=2, **FAULTS[fault])
    many = Many(store, provider, wait=wait)
    many.start(notes)
    many.to_the_end()
    assert store.digest() == ordinary
    names = [job.name for job in provider.jobs.values()]
    assert len(set(names)) == len(names)
    assert not [row for row in store.rows("llm_calls", None, ["error"]) if row["error"] == "in_flight"]


def test_a_batch_that_may_exist_and_cannot_be_found_stops_the_run(store: Store, notes: Path) -> None:
    provider = BatchesInProcess(backend(), can_find=False, after_create=raising(ConnectionFailed("reset")))
    many = Many(store, provider, wait=True)
    many.start(notes)
    for _ in range(2):
        with pytest.raises(RunStopped, match=r"toy has the batch [0-9a-f]{8}-run-0001") as caught:
            many.go_on()
        assert not isinstance(caught.value, RunWaiting)
        assert re.search("hazardmill run batch [0-9a-f]{8}-run-0001 --is ID", str(caught.value.remedy))
    assert (state(store), len(provider.jobs)) == ("stopped", 1)


def test_a_provider_that_lists_nothing_is_asked_again_if_it_only_turned_us_away(store: Store, notes: Path) -> None:
    provider = BatchesInProcess(backend(), can_find=False, before_create=raising(RateLimited("slower", retry_after=7)))
    many = Many(store, provider, wait=True)
    many.start(notes)
    assert many.to_the_end() == 1
    assert 7 in many.slept


def test_a_refused_request_for_a_batch_stops_the_run_and_costs_nothing(store: Store, notes: Path) -> None:
    provider = BatchesInProcess(backend(), before_create=raising(RequestRefused("no credit")))
    many = Many(store, provider, wait=True)
    many.start(notes)
    with pytest.raises(RequestRefused, match="no credit"):
        many.go_on()
    rows = store.rows("llm_calls")
    assert rows and {(row["error"], row["usd"], row["usd_upper"]) for row in rows} == {("RequestRefused", 0.0, 0.0)}
    assert [row["state"] for row in store.rows("batches")] == ["never_sent"]
    assert many.to_the_end() == 1


def test_lines_that_always_fail_stop_the_run_after_six_batches(store: Store, notes: Path) -> None:
    down = ProviderDown("500")
    provider = BatchesInProcess(
        backend(), change=lambda number, results: [LineResult(each.custom_id, error=down) for each in results]
    )
    many = Many(store, provider, wait=True)
    many.start(notes)
    with pytest.raises(ProviderDown, match="500"):
        many.go_on()
    assert len(provider.jobs) == 6
    # It can be tried again.
    with pytest.raises(ProviderDown, match="500"):
        many.go_on()
    assert len(provider.jobs) == 12


def test_batches_are_no_larger_than_the_provider_takes(store: Store, notes: Path, ordinary: dict[str, str]) -> None:
    provider = BatchesInProcess(backend(), limits=BatchLimits(requests=4, bytes=10**9))
    many = Many(store, provider, wait=True)
    many.start(notes, wave_size=100)
    many.to_the_end()
    assert max(len(job.lines) for job in provider.jobs.values()) == 4
    assert store.digest() == ordinary


def test_an_old_batch_is_waited_for_no_longer(store: Store, notes: Path) -> None:
    provider = BatchesInProcess(backend(), ready_at=10**9)
    many = Many(store, provider, wait=False)
    many.start(notes, batch_max_age=1e-9)
    with pytest.raises(RunStopped, match="which is over the limit of 0 s") as caught:
        many.go_on()
    assert "--batch-max-age" in str(caught.value.remedy)
    assert state(store) == "stopped"


def prices(batch: float | None) -> Prices:
    if batch is None:
        return Prices({"toy": TOY})
    inside = BatchPrice(input=batch, cached_input=batch, output=batch, checked=TOY.checked, origin="a test")
    return Prices({"toy": TOY.model_copy(update={"batch": inside})})


def test_a_budget_counts_prices_inside_a_batch(store: Store, notes: Path) -> None:
    many = Many(store, BatchesInProcess(backend(), ready_at=2), wait=False, prices=prices(0.5))
    many.start(notes, budget_usd=1.0)
    many.to_the_end()
    rows = store.rows("llm_calls", {"answered": True}, ["usd", "usd_upper"])
    assert {row["usd"] for row in rows} == {(1000 + 100) * 0.5 / 1e6}
    assert {row["usd_upper"] for row in rows} == {row["usd"] for row in rows}


def test_a_small_budget_sends_what_it_can_pay_for(store: Store, notes: Path, ordinary: dict[str, str]) -> None:
    provider = BatchesInProcess(backend(), ready_at=2)
    many = Many(store, provider, wait=True, prices=prices(0.5))
    many.start(notes, budget_usd=0.012)
    with pytest.raises(RunStopped, match=r"budget of 0\.012 USD is reached"):
        for _ in range(3):
            many.go_on()
    spent = sum(row["usd_upper"] for row in store.rows("llm_calls", None, ["usd_upper"]))
    assert 0 < spent <= 0.012
    many.go_on(budget_usd=5.0)
    assert store.digest() == ordinary
    assert provider.backend.count() == store.count("llm_calls", {"answered": True})


def test_another_model_that_answers_is_told(store: Store, notes: Path) -> None:
    def another(number: int, results: list[LineResult]) -> list[LineResult]:
        return [
            replace(each, completion=each.completion.model_copy(update={"model_answered": "another"}))
            for each in results
            if each.completion is not None
        ]

    many = Many(store, BatchesInProcess(backend(), change=another), wait=True)
    many.start(notes)
    many.to_the_end()
    assert {row["model_answered"] for row in store.rows("llm_calls", {"answered": True})} == {"another"}


def test_a_fallback_is_asked_the_ordinary_way(store: Store, notes: Path) -> None:
    provider = BatchesInProcess(
        backend(),
        change=lambda number, results: [LineResult(each.custom_id, error=ProviderDown("500")) for each in results],
    )
    many = Many(store, provider, wait=True)
    many.start(notes, fallback_models=("toy-2",))
    many.to_the_end()
    answered = store.rows("llm_calls", {"answered": True}, ["channel", "model_sent", "model_asked"])
    assert {tuple(row.values()) for row in answered} == {("single", "toy-2", "toy")}


def test_started_runs_of_other_backends_have_no_batches(store: Store, notes: Path) -> None:
    with pytest.raises(Exception, match="--batch is for language models"):
        started(store, notes, batch=True)


def test_what_was_sent_in_a_batch_is_not_asked_for_in_another_way(
    store: Store, notes: Path, ordinary: dict[str, str], paid_for: int
) -> None:
    provider = BatchesInProcess(backend(), ready_at=4)
    many = Many(store, provider, wait=False)
    many.start(notes)
    with pytest.raises(RunWaiting):
        many.go_on()
    # The batch is still under way: waited for, and not replaced by single requests.
    with pytest.raises(RunWaiting, match="waiting for batch job-1"):
        many.go_on(batch=False)
    assert len(provider.jobs) == 1
    sessions = many.to_the_end()
    assert sessions <= 3 and len(provider.jobs) == 1
    assert store.digest() == ordinary
    channels = Counter(row["channel"] for row in store.rows("llm_calls", {"answered": True}))
    assert channels.keys() == {"batch", "single"} and channels.total() == paid_for


@pytest.mark.parametrize("error", [PromptRefused("400 FAILED_PRECONDITION"), RequestRefused("no credit")])
def test_a_refused_creation_answers_nothing(
    store: Store, notes: Path, ordinary: dict[str, str], error: ProviderError
) -> None:
    provider = BatchesInProcess(backend(), before_create=raising(error))
    many = Many(store, provider, wait=True)
    many.start(notes)
    with pytest.raises(RequestRefused, match=error.message):
        many.go_on()
    assert not store.rows("llm_calls", {"answered": True})
    many.to_the_end()
    assert store.digest() == ordinary


def test_a_refusal_of_everything_is_the_fault_of_no_request(
    store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(booking, "_MANY_REFUSALS", 4)

    def refused(number: int, results: list[LineResult]) -> list[LineResult]:
        return [LineResult(each.custom_id, error=PromptRefused("400 unsupported parameter")) for each in results]

    many = Many(store, BatchesInProcess(backend(), change=refused), wait=True)
    many.start(notes)
    with pytest.raises(PromptRefused, match="unsupported parameter"):
        many.go_on()
    assert not store.rows("llm_calls", {"answered": True})


def test_a_few_refused_requests_have_empty_answers(store: Store, notes: Path) -> None:
    def first(number: int, results: list[LineResult]) -> list[LineResult]:
        return [LineResult(results[0].custom_id, error=PromptRefused("filtered", filtered=True)), *results[1:]]

    many = Many(store, BatchesInProcess(backend(), change=first), wait=True)
    many.start(notes)
    many.to_the_end()
    assert "content_filter" in {row["finish_reason"] for row in store.rows("llm_calls", {"answered": True})}


def test_a_fallback_that_the_budget_does_not_cover_waits_for_no_batch(store: Store, notes: Path) -> None:
    dear = TOY.model_copy(update={"model": "dear", "output": 1e6})
    inside = BatchPrice(input=0.5, cached_input=0.5, output=0.5, checked=TOY.checked, origin="a test")
    provider = BatchesInProcess(
        backend(),
        limits=BatchLimits(requests=2, bytes=10**9),
        change=lambda number, results: [LineResult(each.custom_id, error=ModelRefused("gone")) for each in results],
    )
    listed = Prices({"toy": TOY.model_copy(update={"batch": inside}), "dear": dear})
    many = Many(store, provider, wait=False, prices=listed)
    many.start(notes, budget_usd=1.0, fallback_models=("dear",))
    with pytest.raises(BudgetReached, match="is reached"):
        many.go_on()
    assert state(store) == "stopped"


def test_a_batch_of_another_store_with_the_same_run_is_not_taken(tmp_path: Path, notes: Path, store: Store) -> None:
    provider = BatchesInProcess(backend(), ready_at=3)
    for place in (store, Store.open(tmp_path / "other", create=True)):
        many = Many(place, provider, wait=True)
        many.start(notes)
        many.to_the_end()
    assert len({job.name for job in provider.jobs.values()}) == len(provider.jobs)


def test_an_answer_that_nobody_can_read_may_have_cost_something(store: Store, notes: Path) -> None:
    def unreadable(number: int, results: list[LineResult]) -> list[LineResult]:
        if number > 1:
            return results
        return [LineResult(each.custom_id, error=AnswerTooLarge("too large"), charged=True) for each in results]

    many = Many(store, BatchesInProcess(backend(), change=unreadable), wait=True, prices=prices(0.5))
    many.start(notes, budget_usd=1.0)
    many.to_the_end()
    failed = [row for row in store.rows("llm_calls") if row["error"] == "AnswerTooLarge"]
    assert failed and all(row["usd"] is None and row["usd_upper"] > 0 for row in failed)


@pytest.mark.parametrize("wait", [True, False])
def test_a_provider_that_is_away_for_a_while_is_waited_for(
    store: Store, notes: Path, ordinary: dict[str, str], wait: bool
) -> None:
    provider = BatchesInProcess(backend())
    status, away = provider.status, [ConnectionFailed("unreachable")] * 12

    async def often_away(batch_id: str) -> BatchStatus:
        if away:
            raise away.pop()
        return await status(batch_id)

    provider.status = often_away  # type: ignore[method-assign]
    many = Many(store, provider, wait=wait)
    many.start(notes)
    assert (many.to_the_end() == 1) is wait
    assert store.digest() == ordinary


def test_lines_that_are_counted_and_did_not_come_are_downloaded_again(
    store: Store, notes: Path, ordinary: dict[str, str], paid_for: int
) -> None:
    provider = BatchesInProcess(backend(), counts=True)
    whole, cut = provider.results, [True]

    async def half_at_first(
        batch_id: str, lines: Sequence[BatchLine], total: int | None = None
    ) -> AsyncIterator[LineResult]:
        found = [result async for result in whole(batch_id, lines, total)]
        for result in found[: len(found) // 2] if cut and cut.pop() else found:
            yield result

    provider.results = half_at_first  # type: ignore[method-assign]
    many = Many(store, provider, wait=True)
    many.start(notes)
    many.to_the_end()
    assert store.digest() == ordinary
    assert provider.backend.count() == paid_for


def test_what_was_booked_before_an_error_is_used_when_the_run_is_resumed(
    store: Store, notes: Path, ordinary: dict[str, str]
) -> None:
    """One of two batches is answered, the other one refuses the key: the answers of the first are not waited for."""
    provider = BatchesInProcess(backend(), limits=BatchLimits(requests=3, bytes=10**9))
    status, refuses = provider.status, [True]

    async def refuse_second(batch_id: str) -> BatchStatus:
        if batch_id == "job-2" and refuses:
            raise RequestRefused("the key was revoked")
        return await status(batch_id)

    provider.status = refuse_second  # type: ignore[method-assign]
    many = Many(store, provider, wait=False)
    many.start(notes, wave_size=100)
    for _ in range(2):
        with pytest.raises(RequestRefused, match="revoked"):
            many.go_on()
    # The second session has sent what follows from the answers of the first batch.
    assert len(provider.jobs) >= 3
    refuses.clear()
    many.to_the_end()
    assert store.digest() == ordinary


@pytest.mark.full
def test_shards_by_batches_make_what_shards_of_single_requests_make(tmp_path: Path, notes: Path) -> None:
    found = {}
    for batch in (False, True):
        provider, store = BatchesInProcess(backend()), Store.open(tmp_path / str(batch), create=True)
        many = Many(store, provider, wait=True)
        for number in (1, 2):
            made = config(notes, batch=batch, backend="litellm")
            (item,) = made.inputs
            sharded = made.model_copy(update={"inputs": (item.model_copy(update={"shard": f"{number}/2"}),)})
            run, _ = Run.start(store, sharded, f"shard-{number}", resources=many.resources)
            worked(run, wait=True)
        found[batch] = store.digest()
    assert found[True] == found[False]
