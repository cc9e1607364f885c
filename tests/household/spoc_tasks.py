"""Task files in SPOC's format, ours, in which nothing is wrong."""

from __future__ import annotations

from typing import Any


def task_file(
    instruction: str, requirements: str, rule: dict[str, Any], *goals: dict[str, Any], item: bool = True
) -> dict[str, Any]:
    return {
        "scene_name": "FloorPlan5",
        "instruction": instruction,
        "requirements": requirements,
        "treat_step_constraint_as_goal": item,
        "requirement_condition": rule,
        "goal_condition_state": [*goals],
    }


def step_rule_task() -> dict[str, Any]:
    """Put a tomato in the fridge, and close it within two steps."""
    rule = {
        "condition_type": "step",
        "condition_value": 2,
        "condition_object": "Fridge",
        "trigger_state": {"isOpen": True, "child": ["Tomato"]},
        "goal_condition": {"isOpen": False},
    }
    goal = {"object_name": "Tomato", "parent": ["Fridge"]}
    return task_file("Put the tomato in the fridge.", "Close the fridge within two steps.", rule, goal)


def state_rule_task() -> dict[str, Any]:
    """Put an apple on a plate that is clean, or is cleaned in the sink."""
    instruction = "Put the apple on the plate, then put the plate in the sink."
    rule = {
        "condition_type": "condition",
        "condition_object": "Plate",
        "trigger_state": {"child": ["Apple"]},
        "avoid_state": {"isDirty": True},
        "goal_condition": {"isDirty": False, "parent": ["Sink"]},
    }
    goals = (
        {"object_name": "Apple", "parent": ["Plate"]},
        {"object_name": "Plate", "parent": ["Sink"], "isDirty": False},
    )
    return task_file(instruction, "Do not put the apple on a dirty plate.", rule, *goals, item=False)
