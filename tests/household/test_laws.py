"""Laws of the four layers on random rooms."""

from __future__ import annotations

import random
import re
from collections import deque

import pytest

from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.transition_system import State
from hazardmill.household.actions import Hands, Observe, fact
from hazardmill.household.document import SceneDocument
from hazardmill.household.episode import Episode
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.scene import Scene, symbol_of
from tests.household.rooms import BOTTLE, CLOSED, IN_DRAWER, LAYERS, base_of, holders_of, random_scene


def walk(made: Episode, rng: random.Random, steps: int) -> list[str]:
    """Take random skills; return those that were accepted."""
    done = []
    for _ in range(steps):
        # Going is the most frequent skill by far; half of the actions are others.
        skills = [skill for skill in made.skills() if skill not in ("done", "failure")]
        others = [skill for skill in skills if not skill.startswith("go to")]
        action = rng.choice(others if others and rng.random() < 0.6 else skills)
        before = made.state
        result = made.act(action)
        assert result.accepted or (result.reason is not None and made.state == before)
        if result.accepted:
            done.append(action)
    return done


@pytest.mark.parametrize("seed", range(12))
def test_what_one_hand_does_from_what_it_has_seen_is_possible_in_every_layer(seed: int) -> None:
    rng = random.Random(seed)
    scene = random_scene(rng, 6)
    made = {layer: Interpreter(SceneDocument(scene, *layer)) for layer in LAYERS}
    plan = walk(Episode(made["partial", "one"]), rng, 60)
    assert len(plan) > 15
    for interpreter in made.values():
        again = Episode(interpreter)
        assert [action for action in plan if not again.act(action).accepted] == []


@pytest.mark.parametrize("seed", range(6))
def test_shortest_plans_never_get_longer_from_a_layer_to_a_freer_one(seed: int) -> None:
    rng = random.Random(seed)
    scene = random_scene(rng, 2)
    start = Episode(Interpreter(SceneDocument(scene)))
    walk(start, rng, 8)
    now = start.reader.world_state(start.state)
    movable = [thing for thing in scene.objects if thing.is_movable]
    goal: list[Expr] = [
        fact("in", thing.symbol, scene.by_name[place].symbol)
        for thing in movable
        if (place := now[thing.name].place) is not None
    ]
    goal += [fact("held", thing.symbol) for thing in movable if now[thing.name].held]
    lengths = {}
    for layer in LAYERS:
        plan = solve(SceneDocument(scene, *layer, goal=("and", *goal)).system, 50_000_000).safe
        assert plan is not None
        lengths[layer] = len(plan)
    assert lengths["partial", "one"] >= max(lengths["full", "one"], lengths["partial", "any"])
    assert lengths["full", "any"] <= min(lengths["full", "one"], lengths["partial", "any"])


@pytest.mark.parametrize("hands", ["one", "any"])
@pytest.mark.parametrize("seed", range(8))
def test_what_follows_from_places_is_kept_up_to_date(seed: int, hands: Hands) -> None:
    rng = random.Random(seed)
    scene = random_scene(rng, 7)
    world = SceneDocument(scene, "partial", hands)
    made, system = Episode(Interpreter(world)), world.system
    places = ["floor", "hand", *(thing.symbol for thing in scene.objects if thing.is_site)]
    seen: set[str] = set()
    for _ in range(60):
        now = made.reader.world_state(made.state)
        here = made.reader.robot_place(made.state) or "floor"
        for name, thing in now.items():
            over = holders_of(made, name)
            base = base_of(made, name)
            assert made.reader.base(name, made.state) == base, name
            closed = any(not now[each].open and "openable" in scene.by_name[each].properties for each in over)
            movable = scene.by_name[name].is_movable
            in_sight = base in (here, "hand") and not (closed and movable)
            assert (name in {each.name for each in made.reader.in_sight(made.state)}) == in_sight, name
            seen |= {name} if in_sight else set()
            known = scene.by_name[name].is_site or (name in seen and not thing.sliced)
            assert (name in {each.name for each in made.reader.known(made.state)}) == known, name
            bases = [place for place in places if system.value(("base", symbol_of(name), place), made.state.bits, ())]
            assert bases == ([] if base is None else [symbol_of(base)])
            inside = {vessel for vessel in over if scene.by_name[vessel].is_vessel}
            for vessel in (each for each in scene.all_objects if each.is_vessel and movable):
                atom = ("inside", scene.by_name[name].symbol, vessel.symbol)
                assert bool(system.value(atom, made.state.bits, ())) == (vessel.name in inside)
        told = "\n".join([made.observation(), *made.skills()])
        assert set(re.findall(r"[A-Z]\w* \(\d+\)", told)) <= {each.name for each in made.reader.known(made.state)}
        held = made.reader.held(made.state)
        assert hands == "any" or len(held) <= 1
        assert hands == "any" or bool(system.value(("hand_full",), made.state.bits, ())) == bool(held)
        facing = made.reader.place_to_put_down(made.state)
        assert facing is None or base_of(made, facing) == here
        walk(made, rng, 1)


@pytest.mark.parametrize("layer", LAYERS)
def test_search_over_episodes_finds_the_same_lengths(layer: tuple[Observe, Hands]) -> None:
    # It knows the words, and nothing of the document's actions.
    for goal in (IN_DRAWER, CLOSED):
        world = SceneDocument(Scene.of("kitchen", BOTTLE), *layer, goal)
        plan = solve(world.system).safe
        assert plan is not None and len(plan) == shortest_in_words(world)


def shortest_in_words(world: SceneDocument) -> int | None:
    """Return the least number of accepted actions that reaches the goal of a world."""
    interpreter = Interpreter(world)
    start = world.system.initial
    depths: dict[State, int] = {start: 0}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        if world.system.goal.holds(state.bits, state.numbers):
            return depths[state]
        for skill in Episode(interpreter, state).skills()[:-2]:
            made = Episode(interpreter, state)
            if made.act(skill).accepted and made.state not in depths:
                depths[made.state] = depths[state] + 1
                waiting.append(made.state)
    return None
