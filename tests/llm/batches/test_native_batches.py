"""Batches over the APIs of Anthropic and Gemini: what holds for both."""

from __future__ import annotations

import asyncio
import json

import pytest

from hazardmill.errors import (
    AnswerTooLarge,
    ConnectionFailed,
    ModelRefused,
    PromptRefused,
    ProviderDown,
    RateLimited,
    RedirectRefused,
    RequestRefused,
)
from hazardmill.llm.requests import Usage

from ..test_providers import STRUCTURED, TURNS
from ..wire import Reply
from .conftest import MOST_BYTES
from .native_servers import KEY, reply


def by_id(results):
    return {result.custom_id: result for result in results}


@pytest.mark.parametrize("structured", [False, True])
def test_a_line_asks_what_litellm_asks_in_the_ordinary_way(native, structured):
    parameters = {"temperature": 0.5, "max_tokens": 200} | ({"response_format": STRUCTURED} if structured else {})
    line = native.line(messages=TURNS, parameters=parameters)
    native.complete(line)
    native.do("create", "wave", [line, native.line("2")])

    ordinary = json.loads(native.server.sent("ordinary")[1])
    first, second = native.server.lines
    assert native.server.params(first) == ordinary
    assert native.server.params(second) != ordinary
    assert [entry[native.server.id_field] for entry in (first, second)] == ["1", "2"]


def test_the_same_answer_is_the_same_completion_in_a_batch(native):
    wanted = native.complete(native.line())
    [result] = native.results(native.server.answered("1"))

    assert result.completion == wanted
    assert (wanted.text, wanted.finish_reason) == ('{"a": 1}', "length")
    assert wanted.model_answered.endswith("of-the-day")
    assert (wanted.usage.prompt_tokens, wanted.usage.cached_tokens) == (100, 40)
    assert wanted.usage != Usage()


def test_the_size_of_a_line_is_what_it_takes_in_the_request(native):
    lines = [native.line(custom_id) for custom_id in "12"]
    provider = native.batches(native.base, KEY, timeout_s=1, max_answer_bytes=1)
    sizes = [provider.size(line) for line in lines]
    lengths = []
    for number in (1, 2):
        native.server.seen.clear()
        native.do("create", "wave", lines[:number])
        lengths.append(max(len(body) for *_, body in native.server.seen))
    assert lengths[1] - lengths[0] == sizes[1]


def test_the_key_goes_in_a_header(native):
    native.do("create", "wave", [native.line()])
    assert all(KEY in headers.values() and KEY not in path for _, path, headers, _ in native.server.seen)


def test_a_key_is_found_in_the_environment_but_not_made_up(native, monkeypatch):
    for name in native.batches._key_variables:
        monkeypatch.delenv(name, raising=False)

    async def main(base):
        provider = native.batches(base, timeout_s=1, max_answer_bytes=1)
        try:
            return provider._call_headers()
        finally:
            await provider.close()

    with pytest.raises(RequestRefused, match="no API key"):
        asyncio.run(main(None))
    assert "none" in asyncio.run(main(native.base)).values(), "a local server needs none"
    monkeypatch.setenv(native.batches._key_variables[-1], KEY)
    assert KEY in asyncio.run(main(None)).values()


def test_a_key_that_only_the_batches_know_is_removed_from_errors(native, request):
    # Keys are remembered for the whole process, so that this one must be new in each test.
    native.key = f"zq31vx07-of-{request.node.name}"
    native.server.faults["create"] = reply({"error": {"message": f"no, {native.key}"}}, 400)
    with pytest.raises(PromptRefused, match=r"no, \[secret\]"):
        native.do("create", "wave", [native.line()])


def test_models_of_others_are_refused(native, make_request):
    line = native.line()
    strange = type(line)("1", make_request(model="openai/gpt-4o-mini"))
    with pytest.raises(RequestRefused, match="openai/gpt-4o-mini is not a model of"):
        native.do("create", "wave", [strange])
    assert native.server.seen == []


def test_a_request_that_litellm_refuses_is_not_sent(native):
    with pytest.raises(RequestRefused, match="must not set api_key"):
        native.do("create", "wave", [native.line(parameters={"api_key": "x"})])
    with pytest.raises(RequestRefused, match="logit_bias"):
        native.do("create", "wave", [native.line(parameters={"logit_bias": {"1": 2}})])
    assert native.server.seen == []


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [(400, PromptRefused, False), (429, RateLimited, True), (529, ProviderDown, True)],
)
def test_an_errored_line_fails_as_the_single_request_does(native, status, kind, retryable):
    failed = native.server.failed("2", status, f"no, {KEY}")
    results = by_id(native.results(native.server.answered("1"), failed))

    assert results["1"].error is None
    error = results["2"].error
    assert (type(error), error.retryable) == (kind, retryable)
    assert "no, [secret]" in error.message
    assert KEY not in repr(error.__dict__)


def test_an_unanswered_line_can_be_sent_again(native):
    [result] = native.results(native.server.unanswered("1"))
    assert (type(result.error), result.error.retryable, result.completion) == (ProviderDown, True, None)


