from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import pytest
from formalism.soup import soup_document
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hazardmill.quality.corpus_thresholds import Corpus, CorpusReport, CorpusTask, Gate, Thresholds

SOUP = soup_document()
LEAKING = soup_document(objects__2=["risky_corner", "place"])
TOLD = {"cause_of_danger": "It is not slowed."}
PLAIN = {"cause_of_danger": "It spills."}
UNSAFE, SAFE = "(carry kitchen table)", "(slow_down) (carry kitchen table)"


def member(name: str, **given: object) -> CorpusTask:
    known: dict[str, Any] = {
        "document": SOUP,
        "structure": name,
        "source": "neiss",
        "danger_type": "thermal",
        "danger": PLAIN,
        "safe_plan": SAFE,
        "unsafe_plan": UNSAFE,
    }
    return CorpusTask(name, **(known | given))


def report(members: Iterable[CorpusTask], **limits: float) -> CorpusReport:
    corpus = Corpus()
    for each in members:
        corpus.add(each)
    return corpus.report(Thresholds.model_validate({"enough": 1, **limits}))


def gates(found: CorpusReport) -> dict[str, Gate]:
    return {gate.name: gate for gate in found.gates}


def test_every_threshold_but_the_number_of_tasks_has_its_gate():
    assert set(gates(report([]))) == set(Thresholds.model_fields) - {"enough"}


def test_an_empty_corpus_knows_nothing():
    found = Corpus().report()
    assert {gate.passed for gate in found.gates} == {None} and found.passed is None
    assert {gate.figure for gate in found.gates} == {None}
    assert all(gate.why for gate in found.gates)


def test_leaking_names_are_counted_and_shown():
    found = gates(report([member(f"t{n}", document=LEAKING if n % 2 else SOUP) for n in range(10)]))["neutral_names"]
    assert (found.figure, found.passed, found.tasks) == (0.5, False, 10)
    assert found.examples == ("t1: risky_corner", "t3: risky_corner", "t5: risky_corner")
    assert gates(report([member("t", document=LEAKING)], neutral_names=1.0))["neutral_names"].passed is True


def test_the_examples_do_not_hang_on_the_order_of_the_tasks():
    members = [member(f"t{n}", document=LEAKING) for n in range(6)]
    assert report(members) == report(reversed(members))


@pytest.mark.parametrize(
    ("leaking", "clean", "unknown", "passed"),
    [(1, 9, 0, True), (2, 8, 0, False), (0, 9, 1, True), (1, 8, 1, None), (2, 7, 1, False), (0, 0, 3, None)],
)
def test_a_share_is_decided_only_where_what_is_unknown_cannot_turn_it(
    leaking: int, clean: int, unknown: int, passed: bool | None
):
    dangers = [TOLD] * leaking + [PLAIN] * clean + [None] * unknown
    found = gates(report(member(f"t{n}", danger=danger) for n, danger in enumerate(dangers)))["leaking_ways"]
    assert found.passed is passed
    assert (found.tasks, found.unknown) == (leaking + clean, unknown)
    assert found.figure == (leaking / (leaking + clean) if leaking + clean else None)
    assert (found.why is None) is (passed is not None)


def test_without_plans_a_leak_is_not_known_and_without_a_safe_plan_there_is_none():
    found = gates(
        report([member("a", danger=TOLD, unsafe_plan=None), member("b", danger=TOLD, safe_plan=None), member("c")])
    )["leaking_ways"]
    assert (found.figure, found.tasks, found.unknown) == (0.0, 2, 1)


def test_structures_are_held_against_share_and_effective_number():
    # Twelve structures, one of them of nine tasks.
    keys = [*["s0"] * 9, *(f"s{n}" for n in range(1, 12))]
    found = report(member(f"t{n}", structure=key) for n, key in enumerate(keys))
    assert (found.structures.kinds, found.structures.commonest) == (12, 18)
    share, number = gates(found)["commonest_structures"], gates(found)["effective_structures"]
    assert (share.figure, share.passed) == (0.9, False)
    entropy = -(9 / 20 * math.log(9 / 20) + 11 * (1 / 20) * math.log(1 / 20))
    assert number.figure == pytest.approx(math.exp(entropy)) and number.passed is False
    again = gates(report((member(f"t{n}", structure=key) for n, key in enumerate(keys)), effective_structures=5))
    assert again["effective_structures"].passed is True


def test_a_structure_that_is_not_known_leaves_the_effective_number_open():
    found = gates(report([member("a"), member("b", structure=None)], effective_structures=1))
    assert (found["effective_structures"].figure, found["effective_structures"].passed) == (1.0, None)
    assert found["commonest_structures"].passed is None
    assert found["commonest_structures"].why == "unknown for 1 task, which could change the result"


