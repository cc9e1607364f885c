"""Search of documents finds plans as short as breadth-first search over episodes, which knows only their words."""

from __future__ import annotations

import random

import pytest

from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.search.exact import solve
from hazardmill.household.actions import fact
from hazardmill.household.document import SceneDocument
from hazardmill.household.scene import Scene
from tests.household.rooms import LAYERS, Entry
from tests.household.test_laws import shortest_in_words


def small_room(rng: random.Random) -> Scene:
    """Two receptacles and two movable objects, one of which may be a vessel with something in it."""
    sites = rng.sample(["Cabinet", "CounterTop", "Drawer", "SinkBasin"], 2)
    entries: list[Entry] = [{"class": kind} for kind in sites]
    vessel = rng.choice(["Box", "Plate", "Fork"])
    entries.append({"class": vessel, "in": f"{rng.choice(sites)} (1)"})
    holder = f"{rng.choice([vessel, *sites])} (1)"
    entries.append({"class": "Egg"} | ({} if holder.startswith("Fork") else {"in": holder}))
    return Scene.of("kitchen", entries)


@pytest.mark.parametrize("seed", range(12))
def test_plans_are_as_short_as_those_in_words(seed: int) -> None:
    rng = random.Random(seed)
    scene = small_room(rng)
    sites = [thing.symbol for thing in scene.objects if thing.is_site]
    goal: list[Expr] = [fact("in", thing.symbol, rng.choice(sites)) for thing in scene.objects if thing.is_movable]
    goal += [("not", fact("open", site)) for site in sites]
    world = SceneDocument(scene, *LAYERS[seed % 4], ("and", *goal))
    plan = solve(world.system).safe
    assert plan is not None and len(plan) == shortest_in_words(world)
