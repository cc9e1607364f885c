"""What looks wrong in a household task, with its scene: the rules of ``task_lint``, and those that need a scene."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from hazardmill.errors import SearchLimitReached
from hazardmill.household.compile import compile_task
from hazardmill.household.document import SceneDocument
from hazardmill.household.lint.task_lint import TASK_RULES, HouseholdFinding, lint_task
from hazardmill.household.object_kinds import Property
from hazardmill.household.plan_words import follow_words
from hazardmill.household.proof import prove_task
from hazardmill.household.rules import Condition, Contains, FilledWith, FlagIs, IsIn, meets_all
from hazardmill.household.scene import STATES, Scene, SceneObject
from hazardmill.household.states import StateReader
from hazardmill.household.task import HouseholdTask

SCENE_RULES: Final[Mapping[str, str]] = {
    **TASK_RULES,
    "never_triggered": "no object of the scene can trigger the rule",
    "triggered_at_start": "the rule's trigger holds at the start",
    "unreachable_goal": "no plan reaches the sub-goals: proved by search",
}
"""Rule to what it finds, with the scene of a task."""

LINT_LIMIT: Final = 2_000_000
"""The limit of the search for a plan, as ``prove_task`` has it."""


@dataclass(frozen=True, slots=True)
class LintResult:
    """What was found in a task.

    Attributes:
        findings: The findings, in the order of ``SCENE_RULES``.
        undecided: Why it is not known whether a plan reaches the sub-goals; None if it is known.
    """

    findings: tuple[HouseholdFinding, ...]
    undecided: str | None = None


def lint_with_scene(task: HouseholdTask, file_name: str | None = None, limit: int = LINT_LIMIT) -> LintResult:
    """Return what looks wrong in a task.

    Args:
        task: The task.
        file_name: The name of its file; None if it has none.
        limit: The limit of the search for a plan that reaches the sub-goals.

    Raises:
        DocumentError: The scene has too many objects.
        SearchLimitReached: It is too large to be ground.
    """
    findings = lint_task(task.assignment, file_name)
    if not any(_may_trigger(task, thing) for thing in task.scene.all_objects):
        message = f"no {task.assignment.rule.kind} of the scene can meet the trigger"
        findings.append(HouseholdFinding("never_triggered", message))
    findings += [HouseholdFinding("triggered_at_start", f"{name} meets the trigger") for name in _triggered(task)]
    reached, undecided = _reaches_goals(task, limit)
    if not reached and undecided is None:
        findings.append(HouseholdFinding("unreachable_goal", "no plan meets all sub-goals: proved by search"))
    return LintResult((*findings,), undecided)


def _triggered(task: HouseholdTask) -> Iterator[str]:
    world = SceneDocument(task.scene)
    start = StateReader(world).world_state(world.system.initial)
    rule = task.assignment.rule
    for name, thing in start.items():
        if thing.kind == rule.kind and meets_all(rule.trigger, thing, start):
            yield name


def _may_trigger(task: HouseholdTask, thing: SceneObject) -> bool:
    rule = task.assignment.rule
    return thing.kind == rule.kind and all(_may_meet(task.scene, thing, condition) for condition in rule.trigger)


def _may_meet(scene: Scene, thing: SceneObject, condition: Condition) -> bool:
    """Return whether an object may ever meet a condition; what cannot is certain, what can is not."""
    match condition:
        case FlagIs(flag, value):
            return not value or _may_be(scene, thing, flag)
        case FilledWith():
            return _may_be(scene, thing, "filled")
        case Contains(kinds):
            return any(other.kind in kinds and _may_be_in(scene, other, thing) for other in scene.all_objects)
        case IsIn(kinds):
            return any(other.kind in kinds and _may_be_in(scene, thing, other) for other in scene.all_objects)


def _may_be(scene: Scene, thing: SceneObject, flag: str) -> bool:
    if flag == "held":
        return thing.is_movable
    if flag == "filled":
        return thing.has(Property.FILLABLE)
    if flag == "sliced":
        return thing.has(Property.SLICEABLE) and any(other.has(Property.BLADE) for other in scene.objects)
    is_controlled = flag == "on" and any(other.controls == thing.name for other in scene.objects)
    return thing.has(STATES[flag]) or (is_controlled and thing.has(Property.COOKER))


def _may_be_in(scene: Scene, thing: SceneObject, holder: SceneObject) -> bool:
    if thing == holder or not holder.has(Property.RECEPTACLE):
        return False
    place = thing.place
    while place is not None:
        if place == holder.name:
            return True
        place = scene.by_name[place].place
    return thing.is_movable


def _reaches_goals(task: HouseholdTask, limit: int) -> tuple[bool, str | None]:
    """Return whether a plan meets the sub-goals, or why that is not known."""
    if not task.criteria.goals:
        # A task without items cannot be compiled.
        return True, None
    compiled = compile_task(task)
    for plan in (task.plans.compliant, task.plans.careless) if task.plans else ():
        steps, judge = follow_words(compiled, plan)
        if all(step.accepted for step in steps) and all(judge.goals_met):
            return True, None
    try:
        proof = prove_task(compiled, limit=limit).for_goals
    except SearchLimitReached as refusal:
        return False, refusal.message
    return proof.plan is not None, proof.why
