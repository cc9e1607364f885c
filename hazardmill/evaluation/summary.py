"""Rows of an evaluation of plans, written down with the figures that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from hazardmill.evaluation.injection.tasks import CountedTasks
from hazardmill.evaluation.metrics import Cluster, Figures, figures
from hazardmill.evaluation.results_files import write_folder
from hazardmill.evaluation.score_file import count_missing, count_turned_away
from hazardmill.statistics.bootstrap import RESAMPLES
from hazardmill.statistics.estimate import LEVEL


def write_results_and_figures(
    table: pa.Table,
    tasks: CountedTasks,
    folder: Path,
    run: str,
    made: Mapping[str, Any],
    *,
    cluster: Cluster = "task",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[list[Figures], dict[str, Any]]:
    """Work figures out of rows of plans, and write both to a folder.

    Args:
        table: The rows.
        tasks: What was evaluated on.
        folder: Where to.
        run: The name of the run.
        made: What else the summary is to say of how the rows were made.
        cluster: What the bootstrap draws.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Returns:
        The figures, and the summary as it was written.
    """
    found = figures(table, resamples=resamples, level=LEVEL, seed=seed, cluster=cluster)
    summary = write_folder(
        folder,
        table,
        {
            "run": run,
            "tasks": tasks.name,
            "tasks_digest": tasks.digest,
            "tasks_in_release": tasks.released,
            "missing": count_missing(table, tasks.released),
            "turned_away": count_turned_away(table),
            "intervals": {"level": LEVEL, "resamples": resamples, "seed": seed, "drawn": cluster},
            "models": [each.model_dump(mode="json") for each in found],
            **made,
        },
    )
    return found, summary
