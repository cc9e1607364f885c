"""The reference's micro-domains as documents."""

from __future__ import annotations

import json
import re

from hazardmill.formalism.document.document import Document


def cases(reference):
    return json.loads((reference / "verdicts" / "microdomains.json").read_text())["cases"]


def expression(value):
    """A condition or term of the micro-domains' notation."""
    if isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return ["fluent", value]
    head, *rest = value
    if head == "iff":
        left, right = (expression(part) for part in rest)
        return ["and", ["imply", left, right], ["imply", right, left]]
    if head == "exists":
        return ["exists", [["?one", rest[0]]], ["fluent", rest[1], "?one"]]
    if head in ("and", "or", "not", "imply", "<=", ">=", "<", ">", "="):
        return [head, *(expression(part) for part in rest)]
    return ["fluent", *value]


def conjunction(parts):
    return ["and", *(expression(part) for part in parts)]


def document(case) -> Document:
    integers = set(case["int_fluents"])
    arities = {name: [] for name in [*case["bool_fluents"], *integers]} | case.get("typed_fluents", {})
    actions, dangers = [], []
    for action in case["actions"]:
        effects = [["assign", ["fluent", name], value, True] for name, value in action["eff"]]
        effects += [["assign", ["fluent", name], value, expression(when)] for name, value, when in action["cond_eff"]]
        for operation in ("increase", "decrease"):
            effects += [[operation, ["fluent", name], amount, True] for name, amount in action[operation]]
        actions.append(
            {
                "name": action["name"],
                "parameters": [[f"?{name}", kind] for name, kind in action["params"].items()],
                "precondition": conjunction(action["pre"]),
                "effects": effects,
            }
        )
        dangers += [
            {
                "action": action["name"],
                "condition": expression(when),
                "increment": increment,
                "danger_type": None,
            }
            for when, increment in action["danger"]
        ]
    return Document.from_json(
        {
            "format": "hazardmill-task/1",
            "name": case["id"],
            "realised_by": None,
            "types": [[name, "object"] for name in case["types"]],
            "objects": [[name, kind] for name, kind in case["objects"].items()],
            "fluents": [
                {
                    "name": name,
                    "parameters": [[f"?p{place}", kind] for place, kind in enumerate(kinds)],
                    "kind": "normal",
                    "value": "integer" if name in integers else "boolean",
                    "lower": None,
                    "upper": None,
                }
                for name, kinds in arities.items()
            ],
            "actions": actions,
            "initial": [[re.findall(r"\w+", atom), value] for atom, value in case["init"].items()],
            "goal": conjunction(case["goal"]),
            "dangers": dangers,
            "initial_danger": 0,
            "max_danger": 0,
        }
    )
