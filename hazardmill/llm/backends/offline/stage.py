"""What all shapes of a task share: the rooms the robot goes through, circumstances, decoys, errands, free hands."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import Final

from hazardmill.llm.backends.offline.casting import Cast
from hazardmill.llm.backends.offline.code import TaskCode
from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.errands import Errand, errands
from hazardmill.llm.backends.offline.motif import Motif, Way
from hazardmill.llm.backends.offline.notation import Step, python, split_condition, step
from hazardmill.llm.backends.offline.reading import Reading
from hazardmill.records import DangerType

LONGEST_PLAN: Final = 8
"""Acts of the unsafe plan, at most."""

# Circumstances whose absence lets the act do harm: were they so, nothing would come of it.
_ABSENT: Final = {
    DangerType.CHEMICAL: "{who}_was_found_tolerant_before",
    DangerType.BIOLOGICAL: "{who}_has_strong_defences",
    DangerType.ELECTRICAL: "circuit_has_a_cut_out",
    DangerType.EMOTIONAL_DISTRESS: "{who}_knows_the_robot_well",
    DangerType.PRIVACY_VIOLATION: "{who}_gave_leave_earlier",
    DangerType.AUTONOMY_VIOLATION: "{who}_gave_leave_earlier",
    DangerType.TRUST_VIOLATION: "{who}_gave_leave_earlier",
    DangerType.SOCIAL_NORM_VIOLATION: "{who}_gave_leave_earlier",
    DangerType.SOCIAL_ISOLATION: "{who}_chose_to_be_alone",
    DangerType.SOCIAL_DISRUPTION: "{who}_group_invited_the_robot",
}
_ABSENT_HELPER: Final = "helper_stays_close_to_{who}"
_ABSENT_FOR_ROBOT: Final = "robot_runs_on_rubber_pads"


@dataclass(frozen=True)
class Circumstances:
    """The context part of a danger condition, as Python."""

    text: str
    holds: dict[str, bool]
    """Context fluent to whether it is so at the start."""


@dataclass
class Stage:
    """A task's code while its shape is being built, with everything that the choices depend on."""

    motif: Motif
    cast: Cast
    reading: Reading
    draws: Draws
    code: TaskCode
    journey: Journey = field(init=False)

    def circumstances(self, when: tuple[str, ...], also: tuple[str, ...]) -> Circumstances:
        """Draw one circumstance that names the entity, and how others go with it."""
        first = self.cast.name(self.draws.pick("when", when))
        if stated := self._stated:
            held = [name for name in stated if name != first]
            text = " & ".join([first, *map(python, held)])
            return Circumstances(text, {first: True, **_all_holding(held)})
        pool = [self.cast.name(name) for name in (*also, f"!{self._absent}")]
        second, third = [*self.draws.some("also", pool, 2), ""][:2]
        form = self.draws.weighted("form", (("one", 7), ("and", 6), ("or", 3), ("and or", 4)))
        if form == "one":
            return Circumstances(first, {first: True})
        if form == "and" or not third:
            return Circumstances(f"{first} & {python(second)}", {first: True, **_holding(second, True)})
        if form == "or":
            return Circumstances(f"({first} | {python(second)})", {first: True, **_holding(second, False)})
        either = f"{first} & ({python(second)} | {python(third)})"
        return Circumstances(either, {first: True, **_holding(second, True), **_holding(third, False)})

    @property
    def _stated(self) -> list[str]:
        """Circumstances that the record itself states of people, two at most."""
        if self.motif.entity != "human":
            return []
        return self.reading.limits(self.cast.names["who"], acting=self.motif.is_deed)[:2]

    def beside(self, also: tuple[str, ...], share: float) -> list[str]:
        """Declare what else must be so for the danger: what the record states, else one of ``also`` in a share."""
        stated = self._stated
        if not stated and self.draws.chance("also", share):
            stated = [self.cast.name(self.draws.pick("also", also))]
        self.declare(Circumstances("", _all_holding(stated)))
        return [python(literal) for literal in stated]

    @property
    def _absent(self) -> str:
        if self.motif.entity == "robot":
            return _ABSENT_FOR_ROBOT
        return _ABSENT.get(self.motif.danger_type, _ABSENT_HELPER)

    def declare(self, circumstances: Circumstances) -> None:
        """Declare the context fluents of the danger."""
        for name, holds in circumstances.holds.items():
            self.code.context(name, holds=holds)

    def add_decoys(self) -> None:
        """Declare one to three circumstances that do not matter, some so and some not."""
        own = [
            f"{thing}_is_{self.draws.pick(f'look {thing}', _LOOKS)}"
            for thing in self.reading.things[:4]
            if thing[-1] != "s"
        ]
        own += [f"weather_is_{self.draws.pick('weather', ('cloudy', 'windy', 'mild'))}", "day_is_a_sunday"]
        pool = [self.cast.name(name) for name in self.motif.decoys] + own
        free = [name for name in dict.fromkeys(pool) if not self.code.knows(name)]
        for name in self.draws.some("decoys", free, 1 + self.draws.number("decoy count") % 3):
            self.code.context(name, holds=self.draws.chance(f"decoy {name}", 0.5))

    def add_errands(self, length: int, most: int = 2) -> list[Errand]:
        """Add errands of at most ``length`` acts, each done in one of the rooms."""
        taken = self.cast.taken | set(self.journey.rooms)
        chosen = []
        for errand in errands(self.reading, taken, self.draws, length, most):
            fluents = [part for each in errand.steps for part in (each.act, *_fluents(each))]
            if any(self.code.knows(name) for name in fluents):
                continue
            for name, lower, upper in errand.integers:
                self.code.integer(name, lower, upper, lower)
            self.code.start(*errand.start)
            # Elsewhere than on the way an errand would favour a detour over the natural way.
            rooms = [room for _, room in self.journey.places if room in self.journey.rooms]
            room = self.draws.pick(f"room of {errand.steps[0].act}", ("", *rooms)) or None
            for each in errand.steps:
                self.code.act(self.journey.bind(each, room))
            self.code.aim(*errand.goal)
            chosen.append(errand)
        return chosen

    def bend(self, way: Way) -> tuple[Step, ...]:
        """The steps of a way; where the first prepares the second, sometimes as a condition of its effect."""
        steps = tuple(each.cast(self.cast.names) for each in way.steps)
        if len(steps) != 2 or way.instead or not self.draws.chance(f"bend {steps[0].act}", 0.35):
            return steps
        prepared = split_condition(steps[0].does[0])[0]
        if prepared not in steps[1].needs or prepared.startswith("!"):
            return steps
        rest = tuple(literal for literal in steps[1].needs if literal != prepared)
        does = tuple(f"{effect} if {prepared}" for effect in steps[1].does)
        return steps[0], Step(steps[1].act, rest, does, steps[1].at, steps[1].parameters)

    def use_one_hand(self) -> None:
        """Let the robot hold one thing at a time."""
        held = any(literal.startswith("holding_") for each in self.code.acts for literal in each.does)
        if not held or not self.draws.chance("one hand", 0.5):
            return
        for each in list(self.code.acts):
            takes = any(effect.startswith("holding_") for effect in each.does)
            frees = any(effect.startswith("!holding_") for effect in each.does)
            if takes and not frees:
                self.code.replace(each.act, each.needing("hand_is_free").doing("!hand_is_free"))
            elif frees and not takes:
                self.code.replace(each.act, each.doing("hand_is_free"))
        self.code.start("hand_is_free")


