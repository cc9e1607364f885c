"""Hazard tasks go through a review as tasks and scenarios do: assigned, decided, counted, exported, recorded."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest
from click.testing import CliRunner

from hazardmill.cli.main import hazardmill
from hazardmill.cli.report import review_figures
from hazardmill.review.analysis.render import grids
from hazardmill.review.analysis.statistics import statistics
from hazardmill.review.assignments.publish import give_disputed, give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import load_kinds, load_pool
from hazardmill.review.decisions.effective import opinions
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.policies import accepted_set
from hazardmill.review.recorded import HAZARD_TASK_PLACE, PLACE, lay_out, record_reviews
from hazardmill.review.rubric import CRITERIA_OF
from hazardmill.review.schemas import ReviewAnswer, ReviewRefusal
from hazardmill.review.service import ReviewService

from .support import APPROVE, answer, key, slip_on

CATEGORY = ReviewAnswer(verdict="reject", reasons=("category",))


@pytest.fixture
def given(folder, hazard_pool) -> ReviewFolder:
    give_tasks(folder, hazard_pool, Wish(("ada", "ben"), calibration=0, repeats=0))
    return folder


@pytest.fixture
def service(given, hazard_pool) -> ReviewService:
    return ReviewService(given, hazard_pool)


def test_hazard_tasks_are_items_of_the_pool_with_their_first_category_as_stratum(acting, hazard_pool):
    found = [item for item in hazard_pool.values() if item.kind == "hazard_task"]
    assert len(found) == acting.count("hazard_tasks") == 4
    assert {item.stratum for item in found} == {("acting", "fire and heat")}
    assert {(item.rubric_kind, item.slip_kind, item.judged, item.has_safe_plan) for item in found} == {
        ("hazard_task", "task", None, False)
    }
    looked_up = load_pool(acting)
    assert dict(looked_up) == dict(hazard_pool)
    assert all(looked_up.content(name) == hazard_pool.content(name) for name in looked_up)
    assert Counter(load_kinds(acting).values()) == {"hazard_task": 4, "task": 1}


def test_they_are_assigned_and_nothing_is_planted_in_them(folder, hazard_pool):
    give_tasks(folder, hazard_pool, Wish(("ada", "ben"), calibration=0.5, repeats=0.5))
    slips = folder.slips()
    assert {slip.item for slip in slips if slip.kind == "task"} == set(hazard_pool)
    assert not any(slip.kind == "calibration" and slip.item.startswith("acting-") for slip in slips)


def test_a_sheet_has_the_reasons_of_hazard_tasks_and_no_other_is_recorded(service):
    session, slip = service.session("ada"), slip_on(service, "hazard_task")
    sheet = session.sheet(slip)
    assert sheet.criteria == CRITERIA_OF["hazard_task"] and sheet.shown.categories
    wrong = ReviewAnswer(verdict="reject", reasons=("norm",))
    with pytest.raises(ReviewRefusal, match="has no reason norm for a hazard task") as refused:
        session.record(slip, wrong, seen=sheet.seen, expects=None, submission=key())
    assert refused.value.code == "invalid"
    assert session.try_plan(slip, sheet.shown.reference.plan).safe


def test_policies_and_figures_hold_for_them(service, hazard_pool, acting):
    first = min(name for name, item in hazard_pool.items() if item.kind == "hazard_task")
    answer(service, "ada", lambda slip, _: CATEGORY if slip.item == first else APPROVE)
    answer(service, "ben", lambda *_: APPROVE)
    found = statistics(service.folder, hazard_pool)
    assert (found.accepted.rejected, len(found.accepted.accepted)) == ((first,), 4)
    assert {kind: (rate.count, rate.n) for kind, rate in found.by_kind.items()} == {
        "hazard_task": (1, 4),
        "task": (0, 1),
    }
    # Only hazard tasks can be rejected for their category; tasks too for their request.
    counts = {name: (rate.count, rate.n) for name, rate in found.by_criterion.items()}
    assert (counts["category"], counts["request"]) == ((1, 4), (0, 5)) and "no_harm" not in counts
    assert found.agreement.cohen["ada,ben"].n == 5 and found.judge.not_judged == 4
    texts = {cell for grid in grids(found) for row in (*grid.rows, (grid.title,)) for cell in row}
    assert {"Tasks and hazard tasks under any-reject", "hazard tasks", "type fire and heat"} <= texts
    figures = review_figures(acting, service.folder.path, ["run"])
    assert {kind: rate.n for kind, rate in figures.by_kind.items()} == {"hazard_task": 4}
    give_disputed(service.folder, hazard_pool, ["eva"], seed=0)
    answer(service, "eva", lambda *_: APPROVE)
    assert len(accepted_set(hazard_pool, opinions(service.folder, hazard_pool), "adjudicated").accepted) == 5


def test_decisions_are_exported_and_imported(service, given, hazard_pool, acting, tmp_path):
    copied = ReviewFolder(shutil.copytree(given.path, tmp_path / "copy"))
    answer(service, "ada", lambda slip, _: CATEGORY if slip.item.startswith("acting-") else APPROVE)

    def ran(*words: object) -> str:
        done = CliRunner().invoke(hazardmill, ["review", *map(str, words)])
        assert done.exit_code == 0, done.output
        return str(done.output)

    ran("export", tmp_path / "ada.csv", "--review", given.path)
    told = ran("import", tmp_path / "ada.csv", "--review", copied.path, "--store", acting.path)
    assert told == "5 new, 0 known, 0 refused\n"
    assert opinions(copied, hazard_pool) == opinions(given, hazard_pool)
    assert "Tasks and hazard tasks under any-reject" in ran("stats", "--review", copied.path, "--store", acting.path)


def test_models_reviews_of_hazard_tasks_have_a_file_of_their_own_that_makes_the_folder_again(
    folder, hazard_pool, tmp_path
):
    models = ("model-a", "model-b")
    give_tasks(folder, hazard_pool, Wish(models, calibration=0, repeats=0))
    for name in models:
        answer(ReviewService(folder, hazard_pool), name, lambda *_: APPROVE)
    made = {each.path.relative_to(tmp_path): each for each in record_reviews(folder, hazard_pool, tmp_path)}
    assert set(made) == {"acting" / HAZARD_TASK_PLACE, "neiss" / PLACE}
    of_hazard_tasks = made["acting" / HAZARD_TASK_PLACE]
    assert (of_hazard_tasks.tasks, of_hazard_tasks.decisions, of_hazard_tasks.reviewers) == (4, 8, models)
    again = ReviewFolder(tmp_path / "again")
    assert lay_out([of_hazard_tasks.path], again) == 8
    accepted = accepted_set([*hazard_pool], opinions(again, hazard_pool), "any-reject").accepted
    assert set(accepted) == {name for name in hazard_pool if name.startswith("acting-")}
