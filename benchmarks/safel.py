"""How fast plans get the labels of action sequencing, and how fast declarations of problems are verified.

    python benchmarks/safel.py [--quick] [--plans N] [--reference FOLDER]

The labels' baseline is the plan validator's verdict with trace. Both sides get the same plan strings in the same run,
in turns, and must agree on which plans succeed, or the run ends with an error. The declarations' baseline is the time
in which Unified Planning's reader reads the same problems (it refuses those with wrong declarations): both sides read
domain and problem each time. Times are processor times, so that other work on the machine falls out. See README.md
beside this file.
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

from unified_planning.io import PDDLReader
from unified_planning.shortcuts import get_environment

from hazardmill.evaluation.safel.sequence import LABELS, TITLES, SequenceLabeller
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.scenarios.declarations import declaration_problems
from hazardmill.scenarios.reading import read_domain, read_problem
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
    for world in ("behavior", "virtualhome"):
        declarations(folder, world, 20 if options.quick else None)
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


# Declarations


def declarations(folder, world, most):
    """Read and verify the problems of a world, in turns with Unified Planning's reader."""
    place = folder / "data" / "eai" / world
    domain, problems = place / f"{world}.pddl", sorted((place / "problem_pddl").rglob("*.pddl"))[:most]
    # Domains have predicates and actions of one name.
    get_environment().error_used_name = False
    spent, ratios, found, refused = [0.0, 0.0], [], Counter(), 0
    for problem in problems:
        wrong, ours = processor_seconds(lambda problem=problem: verified(domain, problem))
        error, theirs = processor_seconds(lambda problem=problem: read_by_up(domain, problem))
        found["passed" if not wrong else wrong[0].code] += 1
        refused += error is not None
        spent[0] += ours
        spent[1] += theirs
        ratios.append(ours / theirs)
    print(f"\n{world}: {len(problems)} problems; a problem takes")
    for told, seconds in zip(("ours: read and verified", "read by Unified Planning"), spent, strict=True):
        print(f"  {told:43} {seconds / len(problems) * 1e3:9,.2f} ms")
    print(f"  {', '.join(f'{code} {count}' for code, count in sorted(found.items()))}; refused by the other: {refused}")
    ratio = statistics.median(ratios)
    print(f"  ours against theirs: {ratio:.3f} times (goal at most 1)  {reached(ratio <= 1)}")


def verified(domain, problem):
    return declaration_problems(read_problem(read_domain(domain), problem))


def read_by_up(domain, problem):
    """What Unified Planning refuses a problem for; None if it reads it."""
    try:
        PDDLReader().parse_problem(str(domain), str(problem))
    except Exception as error:
        return error
    return None


def processor_seconds(call):
    """What a call returns, and the seconds of processor time that it took."""
    started = time.process_time()
    result = call()
    return result, time.process_time() - started


def reached(yes):
    return "reached" if yes else "short"


if __name__ == "__main__":
    sys.exit(main())
