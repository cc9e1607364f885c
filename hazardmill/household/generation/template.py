"""What templates are: classes that draw a part of a task, its objects and its words, into a scene.

A safety template gives goals and the rule that a careless plan for them breaks; an errand gives goals of an ordinary
kind. A template is a function with the rooms in which it makes sense; it takes a ``TaskDraw`` and returns a part.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from hazardmill.household.object_kinds import Property
from hazardmill.household.rules import Rule, SubGoal, named_kinds
from hazardmill.household.scene_draft import DraftObject, SceneDraft
from hazardmill.household.task import Hazard

SURFACES: Final = {
    "kitchen": ("CounterTop", "DiningTable", "Shelf", "SideTable"),
    "living_room": ("CoffeeTable", "SideTable", "DiningTable", "Shelf", "TVStand", "Sofa", "ArmChair"),
    "bedroom": ("Desk", "Dresser", "SideTable", "Shelf", "Bed"),
    "bathroom": ("CounterTop", "Shelf", "SideTable"),
}
"""By room, where things usually stand."""

STORES: Final = {
    "kitchen": ("Cabinet", "Drawer"),
    "living_room": ("Cabinet", "Drawer"),
    "bedroom": ("Drawer", "Safe"),
    "bathroom": ("Cabinet", "Drawer"),
}
"""By room, closed places in which things are kept."""

_CONTROLS: Final = {"SinkBasin": "Faucet", "StoveBurner": "StoveKnob", "BathtubBasin": "ShowerHead"}
"""What turns on a fixed receptacle."""

_IN_STORE: Final = 0.25
"""Share of the things of a task that the robot has to look for in a closed place."""
_OPEN: Final = 0.25
"""Share of the closed places that are open at the start."""

_Part = TypeVar("_Part")


class NothingToDraw(LookupError):
    """A template has nothing left to draw: its objects are those of the other part of the task."""


@dataclass(frozen=True)
class ErrandPart:
    """What an errand adds to a task.

    Attributes:
        clause: What is asked, as an imperative clause without a full stop.
        goals: Its sub-goals.
        uses: Classes that it needs and does not name in a goal.
    """

    clause: str
    goals: tuple[SubGoal, ...]
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class SafetyPart:
    """What a safety template adds to a task.

    Attributes:
        clause: What is asked, as an imperative clause without a full stop and without a word of the rule.
        requirements: The rule in words, a sentence.
        rule: The rule.
        goals: Its sub-goals.
        uses: Classes that it needs and names neither in a goal nor in the rule.
        avoidable: Whether the goals can be reached without ever triggering the rule. A step rule is then no item: who
            is more careful than it asks would lose it.
    """

    clause: str
    requirements: str
    rule: Rule
    goals: tuple[SubGoal, ...]
    uses: tuple[str, ...] = ()
    avoidable: bool = False


@dataclass(frozen=True)
class Template(Generic[_Part]):
    """A template of a part of a task.

    Attributes:
        name: Its name, such as ``blade_in_drawer``.
        rooms: The rooms in which it makes sense.
        write: Draws the part, and puts its objects into the scene.
    """

    name: str
    rooms: tuple[str, ...]
    write: Callable[[TaskDraw], _Part]


SafetyTemplate = Template[SafetyPart]
ErrandTemplate = Template[ErrandPart]


@dataclass
class TemplateList(Generic[_Part]):
    """Templates of one kind, each registered by a decorator.

    Attributes:
        hazard: What their rules guard against; None for errands.
        templates: The templates, in the order of the file.
    """

    hazard: Hazard | None = None
    templates: list[Template[_Part]] = field(default_factory=list)

    def add(self, *rooms: str) -> Callable[[Callable[[TaskDraw], _Part]], Callable[[TaskDraw], _Part]]:
        """Return the decorator that adds a function as a template of these rooms, under the function's name."""

        def register(write: Callable[[TaskDraw], _Part]) -> Callable[[TaskDraw], _Part]:
            self.templates.append(Template(write.__name__, rooms, write))
            return write

        return register

    def of_room(self, room: str) -> list[Template[_Part]]:
        """Return the templates that make sense in a room."""
        return [template for template in self.templates if room in template.rooms]


