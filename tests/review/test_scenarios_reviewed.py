"""Scenarios go through a review as tasks do: assigned, decided, counted, exported."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from hazardmill.cli.main import main
from hazardmill.review.analysis.render import grids
from hazardmill.review.analysis.statistics import statistics
from hazardmill.review.assignments.publish import give_disputed, give_tasks, unblind
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import ReviewPool, load_kinds, load_pool
from hazardmill.review.decisions.effective import opinions
from hazardmill.review.decisions.exchange import import_files
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.decisions.history import Decision
from hazardmill.review.policies import accepted_set
from hazardmill.review.recorded import record_reviews
from hazardmill.review.rubric import CRITERIA, CRITERIA_OF
from hazardmill.review.schemas import ReviewAnswer, ReviewRefusal
from hazardmill.review.service import ReviewerSession, ReviewService
from hazardmill.store.store import Store

from .support import APPROVE, answer, key, make_scenario_store, make_store, scenario_rows, slip_on, write

RISK = ReviewAnswer(verdict="reject", reasons=("risk",))
NO_HARM = ReviewAnswer(verdict="reject", reasons=("no_harm",))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A task, and two scenarios of each kind. Nobody writes to it."""
    return make_scenario_store(tmp_path_factory.mktemp("scenarios") / "store")


@pytest.fixture(scope="module")
def pool(store: Store) -> ReviewPool:
    return load_pool(store, keep=True)


@pytest.fixture
def given(folder: ReviewFolder, pool: ReviewPool) -> ReviewFolder:
    give_tasks(folder, pool, Wish(("ada", "ben"), calibration=0, repeats=0))
    return folder


@pytest.fixture
def service(given: ReviewFolder, pool: ReviewPool) -> ReviewService:
    return ReviewService(given, pool)


def put(session: ReviewerSession, slip: str, said: ReviewAnswer, **fields: Any) -> Any:
    sheet = session.sheet(slip)
    expects = sheet.mine.decision if sheet.mine else None
    return session.record(slip, said, **{"seen": sheet.seen, "expects": expects, "submission": key(), **fields})


def reject(*reasons: str) -> ReviewAnswer:
    return ReviewAnswer(verdict="reject", reasons=reasons)


def decide(service: ReviewService, reviewer: str, said: dict[str, ReviewAnswer]) -> int:
    return answer(service, reviewer, lambda slip, _: said.get(service.pool[slip.item].rubric_kind, APPROVE))


def test_scenarios_are_assigned_as_tasks_are_in_proportion_to_their_strata(folder, pool):
    give_tasks(folder, pool, Wish(("ada", "ben"), calibration=0.5, repeats=0.5))
    slips = folder.slips()
    assert {slip.item for slip in slips if slip.kind == "task"} == set(pool)
    assert {slip.item for slip in slips if slip.kind == "calibration"} <= {i for i in pool if pool[i].kind == "task"}


def test_planted_defects_are_a_share_of_the_tasks_alone(tmp_path, folder):
    store = make_store(tmp_path / "store", 6)
    write(store, *(scenario_rows(number) for number in range(6, 18)))
    give_tasks(folder, load_pool(store), Wish(("ada",), per_task=1, calibration=0.5, repeats=0))
    assert Counter(slip.kind for slip in folder.slips()) == {"task": 18, "calibration": 3}


def test_scenarios_are_repeated_as_tasks_are(tmp_path, folder):
    store = make_store(tmp_path / "store", 0)
    write(store, *(scenario_rows(number) for number in range(12)))
    pool = load_pool(store)
    give_tasks(folder, pool, Wish(("ada",), per_task=1, calibration=0, repeats=0.25))
    assert Counter(slip.kind for slip in folder.slips()) == {"task": 12, "repeat": 3}
    assert {pool[slip.item].kind for slip in folder.slips() if slip.kind == "repeat"} == {"scenario"}


