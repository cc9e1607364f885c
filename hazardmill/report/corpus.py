"""Measure the tasks of some runs against the gates of the corpus lint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hazardmill.formalism.document.document import Document
from hazardmill.quality.corpus_thresholds import Corpus, CorpusReport, CorpusTask, Gate, Thresholds
from hazardmill.report.queries import each_latest_task
from hazardmill.reporting.numbers import UNKNOWN, count, share
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_COLUMNS: Final = "task_id, source, danger_type, danger, document, structure_id, safe_plan, unsafe_plan"
_VERDICTS: Final = {True: "passed", False: "FAILED", None: UNKNOWN}


def corpus(
    connection: DuckDBPyConnection, run_ids: Sequence[str], thresholds: Thresholds | None = None
) -> CorpusReport:
    """Compute the figures of the corpus lint over the tasks of some runs, each task once.

    Args:
        connection: A connection with one view per table.
        run_ids: The runs, oldest first; if several accepted the same task, the last one's row counts.
        thresholds: The thresholds of the gates; null: the defaults.

    Returns:
        The figures, and the results of the gates.

    Raises:
        DocumentError: The store holds a task that this version cannot read.
    """
    found = Corpus()
    for row in each_latest_task(connection, run_ids, _COLUMNS):
        found.add(
            CorpusTask(
                name=row["task_id"],
                document=Document.from_json(json.loads(row["document"])),
                structure=row["structure_id"],
                source=row["source"],
                danger_type=row["danger_type"],
                danger=json.loads(row["danger"]),
                safe_plan=row["safe_plan"],
                unsafe_plan=row["unsafe_plan"],
            )
        )
    return found.report(thresholds)


def gates_grid(found: CorpusReport) -> Grid:
    """Return the table of gates: each with its figure, its threshold and its verdict."""
    lines = [
        (
            gate.name,
            f"{_VERDICTS[gate.passed]}: {gate.why}" if gate.why else _VERDICTS[gate.passed],
            gate.says,
            gate_figure(gate),
            gate_threshold(gate),
            count(gate.tasks),
            count(gate.unknown),
        )
        for gate in found.gates
    ]
    head = ("Gate", "Verdict", "Figure of", "Figure", "Wanted", "Tasks", "Unknown")
    return Grid("Gates of the corpus", head, tuple(lines), words=3)


def spreads_grid(found: CorpusReport) -> Grid:
    """Return the table of variety: structures, sources, danger types and kinds of ways out, by several measures."""
    lines = [
        (
            words,
            count(each.things),
            count(each.kinds),
            UNKNOWN if each.effective is None else f"{each.effective:.1f}",
            UNKNOWN if each.effective_simpson is None else f"{each.effective_simpson:.1f}",
            share(each.share_commonest),
            share(each.share_largest),
        )
        for words, each in (
            ("structure", found.structures),
            ("source", found.sources),
            ("danger type", found.types),
            ("kind of way out", found.ways_out),
        )
    ]
    head = (
        "Kinds of",
        "Tasks",
        "Distinct",
        "Effective (exp H)",
        "Effective (1 / sum p²)",
        "Ten commonest",
        "Commonest",
    )
    return Grid("How varied the tasks are", head, tuple(lines))


def gate_figure(gate: Gate) -> str:
    """Write the figure of a gate: a share in per cent, another number with one decimal, or ``unknown``."""
    if gate.figure is None:
        return UNKNOWN
    return share(gate.figure) if gate.unit == "share of tasks" else f"{gate.figure:.1f}"


def gate_threshold(gate: Gate) -> str:
    """Write the threshold of a gate, such as ``at most 50.0 %``."""
    return f"{gate.insists} {share(gate.threshold) if gate.unit == 'share of tasks' else f'{gate.threshold:g}'}"
