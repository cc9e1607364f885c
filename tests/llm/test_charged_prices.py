"""The prices of a run: what was given holds, then the list, then 0 at an address on this machine."""

from __future__ import annotations

from typing import Any

import pytest

from hazardmill.generation.models import Models
from hazardmill.llm.charged_prices import GIVEN, ON_THIS_MACHINE, charged_prices, describe_charged, prices_used
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import Usage
from hazardmill.run_options import ALL_MODELS, GivenPrice, read_prices
from hazardmill.runs.config import RunConfig, RunInput

LISTED, UNLISTED = "openai/gpt-4o", "openai/mine"
LOCAL = "http://127.0.0.1:8000/v1"
USAGE = Usage(prompt_tokens=1_000_000, completion_tokens=2_000_000, cached_tokens=500_000)


def access(model: str = UNLISTED, **fields: Any) -> RunConfig:
    models = Models(extract=model, author=model, judge=model)
    source = RunInput(source="neiss")
    return RunConfig.model_validate({"inputs": (source,), "models": models, "backend": "litellm", **fields})


def usd(config: RunConfig, *, batch: bool = False) -> float | None:
    return charged_prices(config, Prices.load()).usd(config.models.author, USAGE, batch=batch)


@pytest.mark.parametrize("address", [LOCAL, "http://localhost:1/v1", "http://[::1]:8000/v1"])
def test_a_model_without_a_price_costs_nothing_on_this_machine(address: str) -> None:
    assert usd(access(api_base=address)) == usd(access(api_base=address), batch=True) == 0.0


@pytest.mark.parametrize("address", [None, "https://models.example.org/v1", "http://10.0.0.7:8000/v1"])
def test_its_price_stays_unknown_elsewhere(address: str | None) -> None:
    assert usd(access(api_base=address)) is None


def test_the_price_list_holds_on_this_machine_too_for_a_proxy_may_pass_requests_on() -> None:
    assert usd(access(LISTED, api_base=LOCAL)) == usd(access(LISTED)) == Prices.load().usd(LISTED, USAGE) > 0


def test_who_answers_an_exchange_folder_is_not_at_the_address() -> None:
    assert usd(access(api_base=LOCAL, exchange="/somewhere")) is None


def test_a_price_that_was_given_holds_before_all_others() -> None:
    given = {"prices": {ALL_MODELS: GivenPrice(input=1, output=2), LISTED: GivenPrice(input=0, output=0)}}
    assert usd(access(**given)) == pytest.approx(1 + 2 * 2)
    assert usd(access(LISTED, **given)) == usd(access(LISTED, **given), batch=True) == 0.0
    assert usd(access(api_base=LOCAL, **given)) == pytest.approx(5)
    cached = {"prices": {UNLISTED: GivenPrice(input=1, output=2, cached_input=0.5)}}
    assert usd(access(**cached)) == pytest.approx(0.5 + 0.25 + 4)
    # Nothing is known of a batch, unless nothing costs anything.
    assert usd(access(**given), batch=True) is None


def test_what_is_used_is_told_with_its_origin() -> None:
    assert prices_used(access(api_base=LOCAL), Prices.load()) == {
        UNLISTED: {"input": 0.0, "cached_input": 0.0, "output": 0.0, "origin": ON_THIS_MACHINE}
    }
    given = access(LISTED, prices={ALL_MODELS: GivenPrice(input=1, output=2)})
    assert prices_used(given, Prices.load())[LISTED]["origin"] == GIVEN
    assert "published list price" in str(prices_used(access(LISTED), Prices.load())[LISTED]["origin"])
    assert (
        prices_used(access(LISTED), Prices.load())[LISTED]["checked"]
        and "checked" not in prices_used(given, Prices.load())[LISTED]
    )
    assert prices_used(access(), Prices.load()) == prices_used(access(backend="offline"), Prices.load()) == {}
    assert describe_charged(given, Prices.load()) == [
        "openai/gpt-4o costs 1 USD per million tokens in and 2 out, as given"
    ]
    (line,) = describe_charged(access(api_base=LOCAL), Prices.load())
    assert line.startswith("openai/mine costs nothing: its address is on this machine")
    assert describe_charged(access(LISTED, api_base=LOCAL), Prices.load()) == []


@pytest.mark.parametrize(
    "text",
    ["", "0", "in=0", "in=0,out=", "in=-1,out=0", "in=nan,out=0", "in=1,in=1,out=0", "x=in=0", "in=0,out=0,more=1"],
)
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a price: write in=USD,out=USD"):
        read_prices([text])


def test_a_model_has_one_price() -> None:
    with pytest.raises(ValueError, match="once for each model"):
        read_prices(["a/b=in=0,out=0", "a/b=in=1,out=0"])
    assert list(read_prices(["a/b=in=0,out=0", "out=0,in=1", "ollama/llama3:8b=in=1,out=0"])) == [
        "a/b",
        ALL_MODELS,
        "ollama/llama3:8b",
    ]
