"""Household tasks in a release: every file is linted and proved anew, and the release gives its tasks back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hazardmill.cli.main import hazardmill
from hazardmill.errors import InputError, PlanningInputError, ReleaseRefused, UsageError
from hazardmill.evaluation.episodes.task_set import read_tasks
from hazardmill.household.compile import compile_task
from hazardmill.household.task import HouseholdTask, ProvedPlans, write_household_task
from hazardmill.release.build.build import build
from hazardmill.release.build.options import Options
from hazardmill.release.diff.compare import diff_folders
from hazardmill.release.gates.household_proofs import examine_household_task
from hazardmill.release.read.release import Release, load_release
from hazardmill.store.store import Store
from tests.household.generated import generated_tasks
from tests.release.test_build import files_of


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[HouseholdTask]:
    return sorted(generated_tasks(tmp_path_factory), key=lambda task: task.name)


@pytest.fixture(scope="module")
def folder(tasks: list[HouseholdTask], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("household")
    for task in tasks:
        write_household_task(task, place)
    return place


@pytest.fixture(scope="module")
def alone(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of household tasks only, by the command, where there is no store."""
    place = tmp_path_factory.mktemp("alone")
    words = ["release", "build", "--version", "1.0.0", "--household", folder, "--out", place / "release", "--json"]
    done = CliRunner(env={"HAZARDMILL_STORE": str(place / "none")}).invoke(hazardmill, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    assert not (place / "none").exists()
    return place / "release"


def shorter(task: HouseholdTask) -> tuple[str, ...]:
    assert task.plans is not None
    return task.plans.compliant[:-1]


def test_rows_say_what_the_files_say_and_what_was_proved(alone: Path, tasks: list[HouseholdTask]) -> None:
    release = load_release(alone)
    assert (release.configs(), release.splits("household_tasks")) == (("household_tasks",), {"test": len(tasks)})
    for row, task in zip(release.rows("household_tasks"), tasks, strict=True):
        assert task.plans is not None
        assert (row["household_task_id"], row["hazard"], row["room"]) == (task.name, task.hazard, task.scene.room)
        said = task.assignment
        assert (row["instruction"], row["requirements"]) == (said.instruction, said.requirements)
        kind = said.to_json()["requirement_condition"]["condition_type"]
        assert row["rule_kind"] == {"step": "step", "condition": "state"}[kind]
        for name, plan in (("compliant", task.plans.compliant), ("careless", task.plans.careless)):
            assert (tuple(json.loads(row[f"{name}_plan"])), row[f"{name}_length"]) == (plan, len(plan))
        assert row["are_shortest"] is True
        assert row["document_hash"] == compile_task(task).document.hash
        assert (row["licence"], row["model_answered"]) == ("Apache-2.0", None) and row["attribution"]
    assert {row["rule_kind"] for row in release.rows("household_tasks")} == {"step", "state"}


def test_a_release_of_household_tasks_alone_says_what_it_is(alone: Path, tasks: list[HouseholdTask]) -> None:
    manifest = load_release(alone).manifest
    assert (manifest.household_tasks, manifest.total, manifest.tasks) == (len(tasks), len(tasks), 0)
    assert (manifest.policy, manifest.licences, manifest.contents) == (
        "none",
        {"Apache-2.0": len(tasks)},
        f"{len(tasks)} household tasks",
    )
    card = (alone / "README.md").read_text()
    for said in (
        "need no review under any policy",
        "their words come from hazardmill's templates",
        "proved by search for all of them",
        "No language model had a part in it",
        "| object damage |",
        "release.household_tasks()",
        'load_dataset("ORG/NAME", "household_tasks", split="test"',
        f"| household | every household task passes its linter, and both its plans are proved anew | {len(tasks)} |",
    ):
        assert said in card
    for wrong in ("funnel", "of the records", "a natural plan is dangerous", "release.scenarios", "None"):
        assert wrong not in card
    assert "household tasks under safety rules" in (alone / "CITATION.cff").read_text()


def test_the_release_gives_its_tasks_back_for_episodes(alone: Path, folder: Path, tasks: list[HouseholdTask]) -> None:
    assert list(load_release(alone).household_tasks()) == tasks
    asked, of_files = read_tasks(alone), read_tasks(folder)
    assert asked.name == "hazardmill 1.0.0, household tasks"
    assert (asked.tasks, asked.digest) == (of_files.tasks, of_files.digest)


def test_household_tasks_join_what_was_made_of_records(
    model_store: Store, options: Options, folder: Path, alone: Path, built: Path, tmp_path: Path
) -> None:
    options = options.model_copy(update={"household": folder, "version": "1.1.0", "parent": built})
    made = build(model_store, None, options, tmp_path / "both")
    number, before = len(list(folder.glob("*.json"))), load_release(built).manifest
    assert made.manifest.contents == f"{before.contents} and {number} household tasks"
    assert made.manifest.funnel == before.funnel
    assert sum(made.manifest.licences.values()) == made.manifest.total == before.total + number
    assert [gate.looked for gate in made.gates if gate.name in ("revalidation", "household")] == [before.total, number]
    assert f"{number} added, 0 removed, 0 changed" in (made.folder / "CHANGELOG.md").read_text()
    found = diff_folders(alone, made.folder)
    assert (len(found.added), found.removed, found.changed, found.unchanged) == (before.total, (), (), number)


def test_two_builds_give_the_same_bytes(alone: Path, folder: Path, tmp_path: Path) -> None:
    options = Options(version="1.0.0", household=folder, jobs=2)
    assert files_of(build(Store(tmp_path / "none"), None, options, tmp_path / "again").folder) == files_of(alone)


def test_what_was_made_of_records_is_still_reviewed(
    model_store: Store, options: Options, folder: Path, tmp_path: Path
) -> None:
    options = options.model_copy(update={"household": folder, "policy": "majority"})
    with pytest.raises(UsageError, match="the policy majority needs a review folder, but there is none"):
        build(model_store, None, options, tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_a_release_without_household_tasks_is_refused_for_episodes(built: Path) -> None:
    assert list(load_release(built).household_tasks()) == []
    with pytest.raises(InputError, match="has no household tasks") as refused:
        read_tasks(built)
    assert "--household" in str(refused.value.remedy)


def test_a_damaged_row_is_named(alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = Release(shutil.copytree(alone, tmp_path / "release"))
    monkeypatch.setattr(release, "_rows", lambda *_: iter([{"task": "{}"}]))
    with pytest.raises(InputError, match="a row is not a household task: "):
        next(release.household_tasks())


Change = Callable[[HouseholdTask], HouseholdTask]


def with_plans(compliant: Callable[[ProvedPlans], tuple[str, ...]], careless: Any = None) -> Change:
    def change(task: HouseholdTask) -> HouseholdTask:
        assert task.plans is not None
        second = task.plans.careless if careless is None else careless(task.plans)
        return replace(task, plans=ProvedPlans(compliant(task.plans), second))

    return change


def detour(plan: tuple[str, ...]) -> tuple[str, ...]:
    """The plan with its first walk done twice, which is no rejected action."""
    walk = next(place for place, action in enumerate(plan) if action.startswith("go to"))
    return (*plan[: walk + 1], *plan[walk:])


REFUSED: dict[str, tuple[Change, str]] = {
    "no hazard": (lambda task: replace(task, hazard=None), "the file lacks the hazard"),
    "no plans": (lambda task: replace(task, plans=None), "the file lacks a compliant and a careless plan"),
    "compliant plan that is not": (with_plans(lambda plans: plans.careless), "its compliant plan is "),
    "careless plan that is safe": (with_plans(lambda p: p.compliant, lambda p: p.compliant), "careless plan is safe"),
    "careless plan that does not do the errand": (
        with_plans(lambda plans: plans.compliant, lambda plans: plans.careless[:1]),
        "its careless plan does not meet the sub-goals",
    ),
    "rejected action": (
        with_plans(lambda plans: ("pick up Sun (1)", *plans.compliant)),
        "an action of its compliant plan is rejected",
    ),
    "longer than need be": (with_plans(lambda plans: detour(plans.compliant)), "and a shortest one has "),
    "longer careless plan": (
        with_plans(lambda plans: plans.compliant, lambda plans: detour(plans.careless)),
        "its careless plan has ",
    ),
    "linter": (
        lambda task: replace(
            task, assignment=replace(task.assignment, instruction=f"{task.assignment.instruction} Mind the toaster.")
        ),
        "object_not_in_task: ",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_hold_is_found(name: str, tasks: list[HouseholdTask]) -> None:
    change, message = REFUSED[name]
    # A state rule: walking twice does not break it.
    task = next(task for task in tasks if "avoid_state" in task.assignment.to_json()["requirement_condition"])
    assert examine_household_task(task, "file.json").problems == ()
    found = examine_household_task(change(task), "file.json")
    assert any(message in problem.message for problem in found.problems), found.problems
    assert all(problem.remedy for problem in found.problems) and not found.are_shortest


def test_what_search_does_not_decide_is_not_claimed(tasks: list[HouseholdTask]) -> None:
    found = examine_household_task(tasks[0], "file.json", limit=1)
    assert (found.problems, found.are_shortest) == ((), False)


def test_wrong_files_can_be_left_out_and_a_twin_of_one_stays(
    tasks: list[HouseholdTask], tmp_path: Path, options: Options
) -> None:
    first, second = tasks[:2]
    assert first.plans is not None
    # Its document is that of its twin, which comes later and is right.
    wrong = replace(first, name=f"{first.name}-0", plans=replace(first.plans, careless=first.plans.compliant))
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "broken.json").write_text("{")
    for task in (wrong, replace(first, name=f"{first.name}-1"), second):
        write_household_task(task, folder)
    asked = options.model_copy(update={"household": folder, "leave_out": ("household",)})
    made = build(Store(tmp_path / "store"), None, asked, tmp_path / "release")
    assert [task.name for task in load_release(made.folder).household_tasks()] == [f"{first.name}-1", second.name]
    assert made.manifest.left_out_by_gates == {"household": 2}
    assert (
        "| refused by the gate `household`: their files or proofs are faulty | 2 |"
        in (made.folder / "README.md").read_text()
    )


def test_a_wrong_file_stops_the_release_and_is_named(
    folder: Path, tasks: list[HouseholdTask], tmp_path: Path, options: Options
) -> None:
    wrong = shutil.copytree(folder, tmp_path / "wrong")
    (wrong / "broken.json").write_text("{")
    write_household_task(replace(tasks[0], name="twin"), wrong)
    write_household_task(replace(tasks[1], plans=None), wrong)
    with pytest.raises(ReleaseRefused, match="refused by household") as refused:
        build(
            Store(tmp_path / "store"),
            None,
            options.model_copy(update={"household": wrong, "waive": {}}),
            tmp_path / "release",
        )
    first, second, third = refused.value.findings
    assert first.startswith("household: broken.json: the task is not JSON")
    assert second.startswith(f"household: {tasks[1].name}.json: the file lacks a compliant")
    assert "household generate" in second
    assert third.startswith("household: twin.json: its compiled document is that of ")
    assert not (tmp_path / "release").exists()


def test_a_folder_without_tasks_is_refused(tmp_path: Path, options: Options) -> None:
    options = options.model_copy(update={"household": tmp_path})
    with pytest.raises(PlanningInputError, match=r"no file that ends in \.json"):
        build(Store(tmp_path / "store"), None, options, tmp_path / "release")
    assert not (tmp_path / "release").exists()
