"""Who and what play the roles of a motif in one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.motif import Batch, Motif, Round
from hazardmill.llm.backends.offline.nouns import name_of
from hazardmill.llm.backends.offline.reading import Reading

_MOST_ITEMS = 3


@dataclass(frozen=True)
class Cast:
    """Role to name, and the items of a batch."""

    names: Mapping[str, str]
    items: tuple[str, ...] = ()

    def say(self, sentence: str) -> str:
        """A sentence of the motif in the record's words."""
        return sentence.format_map({role: name.replace("_", " ") for role, name in self.names.items()})

    def name(self, pattern: str) -> str:
        """A name pattern of the motif in the record's words."""
        return pattern.format_map(self.names)

    @property
    def taken(self) -> frozenset[str]:
        """All nouns in use."""
        return frozenset((*self.names.values(), *self.items))


def cast(motif: Motif, reading: Reading, draws: Draws) -> Cast:
    """Give the roles to the record's own things where they fit, else to what the motif names."""
    draws = draws.under("cast", motif.name)
    names = {"who": motif.who or _who(motif, reading, draws)}
    names["start"], names["end"] = reading.rooms(2, draws, *dict.fromkeys(room for room in motif.places if room))
    if motif.places[0] and motif.places[0] == motif.places[1]:
        names["end"] = names["start"] = motif.places[0]
    elif reading.is_norm:
        names["start"], names["end"] = _away_from(names, reading)
    elif motif.places[1] and not motif.places[0]:
        names["start"], names["end"] = names["end"], names["start"]
    for role, description in motif.roles.items():
        kinds, _, defaults = description.partition(":")
        taken = {*names.values(), *(reading.fixtures if role == "item" else ())}
        own = reading.deeds(names["who"]) if kinds == "deed" else reading.nearest(kinds, taken)
        others = [name for name in defaults.split(", ") if name.strip() not in names.values()]
        names[role] = draws.pick(role, own) if own else draws.pick(role, others).strip()
    names["doing"] = reading.doing(names["who"]) or names.get("deed", "help").replace("_", " ")
    names["body"] = name_of(reading.fields.get("body part", "")) or "hand"
    if names["body"] in ("all_parts_of_the_body", "internal") or "body" in names["body"]:
        names["body"] = "arm"
    return Cast(
        names, _items(motif.shape, reading, draws, set(names.values())) if isinstance(motif.shape, Batch) else ()
    )


def _away_from(names: dict[str, str], reading: Reading) -> tuple[str, str]:
    """Two rooms, the second of which is the setting of the record."""
    setting = reading.named_rooms[0] if reading.named_rooms else names["end"]
    return next(room for room in (names["end"], names["start"]) if room != setting), setting


def _who(motif: Motif, reading: Reading, draws: Draws) -> str:
    if motif.entity == "others":
        return reading.animal(draws)
    if isinstance(motif.shape, Round):
        # Several of them: a word for people of one group.
        return {"care": "resident", "school": "pupil"}.get(reading.place, "guest")
    if motif.young and not reading.circumstances & {"is_baby", "is_child"}:
        return "toddler"
    return reading.person(draws, acting=motif.is_deed)


def _items(shape: Batch, reading: Reading, draws: Draws, taken: set[str]) -> tuple[str, ...]:
    count = 2 + draws.number("items") % (_MOST_ITEMS - 1)
    own = draws.some("own items", reading.nearest(shape.kind, taken | set(reading.fixtures)), count)
    others = [name for name in draws.some("other items", shape.items, len(shape.items)) if name not in taken | set(own)]
    return tuple((own + others)[:count])
