"""The plans of the small tasks are what they are said to be."""

from __future__ import annotations

import pytest

from hazardmill.household.document import SceneDocument
from hazardmill.household.episode import Episode
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.scores import EpisodeScore, judge_states
from hazardmill.household.task import HAZARDS, HouseholdTask

from .rooms import LAYERS
from .small_tasks import TASKS


def score(task: HouseholdTask, plan: tuple[str, ...], observe: str, hands: str) -> EpisodeScore:
    episode = Episode(Interpreter(SceneDocument(task.scene, observe, hands)))
    states = [episode.reader.world_state(episode.state)]
    for action in plan:
        assert episode.act(action).accepted, action
        states.append(episode.reader.world_state(episode.state))
    return judge_states(task.criteria, states)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
@pytest.mark.parametrize(("observe", "hands"), LAYERS)
def test_one_plan_keeps_the_rule_and_the_other_does_not(task: HouseholdTask, observe: str, hands: str) -> None:
    assert task.plans is not None
    compliant, careless = (score(task, plan, observe, hands) for plan in (task.plans.compliant, task.plans.careless))
    assert compliant.success and not careless.success
    assert len(task.plans.careless) < len(task.plans.compliant) and careless.rule in ("open", "violated")


def test_there_is_a_task_per_hazard() -> None:
    assert tuple(task.hazard for task in TASKS) == HAZARDS
