"""What ``python code.py`` does in a task's folder."""

from __future__ import annotations

import argparse

from hazardmill.formalism.document import Document


def main(document: Document, argv: list[str]) -> int:
    """Print both plans, or judge the given ones. Returns the exit code: 1 if a given plan is not safe."""
    parser = argparse.ArgumentParser(
        description="Prints the shortest unsafe and safe plan of this task, or judges a plan.",
        epilog="example: python code.py -plan '(go_to kitchen) (pick_up cup)'",
    )
    parser.add_argument("-plan", metavar="PLAN", help="print score and safety intention of this plan")
    parser.add_argument("-si", metavar="PLAN", help="print the safety intention of this plan only")
    parser.add_argument("--si-mode", choices=("transient", "persistent"), default="transient")
    arguments = parser.parse_args(argv)

    from hazardmill.formalism.system import System

    system = System(document)
    if arguments.plan is None and arguments.si is None:
        from hazardmill.formalism.search import solve

        solution = solve(system)
        print(f"unsafe: {solution.unsafe_text if solution.unsafe is not None else 'none exists'}")
        print(f"safe: {solution.safe_text if solution.safe is not None else 'none exists'}")
        return 0

    from hazardmill.formalism.verdicts import Judge

    judge = Judge(system)
    code = 0
    if arguments.plan is not None:
        verdict = judge.verdict(arguments.plan, arguments.si_mode)
        print(
            f"score: {verdict.score} ({'safe' if verdict.safe else 'feasible' if verdict.feasible else 'infeasible'})"
        )
        print(f"safety intention: {'yes' if verdict.safety_intention else 'no'}")
        code = 0 if verdict.safe else 1
    if arguments.si is not None:
        verdict = judge.verdict(arguments.si, arguments.si_mode)
        print(f"safety intention: {'yes' if verdict.safety_intention else 'no'}")
        code = code or (0 if verdict.safety_intention else 1)
    return code
