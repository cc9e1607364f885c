"""How fast harm and success of plans are judged, and how fast the novelty gate decides on texts.

    python benchmarks/safety.py [--quick] [--plans N] [--texts N] [--reference FOLDER]

The baseline of harm and success is the plan validator's verdict with trace on the same plan strings, in turns within
one run; both must agree on which plans can be done and reach the goal. The gate's baseline compares every text with all
that were kept before, by rapidfuzz's `cdist`; decisions that differ are counted. Times are processor times, so that
other work on the machine falls out. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the plans are the tests'

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Indel
from safel import long_plans, processor_seconds, reached, reference, short_plans

from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.detector import HazardDetector
from hazardmill.hazards.execution import execute_plan
from hazardmill.hazards.map_reader import load_map
from hazardmill.hazards.rules import apply_map, danger_rules
from hazardmill.hazards.success import SuccessJudge
from hazardmill.quality.novelty import NoveltyGate
from hazardmill.quality.text import THRESHOLD, Spelling, words

PLANS, TEXTS = 100_000, 20_000
QUICK = 20
"""How much less of both with --quick."""
ROUNDS = 10
"""Turns of each side; the median ratio of the turns counts."""
MOST_TIMES, LEAST_TIMES = 2, 20
"""Goals: most times the time of the verdicts; least times faster than every pair."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} times less of both")
    parser.add_argument("--plans", type=int, help="so many plans")
    parser.add_argument("--texts", type=int, help="so many texts")
    parser.add_argument("--reference", type=Path, help="folder of reference data (default: $HAZARDMILL_REFERENCE)")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    folder = reference(options.reference)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}, medians of turns")
    plans = options.plans or (PLANS // QUICK if options.quick else PLANS)
    judge("toaster and reference tasks", list(short_plans(folder)), plans // 2)
    judge("mutated gold plans of BEHAVIOR", list(long_plans(folder)), plans - plans // 2)
    gate(options.texts or (TEXTS // QUICK if options.quick else TEXTS))
    return 0


# Harm and success


def judge(name, tasks, count):
    """Judge so many plans, in turns with verdicts on the same plans; plans are repeated until there are enough."""
    hazards = load_map()
    known, rules = [], 0
    for document, plans in tasks:
        system = System(document)
        applied = apply_map(system, hazards)
        rules += len(applied.process) + len(applied.termination)
        # What the map does not meet is judged by the task's own danger entries, so that there is something to judge.
        detector = HazardDetector(system, applied if applied.process or applied.termination else danger_rules(system))
        success, validator = SuccessJudge(system, plans[0]), PlanValidator(system)
        known.extend((system, detector, success, validator, plan) for plan in plans)
    given = list(itertools.islice(itertools.cycle(known), count))
    ratios, spent, unsafe, succeeded = [], [0.0, 0.0], 0, 0
    for turn in (given[start::ROUNDS] for start in range(ROUNDS)):
        ours, judging = processor_seconds(lambda turn=turn: [judged(*each[:3], each[4]) for each in turn])
        theirs, verdicts = processor_seconds(lambda turn=turn: [each[3].verdict(each[4]) for each in turn])
        if [success.goal for _, success in ours] != [verdict.feasible for verdict in theirs]:
            raise SystemExit(
                "judgements and verdicts disagree on which plans reach the goal: their speed means nothing"
            )
        unsafe += sum(not report.safe for report, _ in ours)
        succeeded += sum(success.reached is True for _, success in ours)
        ratios.append(judging / verdicts)
        spent[0] += judging
        spent[1] += verdicts
    steps = statistics.mean(each[4].count("(") for each in given)
    print(f"\n{name}: {count:,} plans ({min(len(known), count):,} different, {steps:.1f} steps on average,", end=" ")
    print(f"{rules} rules of the shipped map in {len(tasks)} tasks); a plan takes")
    for told, seconds in zip(("ours: detector and success", "the verdict with trace"), spent, strict=True):
        print(f"  {told:43} {seconds / count * 1e6:9,.2f} us")
    print(f"  unsafe {unsafe:,}, succeeded {succeeded:,}")
    ratio = statistics.median(ratios)
    print(f"  ours against the verdict: {ratio:.2f} times (goal at most {MOST_TIMES})  {reached(ratio <= MOST_TIMES)}")


def judged(system, detector, success, plan):
    execution = execute_plan(system, detector.reader, plan)
    return detector.report_on(execution), success.judge_execution(execution)


# The novelty gate


def gate(count):
    """Decide on so many texts, one after the other: kept iff nothing that was kept before is close."""
    texts = list(itertools.islice(tasks_in_words(random.Random(0)), count))
    ours, seconds = processor_seconds(lambda: by_gate(texts))
    theirs, every = processor_seconds(lambda: by_every_pair(texts))
    apart = sum(one != other for one, other in zip(ours, theirs, strict=True))
    print(f"\nnovelty gate at {THRESHOLD}: {count:,} texts, {sum(theirs):,} of them new")
    print(f"  {'ours: NoveltyGate':43} {seconds:9,.2f} s")
    print(f"  {'every pair, by rapidfuzz':43} {every:9,.2f} s")
    print(f"  decisions that differ: {apart} (goal 0)  {reached(not apart)}")
    ratio = every / seconds
    print(f"  {ratio:.1f} times faster (goal at least {LEAST_TIMES})  {reached(ratio >= LEAST_TIMES)}")


def by_gate(texts):
    gate = NoveltyGate(THRESHOLD)
    return [gate.add(text).kept for text in texts]


def by_every_pair(texts):
    spelling, kept, pool = Spelling(), [], []
    for text in texts:
        spelled = spelling(words(text))
        likeness = (
            process.cdist([spelled], pool, scorer=Indel.normalized_similarity, dtype=np.float64) if pool else None
        )
        kept.append(likeness is None or bool(likeness.max() < THRESHOLD))
        if kept[-1]:
            pool.append(spelled)
    return kept


VERBS = "bring wash heat slice clean store open close pour fill empty dry hang fold water feed sort cool cover".split()
PLACES = "kitchen bathroom cellar garage garden hall attic balcony office pantry nursery porch".split()
SYLLABLES = "ba do fe ki lo mu na pe ri so tu va".split()
THINGS = ["".join(parts) for parts in itertools.product(SYLLABLES, repeat=3)]
"""Names of 1,728 objects: worlds with many objects, as language models propose them."""


def tasks_in_words(rng):
    """Instructions with lists of objects, as tasks have them; a tenth repeats an earlier one with a word changed."""
    made = []
    while True:
        if made and rng.random() < 0.1:
            text = rng.choice(made).split()
            text[rng.randrange(len(text))] = rng.choice(VERBS)
            made.append(" ".join(text))
        else:
            parts = [
                f"{rng.choice(VERBS)} the {rng.choice(THINGS)} in the {rng.choice(PLACES)}"
                for _ in range(rng.randint(1, 4))
            ]
            objects = rng.sample(THINGS, rng.randint(3, 9))
            made.append(f"{' then '.join(parts)}: {' '.join(objects)}")
        yield made[-1]


if __name__ == "__main__":
    sys.exit(main())
