"""What a run of dialogues will ask and cost, before anything is sent."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from factories.dialogues import TURNS, acting_backend, number_of, prepared, proposed, remark, unlike

from hazardmill.llm.prices import prompt_bytes
from hazardmill.llm.requests import Request
from hazardmill.runs.estimates.assumptions import ASSUMED, ASSUMED_OF_DIALOGUES
from hazardmill.runs.estimates.dialogues import estimate_dialogues
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.running import answering, worked

PER_TOKEN = ASSUMED["density"].figures.expected


def words_of(name: str) -> str:
    """Words of the length that is expected of something that is said."""
    return "x" * round(ASSUMED_OF_DIALOGUES[name].figures.expected * PER_TOKEN)


def test_it_asks_what_a_run_asks_in_which_everything_has_the_expected_length(tmp_path: Path) -> None:
    sent: Counter[str] = Counter()
    length: Counter[str] = Counter()

    def say(request: Request) -> str:
        _, turn = number_of(request)
        name = "turn" if turn <= TURNS // 2 else "propose"
        sent[name] += 1
        length[name] += prompt_bytes(request)
        if name == "turn":
            return remark(words_of("turn"))
        # Later turns are shown it after these words.
        return proposed({**unlike("egg"), "instruction": words_of("proposed").removeprefix("x" * len("I propose: "))})

    store = Store.open(tmp_path / "store", create=True)
    config, records = prepared(tmp_path)
    found = estimate_dialogues(store, config, records)
    assert not list(store.rows("llm_calls")) and not list(store.rows("runs"))
    run, _ = Run.start(store, config, "run", records=records, resources=answering(acting_backend(say)))
    worked(run)
    assert found.records == 2 and list(found.stages) == ["turn", "propose"]
    for name, stage in found.stages.items():
        assert stage.requests.low == stage.requests.high == sent[name] == TURNS
        assert stage.prompt_tokens.expected == pytest.approx(length[name] / PER_TOKEN, abs=1)
    assert found.batch_rounds is not None and found.batch_rounds.high == TURNS
    assert found.unknown_prices == ("openai/toy",) and found.total.usd is None


def test_rewrites_are_a_stage_of_their_own_and_rounds_after_all_others(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    config, records = prepared(tmp_path, model="openai/gpt-5-mini", rewrites=True)
    found = estimate_dialogues(store, config, records)
    rewriting = found.stages["rewrite"]
    # Two dialogues of two roles.
    assert (rewriting.requests.low, rewriting.requests.expected, rewriting.requests.high) == (0, 8, 36)
    assert found.batch_rounds is not None and found.total.usd is not None
    assert (found.batch_rounds.low, found.batch_rounds.expected) == (TURNS, TURNS + 4)
    assert 0 < found.total.usd.low < found.total.usd.expected < found.total.usd.high
    assert any("requests for rewritten scripts" in line for line in found.assumptions)


def test_later_turns_and_other_dialogues_begin_as_earlier_ones(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    few, many = (
        estimate_dialogues(store, *prepared(tmp_path, model="openai/gpt-5-mini", dialogues=number)) for number in (1, 4)
    )
    assert 0 < few.cached_share.low < many.cached_share.low < 1 and many.cached_share.high == 0
    assert few.stages["turn"].requests.expected * 4 == many.stages["turn"].requests.expected
