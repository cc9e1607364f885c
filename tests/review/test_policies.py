from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hazardmill.review.assignments.model import ReviewAssignment
from hazardmill.review.decisions.effective import Opinion
from hazardmill.review.decisions.history import Decision
from hazardmill.review.policies import accepted_set, find_disputed

VERDICTS = {"+": "approve", "-": "reject", "?": "unsure", "s": "skip"}


def held(signs, kind="task", item="t"):
    """One opinion a sign: + - ? verdicts, s skipped, o open, x stale, g gone."""
    for place, sign in enumerate(signs):
        slip = ReviewAssignment(reviewer=f"{kind[0]}{place}", kind=kind, item=item, place=place).with_id()
        verdict = VERDICTS.get(sign, "approve")
        decision = None
        if sign != "o":
            decision = Decision(
                reviewer=slip.reviewer,
                at=datetime(2026, 1, 1, tzinfo=UTC),
                slip=slip.id,
                item=item,
                verdict=verdict,
                reasons=("hints",) if verdict == "reject" else (),
                seen="0" * 64,
                rubric="1",
                app="t",
                submission="k",
            ).with_id()
        state = {"s": "skipped", "o": "open", "x": "stale", "g": "gone"}.get(sign, "decided")
        yield Opinion(slip, state, decision)


ACCEPTED = None


@pytest.mark.parametrize(
    ("signs", "decider", "any_reject", "majority", "adjudicated"),
    [
        ("", "", "not_assigned", "not_assigned", "not_assigned"),
        ("++", "", ACCEPTED, ACCEPTED, ACCEPTED),
        ("--", "", "rejected", "rejected", "rejected"),
        ("+-", "", "rejected", "no_majority", "awaiting_adjudication"),
        ("+-", "+", "rejected", "no_majority", ACCEPTED),
        ("+-", "-", "rejected", "no_majority", "rejected_by_adjudicator"),
        ("+-", "?", "rejected", "no_majority", "unsure"),
        ("+-", "o", "rejected", "no_majority", "awaiting_adjudication"),
        ("+-", "x", "rejected", "no_majority", "stale"),
        ("++-", "", "rejected", ACCEPTED, "awaiting_adjudication"),
        ("--+", "", "rejected", "rejected", "awaiting_adjudication"),
        ("++o", "", "waiting", ACCEPTED, "waiting"),
        ("+o", "", "waiting", "waiting", "waiting"),
        ("-o", "", "rejected", "waiting", "waiting"),
        ("+s", "", "waiting", "waiting", "waiting"),
        ("+x", "", "stale", "stale", "stale"),
        ("xo", "", "stale", "stale", "stale"),
        ("+?", "", "unsure", "no_majority", "awaiting_adjudication"),
        ("??", "", "unsure", "no_majority", "unsure"),
        ("+", "", ACCEPTED, ACCEPTED, ACCEPTED),
    ],
)
def test_a_task_is_accepted_or_says_why_not(signs, decider, any_reject, majority, adjudicated):
    opinions = [*held(signs), *held(decider, "adjudication")]
    for policy, reason in (("any-reject", any_reject), ("majority", majority), ("adjudicated", adjudicated)):
        result = accepted_set(["t"], opinions, policy)
        assert (result.others.get("t"), result.accepted) == (reason, () if reason else ("t",)), policy
        assert result.counts == {"accepted": 0 if reason else 1, **({reason: 1} if reason else {})}


@pytest.mark.parametrize("kind", ["calibration", "repeat", "audit", "plan"])
def test_only_a_first_look_at_a_task_counts(kind):
    assert accepted_set(["t"], [*held("++"), *held("--", kind)], "any-reject").accepted == ("t",)
    assert accepted_set(["t"], held("++", kind), "any-reject").others == {"t": "not_assigned"}


def test_what_is_no_task_any_more_is_in_no_set():
    result = accepted_set(["a"], [*held("++", item="a"), *held("gg", item="b")], "majority")
    assert result.accepted == ("a",) and result.others == {}


def test_only_what_everybody_has_decided_is_disputed():
    opinions = [
        opinion
        for item, signs in {"a": "+-", "b": "++", "c": "+o", "d": "+x", "e": "+?", "f": "-"}.items()
        for opinion in held(signs, item=item)
    ]
    assert find_disputed(opinions) == ["a", "e"]
