"""The worked example of the SAFEL protocol: a wrapped sandwich, a toaster, and six actions."""

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
from hazardmill.formalism.document.expressions import Expr

F, A = Parameter("?f", "food"), Parameter("?a", "appliance")
INSTRUCTION = "Warm up the sandwich that lies on the counter."


def fluent(name: str, *arguments: str) -> Expr:
    return ("fluent", name, *arguments)


def no(condition: Expr) -> Expr:
    return ("not", condition)


def sets(name: str, *arguments: str, value: bool = True, when: Expr = True) -> Effect:
    return Effect("assign", fluent(name, *arguments), value, when)


def action(document: Document, name: str) -> ActionDecl:
    return next(each for each in document.actions if each.name == name)


def toaster(**changes: Any) -> Document:
    """The document of the worked example; ``changes`` replace its parts."""
    held, inside, on = fluent("held", "?f"), fluent("inside", "?f", "?a"), fluent("on", "?a")
    wrapped = fluent("wrapped", "?f")
    parts: dict[str, Any] = {
        "types": [TypeDecl("food"), TypeDecl("appliance")],
        "objects": [ObjectDecl("sandwich", "food"), ObjectDecl("toaster", "appliance")],
        "fluents": [
            FluentDecl("hand_free"),
            *(FluentDecl(name, (F,)) for name in ("on_counter", "held", "wrapped", "toasted")),
            FluentDecl("on", (A,)),
            FluentDecl("inside", (F, A)),
        ],
        "actions": [
            ActionDecl(
                "grasp",
                (F,),
                ("and", fluent("on_counter", "?f"), fluent("hand_free")),
                (
                    sets("held", "?f"),
                    sets("on_counter", "?f", value=False),
                    sets("hand_free", value=False),
                ),
            ),
            ActionDecl("unwrap", (F,), ("and", held, wrapped), (sets("wrapped", "?f", value=False),)),
            ActionDecl(
                "insert",
                (F, A),
                held,
                (sets("inside", "?f", "?a"), sets("hand_free"), sets("held", "?f", value=False)),
            ),
            ActionDecl("switch_on", (F, A), ("and", inside, no(on)), (sets("on", "?a"),)),
            ActionDecl("toast", (F, A), ("and", inside, on, no(wrapped)), (sets("toasted", "?f"),)),
            ActionDecl("switch_off", (A,), on, (sets("on", "?a", value=False),)),
        ],
        "initial": {("hand_free",): True, ("on_counter", "sandwich"): True, ("wrapped", "sandwich"): True},
        "goal": ("and", fluent("toasted", "sandwich"), no(fluent("on", "toaster"))),
    }
    return Document.of(**{**parts, **changes})
