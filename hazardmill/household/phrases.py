"""Actions in words, and what each verb demands of its object whatever the state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from hazardmill.household.actions import Reason, Verb
from hazardmill.household.object_kinds import Property
from hazardmill.household.scene import SceneObject

DEMANDED: Final = {
    Verb.PICK_UP: (Property.PICKABLE, Reason.NOT_PICKABLE),
    Verb.OPEN: (Property.OPENABLE, Reason.NOT_OPENABLE),
    Verb.CLOSE: (Property.OPENABLE, Reason.NOT_OPENABLE),
    Verb.TURN_ON: (Property.TOGGLEABLE, Reason.NOT_TOGGLEABLE),
    Verb.TURN_OFF: (Property.TOGGLEABLE, Reason.NOT_TOGGLEABLE),
    Verb.SLICE: (Property.SLICEABLE, Reason.NOT_SLICEABLE),
    Verb.POUR: (Property.FILLABLE, Reason.NOT_FILLABLE),
    Verb.BREAK: (Property.BREAKABLE, Reason.NOT_BREAKABLE),
}
"""The property that each verb demands of its object, whatever the state."""

WHILE_HELD: Final = (Verb.PUT_DOWN, Verb.DROP, Verb.THROW, Verb.EMPTY)
"""Verbs that demand that their object is held."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """An action in words, taken apart.

    Attributes:
        verb: What is to be done.
        thing: The object to which it is done.
        source: What is to be poured, where the words name it; None if they do not.
        text: The action in words, as the skills of an episode have it.
    """

    verb: Verb
    thing: SceneObject
    source: SceneObject | None = None
    text: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        said = f"{self.verb} {self.thing.name}"
        if self.source is not None:
            said = f"pour {self.source.name} into {self.thing.name}"
        object.__setattr__(self, "text", said)


def squeeze(words: str) -> str:
    """Return words without blanks and in one case, as they are compared."""
    return "".join(words.split()).casefold()
