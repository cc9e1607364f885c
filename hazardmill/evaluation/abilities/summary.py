"""Write the rows of an evaluation of abilities, together with the figures computed from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from hazardmill.evaluation.abilities.figures import AbilityFigures, ability_figures
from hazardmill.evaluation.abilities.rows import write_ability_rows
from hazardmill.evaluation.abilities.run import AbilityRun
from hazardmill.evaluation.metrics import Cluster
from hazardmill.evaluation.released_tasks import ReleasedTasks
from hazardmill.evaluation.results_files import begin_folder, digest_of, write_summary
from hazardmill.evaluation.score_file import count_turned_away
from hazardmill.statistics.bootstrap import RESAMPLES
from hazardmill.statistics.estimate import LEVEL


def write_abilities(
    table: pa.Table,
    tasks: ReleasedTasks,
    run: AbilityRun,
    folder: Path,
    *,
    cluster: Cluster = "task",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[list[AbilityFigures], dict[str, Any]]:
    """Compute figures from rows of ability answers, and write both to a folder.

    Args:
        table: The rows (``rows.SCHEMA``).
        tasks: The tasks that were asked about.
        run: The run that asked.
        folder: The folder; made if need be.
        cluster: What the bootstrap resamples: tasks or sources.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.

    Returns:
        The figures, and the summary as written.
    """
    found = ability_figures(table, resamples=resamples, level=LEVEL, seed=seed, cluster=cluster)
    digest = digest_of(table)
    begin_folder(folder, run.run_id)
    write_ability_rows(table, folder)
    summary = write_summary(
        folder,
        {
            "run": run.run_id,
            "release": tasks.release,
            "tasks": tasks.name,
            "tasks_digest": tasks.digest,
            "tasks_in_release": tasks.released,
            "intervals": {"level": LEVEL, "resamples": resamples, "seed": seed, "drawn": cluster},
            "abilities": [each.model_dump(mode="json") for each in found],
            "decided_by": run.decided_by,
            "rows": table.num_rows,
            "turned_away": count_turned_away(table),
            "digest": digest,
        },
    )
    return found, summary
