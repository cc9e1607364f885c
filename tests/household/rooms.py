"""Small rooms for tests, fixed and random, and what a state of them must be by following chains of holders."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from hazardmill.formalism.document.expressions import Expr
from hazardmill.household.actions import Hands, Observe, fact
from hazardmill.household.document import SceneDocument
from hazardmill.household.episode import Episode
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.scene import Scene

Entry = dict[str, Any]
LAYERS: tuple[tuple[Observe, Hands], ...] = (("partial", "one"), ("full", "one"), ("partial", "any"), ("full", "any"))
BOTTLE: list[Entry] = [{"class": "Drawer"}, {"class": "Cabinet"}, {"class": "Bottle", "in": "Cabinet (1)"}]
"""The room of the worked example."""
IN_DRAWER: Expr = fact("in", "Bottle_1", "Drawer_1")
CLOSED: Expr = ("and", IN_DRAWER, ("not", fact("open", "Drawer_1")))
"""Its goals: the bottle is in the drawer, and then the drawer is closed again."""

_SITES = ("Cabinet", "CounterTop", "Fridge", "SinkBasin", "Microwave")
_MOVABLES = ("Box", "Mug", "Bowl", "Egg", "Apple", "Knife", "Potato", "WineBottle", "Book")


def episode(entries: Iterable[Entry], observe: Observe = "partial", hands: Hands = "one") -> Episode:
    """Return an episode in the room of the entries."""
    return Episode(Interpreter(SceneDocument(Scene.of("room", entries), observe, hands)))


def random_scene(rng: random.Random, movables: int) -> Scene:
    """Return a room of three fixed receptacles and some movable objects, each anywhere."""
    sites = rng.sample(_SITES, 3)
    entries: list[Entry] = [{"class": kind} for kind in sites]
    holders = [f"{kind} (1)" for kind in sites]
    if "SinkBasin" in sites:
        entries.append({"class": "Faucet", "controls": "SinkBasin (1)"})
    for kind in rng.sample(_MOVABLES, movables):
        entry: Entry = {"class": kind}
        if rng.random() < 0.8:
            entry["in"] = rng.choice(holders)
        if kind in ("Mug", "Bowl", "WineBottle") and rng.random() < 0.5:
            entry["filled"] = rng.choice(("wine", "coffee", "water"))
        if kind in ("Box", "Mug", "Bowl"):
            holders.append(f"{kind} (1)")
        entries.append(entry)
    return Scene.of("room", entries)


def holders_of(episode: Episode, name: str) -> list[str]:
    """Return the receptacles over an object, the nearest first."""
    now = episode.reader.world_state(episode.state)
    found: list[str] = []
    place = now[name].place
    while place is not None:
        found.append(place)
        place = now[place].place
    return found


def base_of(episode: Episode, name: str) -> str | None:
    """Return what carries an object in the end, found by following the chain of its holders."""
    now = episode.reader.world_state(episode.state)
    if now[name].sliced:
        return None
    last = [name, *holders_of(episode, name)][-1]
    if now[last].held:
        return "hand"
    return last if episode.reader.scene.by_name[last].is_site else "floor"
