"""Rows of scripts that nobody has to be asked for: plans from a file, and recorded scene graphs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import HazardmillError, InputError, PlanningInputError
from hazardmill.evaluation.answers.file import PlansFile
from hazardmill.evaluation.safety.options import SafetyOptions
from hazardmill.evaluation.safety.rows import ROWS
from hazardmill.evaluation.safety.scoring import SafetyScorer, success_columns
from hazardmill.evaluation.safety.task_set import SafetyTasks
from hazardmill.files import open_regular
from hazardmill.hazards.scene_graphs import GraphScript, judge_graphs, read_graph_scripts
from hazardmill.records import content_hash

if TYPE_CHECKING:
    import pyarrow as pa

PLANS: Final = "plans"
GRAPHS: Final = "graphs"
"""Agents of rows without an arm."""


def name_of_plans(tasks: SafetyTasks, plans: PlansFile) -> str:
    """Return the name of the scripts of a plans file; equal files on equal tasks have equal names."""
    return f"safety-{content_hash([tasks.digest, plans.sha256, plans.model])[:12]}"


def score_plans_file(
    tasks: SafetyTasks, plans: PlansFile, options: SafetyOptions, run: str, *, only_known: bool = False
) -> pa.Table:
    """Score every plan of a file.

    Args:
        tasks: The tasks that the plans are for.
        plans: The plans.
        options: How scripts are judged.
        run: Name of the evaluation.
        only_known: Whether to leave out plans for other tasks instead of refusing them.

    Returns:
        The rows (``rows.ROWS``), one per plan.

    Raises:
        InputError: The file has plans for other tasks, and these are not left out; or it has none for these.
    """  # the file of plans raises it
    table = ROWS.table(_plan_rows(tasks, plans, options, run))
    if not only_known or not table.num_rows:
        plans.check_known({(task.task_id, "") for task in tasks})
    return table


def _plan_rows(tasks: SafetyTasks, plans: PlansFile, options: SafetyOptions, run: str) -> Iterator[dict[str, Any]]:
    for task in tasks:
        scorer: SafetyScorer | None = None
        for model, given in plans.of(task.task_id, None):
            # Grounded once, and only where somebody planned for it.
            scorer = scorer or SafetyScorer(task, options)
            columns = (
                scorer.plan(given.plan)
                if given.plan is not None
                else scorer.answer(given.answer or "", given.finish_reason)
            )
            yield {"run": run, "model": model, "agent": PLANS, "sample": given.sample, **columns}


@dataclass(frozen=True)
class GraphRows:
    """The rows of a file of recorded scene graphs.

    Attributes:
        table: The rows (``rows.ROWS``).
        errors: What is wrong with lines that are left out.
    """

    table: pa.Table
    errors: tuple[HazardmillError, ...]


def name_of_graphs(path: Path) -> str:
    """Return the name of the scripts of a file of recorded graphs.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        with open_regular(path) as file:
            return f"safety-{hashlib.file_digest(file, 'sha256').hexdigest()[:12]}"
    except OSError as error:
        raise InputError(
            f"the graphs cannot be read: {error.strerror or error}", file=str(path), remedy="check the path"
        ) from error


def score_graphs(path: Path, options: SafetyOptions, run: str, model: str) -> GraphRows:
    """Judge success over the recorded graphs of a file, a line per script. Safety is not judged.

    Args:
        path: The file, as ``scene_graphs.read_graph_scripts`` reads it.
        options: How scripts are judged; ``ignore`` names types of relations and states.
        run: Name of the evaluation.
        model: Who wrote the scripts.

    Returns:
        The rows, and what is wrong with other lines.

    Raises:
        InputError: No line of the file can be used.
    """
    rows: dict[str, dict[str, Any]] = {}
    errors: list[HazardmillError] = []
    for script in read_graph_scripts(path, options.ignore):
        if isinstance(script, HazardmillError):
            errors.append(script)
        elif script.script_id in rows:
            said = f"the script {script.script_id!r} occurs twice"
            errors.append(PlanningInputError(said, file=str(path), remedy="give each script an id of its own"))
        else:
            fixed = {"run": run, "model": model, "agent": GRAPHS, "sample": 0}
            rows[script.script_id] = {**fixed, **_graph_columns(script, options)}
    if not rows:
        raise (
            errors[0]
            if errors
            else InputError("the file holds no script", file=str(path), remedy="write one JSON object per line")
        )
    return GraphRows(ROWS.table(rows.values()), tuple(errors))


def _graph_columns(script: GraphScript, options: SafetyOptions) -> dict[str, Any]:
    defined = script.reference.defines_success
    return {
        "task_id": script.script_id,
        "executable": script.executable,
        "reference": "defined" if defined else "changes_nothing",
        **success_columns({each: judge_graphs(script, each) for each in ("required", "exact")}, options),
    }
