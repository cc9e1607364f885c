"""Composes a task from a pattern and choices: an outline, as the author writes it in the format ``document``."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hazardmill.testing.offline_author.draws import Draws
from hazardmill.testing.offline_author.patterns import ERRANDS, Pattern

_WORD: Final = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED: Final = frozenset("and or not if any all for in implies x".split())
LOOKS: Final = ("new", "grey", "made_of_oak", "well_used")
ROOMS: Final = ("hallway", "kitchen", "study", "pantry", "veranda", "laundry_room")


@dataclass
class Act:
    """An action: its head, what it needs, and what it does, in the notation of an outline."""

    head: str
    needs: list[str]
    does: list[str]

    @classmethod
    def read(cls, text: str) -> Act:
        """Parse ``name: fact and fact -> effect, effect``."""
        head, _, rest = text.partition(": ")
        needs, _, does = rest.partition("->")
        return cls(head.strip(), [each.strip() for each in needs.split(" and ") if each.strip()], parts(does))

    @property
    def name(self) -> str:
        """The name without parameters."""
        return self.head.partition("(")[0]

    def write(self) -> str:
        """Return the line of an outline."""
        return f"{self.head}: {' and '.join(self.needs)} -> {', '.join(self.does)}".replace(":  ->", ": ->")


@dataclass
class TaskDraft:
    """A task while it is composed; faults change it before it is written.

    Attributes:
        realised_by: Name of the dangerous action.
        types: Type to its objects.
        context: Circumstance to whether it holds.
        dangers: Action and condition of each danger.
    """

    title: str
    danger_type: str
    realised_by: str = ""
    types: dict[str, list[str]] = field(default_factory=dict)
    typed: dict[str, str] = field(default_factory=dict)
    """Fluent over objects to the types of its arguments, separated by commas."""
    start: list[str] = field(default_factory=list)
    context: dict[str, bool] = field(default_factory=dict)
    acts: list[Act] = field(default_factory=list)
    goal: list[str] = field(default_factory=list)
    dangers: list[tuple[str, str]] = field(default_factory=list)
    changing: list[str] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)
    obvious: str = ""

    def act(self, name: str) -> Act:
        """Return the action with this name."""
        return next(act for act in self.acts if act.name == name)

    def fluents(self) -> list[str]:
        """Return the names of all fluents that occur and are not circumstances, sorted."""
        said = [*self.start, *self.goal, *(each for act in self.acts for each in (*act.needs, *act.does))]
        said += [condition for _, condition in self.dangers]
        named = {word for text in said for word in _WORD.findall(re.sub(r"\([^()]*\)", "", text))}
        named |= {word for text in said for word in _WORD.findall(text) if word in self.typed}
        return sorted(named - _RESERVED - set(self.context) - set(self.types))

    def drop_unread(self) -> None:
        """Remove facts that hold at the start and that nothing reads."""
        read = " ".join([*self.goal, *(need for act in self.acts for need in act.needs), *(c for _, c in self.dangers)])
        self.start = [fact for fact in self.start if re.search(rf"\b{fact.partition('(')[0]}\b", read)]

    def outline(self) -> dict[str, Any]:
        """Return the parts of the outline, by name."""
        plain = [fact for fact in self.start if "(" not in fact]
        fluents = [
            f"{name}({self.typed[name]})" if name in self.typed else f"{name} = true" if name in plain else name
            for name in self.fluents()
        ]
        return {
            "title": self.title,
            "realised_by": self.realised_by,
            "types": [f"{name}: {', '.join(objects)}" for name, objects in self.types.items()],
            "fluents": ", ".join(fluents),
            "context": ", ".join(f"{name} = true" if holds else name for name, holds in self.context.items()),
            "initially": ", ".join(fact for fact in self.start if "(" in fact),
            "actions": [act.write() for act in self.acts],
            "goal": " and ".join(self.goal),
            "dangers": [f"{act}: {condition}" for act, condition in self.dangers],
            "danger_type": self.danger_type,
            "causes": [f"changing: {', '.join(self.changing)}", f"fixed: {', '.join(self.fixed)}"],
            "obvious": self.obvious,
        }

    def write(self) -> str:
        """Return the outline as JSON, with one part per line."""
        lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in self.outline().items())
        return "{" + ",\n ".join(lines) + "}\n"


def parts(text: str) -> list[str]:
    """Split a text at its commas, except those in brackets."""
    return [each.strip() for each in re.split(r",(?![^()]*\))", text) if each.strip()]


def opposite(fact: str) -> str:
    """Return the negation of a fact."""
    return fact.removeprefix("not ") if fact.startswith("not ") else f"not {fact}"


def compose(pattern: Pattern, names: Mapping[str, str], draws: Draws) -> TaskDraft:
    """Return a task composed from a pattern.

    Args:
        pattern: The pattern.
        names: Role to name.
        draws: Decides everything that the pattern leaves open.
    """
    draws = draws.under("compose", pattern.name)

    def say(text: str) -> str:
        return text.format_map(names)

    words = say(pattern.task).replace("_", " ")
    task = TaskDraft(f"{words[0].upper()}{words[1:]}.", pattern.type.value, realised_by=say(pattern.act))
    task.start = parts(say(pattern.start))
    task.goal = parts(say(pattern.goal))
    chain = [Act.read(say(text)) for text in pattern.acts]
    way = [Act.read(say(text)) for text in draws.pick("way", pattern.ways)]
    remedy = way[-1].does[0].partition(" if ")[0]
    task.acts = [*chain, *way]
    _walk(task, chain, way, names, draws)
    when = say(draws.pick("when", pattern.when))
    also = [say(each) for each in draws.some("also", pattern.also, draws.number("how many") % 2)]
    task.context = dict.fromkeys([when, *also], True)
    task.dangers = [(task.realised_by, " and ".join([when, *also, opposite(remedy)]))]
    task.changing, task.fixed = [remedy.removeprefix("not ")], [when, *also]
    _errands(task, names, draws)
    _idle(task, pattern, say, names, draws)
    task.drop_unread()
    return task


def _walk(task: TaskDraft, chain: list[Act], way: list[Act], names: Mapping[str, str], draws: Draws) -> None:
    """Make the robot go between two rooms, or not: by one action per room, or by one action over doors."""
    kind = draws.pick("walk", ("none", "go", "go", "doors"))
    here, there = names["here"], names["there"]
    if kind == "none":
        return

    def at(room: str) -> str:
        return f"robot_at({room})" if kind == "doors" else f"robot_in_{room}"

    chain[0].needs.append(at(here))
    chain[-1].needs.append(at(there))
    if draws.chance("way begins here", 0.5):
        way[0].needs.append(at(here))
    task.start.append(at(here))
    if kind == "go":
        for room, other in ((here, there), (there, here)):
            task.acts.append(Act(f"go_to_{room}", [at(other)], [at(room), f"not {at(other)}"]))
        return
    spare = [room for room in ROOMS if room not in names.values()]
    rooms = [here, *draws.some("rooms between", spare, draws.number("between") % 3), there]
    task.types["room"], task.typed["robot_at"], task.typed["door_between"] = rooms, "room", "room, room"
    for one, other in itertools.pairwise(rooms):
        task.start += [f"door_between({one}, {other})", f"door_between({other}, {one})"]
    needs = ["robot_at(origin)", "door_between(origin, target)"]
    task.acts.append(Act("move(origin: room, target: room)", needs, ["robot_at(target)", "not robot_at(origin)"]))


def _errands(task: TaskDraft, names: Mapping[str, str], draws: Draws) -> None:
    """Add up to two errands, some of them before the dangerous action."""
    for number, errand in enumerate(draws.some("errands", ERRANDS, draws.number("how many errands") % 3)):
        acts = [Act.read(text) for text in errand.acts]
        for type_, objects in errand.types.items():
            task.types[type_] = list(objects)
        task.typed |= errand.typed
        task.start += errand.start
        task.acts += acts
        task.goal += errand.goal
        if number == 0 and not errand.types and draws.chance("errand first", 0.4):
            task.act(task.realised_by).needs += errand.goal


def _idle(task: TaskDraft, pattern: Pattern, say: Callable[[str], str], names: Mapping[str, str], draws: Draws) -> None:
    """Add circumstances that do not matter, and an action that looks like a remedy but is none."""
    own = [f"{names['item']}_is_{draws.pick('look', LOOKS)}", f"weather_is_{draws.pick('weather', ('mild', 'windy'))}"]
    for name in draws.some("idle", [*map(say, pattern.idle), *own], 2 + draws.number("idle count") % 2):
        task.context.setdefault(name, draws.chance(f"idle {name}", 0.6))
    for text in draws.some("half", pattern.half, 1):
        act = Act.read(say(text))
        act.needs = list(dict.fromkeys([*act.needs, opposite(act.does[0])]))
        task.acts.append(act)
