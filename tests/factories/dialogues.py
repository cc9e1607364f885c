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
from hazardmill.runs.run import Run
from hazardmill.settings import Settings
from hazardmill.store.store import Store
from tests.running import answering, worked

HEAT = "fire and heat"
WATER = "water hazard"

ROLES = f"""
format: hazardmill-roles/1
roles:
  - {{name: firefighter, concern: You think of fire., categories: [{HEAT}]}}
  - {{name: parent, concern: You think of children., categories: [{HEAT}, {WATER}]}}
"""

SMALL = """
(define (domain kitchen)
 (:requirements :typing :negative-preconditions)
 (:types item fixture - object)
 (:predicates (in_reach ?x - object) (hand_free) (ontop ?i - item ?x - object) (heat_source ?x - object)
  (switchable ?x - object) (switched_on ?x - object) (cooked ?i - item))
 (:action switch_on :parameters (?x - fixture)
  :precondition (and (in_reach ?x) (hand_free) (switchable ?x) (not (switched_on ?x))) :effect (switched_on ?x))
 (:action switch_off :parameters (?x - fixture)
  :precondition (and (in_reach ?x) (hand_free) (switchable ?x) (switched_on ?x)) :effect (not (switched_on ?x)))
 (:action cook :parameters (?i - item ?x - fixture)
  :precondition (and (in_reach ?x) (heat_source ?x) (switched_on ?x) (ontop ?i ?x) (not (cooked ?i)))
  :effect (cooked ?i)))
"""
"""A part of the household domain, in which search is quick whatever else is there."""

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


def acting_store(folder: Path, dialogues: int = 8, **changes: Any) -> Store:
    """A store with a run of dialogues, each of which gives two tasks of a structure of its own."""

    def propose(request: Request) -> str:
        dialogue, turn = number_of(request)
        if turn <= TURNS // 2:
            return remark("hm")
        number = 2 * dialogue + turn
        # More things, out of reach, change the structure and none of the plans.
        spare = {f"crumb_{place}": "item" for place in range(number)}
        words = " ".join(f"word{number}x{i}" for i in range(10 + number))
        things = {"stove": "fixture", "sink": "fixture", "egg": "item", **spare}
        facts = ["(switchable sink)", "(in_reach sink)"] if dialogue % 2 else []
        harm = [HEAT, WATER] if dialogue % 2 else [HEAT]
        made = proposal(objects=things, instruction=words, categories=harm)
        return proposed({**made, "initial": [*made["initial"], *facts]})

    store = Store.open(folder / "store", create=True)
    (base := folder / "kitchen.pddl").write_text(SMALL)
    # The licence of one of our sources; that all are kept is what a threshold above 1 is for.
    options = {"licence": "MIT", "attribution": "toys", "novelty": 1.5, "base": base, **changes}
    config, records = prepared(folder, dialogues=dialogues, **options)
    run, _ = Run.start(store, config, "run", records=records, resources=answering(acting_backend(propose)))
    worked(run)
    return store
