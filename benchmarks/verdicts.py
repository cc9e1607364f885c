"""How fast verdicts and exact search are, against named baselines in the same run.

    python benchmarks/verdicts.py [--quick] [--reference FOLDER]

Each line is a ratio of medians, its goal, and whether that is reached. Both sides get the same plan strings and must
give the same verdicts, or the run ends with an error. See README.md beside this file for what is measured how.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.pddl.reader import read_pddl
from hazardmill.formalism.formats.up.convert import load_unified_planning, to_up
from hazardmill.formalism.search.engines.child import solve_enhsp
from hazardmill.formalism.search.engines.external import available, solve_with
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System

TASKS = ("neiss_11125", "neiss_2888", "normbank_14564")
DOCUMENTS = 33_728
_ACTION = re.compile(r"\(([^()]*)\)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, shorter plans, a tenth of the documents")
    parser.add_argument("--reference", type=Path, help="folder that holds verdicts/ (default: $HAZARDMILL_REFERENCE)")
    parser.add_argument("--revalidate", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    # Minutes pass between two lines; a pipe should show them as they come.
    sys.stdout.reconfigure(line_buffering=True)
    if options.revalidate:
        return revalidate(options.revalidate)
    folder = reference(options.reference) / "verdicts"
    load_unified_planning()
    tasks = {name: read_task(folder / name) for name in TASKS}
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}, medians of repeats")
    verdicts(tasks, options.quick)
    dangerous_steps(options.quick)
    optimal_plans([document for document, _ in tasks.values()], options.quick)
    cold_process(folder / TASKS[0], tasks[TASKS[0]], options.quick)
    all_documents(tasks, options.quick)
    return 0


def reference(given):
    folder = given or os.environ.get("HAZARDMILL_REFERENCE") or Path(__file__).resolve().parents[2] / "shared"
    if not (Path(folder) / "verdicts").is_dir():
        raise SystemExit(f"no reference data at {folder}: pass --reference, or set HAZARDMILL_REFERENCE")
    return Path(folder)


def read_task(folder):
    """A reference task, and those of its plans that the baselines can read: all actions exist and are spelled so."""
    document = read_pddl(folder / "domain.pddl", folder / "problem.pddl", folder / "dangers.json")
    reader = PlanValidator(System(document)).reader
    rows = map(json.loads, (folder / "plans.jsonl").read_text().splitlines())
    plans = [row["plan"] for row in rows if None not in reader.steps(row["plan"])]
    return document, [plan for plan in plans if spelled(plan) == [[a.name, *a.args] for a in reader.steps(plan)]]


def spelled(plan):
    return [inner.split() for inner in _ACTION.findall(plan)]


# One plan


def verdicts(tasks, quick):
    """Feasible, safe and danger of each reference plan: ours, Unified Planning's validator, compile and enumerate."""
    sides = {
        "ours": "ours: feasible, safe, danger",
        "whole": "ours: with safety intention and trace",
        "validator": "Unified Planning's validator",
        "unchecked": "the same, not checking the kind of problem",
        "enumerated": "compile and enumerate",
        "enumerated, unchecked": "the same, not checking the kind of problem",
    }
    spent, count = dict.fromkeys(sides, 0.0), 0
    for document, plans in tasks.values():
        judge = PlanValidator(System(document))
        baselines = {
            "validator": Validator(document),
            "unchecked": Validator(document, skip_checks=True),
            "enumerated": Variants(document),
            "enumerated, unchecked": Variants(document, skip_checks=True),
        }
        expected = [judge.quick(plan) for plan in plans]
        for name, baseline in baselines.items():
            same(expected, [baseline.verdict(plan) for plan in plans], name)
        verdict_of = {"ours": judge.quick, "whole": judge.verdict}
        verdict_of |= {name: baseline.verdict for name, baseline in baselines.items()}
        # Microseconds are too few to be timed alone.
        rounds = {name: plans * 20 if name == "ours" else plans for name in sides}
        calls = [lambda run=verdict_of[name], plans=rounds[name]: [run(plan) for plan in plans] for name in sides]
        for name, seconds in zip(sides, processor_seconds(calls, 3 if quick else 9), strict=True):
            spent[name] += seconds * len(plans) / len(rounds[name])
        count += len(plans)
    print(f"\n{count} reference plans, plan string in, task grounded; a plan takes")
    for name, told in sides.items():
        print(f"  {told:43} {spent[name] / count * 1e6:9,.2f} us")
    ours = spent["ours"]
    claim("verdict against SequentialPlanValidator", spent["validator"] / ours, 1_000)
    claim("the same, unchecked", spent["unchecked"] / ours, None)
    claim("the same, ours with safety intention and trace", spent["validator"] / spent["whole"], None)
    claim("verdict against compile and enumerate", spent["enumerated"] / ours, 5_000)
    claim("the same, unchecked", spent["enumerated, unchecked"] / ours, None)


