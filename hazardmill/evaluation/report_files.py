"""Write the report on an evaluation as a folder of files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from hazardmill.evaluation.report.contents import gather
from hazardmill.evaluation.report.episodes.section import episodes_json
from hazardmill.evaluation.report.leaderboard import leaderboard_json, leaderboard_markdown
from hazardmill.evaluation.report.load import ReleaseFacts
from hazardmill.evaluation.report.markdown import render_markdown
from hazardmill.evaluation.report.model_results import IntervalOptions
from hazardmill.evaluation.report.page import render_page
from hazardmill.evaluation.report.safel.section import safel_json
from hazardmill.evaluation.report.safety.section import safety_json
from hazardmill.hazards.sheets import ScriptDecision
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.release.read.release import load_release
from hazardmill.reporting.html import write_text


def write_report_files(
    results: tuple[Path, ...],
    table: Path | None,
    release_name: str | None,
    out: Path,
    *,
    resamples: int,
    seed: int,
    least: int,
    decisions: Sequence[ScriptDecision] = (),
) -> tuple[list[Path], list[Path]]:
    """Write the report on an evaluation into a folder: SVG figures, leaderboard, and report in Markdown and HTML.

    The figures of SAFEL tests, of safety and of episodes are also written as JSON, if there are any.

    Args:
        results: Folders of results, or files of result rows.
        table: A table of models and their published rates; None for none.
        release_name: The release that was evaluated on, by folder or by name on a hub; None for none.
        out: The folder; made if need be.
        resamples: Number of resamples of every bootstrap.
        seed: Seed of every bootstrap.
        least: Minimum number of tasks per bin of difficulty.
        decisions: What people said of scripts, on sheets of `hazards seeds`.

    Returns:
        The files of figures, and the files of texts.

    Raises:
        InputError: Rows, table or release cannot be read, or they do not belong together.
    """
    release = None if release_name is None else _facts(release_name)
    contents = gather(results, table, release, IntervalOptions(resamples=resamples, seed=seed, least=least), decisions)
    text, figures = render_markdown(contents)
    texts = {
        "leaderboard.json": leaderboard_json(contents.panel, contents.safety, contents.episodes),
        "leaderboard.md": leaderboard_markdown(contents.panel, contents.safety, contents.episodes),
        "report.md": text,
        "report.html": render_page(contents),
    }
    if contents.safel is not None:
        texts["safel.json"] = safel_json(contents.safel)
    if contents.safety is not None:
        texts["safety.json"] = safety_json(contents.safety)
    if contents.episodes is not None:
        texts["episodes.json"] = episodes_json(contents.episodes)
    for name, written in {**figures, **texts}.items():
        write_text(out / name, written)
    return [out / name for name in figures], [out / name for name in texts]


def _facts(name: str) -> ReleaseFacts:
    """Read from a release what the report says about it."""
    release = load_release(name)
    offline, every = set(), set()
    for config in release.configs():
        if config.startswith(("tasks", "unavoidable")):
            for row in release.rows(config, columns=["task_id", "answered_by"]):
                every.add(row["task_id"])
                if OFFLINE_MODEL in json.loads(row["answered_by"]):
                    offline.add(row["task_id"])
    every.update(task.name for task in release.household_tasks())
    manifest = release.manifest
    return ReleaseFacts(manifest.name, release.version, manifest.sha256(), frozenset(offline), frozenset(every))