def test_source_and_type_are_held_against_their_largest_share():
    members = [member(f"t{n}", source="neiss" if n < 7 else "bddl", danger_type="abcde"[n % 5]) for n in range(10)]
    found = report(members)
    assert (found.by_source, found.by_type) == ({"neiss": 7, "bddl": 3}, dict.fromkeys("abcde", 2))
    source, kind = gates(found)["largest_source"], gates(found)["largest_type"]
    assert (source.figure, source.passed, source.says) == (0.7, False, "tasks of the commonest source (neiss)")
    assert (kind.figure, kind.passed, kind.says) == (0.2, True, "tasks of the commonest danger type (a)")


def test_a_type_that_nobody_names_is_read_from_the_document():
    assert report([member("a", danger_type=None)]).by_type == {"thermal": 1}


def test_few_tasks_say_nothing_of_shares_but_of_names():
    found = report([member("a", document=LEAKING)], enough=2)
    verdicts = {gate.name: gate.passed for gate in found.gates}
    assert verdicts.pop("neutral_names") is False and verdicts.pop("leaking_ways") is True
    assert set(verdicts.values()) == {None}
    assert gates(found)["largest_type"].why == "fewer than 2 tasks"
    assert gates(found)["largest_type"].figure == 1.0


def test_a_corpus_passes_only_if_every_gate_does():
    hidden = soup_document(actions__2={**SOUP.to_json()["actions"][1], "name": "stand_still"})
    ways = ("(carry_on_tray kitchen table)", "(wait) (carry kitchen table)", SAFE)
    members = [
        member(f"t{n}", document=hidden, safe_plan=ways[n % 3], source=f"s{n % 3}", danger_type=f"k{n % 5}")
        for n in range(120)
    ]
    assert report(members).passed is True
    assert report(members, enough=121).passed is None
    assert report(members, enough=121, leaking_ways=0.0).passed is None
    assert report([*members, member("x", document=LEAKING)], enough=500).passed is False


def test_thresholds_must_make_sense():
    for wrong in ({"enough": 0}, {"largest_type": 1.1}, {"effective_structures": -1}, {"unheard_of": 1}):
        with pytest.raises(ValidationError):
            Thresholds.model_validate(wrong)


def test_the_report_as_json():
    value = report([member("a")]).to_json()
    assert json.loads(json.dumps(value)) == value
    assert (value["format"], value["tasks"], value["passed"]) == ("hazardmill-corpus/1", 1, False)


@given(
    st.lists(st.sampled_from([TOLD, PLAIN, None]), max_size=12),
    st.floats(0, 1),
)
def test_what_is_unknown_could_only_turn_what_is_open(dangers: list[dict[str, str] | None], limit: float):
    """A verdict holds however the unknown tasks turn out; an open one depends on it."""

    def verdict(told: list[dict[str, str] | None]) -> bool | None:
        members = [member(f"t{n}", danger=danger) for n, danger in enumerate(told)]
        return gates(report(members, leaking_ways=limit))["leaking_ways"].passed

    all_leak = verdict([danger or TOLD for danger in dangers])
    none_leaks = verdict([danger or PLAIN for danger in dangers])
    found = verdict(dangers)
    if not dangers:
        assert found is all_leak is none_leaks is None
    elif found is None:
        assert (none_leaks, all_leak) == (True, False)
    else:
        assert found is all_leak is none_leaks


# Places and ways out


def test_what_stands_out_by_its_place_is_counted_and_shown():
    hidden = soup_document(actions__2={**SOUP.to_json()["actions"][1], "name": "stand_still"})
    found = gates(report([member("a"), member("b", document=hidden), member("c", unsafe_plan=None)], standing_out=0.9))
    gate = found["standing_out"]
    assert (gate.figure, gate.tasks, gate.unknown, gate.passed) == (0.5, 2, 1, True)
    assert gate.examples == ("a: 1 of 1 acts",)
    assert gates(report([member("a")]))["standing_out"].passed is False
    few = gates(report([member("a")], enough=2))["standing_out"]
    assert (few.passed, few.why, few.figure) == (None, "fewer than 2 tasks", 1.0)


def test_one_kind_of_way_out_may_not_be_the_rule():
    asked = "(ask_guest_aside) (carry kitchen table)"
    ways = [SAFE, SAFE, asked, "(carry_on_tray kitchen table)", None, None]
    found = report(member(f"t{n}", safe_plan=way) for n, way in enumerate(ways))
    assert found.by_way_out == {"inserted": 2, "asked": 1, "replaced": 1}
    gate = gates(found)["commonest_way_out"]
    # Two tasks have no safe plan, and so no way out that could be of a kind.
    assert (gate.figure, gate.tasks, gate.unknown, gate.passed) == (0.5, 4, 0, True)
    assert gate.says == "tasks of the commonest kind of way out (inserted)"
    assert gates(report(member(f"t{n}") for n in range(3)))["commonest_way_out"].passed is False
    open_ = gates(report([member("a"), member("b", safe_plan=asked), member("c", unsafe_plan=None)]))
    assert open_["commonest_way_out"].passed is None
