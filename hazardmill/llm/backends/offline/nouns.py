"""Nouns of a record as names for code, and what kind of thing each is."""

from __future__ import annotations

import builtins
import keyword
import re
from typing import Final

from hazardmill.formalism.names import LEAKING_TOKENS, neutral

_MOST_WORDS: Final = 3
_LONGEST: Final = 22
"""Characters of a noun; names of acts hold two or three nouns and have at most 80."""

_TAIL: Final = re.compile(
    r"\s*(?:[,(/;]| or | and | with | without | for | not | nec\b|\bn/s\b| excl| incl).*", re.DOTALL
)
_PLURALS: Final = {
    "knives": "knife",
    "shelves": "shelf",
    "leaves": "leaf",
    "children": "child",
    "batteries": "battery",
    "glasses": "glass",
    "dishes": "dish",
    "couches": "couch",
    "benches": "bench",
    "bunches": "bunch",
    "brushes": "brush",
    "boxes": "box",
    "mattresses": "mattress",
    "axes": "axe",
    "potatoes": "potato",
    "tomatoes": "tomato",
}
_UNCHANGED: Final = frozenset(
    "scissors stairs steps clothes pants trousers jeans shorts tongs goggles headphones chess gymnastics canvas hummus"
    " christmas gas".split()
)
# Words of the code itself; a noun that collides with one gets another tail.
_TAKEN: Final = frozenset(
    ["self", "room", "person", "robot", "move", "cupboard", "object", "item", *keyword.kwlist, *keyword.softkwlist]
) | frozenset(dir(builtins))


def name_of(phrase: str) -> str:
    """A phrase of a record as a neutral ``snake_case`` noun in the singular; empty if nothing is left.

    >>> name_of("knives, not elsewhere classified")
    'knife'
    """
    head = _TAIL.sub("", " " + phrase.strip().lower()).strip()
    words = [word for word in re.findall(r"[a-z]+", head) if word not in LEAKING_TOKENS]
    if not words:
        return ""
    words[-1] = _singular(words[-1])
    while len(words) > _MOST_WORDS or (len(words) > 1 and len("_".join(words)) > _LONGEST):
        del words[0]
    name = neutral("_".join(words))[:_LONGEST].rstrip("_")
    return f"{name}_piece" if name in _TAKEN else name


def _singular(word: str) -> str:
    if word in _UNCHANGED or len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word in _PLURALS:
        return _PLURALS[word]
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


_KINDS: Final = {
    "sharp": "knife scissors razor blade saw axe hatchet slicer cutter needle peeler nail skewer chisel drill"
    " tack fork grater shears screwdriver hammer",
    "hot": "stove oven range kettle pan saucepan saucepot pot soup coffee tea iron casserole skillet"
    " microwave chocolate syrup stockpot cookie pie roll chorizo pea paella taco mushroom pastry"
    " toast wok stew porridge radiator fryer",
    "chemical": "bleach chlorine cleaner detergent vinegar ammonia solvent lacquer pesticide polish disinfectant"
    " glue soap atomizer paint thinner oil varnish remover fertilizer acid gasoline turpentine",
    "electric": "lamp toaster vacuum mixer blender television computer battery heater refrigerator washer dryer"
    " microwave disposer drill fan charger recliner light decoration freezer oven blower printer"
    " radio buffer massager",
    "raw": "chicken egg meat chorizo sausage fish shrimp prawn clam pork beef turkey steak bacon salmon"
    " lobster oyster kabob",
    "food": "salad bread cookie apple pie taco roll mushroom pea pepper rice lettuce tomato lemon orange"
    " strawberry cheese cake pastry hummus pumpkin pineapple chocolate sugar butter banana mojito"
    " salt candy fruit vegetable sandwich pasta beef kabob ham olive grape cucumber water tea bagel"
    " muffin tupperware",
    "textile": "sheet towel clothes coat denim blanket sock shirt trousers jersey undergarment cloth pillow cap"
    " jacket sweater napkin rag curtain clothing wear pants dress trouser apron scarf mattress"
    " bedspread case",
    "furniture": "chair table sofa bed stool desk couch bench ottoman footstool dresser bookcase shelf counter"
    " countertop recliner crib stand rocker bedframe davenport hutch lawn_chair",
    "floor": "floor rug carpet mat runner tile doormat lawn porch driveway ceiling wall stairs steps step threshold",
    "breakable": "glass cup mug plate bowl jar bottle mirror vase tableware goblet saucer window jug pitcher"
    " picture frame dish crockery cake_stand wineglass",
    "toy": "toy doll ball tricycle puzzle game teddy basketball football trampoline balloon kite crayon"
    " scooter baseball dinosaur skate sled block globe swing soccer tennis",
    "paper": "letter book paper envelope magazine notebook card folder document album newspaper mail binder"
    " diary catalog photograph marker pencil pen",
    "medicine": "pill drug medicine tablet capsule inhaler bandage denture syringe painkiller ointment",
    "container": "cabinet drawer box refrigerator basket bag closet chest carton wardrobe hamper washer backpack"
    " tupperware bucket container can ashcan toolbox trunk freezer oven",
    "heavy": "box ladder weight battery sofa television container chair couch carton barrow bucket toolbox"
    " desk table stool recliner luggage suitcase crate",
    "surface": "table countertop counter desk coffee_table shelf stand bench breakfast_table sink stove",
    "pet": "cat dog mouse hamster fish rabbit parrot puppy kitten",
    "bath": "bathtub toilet shower sink tub hot_tub washbasin",
    "keepsake": "jewelry ring picture frame album coin toy doll book trombone vase instrument teddy watch",
    "pack": "pack",
    "strap": "strap",
    "record": "log",
    "noisy": "vacuum mixer blender blower drill disposer saw thrower trombone washer",
    "feed": "petfood",
    "board": "board",
    "cloth": "towel cloth napkin rag gauze",
    "mat": "mat rug carpet runner tatami",
    "table": "table",
    "aid": "walker cane crutch wheelchair",
    "phone": "telephone tablet_computer",
    "trash": "ashcan trash waste wrapping debris napkin can bin litter crumb garbage",
}
KINDS: Final = {kind: frozenset(words.split()) for kind, words in _KINDS.items()}


def is_kind(name: str, kind: str) -> bool:
    """Whether a noun is of a kind, by its head (the last word) or by the whole of it."""
    return name in KINDS[kind] or name.rpartition("_")[2] in KINDS[kind]


PEOPLE: Final = frozenset(
    """
    person people human resident guest visitor neighbour neighbor child children toddler baby infant girl boy teenager
    woman man mother father grandmother grandfather grandparent uncle aunt sister brother family pupil pupils student
    teacher patient colleague cook host hostess daughter son lodger tenant customer worker nurse adult elder someone
    player players roommate wife husband parent
    """.split()
)
ANIMALS: Final = frozenset(
    "cat cats dog dogs puppy kitten hamster rabbit parrot mouse fish goldfish canary pet bird animal turtle".split()
)
MACHINES: Final = frozenset("robot gripper wheels chassis arm".split())
