"""A record's text as the offline author understands it: labelled values, words, circumstances, people and rooms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.nouns import ANIMALS, is_kind, name_of

_UNKNOWN: Final = frozenset({"", "not recorded", "unknown", "not known", "none", "other"})
_THINGS: Final = ("products", "objects", "object")
_NO_THING: Final = frozenset({"agent", "robot"})

# Abbreviations of emergency room narratives that the cues of the patterns want in full.
_SPELLED_OUT: Final = {
    "lac": "laceration",
    "lacs": "laceration",
    "fx": "fracture",
    "nh": "nursing_home",
    "pt": "patient",
    "ped": "pedestrian",
    "tripping": "tripped",
    "slipping": "slipped",
    "falling": "fell",
    "fall": "fell",
    "scald": "burn",
    "burned": "burn",
    "burnt": "burn",
    "swallowed": "ingestion",
    "ingested": "ingestion",
}

_LIMBS: Final = frozenset(
    "shoulder;elbow;lower arm;upper arm;wrist;hand;finger;upper leg;lower leg;knee;ankle;foot;toe".split(";")
)
_TRUNK: Final = frozenset(("head", "neck", "upper trunk", "lower trunk"))

_ROOMS: Final = {
    "kitchen": "kitchen stove refrigerator microwave oven countertop cooking garbage_disposer cabinet",
    "bathroom": "bathroom toilet bathtub shower commode tub",
    "bedroom": "bedroom bed crib mattress asleep bedframe",
    "living_room": "couch sofa television recliner rug carpet rocking_chair",
    "dining_room": "dining dinner",
    "garage": "garage battery saw drill tool",
    "hallway": "hallway corridor stairs",
    "porch": "porch yard gutters",
    "laundry_room": "laundry washer dryer",
    "gym": "gym basketball wrestling gymnastics volleyball exercise weight",
    "classroom": "classroom book pencil",
}
_NEIGHBOURS: Final = {
    "home": ("kitchen", "hallway", "living_room", "bedroom", "bathroom", "dining_room", "study"),
    "care": ("day_room", "corridor", "dining_hall", "bedroom", "washroom", "garden"),
    "school": ("classroom", "corridor", "canteen", "gym", "library", "staff_room"),
    "public": ("lobby", "corridor", "office", "tea_kitchen", "meeting_room", "store_room"),
}


@dataclass(frozen=True)
class Reading:
    """One record's context."""

    source: str
    record_id: str
    text: str

    @cached_property
    def fields(self) -> dict[str, str]:
        """Label (lower case) to value, unknown ones left out."""
        pairs = (line.partition(":") for line in self.text.splitlines() if ":" in line)
        found = {label.strip().lower(): value.strip() for label, _, value in pairs}
        return {label: value for label, value in found.items() if value.lower() not in _UNKNOWN}

    def values(self, label: str) -> list[str]:
        """The values of a label, at its semicolons."""
        return [value.strip() for value in self.fields.get(label, "").split(";") if value.strip()]

    @cached_property
    def words(self) -> frozenset[str]:
        """All words, abbreviations spelled out, nouns also as whole names, and the circumstances."""
        words = {_SPELLED_OUT.get(word, word) for word in re.findall(r"[a-z]+", self.text.lower())}
        return frozenset(words | set(self.things) | self.circumstances)

    @cached_property
    def things(self) -> tuple[str, ...]:
        """Names of the record's products or objects, in its order."""
        names = [name_of(value) for label in _THINGS for value in self.values(label)]
        return tuple(dict.fromkeys(name for name in names if name and name not in _NO_THING and name not in ANIMALS))

    def things_of(self, kind: str) -> list[str]:
        """The things of a kind."""
        return [name for name in self.things if is_kind(name, kind)]

    @cached_property
    def age(self) -> int | None:
        """Years, where the record tells."""
        if found := re.search(r"(\d+)\s*(year|month)", self.fields.get("age group", "")):
            return int(found[1]) if found[2] == "year" else 0
        return None

    @cached_property
    def circumstances(self) -> frozenset[str]:
        """Marks such as ``is_child``, ``in_care``, ``in_kitchen``, ``of_neiss``."""
        marks = {f"of_{self.source}", f"at_{self.place}"}
        if self.age is not None:
            age = "baby" if self.age < 2 else "child" if self.age < 13 else "teenager" if self.age < 18 else "adult"
            marks.add("is_elder" if self.age >= 65 else f"is_{age}")
        body = self.fields.get("body part", "")
        if body in _LIMBS or body in _TRUNK:
            marks.add("hurt_limb" if body in _LIMBS else "hurt_trunk")
        return frozenset(marks | {f"in_{room}" for room in self.named_rooms})

    @cached_property
    def place(self) -> str:
        """The kind of place: home, care, school or public."""
        text = f" {self.text.lower()} "
        if re.search(r"\bnh\b|nursing home|group home|rehab|hosp\b|hospital|facility", self.text.lower()):
            return "care"
        if "location: school" in text or "preschool" in text or "classroom" in text:
            return "school"
        if re.search(r"location: (public|sports|industrial|street)|office|\bchurch\b|store\b", text):
            return "public"
        return "home"

    @cached_property
    def named_rooms(self) -> tuple[str, ...]:
        """Rooms that the record names, or that its things stand in."""
        named = [name_of(room) for room in self.values("rooms")]
        text = " ".join(value for label, value in self.fields.items() if label != "body part").lower()
        words = set(re.findall(r"[a-z]+", text)) | set(self.things)
        named += [room for room, cues in _ROOMS.items() if words & set(cues.split()) and not self.values("rooms")]
        return tuple(dict.fromkeys(room for room in named if room))

    def rooms(self, count: int, draws: Draws, *wanted: str) -> list[str]:
        """``count`` different rooms: those wanted by name, then the record's own, then others of the same place."""
        others = list(_NEIGHBOURS[self.place])
        order = [*wanted, *self.named_rooms, *draws.some("rooms", others, len(others)), *_NEIGHBOURS["home"]]
        taken = set(self.things)
        return [room for room in dict.fromkeys(order) if room not in taken][:count]

    def person(self, draws: Draws) -> str:
        """A noun for the person concerned, from age, sex and place; for records without people one that fits in."""
        if self.age is None:
            return draws.pick("person", self._company)
        female = "female" in self.fields.get("sex", "").lower()
        if self.age < 2:
            return "baby"
        if self.age < 4:
            return "toddler"
        if self.age < 13:
            return "pupil" if self.place == "school" else ("girl" if female else "boy")
        if self.age < 18:
            return "student" if self.place == "school" else "teenager"
        if self.age < 65:
            return {"care": "patient", "public": "visitor"}.get(self.place, "woman" if female else "man")
        return "resident" if self.place == "care" else ("grandmother" if female else "grandfather")

    @cached_property
    def _company(self) -> tuple[str, ...]:
        words = set(re.findall(r"[a-z]+", self.text.lower()))
        if self.place == "school" or words & {"toy", "toys", "preschool", "goody"}:
            return ("child", "pupil", "toddler")
        if words & {"feast", "party", "wine", "mojito", "dinner"}:
            return ("guest", "neighbour", "grandmother")
        return ("guest", "child", "grandmother", "neighbour", "lodger", "teenager")

    def animal(self, draws: Draws) -> str:
        """A noun for an animal of the house: the record's own if it speaks of one."""
        for word in ("cat", "dog", "mouse", "hamster", "rabbit", "parrot"):
            if re.search(rf"\b{word}\b", self.text.lower()):
                return word
        return draws.pick("animal", ("cat", "dog", "rabbit"))

    @cached_property
    def goals(self) -> list[str]:
        """Simple statements of the goal, brackets and quantifiers dropped."""
        text = re.sub(r"[()]", " ", self.fields.get("goal", "").lower())
        return [part.strip() for part in re.split(r"\band\b|;", text) if part.strip()]
