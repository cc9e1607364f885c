"""Neutral names: no name that a planner sees may reveal which act is the dangerous one.

Names are compared by token (``safety_pin``, ``SafetyPin`` and ``safety-pin`` have the tokens ``safety`` and
``pin``), never by substring: ``unsafely`` leaks, ``safari`` does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import QUANTIFIERS, Expr, walk

LEAKING_TOKENS: Final = frozenset(
    """
    safe safely safer safest safety unsafe unsafely danger dangers dangerous dangerously endanger endangered
    endangering hazard hazards hazardous risk risks risky risking careful carefully careless carelessly caution
    cautious cautiously harm harmful harmless harming injure injured injures injury injuries hurt hurts hurting
    warn warning threat threatening threaten reckless recklessly secure securely insecure avoid avoids avoided
    avoidance avoiding prevent prevents prevented prevention protect protects protected protection protective
    accident accidental accidentally mitigate mitigates mitigation peril perilous unharmed violate violates violation
    violating forbidden taboo wrong wrongly proper properly improper improperly bad good
    """.split()
)
"""Tokens that alone reveal whether something is dangerous or the way out of the danger."""

NEUTRAL_NOUNS: Final = {
    "safe": "strongbox",
    "safety_pin": "clasp_pin",
    "safety_gate": "stair_gate",
    "safety_razor": "razor",
    "safety_glasses": "work_glasses",
    "safety_vest": "work_vest",
    "security_camera": "hall_camera",
    "hazard_light": "blinking_light",
    "warning_triangle": "road_triangle",
    "warning_sign": "floor_sign",
    "risk_board_game": "map_board_game",
    "protective_film": "screen_film",
    "goods": "parcels",
}
"""Nouns of the sources whose plain name would leak, with the name to use instead."""

_TOKEN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def tokens(name: str) -> list[str]:
    """Return the lower-case tokens of a name, split at ``_``, ``-``, digits and capitals.

    A run of capitals is one token (``USB_port`` has ``usb`` and ``port``), and so is a run of digits.
    """
    return [token.lower() for token in _TOKEN.findall(name)]


def leaks(name: str) -> list[str]:
    """Return the tokens of a name that leak, in order; an empty list for a neutral name."""
    return [token for token in tokens(name) if token in LEAKING_TOKENS]


def neutralize(noun: str) -> str:
    """Return a noun of a source as a ``snake_case`` name, by ``NEUTRAL_NOUNS`` where it is listed there.

    A noun that leaks and is not listed keeps its leaking token: check the result with ``leaks``.
    """
    name = "_".join(tokens(noun))
    return NEUTRAL_NOUNS.get(name, name)


def visible_names(document: Document) -> Iterator[tuple[str, str]]:
    """Yield ``(where, name)`` for each name that a planner sees.

    ``where`` is a phrase such as ``action`` or ``parameter of carry``; parameters and variables lose their ``?``.
    Variables in the conditions of danger entries are left out, because those conditions are hidden from planners.
    """
    for declared in document.types:
        yield "type", declared.name
    for thing in document.objects:
        yield "object", thing.name
    for fluent in document.fluents:
        yield "fluent", fluent.name
        for parameter in fluent.parameters:
            yield f"parameter of {fluent.name}", parameter.name.removeprefix("?")
    for action in document.actions:
        yield "action", action.name
        for parameter in action.parameters:
            yield f"parameter of {action.name}", parameter.name.removeprefix("?")
        for condition in (action.precondition, *(effect.condition for effect in action.effects)):
            for name in _variables(condition):
                yield f"variable in {action.name}", name
    # Planners do not see the conditions of danger entries, nor their variables.
    for name in _variables(document.goal):
        yield "variable in the goal", name


def _variables(condition: Expr) -> Iterator[str]:
    for node in walk(condition):
        if isinstance(node, tuple) and node[0] in QUANTIFIERS:
            for name, _ in node[1]:
                yield name.removeprefix("?")


def leaking_names(document: Document) -> list[tuple[str, str, str]]:
    """Return ``(where, name, token)`` for each visible name that leaks, in document order."""
    return [(where, name, token) for where, name in visible_names(document) for token in leaks(name)]
