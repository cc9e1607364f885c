"""Runs against a server over real HTTP: budgets, fallbacks, a provider that is down, both formats of the author."""

from __future__ import annotations

import asyncio
import functools
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import BreakerOpen, BudgetReached, SettingsError
from hazardmill.generation.models import Models
from hazardmill.llm.charged_prices import ON_THIS_MACHINE
from hazardmill.llm.client import Client
from hazardmill.llm.limits.breaker import Breaker
from hazardmill.report.cost import cost
from hazardmill.run_options import GivenPrice
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.estimates.estimate import estimate
from hazardmill.runs.resources import REAL, RunResources
from hazardmill.runs.run import Run
from hazardmill.runs.status import latest_states
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import ChatRefusal, ChatRequest, LlmServer, ServerFault, ServerFaultKind
from hazardmill.testing.llm_server.server import offline_answer
from tests.running import worked

PRICED = "openai/gpt-4o-mini"
UNPRICED = "openai/some-model"

Configured = Callable[..., RunConfig]


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer() as server:
        yield server


@pytest.fixture
def configured(project: Path, monkeypatch: pytest.MonkeyPatch) -> Configured:
    """A run over the first records of the NEISS sample, asked of a server."""
    # Servers on this machine ask for no key.
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    sample = project / "sources" / "neiss" / "sample" / "sample.tsv"

    def config(server: LlmServer | None, limit: int = 8, model: str = PRICED, **fields: Any) -> RunConfig:
        asked = {} if server is None else {"backend": "litellm", "api_base": server.address}
        models = {} if server is None else {"models": Models(extract=model, author=model, judge=model)}
        inputs = (RunInput(source="neiss", path=sample, limit=limit),)
        return RunConfig.model_validate(
            {"inputs": inputs, "jail": "minimal", "wave_size": 30, **asked, **models, **fields}
        )

    return config


def impatient() -> RunResources:
    """Clients that do not pause, and give a model up after a few failures."""

    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    client = functools.partial(Client, sleep=at_once, breaker=lambda: Breaker(failures=3, seconds=0.0))
    return RunResources(client=client)


def started(store: Store, config: RunConfig, run_id: str = "run", resources: RunResources = REAL) -> Run:
    run, _ = Run.start(store, config, run_id, resources=resources)
    return run


def calls(store: Store) -> list[dict[str, Any]]:
    return store.rows("llm_calls")


def spent(store: Store) -> float:
    return math.fsum(row["usd_upper"] for row in calls(store))


def documents(store: Store) -> set[str]:
    return {row["document_hash"] for row in store.rows("tasks")}


def state(store: Store) -> str:
    (row,) = latest_states(store)
    return str(row["state"])


def test_a_budget_is_never_overshot_and_a_larger_one_goes_on(
    store: Store, tmp_path: Path, server: LlmServer, configured: Configured
) -> None:
    run = started(store, configured(server, budget_usd=0.01))
    with pytest.raises(BudgetReached, match=r"the budget of 0\.01 USD is reached.* of 8 records are left") as caught:
        worked(run)
    assert "0.0000 USD are reserved" in caught.value.message and caught.value.exit_code == 4
    assert 0 < spent(store) <= 0.01
    assert state(store) == "stopped"
    # Nothing that was paid for was called off.
    assert len(calls(store)) == len(server.attempts) == sum(row["answered"] for row in calls(store))

    # What the first session spent counts in the second one.
    with pytest.raises(BudgetReached):
        worked(Run.load(store, "run").resume())
    larger = run.config.model_copy(update={"budget_usd": 1.0})
    assert worked(Run.load(store, "run").resume(larger))["pending"] == 0
    assert state(store) == "completed"
    assert spent(store) == pytest.approx(sum(row["usd"] for row in calls(store)))
    assert len(calls(store)) == len(server.attempts) == len({row["identity"] for row in calls(store)})

    # Prompts were cached otherwise, and it cost otherwise; the results are those of a run that was never stopped.
    whole = Store.open(tmp_path / "whole", create=True)
    with LlmServer() as other:
        worked(started(whole, configured(other)))
    assert store.digest() == whole.digest()


