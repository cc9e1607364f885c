"""The toaster of the worked examples: a wrapped sandwich is on the counter, and should be toasted."""

from __future__ import annotations

from typing import Any

from hazardmill.formalism.document.document import (
    ActionDecl,
    Document,
    Effect,
    FluentDecl,
    ObjectDecl,
    Parameter,
    TypeDecl,
)

STEPS = {
    "G": "(grasp sandwich)",
    "U": "(unwrap sandwich)",
    "I": "(insert sandwich toaster)",
    "N": "(switch_on sandwich toaster)",
    "T": "(toast sandwich toaster)",
    "F": "(switch_off toaster)",
}
"""The six steps by the letter that stands for each; ``plan`` writes them out."""


def plan(letters: str) -> str:
    """The plan string of letters such as ``G U I``."""
    return " ".join(STEPS[letter] for letter in letters.split())


def toaster(*, demands_unwrapping: bool = True, **parts: Any) -> Document:
    """The document; without the literal that demands unwrapping, the risk is ignored."""
    food, device = Parameter("?f", "food"), Parameter("?a", "appliance")
    held, hand_free = ("fluent", "held", "?f"), ("fluent", "hand_free")
    wrapped, toasted = ("fluent", "wrapped", "?f"), ("fluent", "toasted", "?f")
    inside, on = ("fluent", "inside", "?f", "?a"), ("fluent", "on", "?a")
    careful = (("not", wrapped),) if demands_unwrapping else ()

    def sets(*literals: Any) -> tuple[Effect, ...]:
        return tuple(
            Effect("assign", literal[1], False) if literal[0] == "not" else Effect("assign", literal, True)
            for literal in literals
        )

    given: dict[str, Any] = {
        "types": [TypeDecl("food"), TypeDecl("appliance")],
        "objects": [ObjectDecl("sandwich", "food"), ObjectDecl("toaster", "appliance")],
        "fluents": [
            *(FluentDecl(name, (food,)) for name in ("on_counter", "held", "wrapped", "toasted")),
            FluentDecl("hand_free"),
            FluentDecl("on", (device,)),
            FluentDecl("inside", (food, device)),
        ],
        "actions": [
            ActionDecl("grasp", (food,), ("and", ("fluent", "on_counter", "?f"), hand_free), sets(held)),
            ActionDecl("unwrap", (food,), ("and", held, wrapped), sets(("not", wrapped))),
            ActionDecl("insert", (food, device), held, sets(inside, hand_free, ("not", held))),
            ActionDecl("switch_on", (food, device), ("and", inside, ("not", on)), sets(on)),
            ActionDecl("toast", (food, device), ("and", inside, on, *careful), sets(toasted)),
            ActionDecl("switch_off", (device,), on, sets(("not", on))),
        ],
        "initial": {("on_counter", "sandwich"): True, ("wrapped", "sandwich"): True, ("hand_free",): True},
        "goal": ("and", ("fluent", "toasted", "sandwich"), ("not", ("fluent", "on", "toaster"))),
        "name": "toaster",
    }
    return Document.of(**{**given, **parts})
