"""How fast a household task is proved, against ENHSP on the same compiled document.

    python benchmarks/household_proofs.py [--quick] [--tasks DIR]

We prove the shortest compliant plan, the shortest one for the goal alone, and a careless one of that length, from the
task on: compiling and grounding are part of it. ENHSP is asked for one safe and one unsafe plan, which need not be the
shortest, of the document compiled beforehand. It gives up after a time, which then counts. Times are wall times,
because an engine is a process of its own; its start, about two seconds, is left out. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from safel import reached

from hazardmill.formalism.document.document import Document, FluentDecl
from hazardmill.formalism.search.engines.external import solve_with
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.household.compile import compile_task
from hazardmill.household.proof import prove_task
from hazardmill.household.rules import Contains, CookedBy, FlagIs, IsIn, StateRule, StepRule, SubGoal
from hazardmill.household.scene import Scene
from hazardmill.household.spoc_format import SpocTask
from hazardmill.household.task import HouseholdTask, read_household_tasks

LEAST_TIMES = 10
"""Goal: ENHSP's time against ours."""
KINDS = ("safe", "unsafe")
TIMEOUT_S = 60.0

KITCHEN = [
    *({"class": kind} for kind in ("Fridge", "CounterTop", "Cabinet", "DiningTable", "Microwave", "Drawer")),
    {"class": "SinkBasin"},
    {"class": "Faucet", "controls": "SinkBasin (1)"},
    {"class": "Tomato", "in": "CounterTop (1)"},
    {"class": "Potato", "in": "Fridge (1)"},
    {"class": "Plate", "in": "Cabinet (1)", "states": ["dirty"]},
    *({"class": kind, "in": "Drawer (1)"} for kind in ("Fork", "Spoon")),
    {"class": "Book", "in": "DiningTable (1)"},
]
FRIDGE = StepRule("Fridge", (FlagIs("open", True), Contains(("Tomato",))), (FlagIs("open", False),), 1)
MICROWAVE = StepRule("Microwave", (FlagIs("on", True),), (FlagIs("on", False),), 2)
PLATE = StateRule("Plate", (Contains(("Tomato",)),), (FlagIs("dirty", True),), (IsIn(("SinkBasin",)),))
TASKS = {
    "tomato into the fridge": (FRIDGE, (SubGoal("Tomato", (IsIn(("Fridge",)),)),)),
    "fork on the table, tomato": (
        FRIDGE,
        (SubGoal("Tomato", (IsIn(("Fridge",)),)), SubGoal("Fork", (IsIn(("DiningTable",)),))),
    ),
    "warm potato": (MICROWAVE, (SubGoal("Potato", (CookedBy("Microwave"),)),)),
    "tomato on a plate": (PLATE, (SubGoal("Tomato", (IsIn(("Plate",)),)),)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="two tasks only")
    parser.add_argument(
        "--tasks", type=Path, metavar="DIR", help="household tasks to prove instead of the shipped ones"
    )
    options = parser.parse_args()
    proofs(options.tasks, options.quick)


def proofs(folder=None, quick=False):
    """Prove tasks, and let ENHSP solve their documents."""
    tasks = own_tasks() if folder is None else [task for _, task in read_household_tasks(folder)]
    start = sum(ask(Document.of(fluents=[FluentDecl("a")]), kind).seconds for kind in KINDS)
    ratios, proved = [], 0
    print("household tasks: seconds of ours, of ENHSP, and the ratio")
    for task in tasks[: 2 if quick else None]:
        proof, ours = wall_seconds(lambda task=task: prove_task(task))
        document = compile_task(task).document
        answers = [ask(document, kind) for kind in KINDS]
        theirs = sum(answer.seconds for answer in answers) - start
        check(task, proof, document, answers)
        if proof.is_kept:
            proved += 1
        ratios.append(theirs / ours)
        lengths = f"{proof.compliant.length} and {proof.for_goals.length} actions"
        print(f"  {task.name:32} {lengths:20} {ours:8.2f} {theirs:8.2f} {theirs / ours:8.1f}")
    ratio = statistics.median(ratios)
    told = f"ENHSP against ours, median of {len(ratios)}: {ratio:.1f} times (goal at least {LEAST_TIMES})"
    print(f"  {told}  {reached(ratio >= LEAST_TIMES)}; proved and kept: {proved}; least {min(ratios):.1f}")


def own_tasks():
    scene = Scene.of("kitchen", KITCHEN)
    return [
        HouseholdTask(name, scene, SpocTask("FloorPlan1", name, name, rule, isinstance(rule, StepRule), goals))
        for name, (rule, goals) in TASKS.items()
    ]


def ask(document, kind):
    answer = solve_with("enhsp", document, kind, TIMEOUT_S)
    if answer.status in ("error", "unavailable"):
        raise SystemExit(f"ENHSP cannot be asked: {answer.message}")
    return answer


def check(task, proof, document, answers):
    """Stop where the two sides contradict each other."""
    validator = PlanValidator(System(document))
    for kind, answer in zip(KINDS, answers, strict=True):
        if answer.plan is None:
            continue
        feasible, safe, _ = validator.quick(answer.plan_text)
        if not feasible or safe != (kind == "safe"):
            raise SystemExit(f"{task.name}: the plan of ENHSP is not {kind}: {answer.plan_text}")
        if safe and proof.compliant.length is not None and len(answer.plan) - 1 < proof.compliant.length:
            raise SystemExit(f"{task.name}: ENHSP found a shorter plan than the shortest")


def wall_seconds(call):
    started = time.perf_counter()
    result = call()
    return result, time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
