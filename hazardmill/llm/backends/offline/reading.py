"""A record's text as the offline author understands it: labelled values, words, circumstances, people and rooms."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.norms import Constraint, constraints_in, deed_of, doing_of
from hazardmill.llm.backends.offline.nouns import ANIMALS, KINDS, PEOPLE, is_kind, name_of

_UNKNOWN: Final = frozenset({"", "not recorded", "unknown", "not known", "not given", "none", "other"})
_THINGS: Final = ("products", "target", "objects", "object")
_NO_THING: Final = frozenset("agent robot hair face hand foot feet arm leg eye teeth tooth body yes no".split())

_THEME: Final = ("title", "description", "task type", "instructions", "target", "behavior")
"""Labels of what a program, an instruction or a norm is about."""
_IN_PASSING: Final = frozenset(
    "hand hands head back face lower upper foot left right lost found fell fall step steps stand look turn walked"
    " make water light putting carrying".split()
)
"""Words that say where to turn in an instruction and what harmed whom in an injury report."""
_NO_NOUN: Final = frozenset(
    "wall ceiling step steps stairs light can stand block nail drill saw ring fan play iron".split()
)
_NOBODY: Final = frozenset(
    "person people human someone family player players group adult server cook cleaner chef".split()
)
_SOURCE_WORD: Final = re.compile(r"^(?:food|clothes|instrument) (?=\w)|(?<=\w) both$")

_HEATING: Final = frozenset(
    "heat heated heating warm warmed hot cook cooked bake baked toast boil boiling fry microwave".split()
)
# Verbs of a program's steps that do nothing to a thing.
_OF_A_PERSON: Final = frozenset(
    "walk run find sit lie sleep stand look turn point watch touch eat drink dance sing laugh wake talk speak greet"
    " stretch crawl climb jump enter leave wait read type rest".split()
)
_NOT_SO: Final = re.compile(r";? *\bsliced: no\b")
_BODILY: Final = frozenset(
    "drink eat chew smoke smoking vape wear sit lie sleep fall cry laugh yawn jump run walk dance kiss spit spitting"
    " breathe pray swim pick blow shave brush exercise go get have be feel think raise clap cough sneeze stand kneel"
    " ride drive climb study dress undress bathe shower cuddle smile wink blink stretch trip faint sweat burp fart pee"
    " vomit relax dream worship meditate marry beg sunbathe love hate enjoy".split()
)
_OF_THE_BODY: Final = re.compile(
    r"^(?:take an? (?:bath|shower|nap|walk|break|swim|seat)|hide$|put your|use the (?:toilet|restroom))"
)
_HANDLING: Final = re.compile(
    r"^(?:then |and )?(pick up|pick|grab|take|get|slice|cut|open|close|turn on|put|place|rinse|wash|clean|heat|cook"
    r"|microwave|chill|cool|remove|carry|bring|set|toggle)\s+(.*?)(?=$| (?:on|in|into|inside|from|to|with|off|of|at"
    r"|next|by|for|under|near|out|back|behind|that|which)\b)"
)
_PARTICLE: Final = re.compile(r"^(\w+) (?:on|off|in|out|back|up|down) ")
_STANDING: Final = "container|surface|bath|heater"
"""Kinds of what an instruction names without listing it among the objects."""

_SETTINGS: Final = {
    "home": "home apartment bedroom kitchen backyard garden attic basement bathroom balcony garage armchair childs"
    " nursery tent living dining house",
    "care": "hospital nursing doctors dentists ward mental institution clinic",
    "school": "classroom kindergarden kindergarten school campus preschool",
}
"""Words of a norm's setting to kind of place; any other is public."""

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
_ROOM_NAMES: Final = frozenset((*_ROOMS, "home_office", "entrance_hall", "kids_bedroom"))
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
        found = {label.strip().lower(): _NOT_SO.sub("", value).strip() for label, _, value in pairs}
        return {label: value for label, value in found.items() if value.lower() not in _UNKNOWN}

    def values(self, label: str) -> list[str]:
        """The values of a label, at its semicolons."""
        return [value.strip() for value in self.fields.get(label, "").split(";") if value.strip()]

    @property
    def is_norm(self) -> bool:
        """Whether the record is a social norm: a behaviour and what people there hold of it."""
        return "behavior" in self.fields

    @cached_property
    def told(self) -> str | None:
        """What is done, where the record tells it apart from what only stands about; else null."""
        if not {"steps", "instructions", "behavior"} & set(self.fields):
            return None
        if not self.is_norm:
            return "; ".join((*(self.fields[label] for label in _THEME if label in self.fields), *self._handling))
        return "; ".join([self.fields["behavior"], *(c.value for c in self.constraints if not c.is_inborn)])

    @cached_property
    def theme(self) -> frozenset[str]:
        """Words of what the record is about; empty where it does not tell that apart."""
        return _words_in("; ".join(self.fields[label] for label in _THEME if label in self.fields))

    @cached_property
    def words(self) -> frozenset[str]:
        """All words, abbreviations spelled out, nouns also as whole names, and the circumstances."""
        if self.told is not None:
            words = _words_in(self.told) | set(self.told_things) | self.circumstances
            # Beside a computer a mouse is no animal.
            return words - {"mouse"} if words & {"computer", "laptop", "keyboard"} else words
        plain = {_SPELLED_OUT.get(word, word) for word in re.findall(r"[a-z]+", self.text.lower())}
        return frozenset(plain | set(self.things) | self.circumstances)

    @cached_property
    def things(self) -> tuple[str, ...]:
        """Names of the record's products or objects, in its order; those that something is done with go first."""
        values = [value.rpartition(": ")[2] for label in _THINGS for value in self.values(label)]
        names = [name_of(_SOURCE_WORD.sub("", value)) for value in values]
        names += self._mentioned
        unfit = _NO_THING | ANIMALS | (PEOPLE | _ROOM_NAMES if self.told is not None else set())
        found = dict.fromkeys(name for name in names if name and name not in unfit)
        return tuple(sorted(found, key=lambda name: self.told is not None and not self._is_told(name)))

    @cached_property
    def _handling(self) -> list[str]:
        """What a program's or an instruction's steps do with things, as verbs and direct objects."""
        if "title" in self.fields:
            plain = [_PARTICLE.sub(r"\1 ", step) for step in self.values("steps")]
            steps = [re.split(r" (?:on|in|into|with|to|from|at) ", step)[0] for step in plain]
            return [step for step in steps if step.partition(" ")[0] not in _OF_A_PERSON]
        told = [*self.values("steps"), *self.values("plan"), *self.values("instructions")]
        clauses = [part.strip() for step in told for part in re.split(r"[,.]| and ", step.lower())]
        return [f"{found[1]} {found[2]}" for clause in clauses if (found := _HANDLING.match(clause))]

    @cached_property
    def is_idle(self) -> bool:
        """Whether a program only moves or rests a person."""
        return "title" in self.fields and "steps" in self.fields and not self._handling

    @cached_property
    def told_things(self) -> tuple[str, ...]:
        """The things that something is done with; all, where the record does not tell them apart."""
        return tuple(name for name in self.things if self.told is None or self._is_told(name))

    def _is_told(self, name: str) -> bool:
        words = _words_in("; ".join(self._handling)) | self.theme
        return name in words or bool(set(name.split("_")) & words)

    @cached_property
    def _mentioned(self) -> list[str]:
        """Things that an instruction or a behaviour only mentions, as nouns of a known kind."""
        if self.is_norm:
            done, kinds = self.fields["behavior"].partition(" ")[2], "|".join(KINDS)
        else:
            done, kinds = self.fields.get("instructions", "") + self.fields.get("steps", ""), _STANDING
            done = done if "instructions" in self.fields else ""
        return [name for name in sorted(_words_in(done) - _NO_NOUN) if _is_any(name, kinds)]

    def nearest(self, kinds: str, taken: Collection[str] = ()) -> list[str]:
        """The free things of some kinds, parted by ``|``: what the record is about, else what it tells of, else any."""
        names = [name for kind in kinds.split("|") for name in self.things_of(kind) if name not in taken]
        about = [name for name in names if self.told is not None and set(name.split("_")) & self.theme]
        told = [name for name in names if name in self.told_things]
        return list(dict.fromkeys(about or told or names))

    @cached_property
    def fixtures(self) -> list[str]:
        """The things that nobody carries about."""
        return self.things_of("fixture")

    def things_of(self, kind: str) -> list[str]:
        """The things of a kind; those ``heated`` are the ones that the record warms or cooks."""
        if kind == "deed":
            return []
        if kind == "heated":
            return self.things_of("food|breakable") if self._heats else []
        return [name for name in self.things if _is_any(name, kind)]

    @cached_property
    def _heats(self) -> bool:
        return self.told is not None and bool(_words_in(self.told) & _HEATING)

    def deeds(self, who: str) -> list[str]:
        """The behaviour of a norm as the name of an act; ``who`` stands for whomever it is done to."""
        return [deed] if (deed := deed_of(self.fields.get("behavior", ""), who)) else []

    def doing(self, who: str) -> str:
        """The behaviour of a norm in words; empty for any other record."""
        return doing_of(self.fields.get("behavior", ""), who)

    @property
    def is_bodily(self) -> bool:
        """Whether the behaviour of a norm is one of body or mind, which no robot has."""
        behavior = self.fields.get("behavior", "").lower()
        return behavior.partition(" ")[0] in _BODILY or bool(_OF_THE_BODY.search(behavior))

    def limits(self, who: str, *, acting: bool) -> list[str]:
        """The circumstances that a norm states, in the short notation; not what somebody is by birth or belief.

        ``acting`` says that the robot itself does the deed of the norm, in the place of the person.
        """
        acting = acting or any(limit.about == "other" for limit in self.constraints)
        stated = (limit.literal(who, acting=acting) for limit in self.constraints if not limit.is_inborn)
        return list({literal.removeprefix("!"): literal for literal in stated}.values())

    def _concerned(self, *, acting: bool = False) -> list[Constraint]:
        """The constraints on the person concerned: the other one, if there is one or the robot does the deed."""
        others = [limit for limit in self.constraints if limit.about == "other"]
        return others if others or acting else [limit for limit in self.constraints if limit.about == "person"]

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of a norm."""
        return constraints_in(self.values("constraints"))

    @cached_property
    def age(self) -> int | None:
        """Years, where the record tells."""
        if found := re.search(r"(\d+)\s*(year|month)", self.fields.get("age group", "")):
            return int(found[1]) if found[2] == "year" else 0
        return _age_in(self._concerned())

    @cached_property
    def circumstances(self) -> frozenset[str]:
        """Marks such as ``is_child``, ``in_care``, ``in_kitchen``, ``of_neiss``."""
        marks = {f"of_{self.source}", f"at_{self.place}"}
        if self.age is not None:
            age = "baby" if self.age < 2 else "child" if self.age < 13 else "teenager" if self.age < 18 else "adult"
            marks.add("is_elder" if self.age >= 65 else f"is_{age}")
        if "norm" in self.fields:
            marks.add(f"norm_{self.fields['norm'].lower()}")
        if self._heats:
            marks.add("is_heated")
        body = self.fields.get("body part", "")
        if body in _LIMBS or body in _TRUNK:
            marks.add("hurt_limb" if body in _LIMBS else "hurt_trunk")
        return frozenset(marks | {f"in_{room}" for room in self.named_rooms})

    @cached_property
    def place(self) -> str:
        """The kind of place: home, care, school or public."""
        if self.is_norm:
            setting = self.fields.get("setting", "")
            found = (place for place, words in _SETTINGS.items() if set(setting.lower().split()) & set(words.split()))
            return next(found, "public")
        if self.told is not None:
            return "home"
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
        named = [
            name_of(room)
            for label in ("rooms", "room", *(["setting"] if self.is_norm else []))
            for room in self.values(label)
        ]
        if self.told is not None:
            standing = re.findall(r"\b(?:is in|walk to) the ([a-z ]+)|\bwalk to ([a-z ]+)", self.text.lower())
            found = [*self.values("objects"), *(one or other for one, other in standing)]
            named += [name for value in found if (name := name_of(value)) in _ROOM_NAMES]
            return tuple(dict.fromkeys(filter(None, named)))
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

    def person(self, draws: Draws, *, acting: bool = False) -> str:
        """A noun for the person concerned, from age, sex and place; for records without people one that fits in.

        ``acting`` as for ``limits``: then the person of the norm is not the one concerned.
        """
        concerned = self._concerned(acting=acting)
        if own := next((limit.noun for limit in concerned if limit.noun), ""):
            return own
        age = _age_in(concerned) if acting else self.age
        if age is None:
            return draws.pick("person", self._named_people or self._company)
        female = "female" in self.fields.get("sex", "").lower()
        if age < 2:
            return "baby"
        if age < 4:
            return "toddler"
        if age < 13:
            young = ("girl" if female else "boy") if "sex" in self.fields else "child"
            return "pupil" if self.place == "school" else young
        if age < 18:
            return "student" if self.place == "school" else "teenager"
        if age < 65:
            return {"care": "patient", "public": "visitor"}.get(self.place, "woman" if female else "man")
        return "resident" if self.place == "care" else ("grandmother" if female else "grandfather")

    @cached_property
    def _named_people(self) -> tuple[str, ...]:
        if "title" not in self.fields and "instructions" not in self.fields:
            return ()
        return tuple(sorted((_words_in(self.told or "") & PEOPLE) - _NOBODY))

    @cached_property
    def _company(self) -> tuple[str, ...]:
        if self.is_norm:
            return {"care": ("patient", "visitor"), "school": ("pupil", "teacher")}.get(
                self.place, ("visitor", "guest")
            )
        words = set(re.findall(r"[a-z]+", self.text.lower()))
        if self.place == "school" or words & {"toy", "toys", "preschool", "goody"}:
            return ("child", "pupil", "toddler")
        if words & {"feast", "party", "wine", "mojito", "dinner"}:
            return ("guest", "neighbour", "grandmother")
        return ("guest", "child", "grandmother", "neighbour", "lodger", "teenager")

    def animal(self, draws: Draws) -> str:
        """A noun for an animal of the house: the record's own if it speaks of one."""
        for word in ("cat", "dog", "mouse", "hamster", "rabbit", "parrot"):
            if re.search(rf"\b{word}\b", self.text.lower()) and not (word == "mouse" and "computer" in self.text):
                return word
        return draws.pick("animal", ("cat", "dog", "rabbit"))

    @cached_property
    def goals(self) -> list[str]:
        """Simple statements of the goal, brackets and quantifiers dropped."""
        text = re.sub(r"[()]", " ", self.fields.get("goal", "").lower())
        return [part.strip() for part in re.split(r"\band\b|;", text) if part.strip()]


def _words_in(text: str) -> frozenset[str]:
    """The words of a text and their singulars, without those that only say where to turn."""
    words = set(re.findall(r"[a-z]+", text.lower()))
    return frozenset((words | {name_of(word) for word in words}) - _IN_PASSING - {""})


def _age_in(constraints: list[Constraint]) -> int | None:
    return next((limit.age for limit in constraints if limit.age is not None), None)


def _is_any(name: str, kinds: str) -> bool:
    return any(is_kind(name, kind) for kind in kinds.split("|"))