def test_lines_come_missing_doubled_unknown_and_out_of_order(native):
    answered = native.server.answered
    results = native.results(answered("3"), answered("nobody's"), answered("1"), answered("3"))

    assert [result.custom_id for result in results] == ["3", "nobody's", "1", "3"]
    assert [result.completion is None for result in results] == [False, True, False, False]


@pytest.mark.parametrize(
    "broken",
    [b"<html>", b"[]", b"{}", b'{"key": 1, "custom_id": 1}', b'{"key": "2", "custom_id": "2"}', b"\xff", b"[" * 9999],
)
def test_a_line_that_cannot_be_read_is_left_out(native, broken):
    good = json.dumps(native.server.answered("1")).encode()
    results = native.results(native.server.answered("1"), file=broken + b"\n\n" + good)
    assert [result.custom_id for result in results] == ["1"]


def test_a_truncated_last_line_is_left_out(native):
    good = json.dumps(native.server.answered("1")).encode()
    cut = json.dumps(native.server.answered("2")).encode()[:-5]
    assert [result.custom_id for result in native.results(file=good + b"\n" + cut)] == ["1"]


def test_a_download_that_breaks_off_yields_what_had_come_and_raises(native):
    lines = [native.line("1"), native.line("2")]
    batch_id = native.do("create", "wave", lines)
    native.server.file_of()
    good = json.dumps(native.server.answered("1")).encode() + b"\n"
    native.server.faults["results"] = Reply(body=good, promised=len(good) + 100)
    seen = []

    async def main():
        provider = native.batches(native.base, KEY, timeout_s=60, max_answer_bytes=MOST_BYTES)
        try:
            async for result in provider.results(batch_id, lines):
                seen.append(result.custom_id)
        finally:
            await provider.close()

    with pytest.raises(ConnectionFailed):
        asyncio.run(main())
    assert seen == ["1"]


@pytest.mark.parametrize("beyond", [100, 10_000], ids=["a little", "by far"])
def test_an_answer_that_is_too_long_costs_only_its_own_line(native, beyond):
    huge = json.loads(json.dumps(native.server.answered("2")).replace('\\"a\\"', "x" * (MOST_BYTES + beyond)))
    results = by_id(native.results(native.server.answered("1"), huge, native.server.answered("3")))

    assert isinstance(results["2"].error, AnswerTooLarge)
    assert results["1"].completion == results["3"].completion is not None


def test_a_file_with_more_than_its_lines_can_hold_is_not_read_on(native):
    many = json.dumps(native.server.answered("1")).encode() + b"\n"
    with pytest.raises(AnswerTooLarge):
        native.results(file=many * 500)


CALLS = ["create", "status", "results", "cancel"]


def call(native, name):
    line = native.line()
    if name == "create":
        return native.do("create", "wave", [line])
    fault = native.server.faults.pop(name)
    batch_id = native.do("create", "wave", [line])
    native.server.file_of()
    native.server.faults[name] = fault
    return native.do(name, batch_id, *([[line]] if name == "results" else []))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (reply({"error": {"message": f"slow down, {KEY}"}}, 429, retry_after="7"), RateLimited),
        (reply({"error": {"message": f"oops {KEY}"}}, 500), ProviderDown),
        (reply({"error": {"message": KEY}}, 401), RequestRefused),
        (reply({"error": {"message": KEY}}, 402), RequestRefused),
        (reply({"error": {"message": KEY}}, 404), ModelRefused),
        (reply({"error": {"message": f"requests.0: not valid {KEY}"}}, 400), PromptRefused),
        (Reply(307, headers={"location": "http://127.0.0.2/"}), RedirectRefused),
        (Reply(307, headers={"location": "/elsewhere"}), RequestRefused),
        (Reply(hang_up=True), ConnectionFailed),
    ],
    ids=["429", "500", "401", "402", "404", "400", "to another host", "to another place", "hangs up"],
)
def test_a_call_that_fails_raises_what_a_single_request_raises(native, name, fault, kind):
    native.server.faults[name] = fault
    with pytest.raises(kind) as failure:
        call(native, name)

    error = failure.value
    assert type(error) is kind
    assert error.retry_after == (7.0 if kind is RateLimited else None)
    chain = [error, error.__cause__, error.__context__]
    assert not any(KEY in repr(link) or KEY in str(vars(link)) for link in chain if link is not None)
    assert chain[1:] == [None, None], "the library's error holds the request with its key"


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"\xff"])
def test_an_answer_that_is_no_object_is_the_providers_fault(native, body):
    native.server.faults["create"] = Reply(body=body)
    with pytest.raises(ProviderDown):
        native.do("create", "wave", [native.line()])


def test_an_answer_without_an_id_is_the_providers_fault(native):
    native.server.faults["create"] = reply({"state": "fine"})
    with pytest.raises(ProviderDown, match="has no"):
        native.do("create", "wave", [native.line()])


def test_a_batch_is_cancelled(native):
    batch_id = native.do("create", "wave", [native.line()])
    assert native.do("cancel", batch_id) is None
    assert native.server.seen[-1][0] == "cancel"


def test_a_batch_that_is_unknown_is_refused(native):
    with pytest.raises(ModelRefused):
        native.do("status", "batches/../9")
