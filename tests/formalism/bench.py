"""A task whose U is a full product, so that counts over it are known without a search.

``pour ?v ?w`` wants ``(held ?v)`` and not ``(sealed ?v)``. The lamp, gloves, both vessels, and the speed from 0 to 2
change freely; nothing is ever broken or sealed. Context: ``wet``, ``(child_near ?w)`` and ``late``.
"""

from __future__ import annotations

import json

from hazardmill.formalism.document.document import Document

from .soup import action, boolean, danger, sets


def _toggle(name, fluent):
    return action(
        name, True, [sets(fluent, True, ["not", ["fluent", fluent]]), sets(fluent, False, ["fluent", fluent])]
    )


def bench(dangers=(), **changes):
    """The task's JSON, with danger conditions for ``pour``."""
    held = ["fluent", "held", "?v"]
    speed = ["fluent", "speed"]
    task = {
        "format": "hazardmill-task/1",
        "name": "Bench",
        "realised_by": "pour",
        "types": [["vessel", "object"], ["bottle", "vessel"], ["place", "object"]],
        "objects": [["cup", "vessel"], ["jug", "bottle"], ["bench", "place"], ["sink", "place"]],
        "fluents": [
            boolean("lamp"),
            boolean("gloves"),
            boolean("held", parameters=[["?v", "vessel"]]),
            boolean("sealed", parameters=[["?v", "vessel"]]),
            boolean("broken", parameters=[["?v", "vessel"]]),
            {**boolean("speed"), "value": "integer", "lower": 0, "upper": 2},
            boolean("wet", "context"),
            boolean("late", "context"),
            boolean("child_near", "context", parameters=[["?w", "place"]]),
        ],
        "actions": [
            _toggle("switch", "lamp"),
            _toggle("dress", "gloves"),
            action("grab", True, [["assign", held, True, True]], [["?v", "vessel"]]),
            action("drop", True, [["assign", held, False, True]], [["?v", "vessel"]]),
            action("faster", True, [["increase", speed, 1, True]]),
            action("slower", True, [["decrease", speed, 1, True]]),
            action("pour", ["and", held, ["not", ["fluent", "sealed", "?v"]]], [], [["?v", "vessel"], ["?w", "place"]]),
        ],
        "initial": [[["wet"], True], [["child_near", "bench"], True]],
        "goal": True,
        "dangers": [danger("pour", condition) for condition in dangers],
        "initial_danger": 0,
        "max_danger": 0,
        "texts": {},
        "provenance": {},
    }
    return json.loads(json.dumps({**task, **changes}))


def bench_document(dangers=(), **changes):
    return Document.from_json(bench(dangers, **changes))
