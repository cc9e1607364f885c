"""How fast near-duplicates are found among many tasks, in how much memory, and how many of them are found.

    python benchmarks/dedupe.py [--quick] [--tasks N]

Synthetic tasks with planted duplicates go through the pool that finds them. Two things have another side, on the same
inputs: structure ids have BLISS (python-igraph), and the text index has brute force, on a sample. The run ends with an
error if a planted duplicate is missed or another pair taken for one, or if ids and BLISS disagree. Times are processor
times, so that other work on the machine falls out. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from random import Random
from string import Formatter

from hazardmill.formalism.document.document import Document

TASKS, QUICK = 100_000, 2_000
SAMPLE, QUICK_SAMPLE = 4_000, 1_000
PATTERNED, QUICK_PATTERNED = 4_000, 1_000
OF_BLISS = 300
RECALL = 0.98
MOST_MS = 2.0
"""Goals: least recall of texts, most milliseconds a structure id."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} tasks instead of {TASKS:,}")
    parser.add_argument("--tasks", type=int, help="so many tasks")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        side, tasks = options.child
        print(json.dumps({**SIDES[side](int(tasks)), "peak_mb": peak_mb()}))
        return 0
    sys.stdout.reconfigure(line_buffering=True)
    tasks = options.tasks or (QUICK if options.quick else TASKS)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}, {tasks:,} tasks")
    nothing, pool = in_child("make", tasks), in_child("pool", tasks)
    print(
        f"pool: {pool['seconds']:.1f} s, {pool['seconds'] / tasks * 1e3:.2f} ms a task, of which the structure ids "
        f"{pool['structures'] / tasks * 1e3:.2f}\n"
        f"  the last tenth took {pool['slowing']:.2f} times the first; {pool['near'] / tasks:.0%} of the texts are "
        "near to an earlier one\n"
        f"  peak memory {pool['peak_mb']:,.0f} MB; {nothing['peak_mb']:,.0f} MB for making the tasks alone; "
        f"{(pool['peak_mb'] - nothing['peak_mb']) / tasks * 1e3:.1f} kB a task\n"
        f"  {pool['found']:,} duplicates found, {pool['planted']:,} planted: the same ones"
    )
    ids = in_child("structures", min(tasks, OF_BLISS))
    print(
        f"structure id: {ids['ours'] * 1e3:.2f} ms a document (goal: at most {MOST_MS:g}: "
        f"{'reached' if ids['ours'] * 1e3 <= MOST_MS else 'short'}); BLISS {ids['bliss'] * 1e3:.2f} ms, with the graph "
        f"drawn in Python; {ids['documents']:,} documents of {ids['distinct']:,} structures, judged alike"
    )
    text = in_child("texts", min(tasks, QUICK_SAMPLE if options.quick else SAMPLE))
    recall = text["found"] / text["true"]
    print(
        f"text index: {text['ours']:.1f} s against {text['brute']:.1f} s by brute force on {text['texts']:,} texts\n"
        f"  recall {recall:.4f}, {text['found']:,} of {text['true']:,} near pairs (goal: at least {RECALL}: "
        f"{'reached' if recall >= RECALL else 'short'})\n"
        f"  brute force on all {tasks:,} would take {text['brute'] * (tasks / text['texts']) ** 2 / 60:,.1f} minutes"
    )
    alike = in_child("patterned", min(tasks, QUICK_PATTERNED if options.quick else PATTERNED))
    print(
        f"one pattern: {alike['ours']:.1f} s for {alike['texts']:,} texts, against {alike['all']:.1f} s for every near "
        f"pair ({alike['pairs']:,}): {alike['ours'] / alike['all']:.3f}; the last tenth took {alike['slowing']:.1f} "
        f"times the first, against {alike['all_slowing']:.1f}"
    )
    return 0


# Tasks


