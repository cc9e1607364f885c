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
# One name for one thing, whatever a source calls it; whole names and their last words.
_SAME: Final = {
    "fridge": "refrigerator",
    "tv": "television",
    "cellphone": "telephone",
    "cell_phone": "telephone",
    "phone": "telephone laptop",
    "counter_top": "countertop",
    "coffe_maker": "coffee_maker",
    "coffee_machine": "coffee_maker",
    "trashcan": "trash_can",
    "blow_dryer": "hairdryer",
    "cookingpot": "cooking_pot",
    "fryingpan": "frying_pan",
    "washing_machine": "washer",
    "cupboard": "wall_cupboard",
    "toilet_paper": "toilet_roll",
    "ground_coffee": "coffee_powder",
    "paper_towel": "kitchen_roll",
    "paper_towel_roll": "kitchen_roll",
    "vacuum_cleaner": "vacuum",
    "electrical_outlet": "outlet",
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
    words = [word for word in re.findall(r"[a-z]+", re.sub(r"['\u2019]s\b", "", head)) if word not in LEAKING_TOKENS]
    if not words:
        return ""
    words[-1] = _singular(words[-1])
    while len(words) > _MOST_WORDS or (len(words) > 1 and len("_".join(words)) > _LONGEST):
        del words[0]
    name = neutral("_".join(words))[:_LONGEST].rstrip("_")
    name = _SAME.get(name, name)
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
    " tack fork grater shears screwdriver hammer corkscrew shredder",
    "hot": "stove oven range kettle pan saucepan saucepot pot soup coffee tea iron casserole skillet"
    " microwave chocolate syrup stockpot cookie pie roll chorizo pea paella taco mushroom pastry toast"
    " wok stew porridge radiator fryer coffee_pot coffee_maker teapot burner grill cocoa broth candle"
    " hairdryer cooking_pot frying_pan",
    "chemical": "bleach chlorine cleaner detergent vinegar ammonia solvent lacquer pesticide polish disinfectant"
    " glue soap atomizer paint thinner oil varnish remover fertilizer acid gasoline turpentine"
    " solution spray shampoo conditioner freshener mouthwash lotion",
    "electric": "lamp toaster vacuum mixer blender television computer battery heater refrigerator washer dryer"
    " microwave disposer drill fan charger recliner light decoration freezer oven blower printer radio"
    " buffer massager laptop iron stereo kettle dishwasher shaver console microphone machine"
    " coffee_maker hairdryer player keyboard telephone clock",
    "raw": "chicken egg meat chorizo sausage fish shrimp prawn clam pork beef turkey steak bacon salmon"
    " lobster oyster kabob",
    "food": "salad bread cookie apple pie taco roll mushroom pea pepper rice lettuce tomato lemon orange"
    " strawberry cheese cake pastry hummus pumpkin pineapple chocolate sugar butter banana mojito salt"
    " candy fruit vegetable sandwich pasta beef kabob ham olive grape cucumber water tea bagel muffin"
    " tupperware food snack dessert cereal oatmeal milk juice carrot donut noodle jelly groceries"
    " breakfast lunch meal popcorn soup coffee wine beer drink cocktail alcohol potato egg picnic dinner",
    "textile": "sheet towel clothes coat denim blanket sock shirt trousers jersey undergarment cloth pillow cap"
    " jacket sweater napkin rag curtain clothing wear pants dress trouser apron scarf mattress"
    " bedspread case skirt shoe boot heel hat hoodie short swimsuit bikini suit robe pajama glove"
    " slipper costume mask wig comforter uniform underwear sandal jean bathing_suit",
    "furniture": "chair table sofa bed stool desk couch bench ottoman footstool dresser bookcase shelf counter"
    " countertop recliner crib stand rocker bedframe davenport hutch lawn_chair armchair cupboard"
    " closet nightstand seat",
    "floor": "floor rug carpet mat runner tile doormat lawn porch driveway ceiling wall stairs steps step threshold",
    "breakable": "glass cup mug plate bowl jar bottle mirror vase tableware goblet saucer window jug pitcher"
    " picture frame dish crockery cake_stand wineglass statue tray painting",
    "toy": "toy doll ball tricycle puzzle game teddy basketball football trampoline balloon kite crayon"
    " scooter baseball dinosaur skate sled block globe swing soccer tennis lego chessboard"
    " scrabble barbie controller drawing",
    "paper": "letter book paper envelope magazine notebook card folder document album newspaper mail binder"
    " diary catalog photograph marker pencil pen bill textbook novel note note_pad homework receipt"
    " check bookmark form report dictionary email message resume credit_card creditcard",
    "medicine": "pill pill_box drug medicine tablet capsule inhaler bandage denture syringe painkiller ointment",
    "container": "cabinet drawer box refrigerator basket bag closet chest carton wardrobe hamper washer backpack"
    " tupperware bucket container can ashcan toolbox trunk freezer oven dishwasher filing_cabinet"
    " trash_can cupboard dresser bookshelf microwave bookcase hutch",
    "heavy": "box ladder weight battery sofa television container chair couch carton barrow bucket toolbox"
    " desk table stool recliner luggage suitcase crate",
    "surface": "table countertop counter desk coffee_table shelf stand bench breakfast_table sink stove dresser"
    " nightstand stove_top cupboard",
    "pet": "cat dog mouse hamster fish rabbit parrot puppy kitten",
    "bath": "bathtub toilet shower sink tub hot_tub washbasin basin",
    "keepsake": "jewelry ring picture frame album coin toy doll book trombone vase instrument teddy watch"
    " painting necklace key key_chain purse wallet statue glasses spectacle",
    "tub": "bathtub tub hot_tub washbasin",
    "vessel": "bucket basin washbasin sink bathtub tub toilet mop_bucket",
    "fixture": "bed closet couch sofa desk dresser toilet bathtub tub sink shower cabinet wall_cupboard refrigerator"
    " oven stove dishwasher table bookshelf filing_cabinet freezer washer dryer counter countertop floor faucet"
    " carpet window door nightstand recliner basin wardrobe shelf stand outlet crib dirt ceiling wall lawn porch"
    " coffee_maker microwave water",
    "drum": "washer dryer dishwasher closet wardrobe drawer hamper basket",
    "heater": "oven microwave stove toaster grill burner",
    "wet": "cup mug plate bowl glass pot pan fork knife spoon spatula ladle dish lettuce tomato potato apple cloth rag"
    " sponge towel",
    "purse": "wallet purse key key_chain keychain credit_card creditcard watch remote_control remote telephone glasses"
    " spectacle card",
    "shelved": "box television container carton bucket luggage suitcase crate plant lamp",
    "upholstery": "couch sofa recliner armchair mattress chair",
    "lit": "lamp light clock radio stereo television player",
    "written": "letter book paper envelope notebook folder document album mail binder diary photograph bill note"
    " note_pad homework receipt check report email message form resume newspaper magazine",
    "hotdevice": "iron toaster kettle stove candle burner hairdryer coffee_maker grill",
    "screen": "laptop computer television tablet tablet_computer telephone",
    "personal": "toothbrush razor comb hairbrush brush cup mug towel cloth fork spoon glass",
    "cutlery": "fork knife spoon spatula ladle utensil",
    "wiper": "sponge rag cloth duster",
    "hotdrink": "coffee tea soup cocoa chocolate",
    "strongdrink": "alcohol wine beer cocktail liquor",
    "blind": "curtain blind shutter",
    "pack": "pack",
    "strap": "strap",
    "record": "log",
    "noisy": "vacuum mixer blender blower drill disposer saw thrower trombone washer shredder stereo dryer"
    " guitar speaker drum radio",
    "feed": "petfood",
    "board": "board",
    "cloth": "towel cloth napkin rag gauze",
    "mat": "mat rug carpet runner tatami",
    "table": "table desk",
    "aid": "walker walking_stick cane crutch wheelchair",
    "phone": "telephone tablet_computer",
    "trash": "ashcan trash waste wrapping debris napkin can bin litter crumb garbage trashcan trash_can"
    " garbage_can rubbish dirt",
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
    player players roommate wife husband parent kid friend friends boyfriend girlfriend client doctor senior
    manager cashier janitor caregiver athlete server waiter waitress bartender chef receptionist clerk passenger
    driver pilot priest monk librarian officer soldier guard coach trainer lawyer employee employer boss landlord
    prisoner inmate
    performer musician dancer artist actor photographer scientist professor principal barber hairdresser mechanic
    farmer gardener lifeguard swimmer spectator tourist traveler camper hiker rider intern assistant attendant
    secretary journalist reporter preacher bride groom mourner nanny babysitter therapist pharmacist referee stranger
    salesperson shopper member housekeeper porter volunteer vendor zookeeper dentist curator usher
    """.split()
)
ANIMALS: Final = frozenset(
    "cat cats dog dogs puppy kitten hamster rabbit parrot mouse fish goldfish canary pet bird animal turtle".split()
)
MACHINES: Final = frozenset("robot gripper wheels chassis arm".split())
