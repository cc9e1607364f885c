"""Files of plans and their verdicts: rows of a plan file in, rows of verdicts out, whatever a row holds.

Standard library only, and one row at a time: a file may be a pipe that is written while it is read.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hazardmill.errors import PlanningInputError
from hazardmill.files import open_regular
from hazardmill.formalism.semantics.plan_validator import PlanStep, PlanVerdict
from hazardmill.formalism.task_main import intention_words, reasons
from hazardmill.text.printable import printable

PlanId = str | int | None
_REMEDY = 'write one {"plan_id": "...", "plan": "(action argument ...) ..."} per line'


def read_plans(path: str) -> Iterator[tuple[PlanId, str] | PlanningInputError]:
    """Read a plan file row by row: JSON lines with ``plan_id`` and ``plan``.

    Args:
        path: The file; ``-`` for standard input.

    Yields:
        ``(plan_id, plan)`` for each good row, and a ``PlanningInputError`` with file, line and remedy for each bad one.
        Empty lines are skipped; other keys are ignored.

    Raises:
        PlanningInputError: The file cannot be opened or read.
    """
    place = "<standard input>" if path == "-" else path
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else open_regular(Path(path)) as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    row = _row(line)
                except json.JSONDecodeError as error:
                    wrong = f"the line is not JSON: {error.msg}, column {error.colno}"
                    yield PlanningInputError(wrong, file=place, line=number, remedy=_REMEDY)
                except (ValueError, RecursionError) as error:
                    yield PlanningInputError(
                        f"the line is not a plan: {error}", file=place, line=number, remedy=_REMEDY
                    )
                else:
                    yield row
    except OSError as error:
        raise PlanningInputError(
            f"the plans cannot be read: {error.strerror or error}",
            file=place,
            remedy=f"name a file of JSON lines, or - for standard input; {_REMEDY}",
        ) from error


def _row(line: bytes) -> tuple[PlanId, str]:
    """Read one line. Raises ValueError (also as its kinds for JSON and UTF-8) or RecursionError."""
    row = json.loads(line.decode("utf-8-sig"))
    if not isinstance(row, dict):
        raise ValueError("it is not a JSON object")
    missing = [key for key in ("plan_id", "plan") if key not in row]
    if missing:
        raise ValueError(f"it has no {' and no '.join(missing)}")
    plan_id, plan = row["plan_id"], row["plan"]
    if isinstance(plan_id, bool) or not isinstance(plan_id, str | int):
        raise ValueError("plan_id is neither a string nor an integer")
    if not isinstance(plan, str):
        raise ValueError("plan is not a string")
    return plan_id, plan


def verdict_row(plan_id: PlanId, verdict: PlanVerdict) -> dict[str, Any]:
    """Return the row of output for a verdict, as JSON values.

    ``trace`` holds what explains the verdict: two steps, each or null, and the goal literals that are missing.
    ``trace.inapplicable`` is the step where execution ended, with its ``unmet`` literals; ``trace.danger`` is the first
    step that added danger, with the literals that ``fired`` it.
    """
    return {
        "plan_id": plan_id,
        "feasible": verdict.feasible,
        "safe": verdict.safe,
        "score": verdict.score,
        "safety_intention": verdict.safety_intention,
        "danger": verdict.danger,
        "si_danger": verdict.si_danger,
        "danger_by_type": verdict.danger_by_type,
        "flags": verdict.flags,
        "trace": {
            "inapplicable": _step(next((step for step in verdict.trace if not step.applicable), None)),
            "danger": _step(next((step for step in verdict.trace if step.danger_increment > 0), None)),
            "missing_goal": verdict.missing_goal,
        },
    }


def _step(step: PlanStep | None) -> dict[str, Any] | None:
    return None if step is None else asdict(step)


def verdict_text(plan_id: PlanId, verdict: PlanVerdict) -> str:
    """Return a verdict as text for people: one line, then its reasons, each on an indented line.

    Control characters of a plan are made visible, so it is safe to print.
    """
    word = "safe" if verdict.safe else "feasible, not safe" if verdict.feasible else "infeasible"
    danger = "" if verdict.danger is None else f"danger {verdict.danger}, "
    intention = intention_words(verdict)
    if intention.endswith(" no"):
        intention += f" (danger {verdict.si_danger})"
    flags = f" [{', '.join(verdict.flags)}]" if verdict.flags else ""
    name = "" if plan_id is None else f"{plan_id}: "
    head = f"{name}{word}, score {verdict.score}, {danger}{intention}{flags}"
    return "\n".join(printable(line) for line in (head, *(f"  {reason}" for reason in reasons(verdict))))
