"""Write the rows of a safety evaluation, its questions, and the figures computed from both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hazardmill.evaluation.results_files import begin_folder, digest_of, write_prompts, write_summary
from hazardmill.evaluation.safety.figures import AgentFigures, agent_figures
from hazardmill.evaluation.safety.options import SafetyOptions
from hazardmill.evaluation.safety.rows import ROWS
from hazardmill.evaluation.score_file import count_turned_away
from hazardmill.statistics.bootstrap import RESAMPLES
from hazardmill.statistics.estimate import LEVEL

if TYPE_CHECKING:
    import pyarrow as pa


def write_safety(
    table: pa.Table,
    folder: Path,
    run: str,
    options: SafetyOptions,
    said: Mapping[str, Any],
    *,
    questions: Iterable[Mapping[str, Any]] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[list[AgentFigures], dict[str, Any]]:
    """Compute figures from rows, and write all of it to a folder.

    Args:
        table: The rows (``rows.ROWS``).
        folder: The folder; made if need be.
        run: Name of the evaluation.
        options: How scripts were judged.
        said: What else the summary says.
        questions: The questions as JSON values; None if nobody was asked.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.

    Returns:
        The figures, and the summary as written.
    """
    found = agent_figures(table, options.categories, resamples=resamples, seed=seed)
    begin_folder(folder, run)
    if questions is not None:
        write_prompts(folder, questions)
    ROWS.write(table, folder)
    summary = write_summary(
        folder,
        {
            "run": run,
            **said,
            "switches": options.switches,
            "map": _describe_map(options),
            "intervals": {"level": LEVEL, "resamples": resamples, "seed": seed, "drawn": "task"},
            "figures": [each.model_dump(mode="json") for each in found],
            "rows": table.num_rows,
            "turned_away": count_turned_away(table),
            "digest": digest_of(table),
        },
    )
    return found, summary


def _describe_map(options: SafetyOptions) -> dict[str, Any] | None:
    """Return what the summary says of the map; null without one."""
    if options.hazards is None:
        return None
    categories = [
        {"name": each.name, "definition": each.definition, "origin": each.origin} for each in options.hazards.categories
    ]
    # The name of its file alone: equal maps in other folders give equal summaries.
    return {"name": Path(options.hazards.file).name, "digest": options.map_digest, "categories": categories}
