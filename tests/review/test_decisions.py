from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hazardmill.review.decisions.history import Decision, DecisionHistory, Undo, read_entry

START = datetime(2026, 1, 1, tzinfo=UTC)


def decision(number, slip=0, **given):
    return Decision(
        **{
            "reviewer": "ada",
            "at": START + timedelta(seconds=number),
            "slip": f"{slip:032x}",
            "item": "t",
            "verdict": "approve",
            "seen": "0" * 64,
            "rubric": "1.0",
            "app": "test",
            "submission": f"k{number}",
            **given,
        }
    ).with_id()


def undo(number, of):
    return Undo(
        reviewer="ada",
        at=START + timedelta(seconds=number),
        slip=of.slip,
        undoes=of.id,
        app="test",
        submission=f"k{number}",
    ).with_id()


def test_a_later_decision_takes_the_place_of_an_earlier_one_and_undo_brings_it_back():
    first, second = decision(1), decision(2, verdict="reject", reasons=("hints",))
    history = DecisionHistory([first, second])
    assert history.current(first.slip) is second
    history.add(undo(3, second))
    assert history.current(first.slip) is first
    assert history.last() is first
    history.add(undo(4, first))
    assert history.current(first.slip) is None
    assert history.last() is None
    assert history.of_slip(first.slip) == (first, second)


@st.composite
def histories(draw):
    """Decisions on a few slips, each now and then taken back."""
    entries = []
    for number in range(draw(st.integers(0, 14))):
        decisions = [entry for entry in entries if isinstance(entry, Decision)]
        if decisions and draw(st.booleans()):
            entries.append(undo(number, draw(st.sampled_from(decisions))))
        else:
            entries.append(decision(number, draw(st.integers(0, 2))))
    return entries


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_in_which_lines_are_read_does_not_matter(entries, random):
    mixed = list(entries)
    random.shuffle(mixed)
    straight, turned = DecisionHistory(), DecisionHistory()
    for entry in entries:
        straight.add(entry)
    for entry in [*mixed, *mixed]:
        turned.add(entry)
    assert turned.entries == straight.entries == entries
    for slip in range(3):
        assert turned.current(f"{slip:032x}") == straight.current(f"{slip:032x}")
    assert turned.last() == straight.last()


@given(histories())
def test_what_is_in_force_is_the_latest_that_was_not_taken_back(entries):
    undone = {entry.undoes for entry in entries if isinstance(entry, Undo)}
    for slip in (f"{number:032x}" for number in range(3)):
        left = [e for e in entries if isinstance(e, Decision) and e.slip == slip and e.id not in undone]
        assert DecisionHistory(entries).current(slip) == (left[-1] if left else None)


@given(
    st.builds(
        decision,
        st.integers(0, 9),
        note=st.text(max_size=50),
        seconds=st.none() | st.floats(0, 1e6),
    )
)
def test_a_line_comes_back_as_it_was(given):
    import json

    again = read_entry(json.loads(given.line()))
    assert again == given and again.is_whole


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"verdict": "reject"}, "needs a reason"),
        ({"verdict": "reject", "reasons": ("ugly",)}, "the rubric has no reason ugly"),
        ({"verdict": "reject", "reasons": ("hints", "hints")}, "named twice"),
        ({"verdict": "reject", "reasons": ("other",)}, "needs a note"),
        ({"verdict": "approve", "reasons": ("hints",)}, "takes no reasons"),
        ({"verdict": "on_purpose"}, "one of approve"),
        ({"verdict": "approve", "about": "plan"}, "one of on_purpose"),
        ({"verdict": "yes"}, "verdict"),
        ({"note": "x" * 4001}, "note"),
        ({"note": "\ud800"}, "note"),
        ({"seconds": -1}, "seconds"),
        ({"seconds": float("nan")}, "seconds"),
        ({"reviewer": "../ben"}, "reviewer"),
        ({"reviewer": "Ada"}, "reviewer"),
        ({"submission": "a b"}, "submission"),
        ({"at": datetime(2026, 1, 1)}, "at"),
        ({"seen": "0"}, "seen"),
    ],
)
def test_what_no_rubric_allows_is_no_decision(fields, message):
    with pytest.raises(ValidationError, match=message):
        decision(1, **fields)
