"""Rows of SAFEL answers: one per question or plan. Columns that do not apply to its test are null.

They are written to ``safel.parquet`` in a folder of results. Null means *not asked*, *undefined* or *unknown*, never
false or zero. A question without a response has no row: the summary counts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, get_args

import pyarrow as pa
import pyarrow.compute as pc

from hazardmill.evaluation.rows_file import RowsFile
from hazardmill.evaluation.safel.refusal import CommandKind
from hazardmill.evaluation.safel.sequence import LABELS
from hazardmill.evaluation.safel.shown import SafelTest
from hazardmill.store.schemas import Column

FILE: Final = "safel.parquet"
SCHEMA_VERSION: Final = 1

COLUMNS: Final = (
    Column("run", pa.string(), "Run that made the row.", required=True),
    Column("model", pa.string(), "Model that answered.", required=True),
    Column("test", pa.string(), "`refusal`, `goal`, `transition` or `sequence`.", required=True),
    Column("scenario_id", pa.string(), "Scenario, or ordinary task.", required=True),
    Column("kind", pa.string(), "`mal`, `sit`, or `task` for an ordinary task.", required=True),
    Column("about", pa.string(), "`transition`: the action; else empty.", required=True),
    Column("sample", pa.int64(), "Number of the draw, from 0.", required=True),
    Column("task_id", pa.string(), "Task that the scenario was derived from."),
    Column("source", pa.string(), "Source of that task."),
    Column("target", pa.string(), "Who or what is in danger."),
    Column("hazard", pa.string(), "The hazard, one of the target's."),
    Column("status", pa.string(), "How the answer ended, such as `answered`, `empty`, `refused`.", required=True),
    Column("finish_reason", pa.string(), "Why the answer ended, as reported by the provider; null where it was not."),
    Column("decision", pa.string(), "`refusal`: `accept` or `refuse`; null where no decision was found."),
    Column("declined", pa.bool_(), "`refusal`: the decision was taken from the finish reason."),
    Column("correct", pa.bool_(), "`refusal`: a harmful command was refused, or another one accepted."),
    Column("excluded", pa.string(), "`goal`: why the goal is excluded; else null."),
    Column("comparisons", pa.int64(), "`goal`: comparisons of integers that are left out."),
    Column("unary_hits", pa.int64(), "`goal`: unary literals that are stated and true; null if excluded."),
    Column("unary_named", pa.int64(), "`goal`: unary literals that are stated."),
    Column("unary_true", pa.int64(), "`goal`: unary literals of the goal."),
    Column("relational_hits", pa.int64(), "`goal`: relational literals that are stated and true; null if excluded."),
    Column("relational_named", pa.int64(), "`goal`: relational literals that are stated."),
    Column("relational_true", pa.int64(), "`goal`: relational literals of the goal."),
    Column("new", pa.bool_(), "`transition`: the scenario adds the action."),
    Column("asked", pa.string(), "`transition`: `effects` or `preconditions`."),
    Column("hits", pa.int64(), "`transition`: conditions that are stated and true."),
    Column("named", pa.int64(), "`transition`: conditions that are stated."),
    Column("true", pa.int64(), "`transition`: conditions of the action."),
    Column("equal", pa.bool_(), "`transition`: the same by meaning; null past the limit of states."),
    Column("undeclared", pa.int64(), "`goal`, `transition`: names in the answer that are not declared."),
    Column("reading", pa.string(), "`sequence`: what the answer is: `plan`, `empty`, `refusal` and so on."),
    Column("plan", pa.string(), "`sequence`: the plan string that was executed."),
    Column("label", pa.string(), "`sequence`: the only label of the plan."),
    Column("failing_step", pa.int64(), "`sequence`: first failing step, from 1; null where no step fails."),
    Column("failing_action", pa.string(), "`sequence`: that step."),
    Column("failing_why", pa.string(), "`sequence`: which part of the rule fits; null for a success."),
    Column(
        "insertion",
        pa.string(),
        "`sequence`, where a step is missing: the plan with the fewest steps inserted that succeeds; empty as a proof "
        "that there is none. Null for other labels, and past the limit of the search.",
    ),
    Column("warnings", pa.int64(), "`sequence`: steps that change nothing in a plan that succeeds."),
    Column("failure", pa.string(), "`sequence`: class of the failure as `evaluate run` has it; null for a success."),
    Column("feasible", pa.bool_(), "`sequence`: feasible on the task that the scenario was derived from."),
    Column("safe", pa.bool_(), "`sequence`: safe on that task."),
    Column("safety_intention", pa.bool_(), "`sequence`: safety intention on that task."),
)
"""The columns, in the order of the file."""

_ALLOWED: Final[Mapping[str, frozenset[str | None]]] = {
    "test": frozenset(get_args(SafelTest)),
    "kind": frozenset(get_args(CommandKind)),
    "label": frozenset({*LABELS, None}),
}
"""Columns with few values, and these."""

_NEEDED: Final[Mapping[SafelTest, tuple[str, ...]]] = {
    "refusal": ("correct", "declined"),
    "goal": tuple(f"{kind}_{part}" for kind in ("unary", "relational") for part in ("hits", "named", "true")),
    "transition": ("new", "hits", "named", "true"),
    "sequence": ("label",),
}
"""Columns that every row of a test has, except for goals that are excluded."""

KEY: Final = ("run", "model", "test", "scenario_id", "about", "sample")
"""The columns that identify a row: no two rows share their values."""


def _first_fault(table: pa.Table) -> str | None:
    """Return in words which row lacks what every row of its test has; None if none does."""
    counted = table.filter(pc.is_null(table["excluded"]))
    for test, names in _NEEDED.items():
        rows = counted.filter(pc.equal(counted["test"], test))
        lacking = next((name for name in names if rows[name].null_count), None)
        if lacking is not None:
            return f"a row of the test {test} has nothing in column {lacking}"
    return None


ROWS: Final = RowsFile(
    FILE, "hazardmill evaluate safel", COLUMNS, KEY, SCHEMA_VERSION, b"hazardmill_safel", _ALLOWED, _first_fault
)
"""Reads and writes ``safel.parquet``."""

SCHEMA: Final = ROWS.schema


def table_of(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table with the schema ``SCHEMA``, sorted by key.

    Args:
        rows: Rows as mappings; columns that they lack become null.
    """
    return ROWS.table(rows)


def write_safel_rows(table: pa.Table, folder: Path) -> None:
    """Write ``safel.parquet``, whole or not at all: equal rows give equal bytes.

    Args:
        table: The rows (``SCHEMA``).
        folder: The folder, which must exist.
    """
    ROWS.write(table, folder)


def read_safel_rows(folder: Path) -> pa.Table:
    """Read the rows of ``safel.parquet`` in a folder.

    Args:
        folder: A folder that `hazardmill evaluate safel` has written.

    Returns:
        A table with the columns of ``SCHEMA``.

    Raises:
        InputError: There are no rows, they are of another version, a value is not allowed, or two rows share a
            key.
    """
    return ROWS.read(folder)
