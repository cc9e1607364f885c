from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.errors import UsageError
from hazardmill.review.assignments.gold_items import DEFECTS
from hazardmill.review.assignments.sampler import LEAST_GAP, Wish, adjudications, assign, deal_plans

from .support import items

NAMES = ("ada", "ben", "eva", "kim", "lou")

wishes = st.integers(1, 5).flatmap(
    lambda number: st.builds(
        Wish,
        reviewers=st.just(NAMES[:number]),
        per_task=st.integers(1, number),
        tasks=st.none() | st.integers(0, 80),
        seed=st.integers(0, 5),
    )
)


def of_kind(slips, kind):
    return [slip for slip in slips if slip.kind == kind]


@given(wishes, st.integers(0, 60))
def test_every_task_goes_to_so_many_reviewers_and_all_have_as_much(wish, count):
    slips = of_kind(assign(items(count), [], wish), "task")
    holders = defaultdict(list)
    for slip in slips:
        holders[slip.item].append(slip.reviewer)
    assert len(holders) == (count if wish.tasks is None else min(count, wish.tasks))
    assert all(len(set(names)) == len(names) == wish.per_task for names in holders.values())
    loads = Counter(slip.reviewer for slip in slips)
    assert max(loads[name] for name in wish.reviewers) - min(loads[name] for name in wish.reviewers) <= 1


@given(wishes, st.integers(0, 60))
def test_the_same_wish_gives_the_same_slips_whatever_the_order_of_the_items(wish, count):
    pool = items(count)
    turned = dict(reversed(pool.items()))
    assert assign(pool, [], wish) == assign(turned, [], wish)


@given(wishes, wishes, st.integers(0, 40), st.integers(0, 40))
def test_what_was_given_out_stays_and_later_rounds_come_behind(first, second, count, more):
    before = assign(items(count), [], first)
    after = assign(items(count + more), before, second)
    last = defaultdict(lambda: -1)
    for slip in before:
        last[slip.reviewer] = max(last[slip.reviewer], slip.place)
    assert all(slip.place > last[slip.reviewer] for slip in after)
    ids = [slip.id for slip in (*before, *after)]
    assert len(set(ids)) == len(ids)
    tasks = Counter((slip.reviewer, slip.item) for slip in of_kind([*before, *after], "task"))
    assert set(tasks.values()) <= {1}


def test_nothing_is_given_out_twice_by_the_same_wish():
    wish = Wish(NAMES[:3], seed=1)
    assert assign(items(40), assign(items(40), [], wish), wish) == []


def test_a_reviewer_who_comes_later_gets_the_new_tasks_first():
    before = assign(items(20), [], Wish(NAMES[:2], calibration=0, repeats=0))
    after = assign(items(30), before, Wish(NAMES[:3], calibration=0, repeats=0))
    assert Counter(slip.reviewer for slip in after)["eva"] == 10


def test_a_sample_is_in_proportion_to_the_strata():
    pool = items(400)
    chosen = {slip.item for slip in of_kind(assign(pool, [], Wish(NAMES[:2], tasks=100)), "task")}
    sizes, taken = (Counter(pool[item].stratum for item in of) for of in (pool, chosen))
    assert len(chosen) == 100 and len(sizes) == 6
    assert all(abs(taken[stratum] - size / 4) < 1 for stratum, size in sizes.items())


def test_a_larger_sample_holds_the_smaller_one():
    small = of_kind(assign(items(400), [], Wish(NAMES[:2], tasks=50)), "task")
    more = of_kind(assign(items(400), small, Wish(NAMES[:2], tasks=90)), "task")
    assert not {slip.item for slip in small} & {slip.item for slip in more}
    assert len({slip.item for slip in (*small, *more)}) == 90


def test_every_reviewer_has_as_many_of_each_stratum():
    pool = items(300)
    found = defaultdict(Counter)
    for slip in of_kind(assign(pool, [], Wish(NAMES[:3])), "task"):
        found[pool[slip.item].stratum][slip.reviewer] += 1
    assert all(max(counts.values()) - min(counts.values()) <= 2 for counts in found.values())


def test_one_in_twenty_is_repeated_and_one_in_twenty_is_planted():
    slips = assign(items(300), [], Wish(NAMES[:3]))
    for name in NAMES[:3]:
        own = Counter(slip.kind for slip in slips if slip.reviewer == name)
        assert own == {"task": 200, "repeat": 10, "calibration": 10}
    assert {slip.defect for slip in of_kind(slips, "calibration")} <= set(DEFECTS)


def test_a_repeat_is_of_ones_own_and_comes_well_after_it():
    slips = assign(items(200), [], Wish(NAMES[:3], repeats=0.2))
    by_id = {slip.id: slip for slip in slips}
    repeats = of_kind(slips, "repeat")
    assert len(repeats) > 60
    for slip in repeats:
        first = by_id[slip.of]
        assert (first.reviewer, first.item, first.kind) == (slip.reviewer, slip.item, "task")
        assert slip.place - first.place > LEAST_GAP
    assert len({slip.of for slip in repeats}) == len(repeats)


def test_where_it_can_be_nobody_decides_on_a_task_with_and_without_a_defect():
    slips = assign(items(300), [], Wish(NAMES[:3]))
    own = {(slip.reviewer, slip.item) for slip in of_kind(slips, "task")}
    planted = of_kind(slips, "calibration")
    assert planted and not own & {(slip.reviewer, slip.item) for slip in planted}


def test_places_are_a_queue_without_gaps():
    slips = assign(items(60), [], Wish(NAMES[:3]))
    for name in NAMES[:3]:
        places = sorted(slip.place for slip in slips if slip.reviewer == name)
        assert places == list(range(len(places)))


def test_audited_drafts_are_given_out_as_far_as_asked_for():
    pool = items(20) | items(10, kind="audit")
    slips = assign(pool, [], Wish(NAMES[:2], audit=4))
    assert len({slip.item for slip in of_kind(slips, "audit")}) == 4
    assert len(of_kind(slips, "audit")) == 8


def test_a_disputed_task_goes_to_one_who_has_not_had_it_and_once():
    before = assign(items(10), [], Wish(NAMES[:2], calibration=0, repeats=0))
    disputed = sorted(items(10))[:4]
    found = adjudications(disputed, before, NAMES[:4], 0)
    assert [slip.item for slip in sorted(found, key=lambda slip: slip.item)] == disputed
    assert Counter(slip.reviewer for slip in found) == {"eva": 2, "kim": 2}
    assert adjudications(disputed, [*before, *found], NAMES[:4], 0) == []
    assert adjudications(disputed, before, NAMES[:2], 0) == []


def test_plans_go_to_so_many_each():
    found = deal_plans({f"{number:032x}": "s" for number in range(9)}, [], NAMES[:3], 2, 0)
    assert set(Counter(slip.item for slip in found).values()) == {2}
    assert set(Counter(slip.reviewer for slip in found).values()) == {6}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"reviewers": ()}, "at least one reviewer"),
        ({"reviewers": ("ada", "ada")}, "each one once"),
        (
            {"reviewers": ("ada",), "per_task": 2},
            "cannot assign 2 reviewers per task; the number of named reviewers is 1",
        ),
        ({"reviewers": ("ada", "ben"), "repeats": 1.5}, "from 0 to 1"),
    ],
)
def test_a_round_that_cannot_be_is_refused(fields, message):
    with pytest.raises(UsageError, match=message):
        Wish(**fields)
