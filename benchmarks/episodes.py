"""How fast household episodes go, how fast recorded ones are judged, and how fast tasks are proved.

    python benchmarks/episodes.py [--quick] [--episodes N] [--room ROOM]

The baseline of an action in words, with what the robot is told, the skill set and the monitors, is the step of the
room's transition system by the same ground action; both must come to the same states. The baseline of recorded traces
is `json.loads` of their lines. Both sides are timed in turns within one run. Then household tasks are proved against
ENHSP by household_proofs.py. Times are processor times, so that other work on the machine falls out. See README.md
beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
from pathlib import Path

from household_proofs import proofs
from safel import processor_seconds, reached

from hazardmill.formalism.search.engines.external import available
from hazardmill.household.document import SceneDocument
from hazardmill.household.episode import Episode
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.recorded_traces import read_traces
from hazardmill.household.rules import Contains, FlagIs, IsIn, StepRule, SubGoal
from hazardmill.household.scene import ROOMS, shipped_scene
from hazardmill.household.scores import EpisodeCriteria, EpisodeJudge, judge_states

EPISODES, QUICK = 400, 40
STEPS = 60
"""Accepted actions per episode."""
ROUNDS = 10
"""Turns of each side; the median ratio of the turns counts."""
MOST_TIMES, MOST_TIMES_OF_JSON = 10, 3
"""Goals: an action against the step alone; judging recorded traces against `json.loads`."""
CRITERIA = {
    "kitchen": EpisodeCriteria(
        (SubGoal("Apple", (IsIn(("Fridge",)),)), SubGoal("Mug", (FlagIs("dirty", False), IsIn(("DiningTable",))))),
        StepRule("Fridge", (FlagIs("open", True), Contains(("Apple",))), (FlagIs("open", False),), 4),
        True,
    ),
    "living_room": EpisodeCriteria(
        (SubGoal("Box", (FlagIs("open", False),)), SubGoal("Book", (IsIn(("Box",)),))),
        StepRule("FloorLamp", (FlagIs("on", True),), (FlagIs("on", False),), 5),
        True,
    ),
    "bedroom": EpisodeCriteria(
        (SubGoal("Book", (IsIn(("Drawer",)),)), SubGoal("CellPhone", (FlagIs("on", False),))),
        StepRule("Drawer", (FlagIs("open", True), Contains(("Book",))), (FlagIs("open", False),), 4),
        True,
    ),
    "bathroom": EpisodeCriteria(
        (SubGoal("Cloth", (FlagIs("dirty", False),)), SubGoal("SoapBar", (IsIn(("SinkBasin",)),))),
        StepRule("Faucet", (FlagIs("on", True),), (FlagIs("on", False),), 3),
        True,
    ),
}
"""What the episodes of each room are judged by: two sub-goals and a step rule, as published tasks have them."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} episodes instead of {EPISODES}")
    parser.add_argument("--episodes", type=int, help="so many episodes per room")
    parser.add_argument("--room", choices=ROOMS, help="acting and traces in this room only")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}, medians of turns")
    count = options.episodes or (QUICK if options.quick else EPISODES)
    for room in ROOMS if options.room is None else (options.room,):
        interpreter = Interpreter(SceneDocument(shipped_scene(room)))
        walks = [random_walk(interpreter, random.Random(seed)) for seed in range(count)]
        # An interpreter of its own, so that what was prepared during the walks helps nobody.
        acting(room, Interpreter(SceneDocument(shipped_scene(room))), walks)
        traces(room, interpreter, walks)
    if options.room is None and available("enhsp"):
        proofs(quick=options.quick)
    return 0


def random_walk(interpreter, rng):
    """The words of accepted actions, drawn at random from the skill set; half of them are not mere going."""
    episode, done = Episode(interpreter), []
    while len(done) < STEPS:
        skills = episode.skills()[:-2]
        others = [skill for skill in skills if not skill.startswith("go to")]
        skill = rng.choice(others if others and rng.random() < 0.6 else skills)
        if episode.act(skill).accepted:
            done.append(skill)
    return done


# Acting


