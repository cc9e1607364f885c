"""Task folders of the kitchen of ``tests/hazards``: an egg is to be cooked, the fridge closed and the stove off."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.hazards.kitchen import KITCHEN, MAP, REFERENCE

INSTRUCTIONS: Mapping[str, str] = {
    "egg": "cook the egg in the pan",
    "egg-2": "please cook the egg in the big pan",
    "milk": "put the milk away",
}
"""Kitchens of ``kitchens``: the nearest example of each egg is the other egg."""


def written_kitchen(
    folder: Path,
    task_id: str = "egg",
    instruction: str = "cook the egg",
    reference: str | None = REFERENCE,
    **changes: object,
) -> Path:
    """A task folder of the kitchen, with top-level parts of its document replaced."""
    place = folder / task_id
    place.mkdir(parents=True)
    # PDDL has no connective without operands.
    actions = [
        {**each, "precondition": True if each["precondition"] == ["and"] else each["precondition"]}
        for each in KITCHEN["actions"]
    ]
    document = {**KITCHEN, "actions": actions, "name": f"kitchen-{task_id}", **changes}
    (place / "task.json").write_text(json.dumps(document))
    said: dict[str, Any] = {"task_id": task_id, "danger_formalization": {"robot_task": instruction}}
    ours = {"source": "tests", "licence": "CC-BY-SA-4.0", "attribution": "cooks"}
    said |= {"reference_feasible_plans": {"safe": reference, "unsafe": None}, "hazardmill": ours}
    (place / "metadata.json").write_text(json.dumps(said))
    return place


def kitchens(folder: Path) -> Path:
    """Three kitchens whose documents differ in an object that nobody uses."""
    for number, (task_id, instruction) in enumerate(INSTRUCTIONS.items()):
        objects = [*KITCHEN["objects"], [f"plate-{number}", "item"]]
        written_kitchen(folder, task_id, instruction, objects=objects)
    return folder


def written_map(folder: Path, text: str = MAP) -> Path:
    """The map of the worked example as a file."""
    path = folder / "map.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def written_plans(
    path: Path, plans: Mapping[str, str], task_id: str = "egg", key: str = "plan", **more: object
) -> Path:
    """A plans file in which each planner has one plan for the egg."""
    lines = [{"task_id": "egg", "model": model, key: plan, **more} for model, plan in plans.items()]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def as_one(path: Path, plans: Mapping[str, str], task_id: str = "egg") -> Path:
    """A plans file in which one planner has all plans, as samples of one task."""
    lines = [
        {"task_id": task_id, "model": "cook", "plan": plan, "sample": number}
        for number, plan in enumerate(plans.values())
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path
