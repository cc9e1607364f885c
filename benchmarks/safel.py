"""How fast plans get the labels of action sequencing, beside the plan validator's verdict with trace.

    python benchmarks/safel.py [--quick] [--plans N] [--reference FOLDER]

Both sides get the same plan strings in the same run, in turns, and must agree on which plans succeed, or the run ends
with an error. Times are processor times, so that other work on the machine falls out. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the plans are the tests'

from hazardmill.evaluation.safel.sequence import LABELS, TITLES, SequenceLabeller
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from tests.evaluation.safel.mutations import gold_of_behavior, gold_of_tasks, mutants
from tests.formalism.reference_tasks import TASKS, imported_document, reference_plans

PLANS, QUICK = 100_000, 5_000
ROUNDS = 10
"""Turns of each side; the median ratio of the turns counts."""
MOST_TIMES = 5
"""Goal: most times the time of the verdicts."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} plans instead of {PLANS:,}")
    parser.add_argument("--plans", type=int, help="so many plans")
    parser.add_argument("--reference", type=Path, help="folder of reference data (default: $HAZARDMILL_REFERENCE)")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    folder = reference(options.reference)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}, medians of turns")
    plans = options.plans or (QUICK if options.quick else PLANS)
    short, long = list(short_plans(folder)), list(long_plans(folder))
    labels("toaster and reference tasks", short, plans // 2)
    labels("mutated gold plans of BEHAVIOR", long, plans - plans // 2)
    return 0


def reference(given):
    folder = given or os.environ.get("HAZARDMILL_REFERENCE") or Path(__file__).resolve().parents[2] / "shared"
    if not (Path(folder) / "data" / "eai").is_dir():
        raise SystemExit(f"no reference data at {folder}: pass --reference, or set HAZARDMILL_REFERENCE")
    return Path(folder)


# Labels of action sequencing


def short_plans(folder):
    """Each task with its plans: all reference plans, and the shortest plans with one mistake each."""
    for name in TASKS:
        yield imported_document(folder, name), [row["plan"] for row in reference_plans(folder, name)]
    for _, document, gold in gold_of_tasks(folder):
        yield document, [gold, *(mutant for _, mutant in mutants(document, gold))]


def long_plans(folder):
    """The same for BEHAVIOR: plans of 16 steps on average, and actions with quantifiers."""
    for _, document, gold in gold_of_behavior(folder):
        yield document, [gold, *(mutant for _, mutant in mutants(document, gold))]


def labels(name, tasks, count):
    """Label so many plans, in turns with verdicts on the same plans; plans are repeated until there are enough."""
    known = []
    for document, plans in tasks:
        labeller = SequenceLabeller(document)
        judge = PlanValidator(labeller.system)
        known.extend((labeller.label, judge.verdict, plan) for plan in plans)
    given = list(itertools.islice(itertools.cycle(known), count))
    turns = [given[turn::ROUNDS] for turn in range(ROUNDS)]
    found, ratios, spent = Counter(), [], [0.0, 0.0]
    for turn in turns:
        ours, labelling = processor_seconds(lambda turn=turn: [label(plan) for label, _, plan in turn])
        theirs, judging = processor_seconds(lambda turn=turn: [verdict(plan) for _, verdict, plan in turn])
        if [label.success for label in ours] != [verdict.feasible for verdict in theirs]:
            raise SystemExit("labels and verdicts disagree on which plans succeed: their speed means nothing")
        found.update(label.label for label in ours)
        ratios.append(labelling / judging)
        spent[0] += labelling
        spent[1] += judging
    steps = statistics.mean(plan.count("(") for _, _, plan in given)
    print(
        f"\n{name}: {count:,} plans ({min(len(known), count):,} different, {steps:.1f} steps on average); a plan takes"
    )
    for told, seconds in zip(("ours: the label", "the verdict with trace"), spent, strict=True):
        print(f"  {told:43} {seconds / count * 1e6:9,.2f} us")
    print("  " + ", ".join(f"{TITLES[label]} {found[label]:,}" for label in LABELS))
    ratio = statistics.median(ratios)
    print(f"  labels against verdicts: {ratio:.2f} times (goal at most {MOST_TIMES})  {reached(ratio <= MOST_TIMES)}")


def processor_seconds(call):
    """What a call returns, and the seconds of processor time that it took."""
    started = time.process_time()
    result = call()
    return result, time.process_time() - started


def reached(yes):
    return "reached" if yes else "short"


if __name__ == "__main__":
    sys.exit(main())
