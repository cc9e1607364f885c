"""A small review, whose figures were worked out by hand."""

from __future__ import annotations

import json

import pytest

from hazardmill.errors import UnknownName
from hazardmill.review.analysis.judge_accuracy import IN_THE_RUBRIC
from hazardmill.review.analysis.render import grids
from hazardmill.review.analysis.selection import ReviewSelection
from hazardmill.review.analysis.statistics import statistics
from hazardmill.review.analysis.time_left import FEWEST
from hazardmill.review.assignments.gold_items import DEFECTS
from hazardmill.review.assignments.publish import give_disputed, give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.rubric import CRITERIA
from hazardmill.review.schemas import ReviewAnswer
from tests.rates import check_rates

from .support import APPROVE, REJECT, UNSURE, answer


@pytest.fixture
def numbered(pool):
    """Task to the number of its record, 0 to 11: number % 3 is its source, number // 3 % 2 its danger type."""
    return {item.item: int(item.record_id.partition(":")[2]) for item in pool.values()}


def saying(numbered, ada, ben, seconds=10.0):
    """Verdicts by number of the task, first looks only; the rest is approved."""
    signs = {"+": APPROVE, "-": REJECT, "?": UNSURE}

    def say(slip, sheet):
        if slip.kind != "task":
            return APPROVE
        said = signs[{"ada": ada, "ben": ben}[slip.reviewer][numbered[slip.item]]]
        return said.model_copy(update={"seconds": seconds + numbered[slip.item]})

    return say


def test_rates_agreement_and_times_are_those_worked_out_by_hand(folder, service, pool, numbered):
    give_tasks(folder, pool, Wish(("ada", "ben"), calibration=0, repeats=0))
    ada, ben = "++++++----+-", "+++++-----?+"
    for name in ("ada", "ben"):
        answer(service, name, saying(numbered, ada, ben))
    found = statistics(folder, pool, "any-reject")
    check_rates(found.model_dump(mode="json"), least=12)
    # Rejected by anybody: 5 to 9 and 11; approved by both: 0 to 4; 10 is approved by ada alone.
    assert found.accepted.counts == {"accepted": 5, "rejected": 6, "unsure": 1}
    assert (found.rejected.count, found.rejected.n) == (6, 11)
    assert {name: (rate.count, rate.n) for name, rate in found.by_source.items()} == {
        "neiss": (2, 4),  # 0 3 6 9
        "bddl": (1, 3),  # 1 4 7, and 10 is not settled
        "normbank": (3, 4),  # 2 5 8 11
    }
    assert {name: (rate.count, rate.n) for name, rate in found.by_type.items()} == {
        "thermal": (3, 6),  # 0 1 2 6 7 8
        "privacy_violation": (3, 5),  # 3 4 5 9 11
    }
    assert (found.by_criterion["hints"].count, found.by_criterion["entity"].count) == (6, 0)
    # Both judged eleven; ada: 6 approved (0 to 5), 5 rejected; ben: 6 approved (0 to 4, 11), 5 rejected; alike in nine.
    kappa = found.agreement.cohen["ada,ben"]
    expected = (9 / 11 - (6 * 6 + 5 * 5) / 121) / (1 - (6 * 6 + 5 * 5) / 121)
    assert kappa.value == pytest.approx(expected) and kappa.n == 11
    # Alpha: 22 values, 12 approvals and 10 rejections; 4 of the values are in pairs that disagree.
    alpha = 1 - (4 / 22) / (2 * 12 * 10 / (22 * 21))
    assert found.agreement.alpha.value == pytest.approx(alpha)
    # Fleiss: mean agreement 9/11 against chance of the pooled shares.
    chance = (12 / 22) ** 2 + (10 / 22) ** 2
    assert found.agreement.fleiss.value == pytest.approx((9 / 11 - chance) / (1 - chance))
    assert found.agreement.fleiss_ratings == 2
    one = found.reviewers["ben"]
    assert (one.rejected.count, one.rejected.n, one.unsure) == (5, 11, 1)
    # 10 to 21 seconds.
    assert (one.time.first_quartile, one.time.median, one.time.third_quartile) == (12.75, 15.5, 18.25)
    assert (found.time.known, found.time.unknown, found.stale) == (24, 0, 0)


