"""Plans of faults, tokenizers, the prefix cache and spoilt texts, without a server."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.errors import SettingsError
from hazardmill.llm.requests import Message
from hazardmill.testing.llm_server import (
    FATAL,
    RECOVERABLE,
    SeededFaults,
    ServerFault,
    ServerFaultKind,
    open_tokenizer,
    parse_faults,
)
from hazardmill.testing.llm_server.answers import translate_to_chinese
from hazardmill.testing.llm_server.chat_request import ChatRequest
from hazardmill.testing.llm_server.tokens import PrefixCache, chain_of


def asked(identity: str, attempt: int = 1) -> ChatRequest:
    return ChatRequest("m", (Message(role="user", content="x"),), {}, None, identity, attempt)


identities = st.text("0123456789abcdef", min_size=4, max_size=8)


@given(st.integers(), identities, st.integers(0, 5), st.floats(0, 1), st.floats(0, 1))
def test_recoverable_faults_end_and_fatal_ones_do_not(seed, identity, most, rate, fatal_rate):
    plan = SeededFaults(seed, rate=rate, kinds=ServerFaultKind, most=most, fatal_rate=fatal_rate)
    met = [plan(asked(identity, attempt)) for attempt in range(1, 10)]
    assert met == [plan(asked(identity, attempt)) for attempt in range(1, 10)]
    beyond = set(met[most:])
    assert len(beyond) == 1
    assert not any(fault and fault.kind.recoverable for fault in beyond)
    # Whatever is not recoverable is what the identity ends with.
    assert {fault for fault in met if not (fault and fault.kind.recoverable)} == beyond


def test_the_rates_are_what_they_say():
    plan = SeededFaults(1, rate=0.3, kinds=ServerFaultKind, most=2, fatal_rate=0.1)
    for attempt in (1, 2):
        met = [plan(asked(str(number), attempt)) for number in range(5000)]
        kinds = [fault.kind for fault in met if fault]
        assert sum(kind.recoverable for kind in kinds) / 5000 == pytest.approx(0.3, abs=0.02)
        # Fatal ones show where nothing else went wrong.
        assert sum(kind in FATAL for kind in kinds) / 5000 == pytest.approx(0.07, abs=0.015)
        assert set(kinds) == set(ServerFaultKind)


def test_the_draws_stay_what_they_are():
    plan = SeededFaults(1, rate=0.5, kinds=("429", "500", "reset"))
    assert [str(plan(asked(identity))) for identity in "abcdefgh"] == [
        "None",
        "429",
        "None",
        "429",
        "None",
        "None",
        "500",
        "None",
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"rate": 1.5}, "rate must be between 0 and 1, got 1.5"),
        ({"fatal_rate": 0.1}, "fatal_rate is 0.1, but no kind"),
        ({"kinds": ["refusal"]}, "rate is 0.3, but no kind"),
        ({"kinds": ["502"]}, "no such fault: '502'; name one of 429,"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        SeededFaults(**settings)


def test_faults_are_written_as_they_are_read():
    text = "429,429-retry-after:0.5,slow:3,stalled,reset"
    faults = parse_faults(text)
    assert [str(fault) for fault in faults] == text.split(",")
    assert faults[3] == ServerFault(ServerFaultKind.STALLED)
    assert parse_faults("429, ok") == (ServerFault(ServerFaultKind.RATE_LIMITED), None)
    assert [fault.kind for fault in parse_faults("fatal")] == list(FATAL)
    assert [fault.kind for fault in parse_faults("recoverable,fatal")] == [*RECOVERABLE, *FATAL]
    assert str(parse_faults("429-retry-after")[0]) == "429-retry-after:1"


@pytest.mark.parametrize("word", ["429:1", "slow:soon", "slow:-1", "slow:inf", "slow:nan", "nothing", "slow:"])
def test_faults_that_mean_nothing_are_refused(word):
    with pytest.raises(ValueError, match=word.partition(":")[0]):
        parse_faults(word)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@pytest.mark.parametrize("name", ["utf8-bytes/4", "cl100k_base"])
def test_a_tokenizer_cuts_where_it_counts(name):
    tokenizer = open_tokenizer(name)
    assert tokenizer.name == name
    text = "The robot carries a cup of hot tea (très chaud) to the 茶 table. <|endoftext|> " * 3
    tokens = tokenizer.encode(text)
    assert tokens == tokenizer.encode(text)
    for most in (1, 7, 20, 23, len(tokens), len(tokens) + 1):
        cut = tokenizer.cut(text, most)
        assert text.startswith(cut)
        assert len(tokenizer.encode(cut)) <= most
    assert tokenizer.cut(text, len(tokens)) == text
    assert len(tokenizer.encode("a cup of tea")) == {"utf8-bytes/4": 3, "cl100k_base": 4}[name]


def test_an_unknown_tokenizer_is_refused():
    with pytest.raises(SettingsError, match="no such tokenizer"):
        open_tokenizer("words")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.sampled_from([300, 40, 1]), max_size=4)), max_size=8))
def test_cached_is_the_longest_common_beginning_in_whole_blocks(prompts):
    cache = PrefixCache()
    earlier = []
    for model, parts in prompts:
        tokens = [(length, at) for length in parts for at in range(length)]
        chain = chain_of(model, tokens)
        common = max((shared(tokens, other) for name, other in earlier if name == model), default=0)
        assert cache.count_cached(chain) == common // 64 * 64
        cache.add(chain)
        earlier.append((model, tokens))


def shared(one, other):
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def test_prose_becomes_chinese_and_nothing_else_does():
    code = '```python\nclass Serve(PlanningTask):\n    title = "Bring the soup."\n    realised_by = "carry_bowl"\n```'
    changed = translate_to_chinese(code)
    assert changed == code.replace("Bring the soup.", "机器人在房间里完成这项工作")
    assert json.loads(translate_to_chinese(r'{"a b": "say \"no\" now", "c": ["one", "two"]}')) == {
        "a b": "机器人在房间里完成这项工作",
        "c": ["one", "two"],
    }
    assert translate_to_chinese('{"verdict":"approved"}') == "机器人在房间里完成这项工作。"
    assert translate_to_chinese("") == "机器人在房间里完成这项工作。"


def test_an_attempt_is_no_part_of_who_asks():
    one = asked("a")
    assert replace(one, attempt=2).identity == one.identity
