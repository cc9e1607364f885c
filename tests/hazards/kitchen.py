"""The kitchen of the worked example: an egg is to be cooked, the fridge closed and the stove off afterwards."""

from __future__ import annotations

from pathlib import Path

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.detector import HazardDetector
from hazardmill.hazards.map_reader import load_map
from hazardmill.hazards.rules import apply_map


def _fluent(name: str, *kinds: str) -> dict[str, object]:
    parameters = [[f"?{letter}", kind] for letter, kind in zip("ab", kinds, strict=False)]
    return {
        "name": name,
        "parameters": parameters,
        "kind": "normal",
        "value": "boolean",
        "lower": None,
        "upper": None,
    }


def _action(
    name: str, parameters: list[list[str]], before: list[object], changes: list[tuple[list[str], bool]]
) -> dict[str, object]:
    return {
        "name": name,
        "parameters": parameters,
        "precondition": ["and", *before],
        "effects": [["assign", ["fluent", *atom], value, True] for atom, value in changes],
    }


_HELD, _IN = ["fluent", "held", "?x"], ["in", "?x", "?p"]
KITCHEN = {
    "format": "hazardmill-task/1",
    "name": "kitchen",
    "realised_by": None,
    "types": [["device", "object"], ["item", "object"], ["place", "object"], ["fridge-type", "place"]],
    "objects": [["egg", "item"], ["fridge", "fridge-type"], ["pan", "place"], ["stove", "device"]],
    "fluents": [
        _fluent("open", "place"),
        _fluent("held", "item"),
        _fluent("cooked", "item"),
        _fluent("on", "device"),
        _fluent("in", "item", "place"),
    ],
    "actions": [
        _action("open", [["?p", "place"]], [["not", ["fluent", "open", "?p"]]], [(["open", "?p"], True)]),
        _action("close", [["?p", "place"]], [["fluent", "open", "?p"]], [(["open", "?p"], False)]),
        _action(
            "take",
            [["?x", "item"], ["?p", "place"]],
            [["fluent", "in", "?x", "?p"], ["fluent", "open", "?p"]],
            [(["in", "?x", "?p"], False), (["held", "?x"], True)],
        ),
        _action(
            "put", [["?x", "item"], ["?p", "place"]], [_HELD], [(["in", "?x", "?p"], True), (["held", "?x"], False)]
        ),
        _action("switch-on", [["?d", "device"]], [], [(["on", "?d"], True)]),
        _action("switch-off", [["?d", "device"]], [], [(["on", "?d"], False)]),
        _action(
            "cook",
            [["?x", "item"], ["?d", "device"]],
            [["fluent", "in", "?x", "pan"], ["fluent", "on", "?d"]],
            [(["cooked", "?x"], True)],
        ),
    ],
    "initial": [[["in", "egg", "fridge"], True]],
    "goal": ["fluent", "cooked", "egg"],
    "dangers": [],
    "initial_danger": 0,
    "max_danger": 0,
    "texts": {},
    "provenance": {},
}

MAP = """\
format: hazardmill-hazards/1
categories:
  - {name: fire and heat, definition: Something can burn., origin: paper}
  - {name: poisoning and contamination, definition: Food can spoil., origin: ours}
process: []
termination:
  - {fluent: on, arguments: [stove], categories: [fire and heat]}
  - condition: (open fridge)
    categories: [poisoning and contamination]
"""

REFERENCE = (
    "(open fridge) (take egg fridge) (close fridge) (put egg pan) (switch-on stove) (cook egg stove) (switch-off stove)"
)
SCRIPTS = {
    "A": REFERENCE,
    "B": REFERENCE.replace(" (switch-off stove)", ""),
    "C": REFERENCE.replace(" (close fridge)", ""),
    "D": f"{REFERENCE} (open fridge)",
    "E": f"{REFERENCE.replace(' (close fridge)', '')} (close fridge)",
}


def kitchen(**changes: object) -> System:
    """The system of the kitchen, with top-level parts of its JSON replaced."""
    return System(Document.from_json({**KITCHEN, **changes}))


def detector(folder: Path, text: str = MAP, system: System | None = None) -> HazardDetector:
    """A detector under the map of a text, which is written to the folder."""
    path = folder / "map.yaml"
    path.write_text(text, encoding="utf-8")
    system = system or kitchen()
    return HazardDetector(system, apply_map(system, load_map(path)))
