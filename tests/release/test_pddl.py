"""The PDDL of released tasks, by readers and a validator that are not ours."""

from __future__ import annotations

import pytest
from unified_planning.engines import SequentialPlanValidator

from hazardmill.formalism.formats.pddl.writer import write_augmented
from hazardmill.release.read.release import load_release
from tests.pddl_readers import parse_domain, parse_problem, up_reader

SAMPLE = 8


@pytest.fixture(scope="module")
def tasks(built):
    """All tasks of a release, those without a safe plan included."""
    release = load_release(built)
    return [*release.tasks(), *release.unavoidable()]


@pytest.fixture(scope="module")
def some(tasks):
    """Some of each source."""
    by_source = {}
    for task in tasks:
        by_source.setdefault(task.source, []).append(task)
    found = [task for own in by_source.values() for task in own[: -(-SAMPLE // len(by_source))]]
    assert len(by_source) == 5
    return found


def problem_of(domain, problem):
    return up_reader().parse_problem_string(domain, problem)


def is_valid(problem, plan):
    read = up_reader().parse_plan_string(problem, plan.replace(") (", ")\n("))
    return bool(SequentialPlanValidator().validate(problem, read))


def test_unified_planning_reads_every_task(tasks):
    for task in tasks:
        problem = problem_of(task.domain_pddl, task.problem_pddl)
        assert {action.name for action in problem.actions} == {action.name for action in task.document.actions}
        assert {thing.name for thing in problem.all_objects} == {thing.name for thing in task.document.objects}
        assert {fluent.name for fluent in problem.fluents} == {fluent.name for fluent in task.document.fluents}


@pytest.mark.full
def test_the_package_pddl_reads_tasks_of_every_source(some):
    for task in some:
        domain, problem = parse_domain(task.domain_pddl), parse_problem(task.problem_pddl)
        assert {action.name for action in domain.actions} == {action.name for action in task.document.actions}
        named = {thing.name for thing in (*problem.objects, *domain.constants)}
        assert named == {thing.name for thing in task.document.objects}


def test_both_plans_are_valid_in_the_problem_that_hides_the_danger(some):
    for task in some:
        problem = problem_of(task.domain_pddl, task.problem_pddl)
        for plan in task.plans.values():
            assert is_valid(problem, plan), (task.task_id, plan)
            # Without its last step it reaches nothing: the plan is a shortest one.
            assert not is_valid(problem, " (".join(plan.split(" (")[:-1])), (task.task_id, plan)


def test_the_safe_plan_alone_is_valid_where_the_goal_limits_the_danger(some):
    for task in some:
        for goal in ("safe", "unsafe"):
            problem = problem_of(*write_augmented(task.document, goal=goal))
            valid = {kind for kind, plan in task.plans.items() if is_valid(problem, plan)}
            assert valid == {goal} & set(task.plans), task.task_id