NOUNS = """soup bowl knife box ladder lamp plate crate kettle rug toy bottle vase drill cable towel mirror candle bucket
broom chair basket heater blanket mug tray screen pan jar bag hose rope tool plant clock book printer
album parcel""".split()
PEOPLE = """child guest resident nurse toddler visitor colleague neighbour dog cat tenant student patient baker driver
gardener waiter trainee manager twin""".split()
PLACES = """kitchen hallway bedroom stairs garage bathroom terrace corridor workshop pantry office cellar attic lobby
garden laundry library canteen depot balcony""".split()
LOOKS = """blue old cracked heavy narrow spare brass dusty folded painted loose wooden empty borrowed steel round bright
rusty quilted tall thin plastic woven dented square polished""".split()
VERBS = "bring carry take move fetch hand wheel slide push pull".split()
HOW = "slowly quickly again at once later before noon after closing by hand without a word upside down".split()
FIELDS = {
    "robot_task": (
        "{verb} the {noun} from the {place} to the {place2} {how}",
        "{verb} every {noun} in the {place} past the {person} to the {place2}",
        "tidy the {place}, then {verb} the {noun} {how} and close the {place2}",
        "get the {place} ready for the {person}: {verb} the {noun} and the {noun2} {how}",
        "by nine o'clock have the {noun} waiting in the {place2}",
        "swap {noun} and {noun2}; their places are {place} and {place2}",
    ),
    "setting": (
        "a {place} beside a {place2}, where a {person} stays {how}",
        "a shared {place} that the {person} and the {person2} use",
        "an old house with a narrow {place} and no {place2}",
        "{place} on the third floor, lift out of order",
        "where {person} and {person2} work side by side",
    ),
    "cause_of_danger": (
        "the {noun} is still warm when the {person} touches it {how}",
        "nobody told the {person} that the {noun} stands in the {place2}",
        "the {noun2} tips over as soon as somebody leans on the {noun}",
        "the {person} cannot see the {noun} from the {place}",
        "{noun} and {noun2} share one shelf, which bends",
        "water drips onto {noun2} all night",
    ),
    "danger_action": (
        "{verb} the {noun} into the {place2} while the {person} is there",
        "leave the {noun} on the edge of the {noun2}",
        "{verb} the {noun2} over the head of the {person}",
        "setting {noun} upon {noun2}",
        "turn round {how} with arms full",
    ),
    "result_of_danger": (
        "the {person} falls over the {noun}",
        "the {noun} breaks and the {person} is cut {how}",
        "bruises, and one {noun2} less",
        "{person2} faints",
        "the {person} and the {person2} lose their trust in the robot",
    ),
    "instantaneous_solution": (
        "wait until the {person} has left the {place2}",
        "ask the {person2} first, or {verb} the {noun} by way of the {place}",
        "put the {noun2} away before anything else",
        "two trips instead of one",
        "announce it aloud, count to five, then {verb}",
    ),
}
LABELS = {"danger_type": "mechanical", "danger_group": "physical", "entity_in_danger": "human"}


def told(random):
    values = {
        "verb": random.choice(VERBS),
        "how": random.choice(HOW),
        "noun": f"{random.choice(LOOKS)} {random.choice(NOUNS)}",
        "noun2": f"{random.choice(LOOKS)} {random.choice(NOUNS)}",
        **dict(zip(("person", "person2"), random.sample(PEOPLE, 2), strict=True)),
        **dict(zip(("place", "place2"), random.sample(PLACES, 2), strict=True)),
    }
    return {name: random.choice(patterns).format(**values) for name, patterns in FIELDS.items()} | LABELS


def retold(texts, random):
    """The same with two words replaced."""
    parts = texts["robot_task"].split() + texts["cause_of_danger"].split()
    cut = len(texts["robot_task"].split())
    for place in random.sample(range(len(parts)), 2):
        parts[place] = random.choice(NOUNS)
    return {**texts, "robot_task": " ".join(parts[:cut]), "cause_of_danger": " ".join(parts[cut:])}