class Validator:
    """``SequentialPlanValidator`` on the task with danger as a number, read at the end of its trace: one run a plan."""

    def __init__(self, document, skip_checks=False):
        from unified_planning.engines import SequentialPlanValidator

        self.most = document.max_danger
        self.problem = to_up(document, "integer", "basic")
        self.danger = self.problem.fluent("danger")
        self.objects = {thing.name: thing for thing in self.problem.all_objects}
        self.validator = SequentialPlanValidator()
        self.validator.skip_checks = skip_checks

    def verdict(self, plan):
        steps = [(self.problem.action(name), args) for name, *args in spelled(plan)]
        return self.validate(self.problem, steps) or (False, False, None)

    def validate(self, problem, steps):
        from unified_planning.engines import ValidationResultStatus
        from unified_planning.plans import ActionInstance, SequentialPlan

        expressions = problem.environment.expression_manager
        instances = [
            ActionInstance(action, tuple(expressions.ObjectExp(self.objects[arg]) for arg in args))
            for action, args in steps
        ]
        result = self.validator.validate(problem, SequentialPlan(instances))
        if result.status is not ValidationResultStatus.VALID:
            return None
        danger = result.trace[-1].get_value(self.danger()).constant_value()
        return True, danger <= self.most, danger


class Variants(Validator):
    """Compile and enumerate, from the published description.

    Conditional effects are compiled away, so that an action with k of them becomes up to 2^k actions without; a plan
    is then every choice of variants along it, each validated, until one is valid. Compiling is done beforehand and
    the danger is read from the one valid choice, both to the baseline's advantage.
    """

    def __init__(self, document, skip_checks=False):
        from unified_planning.engines import CompilationKind
        from unified_planning.engines.compilers import ConditionalEffectsRemover

        super().__init__(document, skip_checks)
        compiled = ConditionalEffectsRemover().compile(self.problem, CompilationKind.CONDITIONAL_EFFECTS_REMOVING)
        self.compiled = compiled.problem
        self.variants = {action.name: [] for action in self.problem.actions}
        for variant in self.compiled.actions:
            # By the compiler's own way back, not by the name's beginning.
            original = compiled.map_back_action_instance(variant(*_dummies(variant, self.compiled))).action
            self.variants[original.name].append(variant)

    def verdict(self, plan):
        read = [(self.variants[name], args) for name, *args in spelled(plan)]
        for choice in itertools.product(*(variants for variants, _ in read)):
            steps = [(variant, args) for variant, (_, args) in zip(choice, read, strict=True)]
            if found := self.validate(self.compiled, steps):
                return found
        return False, False, None


def _dummies(action, problem):
    return [next(problem.objects(parameter.type)) for parameter in action.parameters]


# Many dangerous steps