class TaskDraw:
    """Draws objects and numbers for one task, and puts the objects into its scene.

    Args:
        room: The room.
        rng: Source of all that is random.

    Attributes:
        rng: The same.
        room: The room.
        scene: The scene so far.
    """

    def __init__(self, room: str, rng: random.Random) -> None:
        self.rng = rng
        self.room = room
        self.scene = SceneDraft(room)
        self._taken: set[str] = set()
        self._forbidden: set[str] = set()

    def choose(self, *kinds: str) -> str:
        """Return one of the classes, none that the other part of the task has or that is forbidden.

        Raises:
            NothingToDraw: None is left.
        """
        left = [kind for kind in kinds if self.is_free(kind)]
        if not left:
            raise NothingToDraw("all objects of the template are taken")
        return self.rng.choice(left)

    def is_free(self, kind: str) -> bool:
        """Return whether a class is neither taken by a part of the task nor forbidden."""
        return kind.removesuffix("Sliced") not in self._taken | self._forbidden

    def take(self, part: SafetyPart | ErrandPart) -> None:
        """Take the classes of a part: the other part and the fillers of the scene have others."""
        rule = part.rule if isinstance(part, SafetyPart) else None
        kinds = named_kinds(part.goals, rule) | {*part.uses}
        self._taken |= {kind.removesuffix("Sliced") for kind in kinds}

    def forbid(self, *kinds: str) -> None:
        """Keep classes out of the scene, such as a second source of water."""
        self._forbidden |= {*kinds}

    def steps(self, least: int, most: int) -> int:
        """Return the number of steps of a step rule."""
        return self.rng.randint(least, most)

    def site(self, kind: str, *, opened: bool | None = None) -> DraftObject:
        """Return the fixed receptacle of a class, which is added if there is none, with what turns it on.

        Args:
            kind: The class.
            opened: Whether it is open at the start, if it can be opened; None to draw it.

        Raises:
            NothingToDraw: The class is forbidden.
        """
        there = self.scene.of_kind(kind)
        if there:
            return there[0]
        if kind in self._forbidden:
            raise NothingToDraw(f"{kind} is forbidden")
        site = self.scene.add(kind)
        if site.has(Property.OPENABLE) and (self.rng.random() < _OPEN if opened is None else opened):
            site.states.add("open")
        if kind in _CONTROLS:
            self.scene.add(_CONTROLS[kind], controls=site)
        return site

    def surface(self, *avoid: str) -> str:
        """Return the class of a place on which things stand in this room, none of those to avoid.

        Raises:
            NothingToDraw: None is left.
        """
        return self.choose(*(kind for kind in SURFACES[self.room] if kind not in avoid))

    def store(self, *avoid: str) -> str:
        """Return the class of a closed place in which things are kept in this room.

        Raises:
            NothingToDraw: None is left.
        """
        return self.choose(*(kind for kind in STORES[self.room] if kind not in avoid))

    def thing(
        self, kind: str, *states: str, away_from: Sequence[str] = (), filled: str | None = None, near: str | None = None
    ) -> DraftObject:
        """Add something that can be picked up.

        Args:
            kind: Its class.
            states: Its states at the start.
            away_from: Classes of receptacles that it is not in or on.
            filled: The liquid that it holds.
            near: The class of the fixed receptacle that it is on; None to draw it; the floor, where all
                are to be avoided.

        Returns:
            The object.
        """
        place = None if near is None else self.site(near)
        if near is None:
            stored = self.rng.random() < _IN_STORE
            kinds = STORES[self.room] if stored else SURFACES[self.room]
            left = [each for each in kinds if each not in away_from and each not in self._forbidden]
            if left:
                place = self.site(self.rng.choice(left))
        return self.scene.add(kind, place, *states, filled=filled)

    def device(self, kind: str, *states: str, on_a: Sequence[str] = ()) -> DraftObject:
        """Add a fixed object that is no receptacle, such as a lamp, on one of the classes or beside everything."""
        free = [each for each in on_a if each in SURFACES[self.room]]
        place = self.site(self.rng.choice(free)) if free else None
        return self.scene.add(kind, place, *states)
