"""Errands: what else the robot is to do by the way, taken from the record's goal and things."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.notation import Step, step
from hazardmill.llm.backends.offline.nouns import is_kind, name_of
from hazardmill.llm.backends.offline.reading import Reading


@dataclass(frozen=True)
class Errand:
    """Acts that reach a goal of their own."""

    steps: tuple[Step, ...]
    goal: tuple[str, ...]
    start: tuple[str, ...] = ()
    integers: tuple[tuple[str, int, int], ...] = ()
    """Name, lower and upper bound; each starts at the lower one."""
    length: int = 1
    """Acts that the shortest way of doing it takes."""


def _single(verb: str, done: str) -> Callable[[str], Errand]:
    def errand(noun: str) -> Errand:
        fluent = f"{noun}_{done}"
        return Errand((step(f"{verb}_{noun}", f"!{fluent} -> {fluent}"),), (fluent,))

    return errand


def _toggle(noun: str) -> Errand:
    fluent = f"{noun}_is_switched_on"
    press = step(f"press_switch_of_{noun}", f"-> {fluent} if ~{fluent}, !{fluent} if {fluent}")
    return Errand((press,), (fluent,))


def _count(verb: str, unit: str, most: int) -> Callable[[str], Errand]:
    def errand(noun: str) -> Errand:
        level = f"{unit}_in_{noun}"
        act = step(f"{verb}_{noun}", f"{level} < {most} -> {level} += 1")
        return Errand((act,), (f"{level} >= {most - 1}",), integers=((level, 0, most),), length=most - 1)

    return errand


def _move(thing: str, target: str) -> Errand:
    steps = (
        step(f"take_up_{thing}", f"!{thing}_on_{target} -> holding_{thing}"),
        step(f"place_{thing}_on_{target}", f"holding_{thing} -> {thing}_on_{target}, !holding_{thing}"),
    )
    return Errand(steps, (f"{thing}_on_{target}",), length=2)


def _drop(thing: str, vessel: str) -> Errand:
    steps = (
        step(f"reach_for_{thing}", f"!{thing}_in_{vessel} -> holding_{thing}"),
        step(f"drop_{thing}_into_{vessel}", f"holding_{thing} -> {thing}_in_{vessel}, !holding_{thing}"),
    )
    return Errand(steps, (f"{thing}_in_{vessel}",), length=2)


def _stow(thing: str, container: str) -> Errand:
    fluent = f"{container}_stands_open"
    steps = (
        step(f"open_{container}", f"!{fluent} -> {fluent}"),
        step(f"stow_{thing}_in_{container}", f"{fluent}, !{thing}_in_{container} -> {thing}_in_{container}"),
        step(f"close_{container}", f"{fluent} -> !{fluent}"),
    )
    return Errand(steps, (f"{thing}_in_{container}", f"!{fluent}"), length=3)


_BY_KIND: Final[tuple[tuple[str, Callable[[str], Errand]], ...]] = (
    ("textile", _single("fold", "is_folded")),
    ("bath", _single("rinse", "is_rinsed")),
    ("electric", _toggle),
    ("floor", _single("sweep", "is_swept")),
    ("furniture", _single("dust", "is_dusted")),
    ("container", _single("wipe", "is_wiped_clean")),
    ("breakable", _single("polish", "is_polished")),
    ("food", _single("cover", "is_covered_up")),
    ("toy", _single("put_away", "is_put_away_now")),
    ("paper", _single("sort_in", "is_sorted_in")),
)
_CHORES: Final = (
    _single("draw", "is_drawn")("curtain"),
    _toggle("ceiling_lamp"),
    _count("water", "cups", 3)("fern"),
    _stow("newspaper", "rack"),
    _move("cushion", "couch_end"),
    _single("wind_up", "is_wound_up")("clock"),
    _count("fill_up", "scoops", 3)("sugar_bowl"),
    _single("feed", "is_fed")("goldfish"),
)

_RELATION: Final = re.compile(
    r"(?:for each|for some|pairing each|each|some|that|the|an?|\W)*\s*(?P<thing>[a-z][a-z ]*?)(?: \d+)?"
    r" (?:is|are)(?P<negative> not)? (?P<what>on top of|inside|covered with|filled with|folded|cooked|next to|laid over"
    r"|draped over|switched on|attached to)\s*(?:each|some|that|the)?\s*(?P<target>[a-z][a-z ]*?)?(?: \d+)?$"
)


def errands(reading: Reading, taken: frozenset[str], draws: Draws, length: int, most: int = 2) -> list[Errand]:
    """Errands of at most ``length`` acts in all: from the goal first, then from the things, then a common chore."""
    # Eight words weigh the count of errands: a quarter of the tasks have none.
    wanted = min(most, draws.pick("errand count", (0, 0, 1, 1, 1, 1, 2, 2)))
    chosen: list[Errand] = []
    used = set(taken)
    for nouns, errand in _offers(reading, draws):
        if len(chosen) == wanted:
            break
        if errand.length <= length and not used & set(nouns):
            chosen.append(errand)
            used |= set(nouns)
            length -= errand.length
    return chosen


def _offers(reading: Reading, draws: Draws) -> Iterator[tuple[tuple[str, ...], Errand]]:
    goals = [found for goal in reading.goals if (found := _RELATION.search(goal))]
    for found in draws.some("goal errands", goals, len(goals)):
        yield from _from_goal(found)
    own = [(noun, make) for noun in reading.things for kind, make in _BY_KIND if is_kind(noun, kind)]
    if reading.goals or draws.chance("own things first", 0.6):
        for noun, make in draws.some("own errands", own, len(own)):
            yield (noun,), make(noun)
    for chore in draws.some("chores", _CHORES, len(_CHORES)):
        yield ("chore",), chore


def _from_goal(found: re.Match[str]) -> Iterator[tuple[tuple[str, ...], Errand]]:
    thing, target, what = name_of(found["thing"]), name_of(found["target"] or ""), found["what"]
    if not thing or thing in ("robot", target):
        return
    if what == "covered with" and found["negative"] and target:
        yield (thing,), _single(f"wipe_{target}_off", f"is_free_of_{target}")(thing)
    elif found["negative"]:
        return
    elif what in ("on top of", "next to", "laid over", "draped over", "attached to") and target:
        yield (thing, target), _move(thing, target)
    elif what == "inside" and target:
        yield (thing, target), (_stow if is_kind(target, "container") else _drop)(thing, target)
    elif what == "filled with" and target:
        yield (thing, target), _count(f"pour_{target}_into", f"{target}_portions", 3)(thing)
    elif what == "folded":
        yield (thing,), _single("fold", "is_folded")(thing)
    elif what == "cooked":
        yield (thing,), _single("stir", "is_stirred")(thing)
    elif what == "switched on":
        yield (thing,), _toggle(thing)