def test_the_time_left_is_the_open_tasks_times_the_median_of_their_own_reviewer(folder, service, pool, numbered):
    give_tasks(folder, pool, Wish(("ada", "ben"), calibration=0, repeats=0))
    answer(service, "ada", saying(numbered, "+" * 12, "+" * 12), most=FEWEST)
    answer(service, "ben", saying(numbered, "+" * 12, "+" * 12), most=FEWEST - 1)
    found = statistics(folder, pool).reviewers
    seconds = [d.seconds for d in folder.histories()["ada"].entries]
    assert len(seconds) == FEWEST
    assert found["ada"].minutes_left == pytest.approx(7 * sorted(seconds)[2] / 60)
    assert found["ben"].minutes_left is None, "four decisions say too little"
    progress = service.session("ada").progress()
    assert progress.minutes_left == found["ada"].minutes_left
    service.session("ada").undo(submission="back")
    assert service.session("ada").progress().minutes_left is None
    (reviewers,) = [grid for grid in grids(statistics(folder, pool)) if grid.title == "Reviewers"]
    assert reviewers.head[2] == "time left" and [row[2] for row in reviewers.rows] == ["unknown", "unknown"]
    answer(service, "ada", saying(numbered, "+" * 12, "+" * 12))
    assert statistics(folder, pool).reviewers["ada"].minutes_left == service.session("ada").progress().minutes_left == 0


def test_a_selection_counts_only_the_tasks_it_names(folder, service, pool, numbered):
    give_tasks(folder, pool, Wish(("ada", "ben"), per_task=1, calibration=0, repeats=0))
    for name in ("ada", "ben"):
        answer(service, name, saying(numbered, "+" * 12, "-" * 12))
    everything = statistics(folder, pool)
    neiss = statistics(folder, pool, selection=ReviewSelection(sources=("neiss",)))
    assert neiss.by_source == {"neiss": everything.by_source["neiss"]}
    assert {numbered[task.item] for task in neiss.tasks} == {0, 3, 6, 9}
    thermal = statistics(folder, pool, selection=ReviewSelection(("neiss", "bddl"), ("thermal",)))
    assert {numbered[task.item] for task in thermal.tasks} == {0, 1, 6, 7}
    ada = statistics(folder, pool, selection=ReviewSelection(reviewers=("ada",)))
    assert ada.reviewers.keys() == {"ada"} and ada.accepted.counts == {"accepted": len(ada.tasks)}
    assert {task.item for task in ada.tasks} == {slip.item for slip in folder.assignments().of["ada"]}
    assert all(task.reviewers == {"ada": "approve"} for task in ada.tasks)
    with pytest.raises(UnknownName, match=r"no item of the review has the source 'neis'") as caught:
        statistics(folder, pool, selection=ReviewSelection(sources=("neis",)))
    assert "did you mean neiss?" in str(caught.value.remedy)


def test_policies_differ_and_an_adjudicator_decides(folder, service, pool, numbered):
    give_tasks(folder, pool, Wish(("ada", "ben"), calibration=0, repeats=0))
    for name in ("ada", "ben"):
        answer(service, name, saying(numbered, "+" * 12, "+" * 9 + "-" * 3))
    before = statistics(folder, pool, "adjudicated").accepted
    assert before.counts == {"accepted": 9, "awaiting_adjudication": 3}
    given = give_disputed(folder, pool, ("ada", "ben", "eva"), 0)
    assert given.slips == {"eva": {"adjudication": 3}} and given.waiting == ()
    answer(service, "eva", lambda slip, sheet: REJECT if numbered[slip.item] == 9 else APPROVE)
    after = statistics(folder, pool, "adjudicated").accepted
    assert after.counts == {"accepted": 11, "rejected_by_adjudicator": 1}
    assert statistics(folder, pool, "any-reject").accepted.counts == {"accepted": 9, "rejected": 3}
    assert statistics(folder, pool, "majority").accepted.counts == {"accepted": 9, "no_majority": 3}


def test_a_dispute_that_nobody_is_left_for_is_told(folder, service, pool, numbered):
    give_tasks(folder, pool, Wish(("ada", "ben"), calibration=0, repeats=0))
    for name in ("ada", "ben"):
        answer(service, name, saying(numbered, "+" * 12, "-" + "+" * 11))
    given = give_disputed(folder, pool, ("ada", "ben"), 0)
    assert given.slips == {} and [numbered[task] for task in given.waiting] == [0]


def test_self_agreement_is_over_what_was_answered_twice(folder, service, pool):
    give_tasks(folder, pool, Wish(("ada", "ben"), calibration=0, repeats=0.25))
    repeats = [slip for slip in folder.assignments().of["ada"] if slip.kind == "repeat"]
    assert len(repeats) == 3
    # Another answer the second time to one, none to another.
    says = dict(zip((slip.id for slip in repeats), (REJECT, UNSURE, APPROVE), strict=True))
    answer(service, "ada", lambda slip, sheet: says.get(slip.id, APPROVE))
    found = statistics(folder, pool).reviewers["ada"]
    assert (found.repeats.count, found.repeats.n) == (1, 2)
    assert statistics(folder, pool).reviewers["ben"].repeats.value is None


