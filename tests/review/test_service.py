from __future__ import annotations

import json
import threading
from collections import Counter

import pytest

from hazardmill.errors import UsageError
from hazardmill.review.analysis.intent import read_plans
from hazardmill.review.assignments.publish import give_plans, give_tasks, unblind
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import load_pool
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.schemas import ReviewAnswer, ReviewRefusal
from hazardmill.review.service import ReviewService
from hazardmill.store.store import Store

from .support import APPROVE, REJECT, SKIP, UNSURE, Clock, answer, key, make_store, rows_of, write

CHANCE = ReviewAnswer(verdict="by_chance")


@pytest.fixture
def given(folder, pool):
    """Everything given out to two reviewers, with audits, repeats and planted defects."""
    give_tasks(folder, pool, Wish(("ada", "ben"), audit=3, calibration=0.25, repeats=0.25))
    return folder


@pytest.fixture
def session(given, service):
    return service.session("ada")


def put(session, sheet, said, **fields):
    expects = sheet.mine.decision if sheet.mine else None
    return session.record(sheet.slip, said, **{"seen": sheet.seen, "expects": expects, "submission": key(), **fields})


def test_a_reviewer_gets_every_slip_once_in_order_and_then_nothing(given, service, session):
    slips = given.assignments().of["ada"]
    seen = []
    assert answer(service, "ada", lambda slip, sheet: seen.append(slip) or APPROVE) == len(slips)
    assert [slip.place for slip in seen] == list(range(len(slips)))
    assert session.next() is None
    progress = session.progress()
    assert (progress.total, progress.decided, progress.open) == (len(slips), len(slips), 0)


def test_a_decision_says_who_when_what_why_and_of_what(given, service, session):
    sheet = session.next()
    receipt = put(session, sheet, ReviewAnswer(verdict="reject", reasons=("hints",), note="gently", seconds=3.5))
    (line,) = (given.path / "decisions" / "ada.jsonl").read_text().splitlines()
    written = json.loads(line)
    assert written["id"] == receipt.decision and written["slip"] == sheet.slip
    assert written["reviewer"] == "ada" and written["at"].startswith("2026-05-01T12:00:")
    assert (written["verdict"], written["reasons"], written["note"], written["seconds"]) == (
        "reject",
        ["hints"],
        "gently",
        3.5,
    )
    assert written["rubric"] == "1.3" and written["app"].startswith("hazardmill ") and written["seen"] == sheet.seen
    assert session.sheet(sheet.slip).mine == receipt.mine


def test_the_same_submission_counts_once_and_another_answer_under_it_is_refused(session):
    sheet, submission = session.next(), key()
    first = put(session, sheet, APPROVE, submission=submission)
    again = put(session, sheet, APPROVE, submission=submission)
    assert (again.decision, again.repeated, first.repeated) == (first.decision, True, False)
    with pytest.raises(ReviewRefusal) as told:
        put(session, sheet, REJECT, submission=submission)
    assert told.value.code == "conflict"
    assert session.progress().decided == 1


def test_a_second_tab_cannot_answer_over_the_first(session):
    sheet = session.next()
    put(session, sheet, APPROVE)
    with pytest.raises(ReviewRefusal) as told:
        put(session, sheet, REJECT)
    assert told.value.code == "conflict"
    fresh = session.sheet(sheet.slip)
    assert put(session, fresh, REJECT).mine.verdict == "reject"


def test_undo_brings_back_what_was_before_and_the_slip_comes_again(session):
    first = session.next()
    put(session, first, APPROVE)
    second = session.next()
    made = put(session, second, REJECT)
    submission = key()
    receipt = session.undo(submission=submission, decision=made.decision)
    assert receipt.slip == second.slip and receipt.mine is None
    assert session.undo(submission=submission).repeated
    assert session.next().slip == second.slip
    session.undo(submission=key())
    assert session.next().slip == first.slip
    with pytest.raises(ReviewRefusal) as told:
        session.undo(submission=key())
    assert told.value.code == "nothing"
    put(session, first, UNSURE)
    with pytest.raises(ReviewRefusal) as told:
        session.undo(submission=key(), decision=made.decision)
    assert told.value.code == "conflict"


def test_undo_of_a_second_answer_leaves_the_first(session):
    sheet = session.next()
    put(session, sheet, APPROVE)
    put(session, session.sheet(sheet.slip), REJECT)
    assert session.undo(submission=key()).mine.verdict == "approve"
    assert [mine.verdict for mine in session.history()] == ["approve"]


def test_what_is_skipped_comes_again_at_the_end(given, service, session):
    first = session.next().slip
    order = []

    def say(slip, sheet):
        order.append(slip.id)
        return SKIP if order.count(slip.id) == 1 and slip.id == first else APPROVE

    answer(service, "ada", say)
    assert order[0] == order[-1] == first or given.assignments().by_id[order[-1]].of == first
    assert len(order) == len(given.assignments().of["ada"]) + 1
    assert session.progress().skipped == 0