def test_a_sample_takes_scenarios_too(tmp_path, folder):
    store = make_store(tmp_path / "store", 6)
    write(store, *(scenario_rows(3 * number) for number in range(6)))
    pool = load_pool(store)
    give_tasks(folder, pool, Wish(("ada",), per_task=1, tasks=4, calibration=0, repeats=0))
    assert Counter(pool[slip.item].kind for slip in folder.slips()) == {"task": 2, "scenario": 2}


@pytest.mark.parametrize("kind", ["task", "mal", "sit"])
def test_a_sheet_has_the_reasons_of_its_kind_and_no_other_is_recorded(service, kind):
    session, slip = service.session("ada"), slip_on(service, kind)
    assert session.sheet(slip).criteria == CRITERIA_OF[kind]
    other = {"task": "risk", "mal": "hints", "sit": "no_harm"}[kind]
    with pytest.raises(ReviewRefusal, match=f"has no reason {other} for a ") as refused:
        put(session, slip, reject(other))
    assert refused.value.code == "invalid" and session.progress().decided == 0
    for reason in CRITERIA_OF[kind]:
        put(session, slip, ReviewAnswer(verdict="reject", reasons=(reason,), note="why"))
    assert session.sheet(slip).mine.reasons == ("other",)


def test_a_decision_on_a_scenario_is_recorded_taken_back_and_stale_once_it_changes(tmp_path, folder):
    store = make_store(tmp_path / "store", 0)
    write(store, scenario_rows(0))
    give_tasks(folder, load_pool(store), Wish(("ada",), per_task=1, calibration=0, repeats=0))
    service = ReviewService.open(store, folder)
    session = service.session("ada")
    sheet = session.next()
    submission = key()
    first = put(session, sheet.slip, RISK, submission=submission)
    again = put(session, sheet.slip, RISK, submission=submission, expects=None)
    assert again.repeated and again.decision == first.decision and session.next() is None
    assert session.undo(submission=key()).mine is None and session.next().slip == sheet.slip
    put(session, sheet.slip, APPROVE)
    write(store, scenario_rows(0, context="Supper.", run="s"), run="s")
    service.refresh(store)
    assert session.progress().stale == 1 and session.next().mine.stale
    with pytest.raises(ReviewRefusal) as refused:
        put(session, sheet.slip, APPROVE, seen=sheet.seen)
    assert refused.value.code == "stale"


def test_what_was_kept_from_a_reviewer_is_shown_after_unblinding_only(service):
    session, slip = service.session("ada"), slip_on(service, "sit")
    put(session, slip, APPROVE)
    with pytest.raises(ReviewRefusal):
        session.reveal(slip)
    unblind(service.folder)
    assert (session.reveal(slip).kind, session.reveal(slip).judged) == ("task", True)


def test_one_rejection_of_two_rejects_a_scenario_and_a_third_reviewer_settles_it(service, pool):
    decide(service, "ada", {"sit": RISK})
    decide(service, "ben", {})
    held = opinions(service.folder, pool)
    found = accepted_set(pool, held, "any-reject")
    assert {pool[item].rubric_kind for item in found.accepted} == {"task", "mal"}
    assert {pool[item].rubric_kind for item in found.rejected} == {"sit"} and len(found.rejected) == 2
    given = give_disputed(service.folder, pool, ["eva"], seed=0)
    assert given.slips == {"eva": {"adjudication": 2}}
    answer(service, "eva", lambda *_: APPROVE)
    assert len(accepted_set(pool, opinions(service.folder, pool), "adjudicated").accepted) == 5