def reworded(text, random):
    """The same with up to three words in ten replaced, so that many pairs lie about the threshold."""
    parts = text.split()
    for place in random.sample(range(len(parts)), random.randint(1, len(parts) * 3 // 10)):
        parts[place] = random.choice(NOUNS)
    return " ".join(parts)


def document(number, random):
    """A task about some places, things and circumstances; its number is in its bounds, so no two are alike."""
    places = [f"place_{i}" for i in range(random.randint(3, 7))]
    things = [f"thing_{i}" for i in range(random.randint(1, 3))]
    circumstances = [f"circumstance_{i}" for i in range(random.randint(2, 5))]
    read = random.sample(circumstances, random.randint(1, 2))
    flag = {"parameters": [], "kind": "context", "value": "boolean", "lower": None, "upper": None}
    edges = [pair for a, b in pairwise(places) for pair in ((a, b), (b, a))]
    edges += [tuple(random.sample(places, 2)) for _ in range(random.randint(0, 4))]
    condition = ["and", *(["fluent", name] for name in read), ["not", ["fluent", "is_careful"]]]
    initial = [["robot_at", places[0]], *(["lies_at", thing, random.choice(places)] for thing in things)]
    initial += [["linked", a, b] for a, b in sorted(set(edges))] + [[name] for name in read]
    move = [["?from", "place"], ["?to", "place"]]
    take = [["?thing", "thing"], ["?here", "place"]]
    return {
        "format": "hazardmill-task/1",
        "name": "task",
        "realised_by": "go",
        "types": [["place", "object"], ["thing", "object"]],
        "objects": [*([name, "place"] for name in places), *([name, "thing"] for name in things)],
        "fluents": [
            {**flag, "name": "robot_at", "kind": "normal", "parameters": [["?p", "place"]]},
            {**flag, "name": "lies_at", "kind": "normal", "parameters": [["?t", "thing"], ["?p", "place"]]},
            {**flag, "name": "linked", "kind": "normal", "parameters": [["?p", "place"], ["?q", "place"]]},
            {**flag, "name": "holds", "kind": "normal", "parameters": [["?t", "thing"]]},
            {**flag, "name": "is_careful", "kind": "normal"},
            {**flag, "name": "steps", "kind": "normal", "value": "integer", "lower": 0, "upper": 10 + number},
            *({**flag, "name": name} for name in circumstances),
        ],
        "actions": [
            {
                "name": "go",
                "parameters": move,
                "precondition": ["and", ["fluent", "robot_at", "?from"], ["fluent", "linked", "?from", "?to"]],
                "effects": [
                    ["assign", ["fluent", "robot_at", "?to"], True, True],
                    ["assign", ["fluent", "robot_at", "?from"], False, True],
                    ["increase", ["fluent", "steps"], 1, True],
                ],
            },
            {
                "name": "take",
                "parameters": take,
                "precondition": ["and", ["fluent", "robot_at", "?here"], ["fluent", "lies_at", "?thing", "?here"]],
                "effects": [
                    ["assign", ["fluent", "holds", "?thing"], True, True],
                    ["assign", ["fluent", "lies_at", "?thing", "?here"], False, True],
                ],
            },
            {
                "name": "put",
                "parameters": take,
                "precondition": ["and", ["fluent", "robot_at", "?here"], ["fluent", "holds", "?thing"]],
                "effects": [
                    ["assign", ["fluent", "lies_at", "?thing", "?here"], True, True],
                    ["assign", ["fluent", "holds", "?thing"], False, True],
                ],
            },
            {
                "name": "take_care",
                "parameters": [],
                "precondition": True,
                "effects": [["assign", ["fluent", "is_careful"], True, True]],
            },
        ],
        "initial": [[atom, True] for atom in initial],
        "goal": ["and", *(["fluent", "lies_at", thing, random.choice(places)] for thing in things)],
        "dangers": [{"action": "go", "condition": condition, "increment": 1, "danger_type": "mechanical"}],
        "initial_danger": 0,
        "max_danger": 0,
        "texts": {},
        "provenance": {},
    }


def renamed(task, random):
    """Every object and circumstance called otherwise, and all declarations in the order of the new names."""
    text = json.dumps(task)
    for stem in ("place_", "thing_", "circumstance_"):
        text = text.replace(stem, f"{random.choice('bcdfghkmnprstvwz')}{random.randrange(10**6)}_")
    return Document.from_json(json.loads(text)).to_json()


def tasks_of(count):
    """Number, document, texts, and the number of the task that it duplicates, if any.

    One task in twenty is an earlier one renamed and retold; one in twenty has an earlier one's structure and another
    text, and one in twenty its text and another bound.
    """
    random, originals = Random(count), []
    for number in range(count):
        kind = random.randrange(20)
        if kind > 2 or not originals:
            made = (number, Document.from_json(document(number, random)).to_json(), told(random))
            if len(originals) < 2_000:
                originals.append(copy.deepcopy(made))
            yield *made, None
            continue
        first, task, texts = random.choice(originals)
        if kind == 0:
            yield number, renamed(task, random), retold(texts, random), first
        elif kind == 1:
            yield number, renamed(task, random), told(random), None
        else:
            yield number, {**task, "max_danger": number + 1}, retold(texts, random), None


# Sides, each in a process of its own; making the tasks is not timed


def make(count):
    return {"tasks": sum(1 for _ in tasks_of(count))}


def pool(count):
    from hazardmill.quality import duplicates
    from hazardmill.quality.structure import structure_id

    spent = {"structures": 0.0, "tenths": [0.0] * 10}

    def timed(document):
        started = time.process_time()
        key = structure_id(document)
        spent["structures"] += time.process_time() - started
        return key

    duplicates.structure_id = timed
    kept, found, planted, near = duplicates.DuplicatePool(), 0, 0, 0
    for number, task, texts, first in tasks_of(count):
        started = time.process_time()
        look = kept.look(str(number), task, texts)
        spent["tenths"][number * 10 // count] += time.process_time() - started
        near += look.near is not None
        if (None if look.twin is None else look.twin.task_id) != (None if first is None else str(first)):
            raise SystemExit(f"task {number}: {look.twin} was found, and {first} planted")
        planted += first is not None
        found += look.twin is not None
    seconds = sum(spent["tenths"])
    return {
        "seconds": seconds,
        "structures": spent["structures"],
        "slowing": spent["tenths"][-1] / max(spent["tenths"][0], 1e-9),
        "near": near,
        "found": found,
        "planted": planted,
    }


def structures(count):
    import igraph  # noqa: F401  # else its import is timed

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    from quality.test_structure import Drawing

    from hazardmill.quality.structure import structure_id

    documents = [task for _, task, _, _ in tasks_of(count)]
    ours, bliss, seconds = [], [], []
    for judge, given in ((structure_id, ours), (lambda task: Drawing(task).canonical(), bliss)):
        started = time.process_time()
        given += map(judge, documents)
        seconds.append((time.process_time() - started) / count)
    pairs = set(zip(ours, bliss, strict=True))
    if not len(pairs) == len(set(ours)) == len(set(bliss)):
        raise SystemExit("structure ids and BLISS disagree")
    return {"ours": seconds[0], "bliss": seconds[1], "documents": count, "distinct": len(pairs)}


def texts(count):
    from rapidfuzz.distance import Indel

    from hazardmill.quality.text import THRESHOLD, Texts, fields_of, words

    random = Random(count)
    given = ["\n".join(fields_of(texts)) for _, _, texts, _ in tasks_of(count // 2)]
    given += [reworded(text, random) for text in given]
    started, index, found = time.process_time(), Texts(), set()
    for number, text in enumerate(given):
        prepared = index.prepare(text)
        found |= {(number, each.number) for each in index.near(prepared)}
        index.keep(prepared)
    ours = time.process_time() - started
    started, split = time.process_time(), [words(text) for text in given]
    # Words as numbers, and rapidfuzz for each pair: brute force is given what helps it.
    numbers = {word: number for number, word in enumerate(dict.fromkeys(word for text in split for word in text))}
    spelled = ["".join(chr(0x100 + numbers[word]) for word in text) for text in split]
    true = {
        (number, other)
        for number, one in enumerate(spelled)
        for other in range(number)
        if Indel.normalized_similarity(one, spelled[other], score_cutoff=THRESHOLD) >= THRESHOLD
    }
    brute = time.process_time() - started
    if not found <= true:
        raise SystemExit("a pair was said to be near that is not")
    return {"ours": ours, "brute": brute, "texts": len(given), "found": len(found), "true": len(true)}


def patterned(count):
    """Texts after one pattern, all near to each other: the first near one of eight kinds each, and all near ones."""
    import numpy as np

    from hazardmill.quality.text import Texts

    random = Random(count)
    pattern = " ".join(patterns[0] for patterns in FIELDS.values())
    names = sorted({name for _, name, _, _ in Formatter().parse(pattern) if name})
    given = [
        pattern.format(**{name: random.choice(NOUNS) if name in SLOTS else name for name in names})
        for _ in range(count)
    ]
    kinds = np.array([random.randrange(8) for _ in given])
    spent, pairs = {}, 0
    for side in ("ours", "all"):
        index, seconds = Texts(), [0.0] * 10
        for number, text in enumerate(given):
            started = time.process_time()
            prepared = index.prepare(text)
            found = index.near(prepared, (lambda numbers: kinds[numbers]) if side == "ours" else None)
            index.keep(prepared)
            seconds[number * 10 // count] += time.process_time() - started
            pairs += len(found) if side == "all" else 0
        spent[side] = seconds
    return {
        "texts": count,
        "pairs": pairs,
        "ours": sum(spent["ours"]),
        "all": sum(spent["all"]),
        "slowing": spent["ours"][-1] / spent["ours"][0],
        "all_slowing": spent["all"][-1] / spent["all"][0],
    }


SLOTS = ("noun", "noun2", "person")

SIDES = {"make": make, "pool": pool, "structures": structures, "texts": texts, "patterned": patterned}


def in_child(side, tasks):
    command = [sys.executable, __file__, "--child", side, str(tasks)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def peak_mb():
    # Not getrusage: its peak begins with that of the process which started this one.
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    sys.exit(main())
