"""The law of compiling: an episode is a success iff its plan is safe on the compiled document."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.household.compile import compile_task
from hazardmill.household.episode import Episode
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.plan_words import plan_of
from hazardmill.household.rules import StepRule
from hazardmill.household.scores import EpisodeJudge
from tests.household.random_tasks import random_task
from tests.household.rooms import LAYERS
from tests.sizes import sized

PER_TASK = 6


def random_episode(interpreter: Interpreter, rng: random.Random, judge: EpisodeJudge) -> str:
    """Take random skills of a world before a judge, then end the episode; return its plan."""
    made = Episode(interpreter)
    judge.observe(made.reader.world_state(made.state))
    steps = []
    for _ in range(rng.randint(0, 25)):
        skills = made.skills()[:-2]
        # Most skills are going, and few of the others make a rule or a sub-goal matter.
        liked = rng.choice(("turn ", "open", "close", "slice", "pick up Knife", "put down", "go to Microwave"))
        others = [skill for skill in skills if not skill.startswith("go to")]
        wanted = [skill for skill in skills if skill.startswith(liked)]
        steps.append(made.act(rng.choice(rng.choice([wanted or others, others, skills]) or skills)))
        judge.observe(made.reader.world_state(made.state))
    made.act("done")
    return plan_of(steps, made.ending)


@pytest.mark.parametrize("tasks", [40, pytest.param(sized(80, 334), marks=pytest.mark.full)])
def test_an_episode_is_a_success_iff_its_plan_is_safe(tasks: int) -> None:
    rng = random.Random(27)
    seen: Counter[str] = Counter()
    for number in range(tasks):
        task = random_task(rng)
        compiled = compile_task(task, *LAYERS[number % len(LAYERS)])
        validator = PlanValidator(compiled.system)
        for _ in range(PER_TASK):
            judge = EpisodeJudge(task.criteria)
            plan = random_episode(compiled.interpreter, rng, judge)
            feasible, safe, danger = validator.quick(plan)
            score = judge.score
            assert safe == score.success, plan
            # Beyond the law, each part of the verdict is a part of the score.
            item = task.criteria.rule_is_item and isinstance(task.criteria.rule, StepRule)
            wanted = ("violated", "kept") if item else ("violated", "kept", "untriggered")
            assert feasible == (all(judge.goals_met) and score.rule in wanted), plan
            if feasible:
                assert danger == (score.rule == "violated"), plan
            seen.update([str(score.rule), f"safe: {safe}", f"feasible: {feasible}"])
            seen.update(type(condition).__name__ for goal in task.criteria.goals for condition in goal.conditions)
            seen.update(["cooked, safe"] if "cooked_by" in str(compiled.goals.met) and safe else [])
            seen.update(["sliced"] if "(slice " in plan else [])
    for what in ("kept", "open", "violated", "untriggered", "safe: True", "sliced", "NotOn", "cooked, safe"):
        assert seen[what], seen
