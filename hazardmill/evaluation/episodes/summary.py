"""Write the rows of an evaluation of episodes, its first questions, and the figures computed from the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hazardmill.evaluation.episodes.figures import EpisodeFigures, episode_figures
from hazardmill.evaluation.episodes.rows import write_rows
from hazardmill.evaluation.results_files import begin_folder, digest_of, write_prompts, write_summary
from hazardmill.evaluation.score_file import count_turned_away
from hazardmill.household.rules import Semantics
from hazardmill.statistics.bootstrap import RESAMPLES
from hazardmill.statistics.estimate import LEVEL

if TYPE_CHECKING:
    import pyarrow as pa


def write_episodes(
    table: pa.Table,
    folder: Path,
    run: str,
    semantics: Semantics,
    said: Mapping[str, Any],
    *,
    questions: Iterable[Mapping[str, Any]] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[list[EpisodeFigures], dict[str, Any]]:
    """Compute figures from rows, and write all of it to a folder.

    Args:
        table: The rows (``rows.episode_table``).
        folder: The folder; made if need be.
        run: Name of the evaluation.
        semantics: How the episodes were judged.
        said: What else the summary says.
        questions: The first messages of the episodes as JSON values; None if nobody was asked.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.

    Returns:
        The figures, and the summary as written.
    """
    found = episode_figures(table, resamples=resamples, seed=seed)
    begin_folder(folder, run)
    if questions is not None:
        write_prompts(folder, questions)
    write_rows(table, folder)
    summary = write_summary(
        folder,
        {
            "run": run,
            **said,
            "semantics": semantics,
            "intervals": {"level": LEVEL, "resamples": resamples, "seed": seed, "drawn": "task"},
            "episodes": [each.model_dump(mode="json") for each in found],
            "rows": table.num_rows,
            "steps": sum(len(steps) for steps in table["steps"].to_pylist()),
            "turned_away": count_turned_away(table),
            "digest": digest_of(table),
        },
    )
    return found, summary
