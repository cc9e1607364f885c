"""ALFRED's names and actions in words: ``sinkbasin`` and ``SinkBasin`` both become "sink basin"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

TASK_TYPES: Final = {
    "look_at_obj_in_light": "look at object in light",
    "pick_and_place_simple": "pick and place",
    "pick_two_obj_and_place": "pick two objects and place",
    "pick_and_place_with_movable_recep": "pick and place with movable receptacle",
    "pick_cool_then_place_in_recep": "pick, cool, then place in receptacle",
    "pick_heat_then_place_in_recep": "pick, heat, then place in receptacle",
    "pick_clean_then_place_in_recep": "pick, clean, then place in receptacle",
}
"""All task types, and how they read."""

# Plans write names in one piece and in lower case, so that only a list can part them. Names of one word need no entry.
_NAMES = (
    "alarm clock; apple sliced; arm chair; baseball bat; basketball; bathtub basin; bread sliced; butter knife; "
    "cell phone; coffee machine; coffee table; counter top; credit card; desk lamp; dining table; dish sponge; "
    "dog bed; egg cracked; egg shell; floor lamp; garbage bag; garbage can; glass bottle; hand towel; "
    "hand towel holder; house plant; key chain; laundry hamper; laundry hamper lid; lettuce sliced; light switch; "
    "paper towel; paper towel roll; pepper shaker; potato sliced; remote control; room decor; salt shaker; "
    "scrub brush; shower door; shower glass; shower head; side table; sink basin; soap bar; soap bottle; "
    "spray bottle; stove burner; stove knob; table top decor; teddy bear; tennis racket; tissue box; toilet paper; "
    "toilet paper hanger; toilet paper roll; tomato sliced; towel holder; tv stand; vacuum cleaner; watering can; "
    "wine bottle"
)
_PARTED: Final = {name.replace(" ", ""): name for name in _NAMES.split("; ")}

_ACTS: Final = {
    "GotoLocation": "go to {}",
    "PickupObject": "pick up {}",
    "PutObject": "put {} {} {}",
    "SliceObject": "slice {}",
    "CoolObject": "cool {}",
    "HeatObject": "heat {}",
    "CleanObject": "clean {}",
    "ToggleObject": "toggle {}",
}
NOTHING: Final = "NoOp"
"""The action that ends most plans and does nothing."""

# Things are put on these, and in everything else.
_SURFACES: Final = frozenset(
    (
        "arm chair; bed; coffee table; counter top; desk; dining table; dog bed; dresser; hand towel holder; ottoman; "
        "plate; shelf; side table; sofa; stove burner; toilet; toilet paper hanger; towel holder; tv stand"
    ).split("; ")
)


def readable(name: str) -> str:
    """Return a name in words: from the list if known, otherwise split before capitals."""
    return _PARTED.get(name.lower()) or " ".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", name).lower().split())


def act(action: str, args: Sequence[str]) -> str | None:
    """Return a step of a plan in words; null if it is not an ALFRED action with the right number of arguments."""
    words = [readable(arg) for arg in args]
    if action == "PutObject" and len(words) == 2:
        words.insert(1, "on" if words[1] in _SURFACES else "in")
    phrase = _ACTS.get(action, "")
    return phrase.format(*words) if phrase and all(words) and phrase.count("{}") == len(words) else None