def dangerous_steps(quick):
    """Plans of n dangerous steps, every other of which fires: linear here, doubling with each step there."""
    document = kettle()
    judge, variants = PlanValidator(System(document)), Variants(document)
    ours, theirs = {}, {}
    for steps in (10, 20, 40, 80, 160):
        plan = "(press) (heat) " * (steps // 2)
        (seconds,) = processor_seconds([lambda plan=plan: [judge.quick(plan) for _ in range(200)]], 15)
        ours[steps] = seconds / 200
    for steps in (2, 4, 6, 8) if quick else (2, 4, 6, 8, 10):
        plan = "(press) (heat) " * (steps // 2)
        same([judge.quick(plan)], [variants.verdict(plan)], "compile and enumerate")
        (theirs[steps],) = processor_seconds([lambda plan=plan: variants.verdict(plan)], 1 if steps > 6 else 3)
    print("\nplans of n dangerous steps, one conditional effect each")
    print("  ours                  " + "  ".join(f"{n}: {s * 1e6:.1f} us" for n, s in ours.items()))
    print("  compile and enumerate " + "  ".join(f"{n}: {s * 1e3:.0f} ms" for n, s in theirs.items()))
    last = max(theirs)
    growth = (theirs[last] / theirs[last - 4]) ** 0.25
    years = theirs[last] * growth ** (40 - last) / (365.25 * 86_400)
    straight = ours[160] / ours[40]
    print(f"  theirs grows by {growth:.2f} a step: about {years:,.0f} years for 40 steps, by extrapolation")
    print(f"  ours: 160 steps take {straight:.2f} times 40 steps (goal: at most 5)  {reached(straight <= 5)}")


def kettle():
    """Two actions, each with one danger entry, that take turns in making it hold."""

    def action(name, value):
        effects = [["assign", ["fluent", "hot"], value, True]]
        return {"name": name, "parameters": [], "precondition": True, "effects": effects}

    entry = {"condition": ["fluent", "hot"], "increment": 1, "danger_type": None}
    fluent = {"name": "hot", "parameters": [], "kind": "normal", "value": "boolean", "lower": None, "upper": None}
    return Document.from_json(
        {
            "format": "hazardmill-task/1",
            "name": "kettle",
            "realised_by": None,
            "types": [],
            "objects": [],
            "fluents": [fluent],
            "actions": [action("press", False), action("heat", True)],
            "initial": [[["hot"], True]],
            "goal": ["fluent", "hot"],
            "dangers": [{"action": "press", **entry}, {"action": "heat", **entry}],
            "initial_danger": 0,
            "max_danger": 0,
        }
    )


# Both optimal plans


def optimal_plans(documents, quick):
    """Search for both plans, grounding included, against two solves by ENHSP."""
    if not available("enhsp"):
        print("\nENHSP is not installed (extra enhsp): both optimal plans not compared")
        return
    repeats = 1 if quick else 5
    ours, warm, cold = 0.0, 0.0, 0.0
    for document in documents:
        solution = solve(document)
        assert solution.safe is not None and solution.unsafe is not None
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            seconds = wall_seconds(
                [
                    lambda document=document: [solve(document) for _ in range(50)],
                    lambda document=document: [enhsp_here(document, goal) for goal in ("safe", "unsafe")],
                    lambda document=document: [enhsp_apart(document, goal) for goal in ("safe", "unsafe")],
                ],
                repeats,
            )
        ours, warm, cold = ours + seconds[0] / 50, warm + seconds[1], cold + seconds[2]
    print("\nboth optimal plans of a reference task, from its document")
    print(f"  ours                                     {ours / len(documents) * 1e3:10.3f} ms")
    print(f"  ENHSP, Unified Planning already imported {warm / len(documents) * 1e3:10.0f} ms")
    print(f"  ENHSP in processes of their own          {cold / len(documents) * 1e3:10.0f} ms")
    claim("both plans against two ENHSP solves", warm / ours, 1_000)
    claim("the same, each in a process of its own", cold / ours, None)


def enhsp_here(document, goal):
    Path("plan.txt").unlink(missing_ok=True)
    status, _, message = solve_enhsp(document, goal)
    assert status == "solved", message


def enhsp_apart(document, goal):
    answer = solve_with("enhsp", document, goal)
    assert answer.status == "solved", answer.message


# Processes and many documents


def cold_process(folder, task, quick):
    """``hazardmill task validate`` as a process against the same Python doing nothing."""
    document, plans = task
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "task.json"
        path.write_text(json.dumps(document.to_json()))
        validate = [
            str(Path(sys.executable).with_name("hazardmill")),
            "task",
            "validate",
            str(path),
            "--plan",
            plans[0],
        ]
        nothing = [sys.executable, "-c", "pass"]
        ended = subprocess.run(validate, capture_output=True, text=True, check=False)
        if ended.returncode != 0:
            raise SystemExit(f"`task validate` ended with {ended.returncode}: {ended.stderr.strip()[-200:]}")
        calls = [
            lambda command=command: subprocess.run(command, stdout=subprocess.DEVNULL)
            for command in (validate, nothing)
        ]
        ours, floor = wall_seconds(calls, 7 if quick else 25)
    print("\na cold process")
    print(f"  hazardmill task validate {ours * 1e3:8.0f} ms")
    print(f"  python -c pass           {floor * 1e3:8.0f} ms")
    print(f"  ratio {ours / floor:.1f} (goal: at most 15)  {reached(ours / floor <= 15)}")


def all_documents(tasks, quick):
    """As many documents as the reference has drafts, two plans each, read from JSON lines in a process of its own."""
    count = DOCUMENTS // 10 if quick else DOCUMENTS
    rows = [(document.to_json(), plans[:2]) for document, plans in tasks.values()]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "documents.jsonl"
        with path.open("w") as file:
            for place, (document, plans) in zip(range(count), itertools.cycle(rows)):
                file.write(json.dumps({"document": {**document, "name": f"task {place}"}, "plans": plans}) + "\n")
        command = [sys.executable, __file__, "--revalidate", str(path)]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    print(f"\n{found['documents']:,} documents from JSON, checked, two whole verdicts each, one process:")
    print(f"  {found['seconds']:.1f} s ({found['seconds'] / found['documents'] * 1e3:.2f} ms a document), ", end="")
    print(f"peak memory {found['peak_mb']:.0f} MB (at the start {found['start_mb']:.0f} MB)")


def revalidate(path):
    """The child of ``all_documents``: figures as JSON."""
    start = peak_mb()
    started = time.perf_counter()
    documents = 0
    with path.open() as file:
        for line in file:
            row = json.loads(line)
            judge = PlanValidator(System(Document.from_json(row["document"])))
            safe, unsafe = (judge.verdict(plan) for plan in row["plans"])
            assert (safe.score, unsafe.score) == (2, 1)
            documents += 1
    seconds = time.perf_counter() - started
    print(json.dumps({"documents": documents, "seconds": seconds, "peak_mb": peak_mb(), "start_mb": start}))
    return 0


# Measuring and telling


def processor_seconds(calls, repeats):
    """Median seconds of processor time of each call, taken in turns: what else runs here falls on all alike."""
    return timed(calls, repeats, time.process_time)


def wall_seconds(calls, repeats):
    """The same by the clock, where a call waits for other processes."""
    return timed(calls, repeats, time.perf_counter)


def timed(calls, repeats, clock):
    seconds = [[] for _ in calls]
    for _ in range(repeats):
        for call, found in zip(calls, seconds, strict=True):
            started = clock()
            call()
            found.append(clock() - started)
    return [statistics.median(found) for found in seconds]


def peak_mb():
    # Not getrusage: its peak begins with that of the process which started this one.
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def same(ours, theirs, baseline):
    if ours != theirs:
        raise SystemExit(f"{baseline} gives other verdicts: its speed means nothing")


def claim(name, ratio, goal):
    told = f"  {name}: {ratio:,.0f} times"
    print(told if goal is None else f"{told} (goal {goal:,})  {reached(ratio >= goal)}")


def reached(yes):
    return "reached" if yes else "short"


if __name__ == "__main__":
    sys.exit(main())