def test_a_repeat_never_comes_before_its_first_time(given, service):
    done = set()

    def say(slip, sheet):
        assert slip.of is None or slip.of in done
        if slip.kind == "task" and slip.place % 2 and slip.id not in skipped:
            skipped.add(slip.id)
            return SKIP
        done.add(slip.id)
        return APPROVE

    skipped = set()
    answer(service, "ada", say)
    assert {slip.id for slip in given.assignments().of["ada"]} == done and skipped


def test_nothing_that_a_reviewer_is_shown_tells_what_kind_of_slip_it_is(given, service, session):
    answer(service, "ben", lambda slip, sheet: REJECT)
    kinds = Counter()
    shapes = set()

    def shape(value):
        # Names of fields, in order; of values only whether there is one. A plan that was cut has no danger at its end:
        # that may be seen, and is to be.
        if isinstance(value, dict):
            return tuple((name, shape(item)) for name, item in value.items() if name != "danger")
        return value is None

    def say(slip, sheet):
        kinds[slip.kind] += 1
        shown = sheet.model_dump(mode="json")
        text = json.dumps(shown)
        for secret in (slip.kind, slip.defect, slip.item, "ben", "judge", "calibration", "repeat", "audit"):
            assert secret in (None, "task") or secret not in text, secret
        assert set(shown) == {"slip", "about", "shown", "plan", "verdicts", "criteria", "seen", "mine"}
        shapes.add(shape(shown))
        return APPROVE

    answer(service, "ada", say)
    assert set(kinds) == {"task", "audit", "calibration", "repeat"}
    assert len(shapes) == 1, "a kind is told by which fields are there"


def test_nobody_sees_others_before_unblinding(given, service, session):
    answer(service, "ben", lambda slip, sheet: REJECT)
    mine = next(slip for slip in given.assignments().of["ada"] if slip.kind == "task")
    with pytest.raises(ReviewRefusal) as told:
        session.reveal(mine.id)
    assert told.value.code == "blind"
    assert unblind(given) and not unblind(given)
    shown = session.reveal(mine.id)
    assert shown.kind == "task" and shown.judged is True
    assert {other.reviewer: other.verdict for other in shown.others} == {"ben": "reject"}


@pytest.mark.parametrize("use", ["sheet", "record", "tried", "revealed"])
def test_a_slip_of_another_is_as_none_at_all(given, service, session, use):
    theirs = given.assignments().of["ben"][0].id
    calls = {
        "sheet": lambda slip: session.sheet(slip),
        "record": lambda slip: session.record(slip, APPROVE, seen="0" * 64, expects=None, submission=key()),
        "tried": lambda slip: session.try_plan(slip, "()"),
        "revealed": lambda slip: session.reveal(slip),
    }
    said = []
    for slip in (theirs, "0" * 32, "../../etc/passwd"):
        with pytest.raises(ReviewRefusal) as told:
            calls[use](slip)
        assert told.value.code == "not_yours"
        said.append(str(told.value))
    assert len(set(said)) == 1
    assert not (given.path / "decisions" / "ada.jsonl").exists()


@pytest.mark.parametrize("name", ["../ada", "Ada", "", "_assignments", "a" * 40, "ada\n"])
def test_a_name_that_is_none_has_no_session(given, service, name):
    with pytest.raises(UsageError, match="not a valid name of a reviewer"):
        service.session(name)


def test_who_was_given_nothing_has_no_session(given, service):
    with pytest.raises(ReviewRefusal) as told:
        service.session("eva")
    assert told.value.code == "not_yours"


@pytest.mark.parametrize(
    "said",
    [
        ReviewAnswer(verdict="reject"),
        ReviewAnswer(verdict="approve", reasons=("hints",)),
        ReviewAnswer(verdict="on_purpose"),
        ReviewAnswer(verdict="approve", note="x" * 5000),
        ReviewAnswer(verdict="approve", seconds=-1),
    ],
)
def test_an_answer_that_the_rubric_does_not_know_is_refused(session, said):
    with pytest.raises(ReviewRefusal) as told:
        put(session, session.next(), said)
    assert told.value.code == "invalid"
    assert session.progress().decided == 0


def test_what_was_shown_must_be_what_is_there(session):
    with pytest.raises(ReviewRefusal) as told:
        put(session, session.next(), APPROVE, seen="0" * 64)
    assert told.value.code == "stale"


def test_a_decision_on_a_task_that_changed_is_stale_and_comes_again(tmp_path, project, folder):
    store = make_store(tmp_path / "store", 6)
    service = ReviewService.open(store, folder)
    give_tasks(folder, service.pool, Wish(("ada", "ben"), calibration=0, repeats=0))
    answer(service, "ada", lambda slip, sheet: APPROVE)
    session = service.session("ada")
    assert session.next() is None
    write(store, rows_of(2, context="Cold soup.", run="s"), run="s")
    service.refresh(store)
    sheet = session.next()
    assert sheet.task.context == "Cold soup." and sheet.mine.stale
    assert (session.progress().stale, session.progress().decided) == (1, 5)
    assert [mine.stale for mine in session.history() if mine.slip == sheet.slip] == [True]
    put(session, sheet, REJECT)
    assert session.next() is None and session.progress().stale == 0


