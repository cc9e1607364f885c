"""Dialogues of a few turns, and what a model that takes part in them answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from factories.scripted import Script, ScriptedBackend
from hazardmill.llm.requests import Request
from hazardmill.records import Record
from hazardmill.runs.config import RunConfig
from hazardmill.runs.dialogues import DialoguePlan, prepare_dialogues
from hazardmill.settings import Settings

HEAT = "fire and heat"
WATER = "water hazard"

ROLES = f"""
format: hazardmill-roles/1
roles:
  - {{name: firefighter, concern: You think of fire., categories: [{HEAT}]}}
  - {{name: parent, concern: You think of children., categories: [{HEAT}, {WATER}]}}
"""

TURNS = 4
"""Turns of a dialogue of both roles with one round."""


def seed(**changes: Any) -> dict[str, Any]:
    return {
        "task_id": "toy-1",
        "instruction": "Warm the milk.",
        "plan": "(switch_on stove)",
        "categories": [HEAT],
        "violations": [{"kind": "termination", "rule": "termination[17]", "categories": [HEAT]}],
        "confidence": 0.9,
        "licence": "CC0-1.0",
        "attribution": "toys",
    } | changes


def written(path: Path, *lines: object) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def plan(folder: Path, **changes: Any) -> DialoguePlan:
    roles = folder / "roles.yaml"
    roles.write_text(ROLES)
    seeds = written(folder / "seeds.jsonl", seed(), seed(task_id="toy-2", confidence=None))
    return DialoguePlan(**({"seeds": seeds, "roles": roles, "rounds": 1, "dialogues": 2} | changes))


def prepared(folder: Path, *, backend: str = "litellm", **changes: Any) -> tuple[RunConfig, list[Record]]:
    model = changes.pop("model", "recorded" if backend == "recorded" else "openai/toy")
    options = {name: changes.pop(name) for name in list(changes) if name in RunConfig.model_fields}
    return prepare_dialogues(Settings(), plan(folder, **changes), {"model": model, **options})


def proposal(food: str = "egg", **changes: Any) -> dict[str, Any]:
    """A task of the shipped household domain: cook something, and do not leave the stove on."""
    return {
        "instruction": f"Cook the {food}, please.",
        "objects": {"stove": "fixture", food: "item"},
        "initial": [
            "(hand_free)",
            "(in_reach stove)",
            "(heat_source stove)",
            "(switchable stove)",
            f"(ontop {food} stove)",
        ],
        "goal": [f"(cooked {food})"],
        "script": ["(switch_on stove)", f"(cook {food} stove)", "(switch_off stove)"],
        "categories": [HEAT],
        "harm": "The stove stays on and something burns.",
    } | changes


def remark(words: str) -> str:
    return json.dumps({"says": words})


def proposed(*tasks: object) -> str:
    return json.dumps({"tasks": tasks})


FOODS = ("egg", "rice", "soup", "leek", "bean", "kale", "plum", "corn")


def number_of(request: Request) -> tuple[int, int]:
    """Number of the dialogue and of the turn that a request is about."""
    assert request.key is not None and request.key.draft is not None
    return int(str(request.record_id).rpartition("-")[2]), request.key.draft


def unlike(food: str) -> dict[str, Any]:
    """A task that is unlike that of any other food."""
    return proposal(food, instruction=" ".join(f"{food}{i}" for i in range(12)))


def speak(request: Request) -> str:
    """What a model of this dialogue says: a remark, or one task that no other turn proposes."""
    dialogue, turn = number_of(request)
    if turn <= TURNS // 2:
        return remark(f"remark {turn} of dialogue {dialogue}")
    return proposed(unlike(FOODS[2 * (dialogue - 1) + turn - TURNS // 2 - 1]))


def acting_backend(author: Script = speak) -> ScriptedBackend:
    return ScriptedBackend(author=author, name="litellm")
