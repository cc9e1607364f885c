"""Write the rows of an evaluation of plans, together with the figures computed from them."""

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
    """Compute figures from result rows, and write both to a folder.

    Args:
        table: The result rows.
        tasks: The tasks that were evaluated on.
        folder: The folder; made if need be.
        run: Name of the run.
        made: Further entries of the summary, on how the rows were made.
        cluster: What the bootstrap resamples: tasks or sources.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.

    Returns:
        The figures, and the summary as written.

    Raises:
        InputError: The rows are not result rows, or two of them share a key.
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