def test_another_process_on_the_same_folder_is_seen_at_once(given, service, session, pool):
    other = ReviewService(ReviewFolder(given.path, clock=Clock()), pool).session("ada")
    sheet = session.next()
    put(other, other.next(), APPROVE)
    assert session.next().slip != sheet.slip
    with pytest.raises(ReviewRefusal) as told:
        put(session, sheet, APPROVE)
    assert told.value.code == "conflict"
    give_tasks(given, pool, Wish(("ada", "ben", "eva"), per_task=3))
    assert session.progress().total == other.progress().total == len(given.assignments().of["ada"])


def test_a_clock_that_is_put_back_turns_nothing_round(given, session):
    sheet = session.next()
    put(session, sheet, APPROVE)
    given._clock.time = given._clock.time.replace(year=2020)
    put(session, session.sheet(sheet.slip), REJECT)
    assert session.sheet(sheet.slip).mine.verdict == "reject"
    assert ReviewFolder(given.path).decision_log("ada").history().current(sheet.slip).verdict == "reject"


def test_threads_that_answer_at_once_lose_and_double_nothing(given, service, session):
    slips = given.assignments().of["ada"]
    told = []

    def work():
        while (sheet := session.next()) is not None:
            try:
                put(session, sheet, APPROVE)
            except ReviewRefusal as refusal:
                told.append(refusal.code)
            session.progress(), session.history()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (given.path / "decisions" / "ada.jsonl").read_text().splitlines()
    assert Counter(json.loads(line)["slip"] for line in lines) == {slip.id: 1 for slip in slips}
    assert set(told) <= {"conflict"}


def test_a_plan_is_tried_with_its_steps(session):
    sheet = session.next()
    bad = session.try_plan(sheet.slip, sheet.task.unsafe.plan)
    assert (bad.feasible, bad.safe, bad.first_danger) == (True, False, 1)
    assert bad.steps[0].fired == ("(soup_is_hot)", "(not (moving_slowly))")
    good = session.try_plan(sheet.slip, "(REDUCE_SPEED) then (carry table)")
    assert (good.feasible, good.safe, good.first_danger) == (True, True, None)
    none = session.try_plan(sheet.slip, "(fly)")
    assert none.steps[0].unmet == ("there is no action fly",) and none.missing_goal == ()
    assert "bowl" in session.try_plan(sheet.slip, "").missing_goal[0]
    for plan in ("(reduce_speed)" * 201, " " * 20_001):
        with pytest.raises(UsageError, match="too long"):
            session.try_plan(sheet.slip, plan)


@pytest.mark.parametrize(
    "damage",
    [
        {"document": json.dumps({"format": "something else"})},
        {"certificate": json.dumps({"lines": [{"name": "contextual"}]})},
        {"certificate": "{"},
    ],
)
def test_a_task_that_cannot_be_shown_is_told_once_and_keeps_nobody_from_the_others(tmp_path, folder, caplog, damage):
    rows = [rows_of(number) for number in range(4)]
    rows[0]["tasks"][0] |= damage
    store = Store.open(tmp_path / "store", create=True)
    write(store, *rows)
    pool = load_pool(store, keep=True)
    give_tasks(folder, pool, Wish(("ada",), per_task=1, calibration=0, repeats=0))
    service, bad = ReviewService(folder, pool), rows[0]["tasks"][0]["task_id"]
    seen = []
    assert answer(service, "ada", lambda slip, sheet: seen.append(slip.item) or APPROVE) == 3
    assert bad not in seen and len(set(seen)) == 3
    session = service.session("ada")
    progress = session.progress()
    assert (progress.total, progress.decided, progress.open, progress.gone) == (4, 3, 0, 1)
    (slip,) = [slip for slip in folder.assignments().of["ada"] if slip.item == bad]
    with pytest.raises(ReviewRefusal) as told:
        session.sheet(slip.id)
    assert told.value.code == "broken"
    (line,) = [record.getMessage() for record in caplog.records if bad in record.getMessage()]
    assert "cannot be shown" in line
    # Mended, it comes.
    write(store, rows_of(0, run="s"), run="s")
    service.refresh(store)
    assert session.next().slip == slip.id and session.progress().gone == 0


def test_a_plan_that_is_too_long_to_be_shown_keeps_nobody_from_the_others(tmp_path, given, pool, service):
    item = next(item for item in pool.values() if item.kind == "task").item
    told = tmp_path / "plans.jsonl"
    plans = ["(reduce_speed)", "(reduce_speed) " * 300]
    told.write_text("".join(f"{json.dumps({'item': item, 'planner': 'p', 'plan': plan})}\n" for plan in plans))
    give_plans(given, read_plans(told, pool), ["eva"], most=None, each=1, seed=0)
    shown = []
    assert answer(service, "eva", lambda slip, sheet: shown.append(sheet.plan.plan) or CHANCE) == 1
    assert shown == ["(reduce_speed)"] and service.session("eva").progress().gone == 1
