from __future__ import annotations

import json

import pytest

from hazardmill.errors import SettingsError
from hazardmill.llm.prices import BatchPrice, Price, Prices, max_tokens, prompt_bytes
from hazardmill.llm.requests import OFFLINE_MODEL, Usage

MADE_UP = {"checked": "2026-11-26", "origin": "made up"}


@pytest.fixture
def batch_prices():
    """Two models that cost the same, where the cache discount holds inside a batch and where it does not."""
    single = {"input": 2.0, "cached_input": 0.2, "output": 8.0, "cache_write": 2.5} | MADE_UP
    held = BatchPrice(input=1.0, cached_input=0.1, output=4.0, cache_write=1.25, **MADE_UP)
    lost = BatchPrice(input=1.0, cached_input=1.0, output=4.0, **MADE_UP)
    models = {"toy/cached": held, "toy/uncached": lost}
    return Prices({model: Price(model=model, batch=batch, **single) for model, batch in models.items()})


def usage(prompt, cached, completion):
    return Usage(prompt_tokens=prompt, cached_tokens=cached, completion_tokens=completion)


def test_cost_of_a_million_tokens_of_each_kind():
    prices = Prices.load()
    model = "deepseek/deepseek-chat"
    assert prices.usd(model, usage(1_000_000, 0, 0)) == pytest.approx(0.28)
    assert prices.usd(model, usage(1_000_000, 1_000_000, 0)) == pytest.approx(0.028)
    assert prices.usd(model, usage(0, 0, 1_000_000)) == pytest.approx(0.42)
    assert prices.usd(model, usage(3_000, 1_000, 500)) == pytest.approx(
        (2_000 * 0.28 + 1_000 * 0.028 + 500 * 0.42) / 1e6
    )


@pytest.mark.parametrize("unknown", [usage(None, 0, 1), usage(1, None, 1), usage(1, 0, None), Usage()])
def test_an_unknown_count_makes_the_cost_unknown(unknown):
    assert Prices.load().usd("deepseek/deepseek-chat", unknown) is None


def test_an_unknown_price_is_null_not_zero(make_request):
    prices = Prices.load()
    assert prices.usd("nobody/nothing", usage(1, 0, 1)) is None
    assert prices.upper_usd(make_request(model="nobody/nothing")) is None
    assert "nobody/nothing" not in prices


def test_the_offline_author_costs_nothing_however_much_it_writes(make_request):
    prices = Prices.load()
    assert prices.usd(OFFLINE_MODEL, Usage()) == 0.0
    assert prices.usd(OFFLINE_MODEL, usage(10_000, 5, 10_000)) == 0.0
    assert prices.upper_usd(make_request(model=OFFLINE_MODEL, parameters={})) == 0.0


def test_the_upper_bound_counts_bytes_and_the_whole_output(prices, make_request):
    asked = make_request("äö", parameters={"max_completion_tokens": 50})
    assert prices.upper_usd(asked) == pytest.approx(((11 + 4) * 2.0 + 50 * 8.0) / 1e6)
    assert prices.upper_usd(make_request(parameters={})) is None, "no limit on the output, no bound"


def test_every_price_says_when_and_whence():
    prices = Prices.load()
    assert "deepseek/deepseek-chat" in prices
    assert prices["deepseek/deepseek-chat"].checked.year >= 2026
    assert "true price" in prices[OFFLINE_MODEL].origin


ENTRY = "- {model: a/b, input: 1, cached_input: 1, output: 1, checked: 2026-01-01, origin: x}\n"
BATCH = "{input: 1, cached_input: 1, output: 1, checked: 2026-01-01, origin: x}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ENTRY + ENTRY, "twice"),
        (ENTRY.replace("input: 1,", "input: -1,", 1), "greater than or equal to 0"),
        (ENTRY.replace("input: 1,", "input: yes,", 1), "valid number"),
        (ENTRY.replace("input: 1,", "input: .inf,", 1), "finite"),
        (ENTRY.replace("input: 1,", "input: ,", 1), "valid number"),
        (ENTRY.replace("2026-01-01", "0"), "valid date"),
        (ENTRY.replace("2026-01-01", ""), "valid date"),
        (ENTRY.replace("origin: x", "source: x"), "origin"),
        (ENTRY.replace("origin: x", "origin: ' '"), "at least 1 character"),
        (ENTRY.replace("origin: x", "origin: x, batch: {input: 1, cached_input: 1, output: 1}"), "Field required"),
        (ENTRY.replace("origin: x", f"origin: x, has_no_batches: true, batch: {BATCH}"), "and yet no batches"),
        ("- [", "cannot be used"),
        ("", "valid list"),
    ],
)
def test_a_wrong_price_list_is_refused(tmp_path, text, message):
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=message) as caught:
        Prices.load(path)
    assert caught.value.file == str(path)