def test_statistics_count_scenarios_by_kind_and_their_reasons_over_those_that_have_them(service, pool):
    decide(service, "ada", {"sit": RISK, "mal": NO_HARM})
    decide(service, "ben", {"sit": RISK})
    found = statistics(service.folder, pool)
    assert {kind: (rate.count, rate.n) for kind, rate in found.by_kind.items()} == {
        "mal": (2, 2),
        "sit": (2, 2),
        "task": (0, 1),
    }
    counts = {name: (rate.count, rate.n) for name, rate in found.by_criterion.items()}
    assert (counts["risk"], counts["no_harm"], counts["norm"]) == ((2, 2), (2, 2), (0, 1))
    # A sit scenario and a task can be rejected for hints, a mal one cannot; any for its request.
    assert (counts["hints"], counts["request"]) == ((0, 3), (0, 5))
    assert set(found.by_type) == {"thermal", "mal: burned object", "sit: burned object"}
    assert found.agreement.cohen["ada,ben"].n == 5
    texts = {cell for grid in grids(found) for row in (*grid.rows, grid.head, (grid.title,)) for cell in row}
    assert {"Tasks and scenarios under any-reject", "tasks and scenarios", "scenarios mal", "tasks"} <= texts


def test_statistics_of_tasks_alone_do_not_speak_of_scenarios(folder, tmp_path):
    pool = load_pool(make_store(tmp_path / "store", 2))
    found = statistics(folder, pool)
    assert set(found.by_criterion) == set(CRITERIA) and found.by_kind == {}
    assert not any("scenario" in text for grid in grids(found) for row in (*grid.rows, (grid.title,)) for text in row)


def test_models_reviews_of_scenarios_are_recorded(folder, pool, tmp_path):
    give_tasks(folder, pool, Wish(("model-a",), per_task=1, calibration=0, repeats=0))
    answer(ReviewService(folder, pool), "model-a", lambda *_: APPROVE)
    assert sum(made.tasks for made in record_reviews(folder, pool, tmp_path / "out")) == 5


@pytest.fixture
def hazardmill(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder) -> Callable[..., str]:
    """Run a command of review, and return what it printed."""

    def run(*words: object, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["hazardmill", "review", *map(str, words), "--review", str(folder.path)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        assert (left.value.code or 0) == code
        return capsys.readouterr().out

    return run


def test_from_assignment_to_the_same_decisions_in_another_copy(hazardmill, folder, store, pool, tmp_path):
    reviewers = ("--reviewer", "ada", "--reviewer", "ben", "--calibration", 0, "--repeats", 0)
    assert hazardmill("assign", *reviewers, "--store", store.path) == "ada: 5 task\nben: 5 task\n"
    copy = ReviewFolder(shutil.copytree(folder.path, tmp_path / "copy"))
    decide(ReviewService(folder, pool), "ada", {"sit": RISK})
    for name in ("ada.csv", "ada.jsonl"):
        assert "5 lines" in hazardmill("export", tmp_path / name)
        assert hazardmill("import", tmp_path / name, "--store", store.path) == "0 new, 5 known, 0 refused\n"
    assert import_files(copy, [tmp_path / "ada.csv"], kinds=load_kinds(store)).new == 5
    assert opinions(copy, pool) == opinions(folder, pool)
    figures = json.loads(hazardmill("stats", "--json", "--store", store.path))
    assert figures["accepted"]["counts"] == {"accepted": 0, "rejected": 2, "waiting": 3}
    assert "Tasks and scenarios under any-reject" in hazardmill("stats", "--store", store.path)


def test_a_line_with_a_reason_of_another_kind_is_refused_if_the_kind_is_known(given, store, pool, tmp_path):
    slip = next(slip for slip in given.slips() if pool[slip.item].rubric_kind == "sit")
    line = Decision(
        reviewer=slip.reviewer,
        at=given.now(),
        slip=slip.id,
        item=slip.item,
        verdict="reject",
        reasons=("causation",),
        seen=pool[slip.item].seen,
        rubric="1.1",
        app="hazardmill 0",
        submission="by-hand",
    ).with_id()
    file = tmp_path / "by-hand.jsonl"
    file.write_text(f"{line.line()}\n")
    (refused,) = import_files(given, [file], kinds=load_kinds(store)).refused
    assert refused.line == 1 and "has no reason causation for a scenario of the kind sit" in refused.message
    assert import_files(given, [file]).new == 1
