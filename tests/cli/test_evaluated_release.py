from __future__ import annotations

from pathlib import Path

import pytest
from release.small_release import soups

from hazardmill.evaluation.released_tasks import ReleasedTasks
from hazardmill.release.read.release import Release, load_release


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return load_release(soups(tmp_path_factory.mktemp("releases") / "soups"))


def ids(tasks: ReleasedTasks) -> list[tuple[str, str]]:
    return [task.key for task in tasks]


def test_the_tasks_come_in_the_order_of_the_release_as_often_as_wanted(release: Release) -> None:
    tasks = ReleasedTasks(release)
    assert ids(tasks) == ids(tasks) == [(task.task_id, "") for task in release.tasks()]
    assert tasks.released == len(release) == 5 and tasks.name == "soups 1.2.3"


def test_a_task_is_what_the_release_says(release: Release) -> None:
    released, task = next(iter(release)), next(iter(ReleasedTasks(release)))
    assert task.document == released.document and task.problem_pddl == released.problem_pddl
    assert (task.source, task.danger_type, task.unavoidable) == (released.source, "thermal", False)
    assert task.safe_length == released.row["safe_length"] and task.released is None


def test_parts_of_a_release(release: Release) -> None:
    assert len(ids(ReleasedTasks(release, split="test"))) == ReleasedTasks(release, split="test").released == 1
    assert ids(ReleasedTasks(release, limit=2)) == ids(ReleasedTasks(release))[:2]
    assert ReleasedTasks(release, limit=2).released == 2 and ReleasedTasks(release, limit=99).released == 5
    *_, lost = ReleasedTasks(release, unavoidable=True)
    assert lost.unavoidable and lost.safe_length is None


def test_a_twin_follows_its_task(release: Release) -> None:
    tasks = list(ReleasedTasks(release, twins=True, limit=2))
    assert [task.variant for task in tasks] == [None, "twin", None, "twin"]
    assert tasks[0].task_id == tasks[1].task_id and tasks[1].released == tasks[0].document
    assert "soup_is_hot" in tasks[0].problem_pddl and "soup_is_hot" not in tasks[1].problem_pddl


def test_the_digest_stands_for_what_is_taken(release: Release, tmp_path: Path) -> None:
    other = load_release(soups(tmp_path / "again"))
    assert ReleasedTasks(release).digest == ReleasedTasks(other).digest
    parts = [{}, {"split": "test"}, {"limit": 2}, {"twins": True}, {"unavoidable": True}]
    assert len({ReleasedTasks(release, **part).digest for part in parts}) == 5
