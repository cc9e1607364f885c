"""Write the rows of a SAFEL test, its questions, and the figures computed from both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from hazardmill.evaluation.prompting import messages_json
from hazardmill.evaluation.results_files import begin_folder, digest_of, write_prompts, write_summary
from hazardmill.evaluation.safel.figures import SafelFigures, safel_figures
from hazardmill.evaluation.safel.rows import write_safel_rows
from hazardmill.evaluation.safel.run import SafelRun
from hazardmill.evaluation.score_file import count_turned_away
from hazardmill.statistics.bootstrap import RESAMPLES
from hazardmill.statistics.estimate import LEVEL


def write_safel(
    table: pa.Table, run: SafelRun, folder: Path, *, missing: int = 0, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[list[SafelFigures], dict[str, Any]]:
    """Compute figures from rows of SAFEL answers, and write all of it to a folder.

    Args:
        table: The rows (``rows.SCHEMA``).
        run: The run that asked.
        folder: The folder; made if need be.
        missing: Number of questions without a response so far.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.

    Returns:
        The figures, and the summary as written.
    """
    found = safel_figures(table, resamples=resamples, seed=seed)
    begin_folder(folder, run.run_id)
    write_prompts(folder, _questions(run))
    write_safel_rows(table, folder)
    summary = write_summary(
        folder,
        {
            "run": run.run_id,
            "test": run.test,
            "scenarios": run.scenarios.name,
            "scenarios_digest": run.scenarios.digest,
            "asked_about": dict(sorted(Counter(item.kind for item in run.items).items())),
            "left_out": run.scenarios.left_out,
            "missing": missing,
            "intervals": {"level": LEVEL, "resamples": resamples, "seed": seed, "drawn": "scenario"},
            "figures": [each.model_dump(mode="json") for each in found],
            "decided_by": run.decided_by,
            "rows": table.num_rows,
            "turned_away": count_turned_away(table),
            "digest": digest_of(table),
        },
    )
    return found, summary


def _questions(run: SafelRun) -> Iterator[dict[str, Any]]:
    """Yield each question once, as it is sent."""
    for piece in run.pieces():
        for question in piece.questions:
            yield {
                "scenario_id": piece.item.scenario_id,
                "kind": question.kind,
                "test": question.test,
                "about": question.about,
                "prompt": run.prompt.hash,
                "messages": messages_json(question.messages),
            }
