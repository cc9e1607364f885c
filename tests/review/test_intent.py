from __future__ import annotations

import json
from collections import Counter

import pytest

from hazardmill.errors import InputError
from hazardmill.review.analysis.intent import intent, read_plans, sample, stratum
from hazardmill.review.analysis.statistics import statistics
from hazardmill.review.assignments.publish import give_plans
from hazardmill.review.decisions.effective import opinions
from hazardmill.review.schemas import ReviewAnswer

from .support import UNSURE, answer

SAFE, FAST, STUCK = "(reduce_speed) (carry table)", "(carry table)", "(reduce_speed)"


@pytest.fixture
def tasks(pool):
    return [item.item for item in pool.values() if item.kind == "task"]


@pytest.fixture
def file(tmp_path, tasks):
    lines = [
        {"item": task, "planner": planner, "plan": plan}
        for task in tasks[:4]
        for planner, plan in (("careful", SAFE), ("hasty", FAST), ("hasty", STUCK))
    ]
    path = tmp_path / "plans.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def test_plans_get_their_verdicts_here_and_each_counts_once(file, pool):
    file.write_text(file.read_text() * 2)
    plans = read_plans(file, pool)
    assert len(plans) == 12
    verdicts = {(plan.plan, plan.feasible, plan.safe, plan.safety_intention) for plan in plans}
    assert verdicts == {(SAFE, True, True, True), (FAST, True, False, False), (STUCK, False, False, True)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"item": "neiss-000000000000"}, "there is no task neiss-000000000000"),
        ({"safe": False}, "safe is true for this plan"),
        ({"safety_intention": False}, "safety_intention is true for this plan"),
        ({"plan": "(x)" * 9999}, "over 20000 characters"),
        ({"planner": ""}, "planner"),
        ({"verdict": 1}, "verdict"),
    ],
)
def test_a_wrong_line_is_told_with_its_number(file, pool, change, message):
    lines = file.read_text().splitlines()
    lines[3] = json.dumps({**json.loads(lines[3]), **change})
    file.write_text("\n".join(lines))
    with pytest.raises(InputError, match=message) as told:
        read_plans(file, pool)
    assert told.value.line == 4 and told.value.file == str(file)


def test_a_sample_is_even_over_the_strata_and_a_smaller_one_lies_in_it(file, pool):
    plans = read_plans(file, pool)
    six, nine = sample(plans, 6, 1), sample(plans, 9, 1)
    assert Counter(map(stratum, six)).values() and set(Counter(map(stratum, six)).values()) == {2}
    assert {plan.id for plan in six} < {plan.id for plan in nine}
    assert len(sample(plans, None, 1)) == 12
    assert sample(list(reversed(plans)), 6, 1) == six


def test_people_are_compared_with_safety_intention(folder, service, file, pool):
    plans = read_plans(file, pool)
    give_plans(folder, plans, ("ada", "ben"), most=None, each=2, seed=0)
    by_id = folder.plans()
    stuck = [plan.id for plan in by_id.values() if plan.plan == STUCK]

    def say(slip, sheet):
        # Infeasible ones: SI holds; both say by chance of one, differ on another, ben abstains on a third.
        plan = by_id[slip.item]
        assert sheet.about == "plan" and sheet.plan.plan == plan.plan
        assert "careful" not in sheet.model_dump_json() and "safety_intention" not in sheet.model_dump_json()
        place = stuck.index(slip.item) if slip.item in stuck else None
        if place == 0 or plan.plan == FAST or (place == 1 and slip.reviewer == "ada"):
            return ReviewAnswer(verdict="by_chance")
        return UNSURE if place == 2 and slip.reviewer == "ben" else ReviewAnswer(verdict="on_purpose")

    for name in ("ada", "ben"):
        assert answer(service, name, say) == 12
    found = intent(by_id, opinions(folder, pool))
    assert found.confusion == {
        "holds": {"on_purpose": 6, "by_chance": 1, "unsettled": 1},
        "does_not_hold": {"on_purpose": 0, "by_chance": 4, "unsettled": 0},
    }
    assert (found.plans, found.settled, found.agreement.count, found.agreement.n) == (12, 11, 10, 11)
    chance = (6 * 7 + 5 * 4) / 121
    assert found.kappa.value == pytest.approx((10 / 11 - chance) / (1 - chance))
    assert (found.by_planner["careful"].count, found.by_planner["careful"].n) == (4, 4)
    assert (found.by_planner["hasty"].count, found.by_planner["hasty"].n) == (2, 7)
    assert statistics(folder, pool).intent == found
    # Nothing of it is a judgement on tasks.
    assert statistics(folder, pool).accepted.counts == {"accepted": 0, "not_assigned": 12}


def test_giving_out_the_same_plans_again_gives_out_nothing(folder, file, pool):
    plans = read_plans(file, pool)
    first = give_plans(folder, plans, ("ada", "ben"), most=5, each=1, seed=0)
    assert sum(number for kinds in first.slips.values() for number in kinds.values()) == 5
    assert give_plans(folder, plans, ("ada", "ben"), most=5, each=1, seed=0).slips == {}
    more = give_plans(folder, plans, ("ada", "ben"), most=8, each=1, seed=0)
    assert sum(number for kinds in more.slips.values() for number in kinds.values()) == 3
    assert len(folder.plans()) == 8