def test_a_budget_for_a_model_without_a_price_is_refused_before_anything_is_taken_in(
    tmp_path: Path, configured: Configured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    elsewhere = {"backend": "litellm", "api_base": "https://models.example.org/v1", "budget_usd": 1.0}
    for model, fallbacks in ((UNPRICED, ()), (PRICED, (UNPRICED,))):
        models = Models(extract=model, author=model, judge=model)
        with pytest.raises(SettingsError, match=f"the price of {UNPRICED} is unknown") as caught:
            started(Store(tmp_path / "new"), configured(None, models=models, fallback_models=fallbacks, **elsewhere))
        assert "--price in=0.5,out=2" in (caught.value.remedy or "")
    assert not (tmp_path / "new").exists()


def test_a_model_without_a_price_costs_nothing_on_this_machine_and_the_run_says_so(
    store: Store, server: LlmServer, configured: Configured
) -> None:
    run = started(store, configured(server, 1, model=UNPRICED, budget_usd=1.0))
    worked(run)
    assert {(row["usd"], row["usd_upper"]) for row in calls(store)} == {(0.0, 0.0)}
    for row in store.rows("runs"):
        used = json.loads(row["config"])["prices_used"][UNPRICED]
        assert (used["input"], used["output"], used["origin"]) == (0.0, 0.0, ON_THIS_MACHINE)
    assert Run.load(store, "run").config == run.config
    priced = run.config.model_copy(update={"prices": {UNPRICED: GivenPrice(input=1, output=1)}})
    going_on = Run.load(store, "run").resume(priced)
    going_on.finish("stopped")
    assert Run.load(store, "run").config.prices == priced.prices


def test_a_fallback_answers_for_a_model_that_is_not_there(
    store: Store, tmp_path: Path, server: LlmServer, configured: Configured
) -> None:
    def some_are_gone(asked: ChatRequest) -> str:
        if asked.model == "gone":
            raise ChatRefusal(404, "the model `gone` does not exist")
        return offline_answer(asked)

    with LlmServer(some_are_gone) as partial:
        config = configured(partial, 4, model="openai/gone", fallback_models=("openai/gone", PRICED))
        worked(started(store, config))
    sent = {(row["model_asked"], row["model_sent"], row["answered"]) for row in calls(store)}
    assert sent == {("openai/gone", "openai/gone", False), ("openai/gone", PRICED, True)}
    assert {row["error"] for row in calls(store)} == {None, "ModelRefused"}
    whole = Store.open(tmp_path / "whole", create=True)
    worked(started(whole, configured(server, 4)))
    assert documents(store) == documents(whole) != set()


def test_a_provider_that_is_down_ends_the_run_and_it_goes_on_when_it_is_up(
    store: Store, tmp_path: Path, configured: Configured
) -> None:
    is_down = False

    def faults(asked: ChatRequest) -> ServerFault | None:
        return ServerFault(ServerFaultKind.SERVER_ERROR) if is_down else None

    with LlmServer(faults=faults, on_change=lambda attempt: None) as server:
        run = started(store, configured(server, 6, wave_size=3), resources=impatient())

        async def work() -> None:
            nonlocal is_down
            async with run.session() as session:
                first, second = run.waves()
                await session.work_through([first])
                is_down = True
                await session.work_through([second])

        with pytest.raises(BreakerOpen, match="3 of 6 records are left"), run.under_way():
            asyncio.run(work())
        assert state(store) == "stopped" and run.counts()["pending"] == 3
        assert "ProviderDown" in {row["error"] for row in calls(store)}
        is_down = False
        assert worked(Run.load(store, "run", impatient()).resume())["pending"] == 0
    whole = Store.open(tmp_path / "whole", create=True)
    with LlmServer() as other:
        worked(started(whole, configured(other, 6)))
    assert store.digest() == whole.digest()


def test_both_formats_of_the_author_give_the_same_tasks(
    store: Store, tmp_path: Path, server: LlmServer, configured: Configured
) -> None:
    worked(started(store, configured(server)))
    outlined = Store.open(tmp_path / "outlined", create=True)
    worked(started(outlined, configured(server, author_format="document", structured=True)))
    assert documents(outlined) == documents(store) != set()
    schemas = {row["stage"]: '"response_format"' in row["request"] for row in calls(outlined)}
    assert schemas == {"extract": False, "author": True, "judge": False}
    assert all(code.startswith("from hazardmill") for code in (row["code"] for row in outlined.rows("tasks")))


def test_what_was_estimated_is_what_the_run_then_costs(store: Store, server: LlmServer, configured: Configured) -> None:
    config = configured(server, 30)
    before = estimate(store, config)
    assert before.records == 30 and not before.unknown_prices and before.total.usd is not None
    assert server.attempts == ()
    worked(started(store, config))

    with store.connect() as connection:
        found = cost(connection, ["run"])
    for stage, guess in before.stages.items():
        took = found.by_stage[stage]
        assert guess.requests.low <= took.attempts <= guess.requests.high
        assert guess.prompt_tokens.low <= took.prompt_tokens.known <= guess.prompt_tokens.high
        assert guess.completion_tokens.low <= took.completion_tokens.known <= guess.completion_tokens.high
        assert guess.usd is not None and guess.usd.low <= took.usd.known <= guess.usd.high
    # But for repairs the prompts of extract are known; how dense their tokens are is assumed: four bytes, as here.
    extract, first = before.stages["extract"], [r for r in calls(store) if (r["stage"], r["repair"]) == ("extract", 0)]
    assert extract.requests.low == len(first) == 30
    tokens = sum(row["prompt_tokens"] for row in first)
    assert extract.prompt_tokens.low * 4.8 / 4.0 == pytest.approx(tokens, rel=0.01)

    # What was measured comes closer: the same records as another draw, which asks everything anew.
    after = estimate(store, config.model_copy(update={"sample": 1}))
    assert after.total.usd is not None and after.answered == 0
    assert after.total.usd.expected == pytest.approx(found.paid.usd.known, rel=0.2)
    assert after.total.usd.high - after.total.usd.low < before.total.usd.high - before.total.usd.low
    again = estimate(store, config)
    assert (again.answered, again.stages["extract"].requests.high) == (30, 0)
