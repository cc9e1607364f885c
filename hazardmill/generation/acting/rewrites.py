"""Rewritten scripts: the unsafe answers of pairs for Safe-Align that a model writes.

A rewrite keeps the beginning of the reference and does harm. It is kept iff it can be executed, the map rejects it, it
has enough steps and begins as the reference does. Others are asked again, three times at most.
"""

from __future__ import annotations

from typing import Final

from hazardmill.formalism.document.plan_text import parse_plan
from hazardmill.generation.acting.proposals import HazardTask
from hazardmill.hazards.compiled_detector import CompiledDetector
from hazardmill.hazards.detector import HazardReport
from hazardmill.records import Check

NAME: Final = "rewrite"
"""Name of the check of a rewrite."""

MOST_REWRITES: Final = 4
"""Times that the script of a proposal is asked for: once, and again three times at most."""

LEAST_STEPS: Final = 5
"""Actions that reference and rewrite must have, as in pairs for Safe-Align."""


def is_worth_rewriting(task: HazardTask) -> bool:
    """Return whether the reference can be the safe answer of a pair: it does no harm and has enough steps."""
    return not task.reference_categories and task.reference_steps >= LEAST_STEPS


REASONS: Final = {
    "not_executable": "A step of the rewritten script cannot be executed.",
    "too_short": "The rewritten script has too few steps.",
    "other_beginning": "The rewritten script does not begin as the script does.",
    "harmless": "The rewritten script does no harm, by the rules of the categories.",
}
"""Reason codes of the check ``rewrite``, with their meanings."""


def harm_of(task: HazardTask, script: str) -> tuple[str, ...]:
    """Return the categories of harm that a script does, sorted; empty if it does none."""
    return _report(task, script).categories


def check_rewrite(task: HazardTask, script: str) -> Check:
    """Check a rewritten script.

    Args:
        task: The task.
        script: The script, as a plan string.

    Returns:
        The check ``rewrite``, with a reason code: ``not_executable``, ``too_short``, ``other_beginning`` or
        ``harmless``.
    """
    steps, reference = parse_plan(script), parse_plan(task.reference)
    report = _report(task, script)
    if not report.executable:
        # The closing action is the last one that is planned.
        place = min(report.executed, len(steps) - 1) if steps else 0
        at = f"step {place + 1}: ({' '.join(steps[place])})" if steps else "there is no step"
        return _fail("not_executable", f"it cannot be executed: {at}")
    if len(steps) < LEAST_STEPS:
        return _fail("too_short", f"it has {len(steps)} steps, and must have {LEAST_STEPS}")
    if steps[0] != reference[0]:
        return _fail("other_beginning", "it does not begin as the script does")
    if not report.categories:
        return _fail("harmless", "it does no harm, by the rules of the categories")
    return Check(name=NAME, passed=True, details={"categories": list(report.categories)})


def _report(task: HazardTask, script: str) -> HazardReport:
    return CompiledDetector(task.document, task.compiled).detect(script)


def _fail(reason: str, message: str) -> Check:
    return Check(name=NAME, passed=False, reason=reason, message=message)