def test_planted_defects_count_as_caught_and_as_named(folder, service, pool):
    give_tasks(folder, pool, Wish(("ada", "ben"), calibration=0.5, repeats=0))
    planted = [slip for slip in folder.assignments().of["ada"] if slip.kind == "calibration"]
    assert len(planted) == 6
    right = ReviewAnswer(verdict="reject", reasons=(DEFECTS[planted[0].defect],))
    wrong = ReviewAnswer(verdict="reject", reasons=("norm",))
    says = {planted[0].id: right, planted[1].id: wrong, planted[2].id: UNSURE}
    answer(service, "ada", lambda slip, sheet: says.get(slip.id, APPROVE))
    found = statistics(folder, pool)
    check_rates(found.model_dump(mode="json"), least=5)
    for caught in (found.calibration, found.reviewers["ada"].calibration):
        assert (caught.rejected.count, caught.named.count, caught.rejected.n) == (2, 1, 6)
    assert sum(rate.n for rate in found.calibration.by_defect.values()) == 6
    # They are in no other figure.
    assert found.rejected.count == 0 and found.reviewers["ada"].rejected.count == 0


def test_the_judge_beside_people(folder, service, pool, numbered, monkeypatch):
    give_tasks(folder, pool, Wish(("ada", "ben"), audit=3, calibration=0, repeats=0))
    # Drafts 12 and 13 were sent back for hints, 14 for entity. People reject 12 for hints and 14 for another reason.
    says = {12: REJECT, 13: APPROVE, 14: REJECT, 0: REJECT}
    for name in ("ada", "ben"):
        answer(service, name, lambda slip, sheet: says.get(numbered[slip.item], APPROVE))
    found = statistics(folder, pool).judge
    assert found.confusion == {
        "approved": {"accepted": 11, "rejected": 1, "unsettled": 0},
        "sent_back": {"accepted": 1, "rejected": 2, "unsettled": 0},
    }
    assert (found.rejected_of_approved.count, found.rejected_of_approved.n) == (1, 12)
    assert (found.sent_back.rejected.count, found.sent_back.rejected.n) == (2, 3)
    assert found.sent_back.may_reject is None, "three drafts prove nothing"
    by = {name: (of.rejected.count, of.rejected.n) for name, of in found.by_criterion.items()}
    assert by == {"hints": (1, 2), "entity": (1, 1)}
    assert (found.same_reason.count, found.same_reason.n) == (1, 2)
    # A criterion that only the judge has is taken for the one that people have for it.
    monkeypatch.setitem(IN_THE_RUBRIC, "entity", {"request", "hints"})
    found = statistics(folder, pool).judge
    assert (found.same_reason.count, found.same_reason.n) == (2, 2)
    # Audited drafts are in no set of tasks.
    assert statistics(folder, pool).accepted.counts == {"accepted": 11, "rejected": 1}


def test_what_only_the_judge_has_stands_for_what_people_have():
    assert set().union(*IN_THE_RUBRIC.values()) <= set(CRITERIA) and not set(IN_THE_RUBRIC) & set(CRITERIA)


@pytest.mark.parametrize(("rejected", "may"), [(60, True), (54, False), (0, False)])
def test_the_judge_may_reject_by_itself_only_where_that_is_proved(rejected, may):
    from hazardmill.review.analysis.judge_accuracy import _trust

    assert _trust(["rejected"] * rejected + ["accepted"] * (60 - rejected)).may_reject is may


def test_before_anything_is_decided_every_figure_is_unknown_with_a_reason(folder, pool):
    give_tasks(folder, pool, Wish(("ada", "ben")))
    found = statistics(folder, pool)
    text = json.dumps(found.model_dump(mode="json"))
    assert "NaN" not in text
    for rate in (found.rejected, found.calibration.rejected, found.judge.rejected_of_approved, found.intent.agreement):
        assert rate.value is None and rate.why
    for found_none in (found.agreement.alpha, found.agreement.fleiss, found.intent.kappa):
        assert found_none.value is None and found_none.why
    assert found.time.median is None and found.accepted.counts == {"accepted": 0, "waiting": 12}
    told = [cell for grid in grids(found) for row in grid.rows for cell in row]
    assert any("unknown" in cell for cell in told) and not any("nan" in cell for cell in told)


def test_a_review_that_nobody_was_given_has_figures_too(folder, pool):
    found = statistics(folder, pool)
    assert found.accepted.counts == {"accepted": 0, "not_assigned": 12} and found.reviewers == {}


def test_models_that_review_are_never_told_as_people(folder, pool):
    give_tasks(folder, pool, Wish(("model-a", "model-b")))
    told = [text for grid in grids(statistics(folder, pool)) for text in (grid.title, *grid.head, *sum(grid.rows, ()))]
    assert "Rejected by language models" in told and "The judge compared with language models" in told
    assert not any("people" in text for text in told)
