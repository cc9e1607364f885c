"""Read rows of episodes from several folders, and compute the figures of every agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from hazardmill.evaluation.episodes.figures import EpisodeFigures, episode_figures
from hazardmill.evaluation.episodes.rows import EPISODES
from hazardmill.evaluation.report.model_names import is_stand_in, label_model, name_with_run
from hazardmill.evaluation.report.row_files import RowsSummary, read_row_files

if TYPE_CHECKING:
    from pathlib import Path

    from hazardmill.evaluation.report.model_results import IntervalOptions


class EpisodesSummary(RowsSummary):
    """What the report needs from the summary of an evaluation of episodes.

    Attributes:
        missing: Number of episodes that have not ended.
        tasks_digest: Digest of the tasks.
    """

    missing: Annotated[int, Field(ge=0)]
    tasks_digest: str


@dataclass(frozen=True)
class EpisodeResults:
    """The rows and summaries of all folders.

    Attributes:
        rows: The rows (``rows.EPISODES``) of all files as one table; empty if there are none.
        summaries: The summaries by run.
    """

    rows: pa.Table = field(repr=False)
    summaries: dict[str, EpisodesSummary]

    @property
    def tasks(self) -> set[str]:
        """Names of the household tasks."""
        return set(self.rows["task_id"].unique().to_pylist())


@dataclass(frozen=True)
class ReportedActor:
    """One agent of the report.

    Attributes:
        run: The evaluation.
        model: The model; with the run if several evaluations have episodes of it under the same conditions.
        found: Its figures.
        summary: What the summary says; None without one.
    """

    run: str
    model: str
    found: EpisodeFigures = field(repr=False)
    summary: EpisodesSummary | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Model, agent and conditions in words."""
        return ", ".join((label_model(self.model), *conditions(self.found)))

    @property
    def stand_in(self) -> bool:
        """Whether it is a rule-based stand-in."""
        return is_stand_in(self.found.model)


def conditions(found: EpisodeFigures) -> tuple[str, ...]:
    """Return the agent, whether the rule was explicit, and how episodes were held and judged, where not as usual."""
    words = {"full": "sees everything", "any": "any hands", "released": "judged as by the published evaluator"}
    unusual = (words[value] for value in (found.observe, found.hands, found.semantics) if value in words)
    return tuple(each for each in (found.agent, found.constraint, *unusual) if each is not None)


def read_episodes(folders: Iterable[Path]) -> EpisodeResults:
    """Read rows of episodes and summaries from all folders that have any.

    Args:
        folders: Folders of results; those without ``episodes.parquet`` are skipped.

    Returns:
        All rows, and the summaries.

    Raises:
        InputError: A file cannot be read or is malformed, rows and summary are of different runs, or a run is in two
            folders.
    """
    rows, summaries = read_row_files(folders, EPISODES, EpisodesSummary, "episodes")
    return EpisodeResults(rows, {summary.run: summary for summary in summaries})


def compute_actors(results: EpisodeResults, how: IntervalOptions) -> tuple[ReportedActor, ...]:
    """Compute the figures of every agent.

    Args:
        results: The results.
        how: How intervals are computed.

    Returns:
        Agents by model, conditions and run, stand-ins after all others.
    """
    found = [
        (run, each)
        for run in sorted(results.rows["run"].unique().to_pylist())
        for each in episode_figures(
            results.rows.filter(pc.equal(results.rows["run"], run)), resamples=how.resamples, seed=how.seed
        )
    ]
    times = Counter((each.model, conditions(each)) for _, each in found)
    actors = [
        ReportedActor(
            run,
            name_with_run(each.model, run) if times[each.model, conditions(each)] > 1 else each.model,
            each,
            results.summaries.get(run),
        )
        for run, each in found
    ]
    return tuple(sorted(actors, key=lambda each: (each.stand_in, each.model, conditions(each.found))))
