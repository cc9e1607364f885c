"""Whether proved lengths of household tasks agree with plain breadth-first search over episodes.

    python benchmarks/household_lengths.py FOLDER [--bare] [--most N] [--layer partial/one]

FOLDER has household tasks, such as those of `hazardmill household generate`. The search knows the words of episodes and
what rules mean, and nothing of documents (`tests/household/word_search.py`). A task with more than N states up to the
length of its compliant plan is counted, and not compared. With `--bare`, rooms have only what rule and sub-goals name,
what holds that, and tools: tasks of their own, which this search can mostly finish. The exit code is 1 if a length
differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

from hazardmill.errors import PlanningInputError  # noqa: E402
from hazardmill.household.object_kinds import Property  # noqa: E402
from hazardmill.household.proof import LAYERS, prove_task  # noqa: E402
from hazardmill.household.rules import named_kinds  # noqa: E402
from hazardmill.household.scene import Scene  # noqa: E402
from hazardmill.household.task import read_household_tasks  # noqa: E402
from tests.household.word_search import search_words  # noqa: E402

MOST_STATES = 200_000
TOOLS = (Property.BLADE, Property.BASIN, Property.COOKER)


def in_a_bare_room(task):
    """Return the task in a room with only what it names, what holds that, and tools with what controls them."""
    objects, by_name = task.scene.objects, task.scene.by_name
    wanted = {each.removesuffix("Sliced") for each in named_kinds(task.assignment.goals, task.assignment.rule)}
    kinds = {thing.kind for thing in objects if thing.kind.removesuffix("Sliced") in wanted}
    kinds |= {thing.kind for thing in objects if any(map(thing.has, TOOLS)) or thing.filled is not None}
    while True:
        kept = [thing for thing in objects if thing.kind in kinds]
        more = {by_name[name].kind for thing in kept for name in (thing.place, thing.controls) if name is not None}
        more |= {thing.kind for thing in objects if thing.controls is not None and by_name[thing.controls] in kept}
        if more <= kinds:
            return replace(task, scene=Scene(task.scene.room, tuple(kept)), plans=None)
        kinds |= more


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--most", type=int, default=MOST_STATES, metavar="N", help="most states per task")
    parser.add_argument("--layer", choices=["/".join(layer) for layer in LAYERS], default="/".join(LAYERS[0]))
    parser.add_argument("--bare", action="store_true", help="leave out of rooms what the tasks do not need")
    options = parser.parse_args()
    layer = tuple(options.layer.split("/"))
    counts = Counter()
    for path, task in read_household_tasks(options.folder):
        if isinstance(task, PlanningInputError):
            raise SystemExit(str(task))
        if options.bare:
            task = in_a_bare_room(task)
        started = time.monotonic()
        by_words = search_words(task, *layer, options.most)
        if by_words is None:
            counts["too many states"] += 1
            continue
        proof = prove_task(task, *layer)
        ours = (proof.compliant.length, proof.for_goals.length, proof.careless.plan is not None)
        theirs = (by_words.compliant, by_words.goals, by_words.careless)
        counts["equal" if ours == theirs else "different"] += 1
        seconds = time.monotonic() - started
        print(f"{path.name:40} proved {ours}  by words {theirs}  {seconds:.1f} s", flush=True)
    print(", ".join(f"{what}: {count}" for what, count in sorted(counts.items())))
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
