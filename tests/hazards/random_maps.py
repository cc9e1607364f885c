"""Random maps of hazards for tasks in JSON: rules as dictionaries, and the text of their file."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from typing import Any

Rule = dict[str, Any]
CATEGORIES = ("fire and heat", "broken", "water hazard")


def pddl(cond: Any) -> str:
    """A condition or term of a document's JSON as PDDL."""
    if isinstance(cond, bool):
        return "(and)" if cond else "(or)"
    if isinstance(cond, int):
        return str(cond)
    head, *rest = cond
    if head == "fluent":
        return f"({' '.join(rest)})"
    if head == "same":
        return f"(= {rest[0]} {rest[1]})"
    if head in ("exists", "forall"):
        return f"({head} ({' '.join(f'{name} - {kind}' for name, kind in rest[0])}) {pddl(rest[1])})"
    return f"({' '.join([head, *map(pddl, rest)])})"


def map_text(process: Iterable[Rule], termination: Iterable[Rule]) -> str:
    """The file of a map; JSON is YAML."""
    conditions = ("when", "condition")
    rules = {
        "format": "hazardmill-hazards/1",
        "categories": [{"name": name, "definition": "harm", "origin": "paper"} for name in CATEGORIES],
        "process": [{k: pddl(v) if k in conditions else v for k, v in rule.items()} for rule in process],
        "termination": [{k: pddl(v) if k in conditions else v for k, v in rule.items()} for rule in termination],
    }
    return json.dumps(rules, indent=1)


def random_rules(rng: random.Random, task: dict[str, Any]) -> tuple[list[Rule], list[Rule]]:
    """Process and termination rules, most of which apply to the task."""
    process = [_process(rng, task) for _ in range(rng.randint(1, 4))]
    termination = [_termination(rng, task) for _ in range(rng.randint(1, 3))]
    return process, termination


def _categories(rng: random.Random) -> list[str]:
    return rng.sample(CATEGORIES, rng.randint(1, 2))


def _process(rng: random.Random, task: dict[str, Any]) -> Rule:
    action = rng.choice(task["actions"])
    name = action["name"]
    pattern = rng.choice([name, name, name.upper(), f"{name[0]}*", f"*{name[-2:]}", "*", "fly"])
    rule: Rule = {"action": pattern, "categories": _categories(rng)}
    if rng.random() < 0.5:
        rule["arguments"] = _patterns(rng, task, action["parameters"])
    if rng.random() < 0.6:
        kinds = [kind for _, kind in action["parameters"]]
        rule["when"] = _condition(rng, task, [(f"?{place}", kind) for place, kind in enumerate(kinds, 1)])
    return rule


def _termination(rng: random.Random, task: dict[str, Any]) -> Rule:
    rule: Rule = {"categories": _categories(rng)}
    if rng.random() < 0.4:
        rule["condition"] = _condition(rng, task, [])
        return rule
    fluent = rng.choice(task["fluents"])
    rule["fluent"] = rng.choice([fluent["name"]] * 6 + ["flying"])
    if rng.random() < 0.5:
        rule["arguments"] = _patterns(rng, task, fluent["parameters"])
    if rng.random() < 0.4:
        rule["at_least"] = rng.randint(1, 3)
    return rule


def _patterns(rng: random.Random, task: dict[str, Any], parameters: list[list[str]]) -> list[str]:
    found = []
    for _, kind in parameters[: rng.randint(0, len(parameters))]:
        name = rng.choice(task["objects"])[0]
        found.append(rng.choice([name, name, name.upper(), f"{name[0]}*", "*", kind, "object", "?" * len(name)]))
    if rng.random() < 0.05:
        found += ["*"] * 3
    return found


def _condition(rng: random.Random, task: dict[str, Any], scope: list[tuple[str, str]], depth: int = 2) -> Any:
    choice = rng.randint(0, 5) if depth else 0
    if choice == 1:
        return ["not", _condition(rng, task, scope, depth - 1)]
    if choice in (2, 3):
        head = rng.choice(["and", "or", "imply"])
        count = 2 if head == "imply" else rng.randint(0, 2)
        return [head, *(_condition(rng, task, scope, depth - 1) for _ in range(count))]
    if choice == 4:
        variable = f"?{'xy'[depth % 2]}{depth}"
        kind = rng.choice(task["types"])[0]
        inner = _condition(rng, task, [*scope, (variable, kind)], depth - 1)
        return [rng.choice(["exists", "forall"]), [[variable, kind]], inner]
    if choice == 5:
        left, right = (rng.choice([*scope, *task["objects"]])[0] for _ in range(2))
        return ["same", left, right]
    return _fluent(rng, task, scope)


def _fluent(rng: random.Random, task: dict[str, Any], scope: list[tuple[str, str]]) -> Any:
    fluent = rng.choice(task["fluents"])
    names = [(name, kind) for name, kind in [*scope, *scope, *task["objects"]]]
    args = []
    for _, wanted in fluent["parameters"]:
        fitting = [name for name, kind in names if kind == wanted] or [name for name, _ in names]
        args.append(rng.choice(fitting if rng.random() < 0.95 else [name for name, _ in names]))
    atom = ["fluent", fluent["name"], *args]
    return [rng.choice([">=", "<", "="]), atom, rng.randint(0, 1)] if fluent["value"] == "integer" else atom
