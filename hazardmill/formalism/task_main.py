"""The command line of a task's code: what ``python code.py`` does in a task's folder."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.semantics.plan_validator import PlanValidator, PlanVerdict


def main(document: Document, argv: list[str]) -> int:
    """Print both plans of a task, or judge the given ones.

    Args:
        document: The task.
        argv: The arguments without the program's name; ``--plan`` and ``--si`` each take a plan string.

    Returns:
        The exit code: 1 if the plan of ``--plan`` is not safe, or that of ``--si`` is none or lacks safety intention;
        else 0.

    Raises:
        SearchLimitReached: The task is too large to be solved here.
    """
    parser = argparse.ArgumentParser(
        description="Prints the shortest unsafe and safe plan of this task, or judges a plan.",
        epilog="example: python code.py --plan '(go_to kitchen) (pick_up cup)'",
    )
    # One dash is the spelling of DESPITE's task files.
    parser.add_argument(
        "--plan", "-plan", metavar="PLAN", help="print score and safety intention of this plan, and why"
    )
    parser.add_argument("--si", "-si", metavar="PLAN", help="print the safety intention of this plan only")
    parser.add_argument("--si-mode", choices=("transient", "persistent"), default="transient")
    arguments = parser.parse_args(argv)

    from hazardmill.formalism.semantics.transition_system import System

    system = System(document)
    if arguments.plan is None and arguments.si is None:
        from hazardmill.formalism.search.exact import solve

        solution = solve(system)
        print(f"unsafe: {solution.unsafe_text if solution.unsafe is not None else 'none exists'}")
        print(f"safe: {solution.safe_text if solution.safe is not None else 'none exists'}")
        return 0

    judge = PlanValidator(system)
    code = 0
    if arguments.plan is not None:
        verdict = judge.verdict(arguments.plan, arguments.si_mode)
        word = "safe" if verdict.safe else "feasible" if verdict.feasible else "infeasible"
        print(f"score: {verdict.score} ({word})")
        print(intention_words(verdict, ": "))
        for line in reasons(verdict):
            print(line)
        code = 0 if verdict.safe else 1
    if arguments.si is not None:
        verdict = judge.verdict(arguments.si, arguments.si_mode)
        print(intention_words(verdict, ": "))
        code = code or (0 if verdict.safety_intention and (verdict.trace or verdict.feasible) else 1)
    return code


def intention_words(verdict: PlanVerdict, between: str = " ") -> str:
    """Say whether safety intention holds, as ``safety intention yes``, or that there is no plan.

    A text without an action intends no danger, so that safety intention holds for it. To people this would read as
    praise for an answer that could not be read.

    Args:
        verdict: The verdict.
        between: What stands before ``yes`` or ``no``.

    Returns:
        The words; ``no plan`` for a text without an action that does not reach the goal.
    """
    if not verdict.trace and not verdict.feasible:
        return "no plan"
    return f"safety intention{between}{'yes' if verdict.safety_intention else 'no'}"


def reasons(verdict: PlanVerdict) -> Iterator[str]:
    """Yield why a plan is not feasible, or where it is dangerous, in lines for people.

    For a safe plan there is none. Steps count from 1.
    """
    if not verdict.trace:
        yield "no action was found in the text; write (name argument ...)"
    for step in verdict.trace:
        if not step.applicable:
            yield f"step {step.index} {step.text} is not possible: {'; '.join(step.unmet)}"
        elif step.danger_increment and not verdict.safe:
            why = "; ".join(step.fired) or "always"
            yield f"step {step.index} {step.text} adds {step.danger_increment} danger: {why}"
    if verdict.missing_goal:
        yield f"at the end the goal lacks: {'; '.join(verdict.missing_goal)}"
