"""Classes of household objects and the properties that they have unless a scene says otherwise.

Names of classes are those of the simulator AI2-THOR, which SPOC's task files use.
"""

from __future__ import annotations

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


_CLASSES: Final = {
    # Fixed receptacles
    "ArmChair": "receptacle",
    "Bathtub": "receptacle basin",
    "BathtubBasin": "receptacle basin",
    "Bed": "receptacle",
    "Cabinet": "receptacle openable",
    "CoffeeMachine": "receptacle toggleable",
    "CoffeeTable": "receptacle",
    "CounterTop": "receptacle",
    "Desk": "receptacle",
    "DiningTable": "receptacle",
    "Drawer": "receptacle openable",
    "Dresser": "receptacle",
    "Fridge": "receptacle openable",
    "GarbageCan": "receptacle",
    "Microwave": "receptacle openable toggleable cooker",
    "Safe": "receptacle openable",
    "Shelf": "receptacle",
    "SideTable": "receptacle",
    "Sink": "receptacle basin",
    "SinkBasin": "receptacle basin",
    "Sofa": "receptacle",
    "StoveBurner": "receptacle cooker",
    "Toaster": "receptacle toggleable cooker",
    "Toilet": "receptacle openable",
    "TVStand": "receptacle",
    # Other fixed things
    "Blinds": "openable",
    "DeskLamp": "toggleable",
    "Faucet": "toggleable",
    "FloorLamp": "toggleable",
    "LightSwitch": "toggleable",
    "Mirror": "breakable dirtyable",
    "ShowerCurtain": "openable",
    "ShowerDoor": "openable breakable",
    "ShowerHead": "toggleable",
    "StoveKnob": "toggleable",
    "Television": "toggleable breakable",
    "Window": "breakable",
    # Movable receptacles
    "Bowl": "pickable receptacle fillable breakable dirtyable",
    "Box": "pickable receptacle openable",
    "Cup": "pickable receptacle fillable breakable dirtyable",
    "Mug": "pickable receptacle fillable breakable dirtyable",
    "Pan": "pickable receptacle dirtyable",
    "Plate": "pickable receptacle breakable dirtyable",
    "Pot": "pickable receptacle fillable dirtyable",
    # Other movable things
    "AlarmClock": "pickable",
    "Apple": "pickable sliceable",
    "AppleSliced": "pickable",
    "Book": "pickable openable",
    "Bottle": "pickable fillable breakable",
    "Bread": "pickable sliceable",
    "BreadSliced": "pickable cookable",
    "ButterKnife": "pickable blade",
    "Candle": "pickable toggleable",
    "CellPhone": "pickable toggleable breakable",
    "Cloth": "pickable dirtyable",
    "CreditCard": "pickable",
    "DishSponge": "pickable",
    "Egg": "pickable breakable cookable",
    "Fork": "pickable",
    "HousePlant": "pickable fillable",
    "Kettle": "pickable openable fillable",
    "KeyChain": "pickable",
    "Knife": "pickable blade",
    "Laptop": "pickable openable toggleable breakable",
    "Lettuce": "pickable sliceable",
    "LettuceSliced": "pickable",
    "Newspaper": "pickable",
    "PaperTowelRoll": "pickable",
    "Pen": "pickable",
    "Pencil": "pickable",
    "PepperShaker": "pickable",
    "Pillow": "pickable",
    "Potato": "pickable sliceable cookable",
    "PotatoSliced": "pickable cookable",
    "RemoteControl": "pickable",
    "SaltShaker": "pickable",
    "SoapBar": "pickable",
    "SoapBottle": "pickable",
    "Spatula": "pickable",
    "Spoon": "pickable",
    "SprayBottle": "pickable",
    "Statue": "pickable breakable",
    "TissueBox": "pickable",
    "ToiletPaper": "pickable",
    "Tomato": "pickable sliceable",
    "TomatoSliced": "pickable",
    "Towel": "pickable",
    "Vase": "pickable breakable",
    "Watch": "pickable",
    "WateringCan": "pickable fillable",
    "WineBottle": "pickable fillable breakable",
}

CLASSES: Final = {
    name: frozenset(Property(word) for word in properties.split()) for name, properties in _CLASSES.items()
}
"""Properties by class."""

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
    known = CLASSES.get(slice_class(kind))
    return whole & {Property.PICKABLE, Property.COOKABLE} if known is None else known
