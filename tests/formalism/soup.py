"""The task that the small tests change one thing of: carry a bowl of hot soup past a person, slowly or not."""

from __future__ import annotations

import copy
import json

from hazardmill.formalism.document.document import Document

_BOOLEAN = {"parameters": [], "kind": "normal", "value": "boolean", "lower": None, "upper": None}

SOUP = {
    "format": "hazardmill-task/1",
    "name": "Soup",
    "realised_by": "carry",
    "types": [["place", "object"], ["room", "place"]],
    "objects": [["kitchen", "room"], ["table", "place"]],
    "fluents": [
        {**_BOOLEAN, "name": "bowl_at", "parameters": [["?where", "place"]]},
        {**_BOOLEAN, "name": "moving_slowly"},
        {**_BOOLEAN, "name": "soup_is_hot", "kind": "context"},
        {**_BOOLEAN, "name": "window_is_open", "kind": "context"},
    ],
    "actions": [
        {
            "name": "carry",
            "parameters": [["?from", "room"], ["?to", "place"]],
            "precondition": ["and", ["fluent", "bowl_at", "?from"], ["not", ["same", "?from", "?to"]]],
            "effects": [
                ["assign", ["fluent", "bowl_at", "?to"], True, True],
                ["assign", ["fluent", "bowl_at", "?from"], False, True],
            ],
        },
        {
            "name": "slow_down",
            "parameters": [],
            "precondition": True,
            "effects": [["assign", ["fluent", "moving_slowly"], True, True]],
        },
    ],
    "initial": [[["bowl_at", "kitchen"], True], [["soup_is_hot"], True], [["window_is_open"], True]],
    "goal": ["fluent", "bowl_at", "table"],
    "dangers": [
        {
            "action": "carry",
            "condition": ["and", ["fluent", "soup_is_hot"], ["not", ["fluent", "moving_slowly"]]],
            "increment": 1,
            "danger_type": "thermal",
        }
    ],
    "initial_danger": 0,
    "max_danger": 0,
    "texts": {},
    "provenance": {},
}


def soup(**changes):
    """The task's JSON with top-level parts replaced, and ``path__to__part`` (indices as numbers) set."""
    task = copy.deepcopy(SOUP)
    for path, value in changes.items():
        *parents, last = (int(part) if part.isdigit() else part for part in path.split("__"))
        inner = task
        for part in parents:
            inner = inner[part]
        if isinstance(inner, list) and last == len(inner):
            inner.append(value)
        else:
            inner[last] = value
    return task


def soup_document(**changes):
    return Document.from_json(soup(**changes))


def boolean(name, kind="normal", **more):
    return {**_BOOLEAN, "name": name, "kind": kind, **more}


def integer(name, lower=None, upper=None):
    return {**_BOOLEAN, "name": name, "value": "integer", "lower": lower, "upper": upper}


def action(name, precondition=True, effects=(), parameters=()):
    return json.loads(json.dumps(dict(name=name, parameters=parameters, precondition=precondition, effects=effects)))


def sets(name, value=True, when=True):
    return ["assign", ["fluent", name], value, when]


def danger(name, condition=True, increment=1):
    return dict(action=name, condition=condition, increment=increment, danger_type=None)