def test_what_is_written_to_a_cache_costs_more_where_the_provider_says_so():
    prices = Prices.load()
    model = "anthropic/claude-haiku-4-5"
    assert prices.usd(model, Usage(prompt_tokens=100, cached_tokens=40, completion_tokens=7, written_tokens=50)) == (
        pytest.approx((10 * 1.00 + 40 * 0.10 + 50 * 1.25 + 7 * 5.00) / 1e6)
    )
    assert prices.usd(model, usage(100, 40, 7)) is None, "how much was written is not known"
    assert prices.usd("deepseek/deepseek-chat", usage(100, 40, 7)) is not None, "writing costs nothing extra here"


def test_the_upper_bound_takes_the_dearest_kind_of_token(make_request):
    asked = make_request("x" * 989, model="anthropic/claude-haiku-4-5", parameters={"max_tokens": 10})
    assert Prices.load().upper_usd(asked) == pytest.approx((1000 * 1.25 + 10 * 5.00) / 1e6)
    assert Prices.load().upper_usd(asked, 100) == pytest.approx((100 * 1.25 + 10 * 5.00) / 1e6)


def test_a_schema_is_sent_as_part_of_the_prompt(make_request):
    plain = make_request()
    schema = {"type": "json_schema", "json_schema": {"name": "task", "schema": {"type": "object"}}}
    asked = make_request(parameters={**plain.parameters, "response_format": schema})
    assert prompt_bytes(asked) == prompt_bytes(plain) + len(json.dumps(schema))


def test_counts_that_cannot_be_true_make_the_cost_unknown_and_the_bound_stays():
    model = "anthropic/claude-haiku-4-5"
    wrong = Usage(prompt_tokens=100, cached_tokens=80, written_tokens=50, completion_tokens=0)
    assert Prices.load().usd(model, wrong) is None
    assert Prices.load().most_usd(model, wrong) == pytest.approx(100 * 1.25 / 1e6)


@pytest.mark.parametrize(
    ("parameters", "tokens"),
    [
        ({"max_tokens": 7}, 7),
        ({"max_tokens": 7, "max_completion_tokens": 900}, 900),
        ({"max_tokens": -1, "max_completion_tokens": 30}, 30),
        ({"max_tokens": -1}, None),
        ({"max_tokens": True}, None),
        ({"max_tokens": "7"}, None),
    ],
)
def test_the_limit_on_the_output_is_one_that_surely_holds(make_request, parameters, tokens):
    assert max_tokens(make_request(parameters=parameters)) == tokens


def test_a_batch_has_prices_of_its_own(batch_prices, make_request):
    read = Usage(prompt_tokens=1000, cached_tokens=600, written_tokens=100, completion_tokens=10)
    in_batch = (300 * 1.0 + 600 * 0.1 + 100 * 1.25 + 10 * 4.0) / 1e6
    assert batch_prices.usd("toy/cached", read, batch=True) == pytest.approx(in_batch)
    assert batch_prices.usd("toy/cached", read) == pytest.approx(2 * in_batch)
    assert batch_prices.most_usd("toy/cached", read, batch=True) == pytest.approx((1000 * 1.25 + 10 * 4.0) / 1e6)
    asked = make_request("x" * 89, model="toy/cached", parameters={"max_tokens": 10})
    assert batch_prices.upper_usd(asked, batch=True) == pytest.approx((100 * 1.25 + 10 * 4.0) / 1e6)
    assert batch_prices.upper_usd(asked, 50, batch=True) == pytest.approx((50 * 1.25 + 10 * 4.0) / 1e6)


def test_without_a_cache_discount_inside_a_batch_nobody_need_count_what_was_cached(batch_prices):
    uncounted = Usage(prompt_tokens=1000, completion_tokens=10)
    assert batch_prices.usd("toy/uncached", uncounted, batch=True) == pytest.approx((1000 * 1.0 + 10 * 4.0) / 1e6)
    assert batch_prices.usd("toy/uncached", uncounted) is None, "a single request's cached tokens are cheaper"
    assert (
        not batch_prices["toy/uncached"].batch.has_cache_discount
        and batch_prices["toy/cached"].batch.has_cache_discount
    )


def test_the_price_inside_a_batch_is_never_guessed(prices, make_request):
    assert prices.usd("toy/toy", usage(1, 0, 1)) is not None
    assert prices.usd("toy/toy", usage(1, 0, 1), batch=True) is None
    assert prices.most_usd("toy/toy", usage(1, 0, 1), batch=True) is None
    assert prices.upper_usd(make_request(model="toy/toy"), batch=True) is None


def test_the_shipped_list_has_batches_with_and_without_a_cache_discount():
    prices = Prices.load()
    assert (
        prices["openai/gpt-5-mini"].batch.has_cache_discount
        and prices["anthropic/claude-haiku-4-5"].batch.has_cache_discount
    )
    assert not prices["openai/gpt-4.1-mini"].batch.has_cache_discount
    assert prices["deepseek/deepseek-chat"].has_no_batches and prices["deepseek/deepseek-chat"].batch is None
    assert prices.usd(OFFLINE_MODEL, usage(1, 0, 1), batch=True) is None, "nobody takes batches for it"
