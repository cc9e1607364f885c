from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from formalism.soup import integer, soup_document

from hazardmill.errors import UsageError
from hazardmill.evaluation.injection import tasks as module
from hazardmill.evaluation.injection.injection import inject
from hazardmill.evaluation.injection.proof import InjectionRefused
from hazardmill.evaluation.injection.tasks import MOST_EXAMPLES, InjectedTasks
from hazardmill.evaluation.scoring import Scorer
from hazardmill.evaluation.tasks import EvaluationTask, ListedTasks

from .soups import SAFE, UNSAFE, soups, task_of, twin


class Counted(ListedTasks):
    """Tasks in memory, of which the ones that are no variants are counted."""

    @property
    def released(self) -> int:
        return sum(task.variant is None for task in self)


def listed(tasks: list[EvaluationTask], digest: str = "x") -> Counted:
    return Counted(tasks, "soups 1.0.0", digest)


def injected(tasks: list[EvaluationTask], *arms: Any, **how: Any) -> InjectedTasks:
    return InjectedTasks(listed(tasks), arms or ("actions", "objects"), **{"levels": (2, 4), "seeds": 2, **how})


def test_each_task_is_followed_by_itself_with_distractors() -> None:
    first, second = soups(2)
    tasks = injected([first, second])
    found = [(task.task_id, task.variant) for task in tasks]
    variants = [f"{arm}-{level}-seed-{seed}" for arm in ("actions", "objects") for level in (2, 4) for seed in (0, 1)]
    assert found == [(task.task_id, variant) for task in (first, second) for variant in (None, *variants)]
    assert tasks.describe() == {
        "arms": ["actions", "objects"],
        "levels": [2, 4],
        "seeds": 2,
        "injected": 16,
        "confirmed": 16,
        "refused": {},
        "examples": [],
    }
    assert (tasks.released, tasks.name) == (2, "soups 1.0.0")


def test_they_are_judged_and_shown_as_what_they_are() -> None:
    plain, more, _ = injected(soups(1), "actions", levels=[4], seeds=2)
    added = {action.name for action in more.document.actions} - {action.name for action in plain.document.actions}
    assert len(added) == 4 and all(name in more.domain_pddl and name not in plain.domain_pddl for name in added)
    assert (more.safe_length, more.released) == (2, plain.document)
    scorer = Scorer(more)
    free = next(
        action.name
        for action in more.document.actions
        if action.name in added and not action.parameters and scorer.plan(f"({action.name}) {SAFE}").safe
    )
    assert scorer.plan(f"{SAFE} ({free})").gap == 1
    assert scorer.plan(UNSAFE).safe is False and Scorer(plain).plan(f"({free}) {SAFE}").safe is False


def test_variants_and_tasks_without_a_safe_plan_are_given_on_as_they_are() -> None:
    (task,) = soups(1)
    lost = replace(task, task_id="lost", unavoidable=True)
    found = list(injected([task, twin(task), lost], "objects", levels=[2], seeds=1))
    assert [(each.task_id, each.variant) for each in found] == [
        (task.task_id, None),
        (task.task_id, "objects-2-seed-0"),
        (task.task_id, "twin"),
        ("lost", None),
    ]


def test_what_is_refused_is_counted_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = soups(30)

    def refuses(document: Any, arm: Any, level: int, seed: int, *, limit: int) -> Any:
        if level == 4:
            raise InjectionRefused("there are no names left")
        return inject(document, arm, level, seed, limit=limit)

    monkeypatch.setattr(module, "inject", refuses)
    made = injected(tasks, "objects", seeds=1)
    for _ in range(2):
        # Gone through again it is counted anew, not twice.
        assert Counter(task.variant for task in made) == {None: 30, "objects-2-seed-0": 30}
        said = made.describe()
        assert said["refused"] == {"objects-4-seed-0": 30} and said["injected"] == 30
        assert len(said["examples"]) == MOST_EXAMPLES
        assert said["examples"][0] == {
            "task_id": tasks[0].task_id,
            "variant": "objects-4-seed-0",
            "why": "there are no names left",
        }


def test_a_task_that_gets_too_large_is_refused_and_the_rest_goes_on() -> None:
    # An integer fluent over three objects each: with 64 more there are too many of them to judge anything.
    costs = {**integer("trip_cost", 0, 9), "parameters": [[f"?{name}", "object"] for name in "abc"]}
    large = replace(task_of(soup_document(fluents__4=costs)), task_id="large")
    (small,) = soups(1)
    made = injected([large, small], "objects", levels=[64], seeds=1)
    assert [(task.task_id, task.variant) for task in made] == [
        ("large", None),
        (small.task_id, None),
        (small.task_id, "objects-64-seed-0"),
    ]
    (told,) = made.describe()["examples"]
    assert told["task_id"] == "large" and "too large: the task would have 287,496 ground" in told["why"]
    with pytest.raises(InjectionRefused) as refused:
        inject(large.document, "objects", 64, 0)
    assert refused.value.remedy == "inject a lower level"


def test_a_search_limit_leaves_the_proof_and_loses_the_confirmation() -> None:
    made = injected(soups(1), "actions", levels=[2], seeds=1, limit=1)
    assert len(list(made)) == 2
    assert (made.describe()["injected"], made.describe()["confirmed"]) == (1, 0)


def test_the_digest_stands_for_what_is_injected() -> None:
    tasks = soups(1)
    made = [
        listed(tasks),
        injected(tasks),
        injected(tasks, "actions"),
        injected(tasks, levels=[2]),
        injected(tasks, seeds=3),
        InjectedTasks(listed(tasks, "y"), ("actions", "objects"), levels=(2, 4), seeds=2),
    ]
    assert len({each.digest for each in made}) == len(made)
    assert injected(tasks, "objects", "actions", levels=[4, 2, 2]).digest == injected(tasks).digest


@pytest.mark.parametrize("levels", [[3], [2, 5], []])
def test_other_levels_are_refused(levels: list[int]) -> None:
    with pytest.raises(UsageError, match="cannot inject"):
        injected(soups(1), levels=levels)
