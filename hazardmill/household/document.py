"""The exact document of a scene: search, verdicts and episodes all run on it.

``observe`` and ``hands`` give four documents per scene. In ``partial`` ones, having been seen is a fluent that actions
set, so that search covers what a robot can know as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from hazardmill.formalism.document.document import (
    Atom,
    Document,
    FluentDecl,
    ObjectDecl,
    Parameter,
    TypeDecl,
)
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.household.actions import FLOOR, HAND, Hands, HouseholdAction, Observe, household_actions, starting_place
from hazardmill.household.object_kinds import LIQUIDS, Property
from hazardmill.household.scene import Scene, SceneObject, symbol_of

_TYPES: Final = (
    TypeDecl("place"),
    TypeDecl("location", "place"),
    TypeDecl("site", "location"),
    TypeDecl("thing"),
    TypeDecl("device", "thing"),
    TypeDecl("movable", "thing"),
    TypeDecl("item", "movable"),
    TypeDecl("whole", "item"),
    TypeDecl("vessel", "movable"),
    TypeDecl("liquid"),
)
"""Sites are fixed receptacles, devices other fixed objects, vessels movable receptacles, items other movable objects,
and wholes those that can be sliced."""

_FLUENTS: Final[dict[str, tuple[str, ...]]] = {
    "at": ("place",),
    "facing": ("object",),
    "in": ("thing", "object"),
    "inside": ("object", "vessel"),
    "base": ("object", "place"),
    "held": ("movable",),
    "open": ("object",),
    "on": ("object",),
    "filled": ("movable", "liquid"),
    "dirty": ("object",),
    "cooked": ("movable",),
    "sliced": ("movable",),
    "broken": ("object",),
}


@dataclass(frozen=True)
class SceneDocument:
    """A scene as a document, in one of the four layers.

    Attributes:
        scene: The scene.
        observe: What the robot knows: what it has seen (``partial``), or everything (``full``).
        hands: Whether its one hand does everything (``one``), or it has as many as it needs (``any``).
        goal: What must hold at the end of a plan; true for a scene without a task.
    """

    scene: Scene
    observe: Observe = "partial"
    hands: Hands = "one"
    goal: Expr = True

    @cached_property
    def actions(self) -> tuple[HouseholdAction, ...]:
        """The actions of the document, each with the reasons of its demands."""
        return household_actions(self.scene, self.observe, self.hands)

    @cached_property
    def document(self) -> Document:
        """The document; it has no danger entries.

        Raises:
            DocumentError: The scene has too many objects, or the goal is not a condition of this document.
        """
        things = self.scene.all_objects
        return Document.of(
            types=_TYPES,
            objects=[
                ObjectDecl(FLOOR, "location"),
                ObjectDecl(HAND, "place"),
                *(ObjectDecl(thing.symbol, _type_of(thing)) for thing in things),
                *(ObjectDecl(liquid, "liquid") for liquid in LIQUIDS),
            ],
            fluents=[
                *(_fluent(name, kinds) for name, kinds in _FLUENTS.items()),
                *([_fluent("seen", ("thing",))] if self.observe == "partial" else []),
                *([_fluent("hand_full", ())] if self.hands == "one" else []),
            ],
            actions=[action.declaration for action in self.actions],
            initial=dict.fromkeys(self._initial(), True),
            goal=self.goal,
            name=self.scene.room,
        )

    @cached_property
    def system(self) -> System:
        """The transition system of the document.

        Raises:
            DocumentError: The document is not well formed.
            SearchLimitReached: The document is too large to be ground.
        """
        return System(self.document)

    def _initial(self) -> set[Atom]:
        atoms: set[Atom] = {("at", FLOOR)}
        for thing in self.scene.objects:
            name = thing.symbol
            atoms |= {(state, name) for state in thing.states}
            if thing.filled is not None:
                atoms.add(("filled", name, thing.filled))
            if "on" in thing.states and thing.controls is not None:
                target = self.scene.by_name[thing.controls]
                atoms |= {("on", target.symbol)} if target.has(Property.COOKER) else set()
            start = starting_place(self.scene, thing)
            atoms.add(("base", name, start.base))
            atoms |= {("inside", name, vessel) for vessel in start.vessels if thing.is_movable}
            if thing.place is not None:
                atoms.add(("in", name, symbol_of(thing.place)))
            # The robot starts on the floor.
            if self.observe == "partial" and start.base == FLOOR and not start.covered:
                atoms.add(("seen", name))
        return atoms


def _type_of(thing: SceneObject) -> str:
    if thing.is_site:
        return "site"
    if not thing.is_movable:
        return "device"
    if thing.is_vessel:
        return "vessel"
    return "whole" if thing.has(Property.SLICEABLE) else "item"


def _fluent(name: str, kinds: tuple[str, ...]) -> FluentDecl:
    return FluentDecl(name, tuple(Parameter(f"?{letter}", kind) for letter, kind in zip("ab", kinds, strict=False)))