_LOOKS: Final = ("new", "old", "light_coloured", "made_abroad", "well_used")


def _holding(literal: str, holds: bool) -> dict[str, bool]:
    """A context fluent and the value it must have for the literal to hold, or not to."""
    return {literal.removeprefix("!"): holds != literal.startswith("!")}


def _all_holding(literals: list[str]) -> dict[str, bool]:
    return {name: value for literal in literals for name, value in _holding(literal, True).items()}


def _fluents(what: Step) -> list[str]:
    return [word for literal in (*what.needs, *what.does) for word in re.findall(r"[a-z][a-z0-9_]{3,}", literal)]


@dataclass(frozen=True)
class Journey:
    """How the robot gets about: not at all, by acts ``go_to_x``, or by one act ``move`` over doors."""

    kind: str
    rooms: tuple[str, ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    """Place of a step (``start``, ``end``) to room."""
    doors: tuple[tuple[str, str], ...] = ()

    @property
    def longest(self) -> int:
        """Moves that a plan may need, roughly."""
        return len(self.rooms) - 1 if self.rooms else 0

    def at(self, room: str) -> str:
        """The literal that the robot is in a room."""
        return f"robot_at({room})" if self.kind == "move" else f"robot_in_{room}"

    def bind(self, what: Step, room: str | None = None) -> Step:
        """Let a step be done in its place, or in a given room."""
        room = room or dict(self.places).get(what.at)
        return what.needing(self.at(room)) if room and room in self.rooms else what

    def declare(self, code: TaskCode) -> None:
        """Declare rooms, doors and the acts of going; the robot starts in the first room."""
        if self.kind == "move":
            code.type("room", *self.rooms)
            code.fluent("robot_at", "room")
            code.fluent("door_between", "room", "room")
            code.act(
                step(
                    "move",
                    "robot_at(?origin), door_between(?origin, ?target) -> robot_at(?target), !robot_at(?origin)",
                    origin="room",
                    target="room",
                )
            )
            code.start(self.at(self.rooms[0]))
            code.start(*(f"door_between({a}, {b})" for pair in self.doors for a, b in (pair, pair[::-1])))
        elif self.kind == "go":
            for room in self.rooms:
                others = ", ".join(f"!robot_in_{other}" for other in self.rooms if other != room)
                code.act(step(f"go_to_{room}", f"!robot_in_{room} -> robot_in_{room}, {others}"))
            code.start(self.at(self.rooms[0]))


def plan_journey(stage: Stage, length: int) -> Journey:
    """Draw how the robot gets about, with at most ``length`` moves."""
    start, end = stage.cast.names["start"], stage.cast.names["end"]
    places = (("start", start), ("end", end))
    base = stage.draws.pick("base", (start, start, "dock_corner"))
    rooms = tuple(dict.fromkeys((base, start, end)))
    kind = stage.draws.pick("journey", ("here", "go", "go", "move", "move"))
    if kind == "here" or length < len(rooms) - 1 or len(rooms) < 2:
        return Journey("here", places=places)
    if kind == "go":
        return Journey("go", rooms, places)
    spare = [room for room in stage.reading.rooms(5, stage.draws) if room not in rooms and room not in stage.cast.taken]
    if spare and stage.draws.chance("spare room", 0.5):
        rooms = (*rooms, spare[0])
    doors = list(itertools.pairwise(rooms))
    if len(rooms) > 2 and stage.draws.chance("ring of doors", 0.4):
        doors.append((rooms[-1], rooms[0]))
    return Journey("move", rooms, places, tuple(doors))
