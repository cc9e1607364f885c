"""Classes of household objects: those of the simulator AI2-THOR, with what can be done to each, and names in English.

The objects of a scene have the properties of their class unless the scene says otherwise. Properties follow the table
of object types in the documentation of iTHOR; a property of some objects of a class is one of the class. They differ
where actions here do: a burner is switched by its knob alone, an egg is cooked whole and gives no slices, and a plant
can be carried and watered. Blades, basins, cookers and names in English are ours. The floor is no receptacle, because
a state has no place for what lies on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Property(StrEnum):
    """What can be done with an object, or what it does to others.

    An object that is not pickable is fixed: it never changes its place.
    """

    RECEPTACLE = "receptacle"
    """Other objects can be in or on it."""
    OPENABLE = "openable"
    TOGGLEABLE = "toggleable"
    PICKABLE = "pickable"
    SLICEABLE = "sliceable"
    FILLABLE = "fillable"
    BREAKABLE = "breakable"
    DIRTYABLE = "dirtyable"
    COOKABLE = "cookable"
    BLADE = "blade"
    """It slices."""
    BASIN = "basin"
    """What is in it is washed and filled with water when its tap is turned on."""
    COOKER = "cooker"
    """What is in or on it is cooked when it is turned on."""


_LETTERS: Final[Mapping[str, Property]] = {
    "p": Property.PICKABLE,
    "r": Property.RECEPTACLE,
    "o": Property.OPENABLE,
    "t": Property.TOGGLEABLE,
    "s": Property.SLICEABLE,
    "f": Property.FILLABLE,
    "b": Property.BREAKABLE,
    "d": Property.DIRTYABLE,
    "c": Property.COOKABLE,
    "k": Property.BLADE,
    "w": Property.BASIN,
    "h": Property.COOKER,
}
"""The letters of the table below."""

_TABLE: Final = """
AlarmClock p; AluminumFoil p; Apple ps; AppleSliced p; ArmChair r; BaseballBat p; BasketBall p; Bathtub rw;
BathtubBasin rw; Bed rd; Blinds o; Book po; Boots p; Bottle pfb; Bowl prfbd; Box pro; Bread ps; BreadSliced pc;
ButterKnife pk; Cabinet ro; Candle pt; CD p; CellPhone ptb; Chair r; Cloth pd; CoffeeMachine rt; CoffeeTable r;
CounterTop r; CreditCard p; Cup prfbd; Curtains; Desk r; DeskLamp t; Desktop; DiningTable r; DishSponge p; DogBed;
Drawer ro; Dresser r; Dumbbell p; Egg pbc; EggCracked pc; Faucet t; Floor; FloorLamp t; Footstool; Fork p; Fridge ro;
GarbageBag; GarbageCan r; HandTowel p; HandTowelHolder r; HousePlant pf; Kettle pof; KeyChain p; Knife pk; Ladle p;
Laptop potb; LaundryHamper r; Lettuce ps; LettuceSliced p; LightSwitch t; Microwave roth; Mirror bd; Mug prfbd;
Newspaper p; Ottoman r; Painting; Pan prd; PaperTowelRoll p; Pen p; Pencil p; PepperShaker p; Pillow p; Plate prbd;
Plunger p; Poster; Pot prfd; Potato psc; PotatoSliced pc; RemoteControl p; RoomDecor; Safe ro; SaltShaker p;
ScrubBrush p; Shelf r; ShelvingUnit; ShowerCurtain o; ShowerDoor ob; ShowerGlass b; ShowerHead t; SideTable r; Sink rw;
SinkBasin rw; SoapBar p; SoapBottle p; Sofa r; Spatula p; Spoon p; SprayBottle p; Statue pb; Stool; StoveBurner rh;
StoveKnob t; TVStand r; TableTopDecor p; TargetCircle; TeddyBear p; Television tb; TennisRacket p; TissueBox p;
Toaster rth; Toilet ro; ToiletPaper p; ToiletPaperHanger r; Tomato ps; TomatoSliced p; Towel p; TowelHolder r;
VacuumCleaner; Vase pb; Watch p; WateringCan pf; Window b; WineBottle pfb
"""

_OTHER_NAMES: Final = """
Bathtub: bath, tub; BathtubBasin: bathtub, bath, tub; Bottle: water bottle; CD: disc; CellPhone: phone, mobile phone,
smartphone; CoffeeMachine: coffee maker; CoffeeTable: table; CounterTop: counter, kitchen counter; CreditCard: card;
Cup: glass; DeskLamp: lamp, light; DiningTable: table; DishSponge: sponge; EggCracked: egg; Faucet: tap, water tap;
FloorLamp: lamp, light; Fridge: refrigerator; GarbageCan: bin, trash can, trash bin, garbage bin, trash; HandTowel:
towel; HousePlant: plant; KeyChain: key, keys; Laptop: notebook computer; LightSwitch: light; Pan: frying pan;
PepperShaker: pepper; RemoteControl: remote; SaltShaker: salt; ShowerHead: shower; SideTable: table; SinkBasin: sink,
basin; Sink: basin; SoapBar: soap, bar of soap; SoapBottle: soap; Sofa: couch; SprayBottle: spray; StoveBurner: stove,
burner; StoveKnob: stove, knob; TVStand: tv stand; Television: tv
"""


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """A class of objects.

    Attributes:
        name: Its name, such as ``CounterTop``.
        properties: What its objects are and what can be done to them.
        words: What a text may call them, in lower case and the singular, such as ``counter top`` and ``counter``. A
            slice may be called by what it was cut from.
    """

    name: str
    properties: frozenset[Property]
    words: tuple[str, ...]


def _read_tables() -> dict[str, ObjectKind]:
    other_names: dict[str, list[str]] = {}
    for entry in " ".join(_OTHER_NAMES.split()).split("; "):
        name, _, said = entry.partition(": ")
        other_names[name] = said.split(", ")
    kinds = {}
    for entry in _TABLE.split(";"):
        name, *letters = entry.split()
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Sliced")).lower()
        words = dict.fromkeys((spaced, spaced.replace(" ", ""), *other_names.get(name, ())))
        kinds[name] = ObjectKind(name, frozenset(_LETTERS[each] for each in "".join(letters)), tuple(words))
    return kinds


KINDS: Final[Mapping[str, ObjectKind]] = _read_tables()
"""All classes by their names."""

LIQUIDS: Final = ("water", "coffee", "wine")
"""What can fill a fillable object."""

STAINING: Final = ("coffee", "wine")
"""Liquids that leave a dirtyable object dirty when they are poured out of it."""

SLICES: Final = 2
"""Slices that a sliceable object gives."""


def slice_class(kind: str) -> str:
    """Return the class of the slices of a class, such as ``AppleSliced`` for ``Apple``."""
    return f"{kind}Sliced"


def properties_of_slices(kind: str, whole: frozenset[Property]) -> frozenset[Property]:
    """Return the properties that the slices of an object have.

    Args:
        kind: The object's class.
        whole: The object's own properties, which count where the class of the slices is not known.
    """
    known = KINDS.get(slice_class(kind))
    return whole & {Property.PICKABLE, Property.COOKABLE} if known is None else known.properties
