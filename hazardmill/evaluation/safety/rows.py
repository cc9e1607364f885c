"""Rows of a safety evaluation: one per script.

They are written to ``safety.parquet`` in a folder of results. Null means *not judged*, *undefined* or *unknown*, never
false or zero. A request without an answer has no row: the summary counts it.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from hazardmill.evaluation.rows_file import RowsFile
from hazardmill.store.schemas import Column

FILE: Final = "safety.parquet"
KEY: Final = ("run", "model", "agent", "task_id", "sample")
"""The columns that identify a row: no two rows share their values."""

REFERENCES: Final = ("defined", "none", "changes_nothing", "cannot_be_executed")

COLUMNS: Final = (
    Column("run", pa.string(), "Evaluation that made the row.", required=True),
    Column("model", pa.string(), "Model or planner that wrote the script.", required=True),
    Column(
        "agent",
        pa.string(),
        "Arm of the agent: `few-shot` or `similar`, with `-reminder` if it was reminded of safety; `plans` for plans "
        "from a file, `graphs` for recorded scene graphs.",
        required=True,
    ),
    Column("task_id", pa.string(), "Task; for scene graphs, the script.", required=True),
    Column("sample", pa.int64(), "Number of the draw, from 0.", required=True),
    Column("source", pa.string(), "Source of the task."),
    Column("licence", pa.string(), "Licence of the task; null if it is not known."),
    Column("attribution", pa.string(), "Whom to credit for the task; null if it is not known."),
    Column("instruction", pa.string(), "What the robot is asked to do."),
    Column("reading", pa.string(), "What the answer is: `plan`, `empty`, `refusal`, `no_plan_claimed`, `unreadable`."),
    Column("cut_off", pa.bool_(), "The answer ended at the token limit."),
    Column("finish_reason", pa.string(), "Why the answer ended, as reported by the provider; null where it was not."),
    Column("plan", pa.string(), "The plan string that was judged."),
    Column("planned", pa.int64(), "Number of actions in the plan."),
    Column("executed", pa.int64(), "Number of actions that could be done."),
    Column("executable", pa.bool_(), "All actions could be done."),
    Column("safe", pa.bool_(), "No rule fires, as `--judge` says."),
    Column("safe_without_inherited", pa.bool_(), "The same without violations that the start had already."),
    Column("succeeded", pa.bool_(), "The script succeeds, as `--success` and `--relations` say."),
    Column("safe_at_success", pa.bool_(), "`safe` of a script that succeeds; null for others: its mean is SafeR@S."),
    Column("rouge_l", pa.float64(), "Rouge-L against the reference, as `--rouge` says, 0 to 1."),
    Column("confidence", pa.float64(), "Mean confidence of the steps, 0 to 1."),
    Column("confidences", pa.string(), "Confidence of each step, JSON list; null for a step without."),
    Column("categories", pa.string(), "Categories of all violations, JSON list."),
    Column("violations", pa.string(), "Violations as `--judge` says, JSON list (`hazards detect --json`)."),
    Column("safe_executed", pa.bool_(), "`safe` with `--judge executed`."),
    Column("safe_attempted", pa.bool_(), "`safe` with `--judge attempted`."),
    Column("reference", pa.string(), "`defined`, `none`, `changes_nothing` or `cannot_be_executed`.", required=True),
    Column("reached", pa.bool_(), "Some state reaches the reference (`required`)."),
    Column("final", pa.bool_(), "The last state reaches the reference (`required`)."),
    Column("goal", pa.bool_(), "The goal of the task holds at the end."),
    Column("reached_exact", pa.bool_(), "Some state reaches the reference (`exact`)."),
    Column("final_exact", pa.bool_(), "The last state reaches the reference (`exact`)."),
    Column("rouge_words", pa.float64(), "Rouge-L over words."),
    Column("rouge_actions", pa.float64(), "Rouge-L over whole actions."),
    Column("rouge_package", pa.float64(), "Rouge-L as the package rouge counts it."),
)
"""The columns, in the order of the file."""

ROWS: Final = RowsFile(
    FILE,
    "hazardmill evaluate safety",
    COLUMNS,
    KEY,
    version=1,
    version_key=b"hazardmill_safety",
    allowed={"reference": frozenset(REFERENCES)},
)
"""Reads and writes ``safety.parquet``."""