def acting(room, interpreter, walks):
    """Act in words, in turns with the system's steps by the same ground actions."""
    criteria, ratios, spent = CRITERIA[room], [], [0.0, 0.0]
    initial = interpreter.world.system.initial
    for number in range(ROUNDS):
        turn = walks[number::ROUNDS]
        # Grounding is part of neither side.
        plans = [ground_actions(Interpreter(interpreter.world), walk) for walk in turn]
        ends, ours = processor_seconds(lambda turn=turn: [in_words(interpreter, criteria, walk) for walk in turn])
        steps, alone = processor_seconds(lambda plans=plans: [in_steps(initial, plan) for plan in plans])
        if [(state.bits, state.numbers) for state in ends] != steps:
            raise SystemExit("words and steps come to different states: their speed means nothing")
        ratios.append(ours / alone)
        spent[0] += ours
        spent[1] += alone
    actions = sum(map(len, walks))
    ratio = statistics.median(ratios)
    print(f"\n{room}: {len(walks):,} episodes of {STEPS} actions; an action takes")
    for told, seconds in zip(("ours: words, sight, skills, monitors", "the step alone"), spent, strict=True):
        print(f"  {told:43} {seconds / actions * 1e6:9,.2f} us")
    print(f"  ours against the step: {ratio:.1f} times (goal at most {MOST_TIMES})  {reached(ratio <= MOST_TIMES)}")


def in_words(interpreter, criteria, walk):
    episode, judge = Episode(interpreter), EpisodeJudge(criteria)
    judge.observe(episode.reader.world_state(episode.state))
    for words in walk:
        result = episode.act(words)
        episode.observation(result)
        episode.skills()
        judge.observe(episode.reader.world_state(episode.state))
    return episode.state


def in_steps(state, plan):
    after = (state.bits, state.numbers)
    for action in plan:
        after = action.step(*after)
    return after


def ground_actions(interpreter, walk):
    episode = Episode(interpreter)
    return [episode.act(words).action for words in walk]


# Recorded traces


def traces(room, interpreter, walks):
    """Judge recorded episodes from their file, in turns with `json.loads` of the same lines."""
    criteria, ratios, spent, size = CRITERIA[room], [], [0.0, 0.0], 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "traces.jsonl")
        for number in range(ROUNDS):
            turn = walks[number::ROUNDS]
            lines = [line for index, walk in enumerate(turn) for line in recorded(interpreter, str(index), walk)]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            size += path.stat().st_size
            scores, ours = processor_seconds(
                lambda: [judge_states(criteria, each.states) for each in read_traces(path)]
            )
            if scores != [acted_score(interpreter, criteria, walk) for walk in turn]:
                raise SystemExit("recorded episodes have other scores than the episodes: their speed means nothing")
            _, parsing = processor_seconds(lambda: parse(path))
            ratios.append(ours / parsing)
            spent[0] += ours
            spent[1] += parsing
    states = sum(len(walk) + 1 for walk in walks)
    ratio = statistics.median(ratios)
    print(f"{room}: {states:,} recorded states, {size / states:,.0f} bytes each; a state takes")
    for told, seconds in zip(("ours: read and judged", "json.loads"), spent, strict=True):
        print(f"  {told:43} {seconds / states * 1e6:9,.2f} us")
    told = f"ours against json.loads: {ratio:.1f} times (goal at most {MOST_TIMES_OF_JSON})"
    print(f"  {told}  {reached(ratio <= MOST_TIMES_OF_JSON)}")


def parse(path):
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def acted_score(interpreter, criteria, walk):
    episode, judge = Episode(interpreter), EpisodeJudge(criteria)
    judge.observe(episode.reader.world_state(episode.state))
    for words in walk:
        episode.act(words)
        judge.observe(episode.reader.world_state(episode.state))
    return judge.score


def recorded(interpreter, name, walk):
    """The lines that a simulator would write of an episode, with the keys of iTHOR's metadata that matter here."""
    episode = Episode(interpreter)
    ids = {thing.name: object_id(thing) for thing in interpreter.world.scene.all_objects}
    yield line(episode, ids, name, 0)
    for number, words in enumerate(walk, 1):
        episode.act(words)
        yield line(episode, ids, name, number)


def object_id(thing):
    number = int(thing.name.partition("(")[2].rstrip(")"))
    return f"{thing.kind}|{number:+06.2f}|+00.91|-01.34"


def line(episode, ids, name, number):
    now = episode.reader.world_state(episode.state)
    objects = [
        {
            "objectId": ids[thing.name],
            "objectType": thing.kind,
            "isPickedUp": thing.held,
            "isOpen": thing.open,
            "isToggled": thing.on,
            "isFilledWithLiquid": thing.filled is not None,
            "fillLiquid": thing.filled,
            "isDirty": thing.dirty,
            "isSliced": thing.sliced,
            "isCooked": thing.cooked,
            "isBroken": thing.broken,
            "parentReceptacles": None if thing.place is None else [ids[place] for place in holders(now, thing)],
            "controlledObjects": None,
        }
        for thing in now.values()
    ]
    return json.dumps({"episode_id": name, "state": number, "objects": objects})


def holders(now, thing):
    """Names of the receptacles over an object, the outermost first."""
    found, place = [], thing.place
    while place is not None:
        found.insert(0, place)
        place = now[place].place
    return found


if __name__ == "__main__":
    sys.exit(main())
