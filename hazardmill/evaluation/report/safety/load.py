"""Read safety rows of several folders, and compute the figures of every agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ConfigDict, Field

from hazardmill.evaluation.report.model_names import is_stand_in, label_model, name_with_run
from hazardmill.evaluation.report.row_files import RowsSummary, read_row_files
from hazardmill.evaluation.safety.figures import AgentFigures, agent_figures, categories_met
from hazardmill.evaluation.safety.recorded import GRAPHS
from hazardmill.evaluation.safety.rows import ROWS
from hazardmill.records import FrozenModel

if TYPE_CHECKING:
    from pathlib import Path

    from hazardmill.evaluation.report.model_results import IntervalOptions

_OWN_FIELD: Final = "switches"


class _Category(FrozenModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    definition: str


class _Map(FrozenModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    digest: str
    categories: tuple[_Category, ...]


class SafetySummary(RowsSummary):
    """What the report needs from the summary of a safety evaluation.

    Attributes:
        missing: Number of questions without an answer.
        switches: How scripts were judged.
        map: The map of hazards; None where danger entries were taken.
        tasks_digest: Digest of the tasks; None for recorded graphs.
    """

    missing: Annotated[int, Field(ge=0)]
    switches: dict[str, Any]
    map: _Map | None = None
    tasks_digest: str | None = None

    @property
    def judged_by(self) -> tuple[str | None, str]:
        """Identifies map and switches: figures with different ones are not comparable."""
        # Whether confidences were asked for tells arms apart, and no way of judging.
        switches = sorted((name, str(value)) for name, value in self.switches.items() if name != "confidence")
        return None if self.map is None else self.map.digest, repr(switches)


@dataclass(frozen=True)
class SafetyResults:
    """The rows and summaries of all folders.

    Attributes:
        rows: The rows (``rows.ROWS``) of all files as one table; empty if there are none.
        summaries: The summaries by run.
    """

    rows: pa.Table = field(repr=False)
    summaries: dict[str, SafetySummary]

    @property
    def tasks(self) -> set[str]:
        """Ids of the tasks that scripts were written for."""
        return {*self.rows.filter(pc.not_equal(self.rows["agent"], GRAPHS))["task_id"].unique().to_pylist()}

    @property
    def definitions(self) -> dict[str, str]:
        """Category to its definition, as the maps of all evaluations have them."""
        maps = [summary.map for summary in self.summaries.values() if summary.map is not None]
        return {each.name: each.definition for found in maps for each in found.categories}


@dataclass(frozen=True)
class ReportedAgent:
    """One agent of the report.

    Attributes:
        run: The evaluation.
        model: The model; with the run if several evaluations have scripts of it in the same arm.
        agent: Its arm.
        found: Its figures.
        summary: What the summary says; None without one.
    """

    run: str
    model: str
    agent: str
    found: AgentFigures = field(repr=False)
    summary: SafetySummary | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Model and arm in words."""
        return f"{label_model(self.model)}, {self.agent}"

    @property
    def stand_in(self) -> bool:
        """Whether it is a rule-based stand-in."""
        return is_stand_in(self.found.model)


def read_safety(folders: Iterable[Path]) -> SafetyResults:
    """Read safety rows and summaries from all folders that have any.

    Args:
        folders: Folders of results; those without ``safety.parquet`` are skipped.

    Returns:
        All rows, and the summaries of safety evaluations.

    Raises:
        InputError: A file cannot be read or is malformed, rows and summary are of different runs, or a run is in two
            folders.
    """
    rows, summaries = read_row_files(folders, ROWS, SafetySummary, _OWN_FIELD)
    return SafetyResults(rows, {summary.run: summary for summary in summaries})


def compute_agents(results: SafetyResults, how: IntervalOptions) -> tuple[ReportedAgent, ...]:
    """Compute the figures of every agent.

    Args:
        results: The results.
        how: How intervals are computed.

    Returns:
        Agents by model, arm and run, stand-ins after all others.
    """
    tables = {
        run: results.rows.filter(pc.equal(results.rows["run"], run))
        for run in sorted(results.rows["run"].unique().to_pylist())
    }
    # What one agent met, the others that were judged alike could have met.
    listed: dict[object, list[str]] = {}
    for run, table in tables.items():
        listed.setdefault(_judged_by(results, run), []).extend([*_categories(results, run), *categories_met(table)])
    found: list[tuple[str, AgentFigures]] = []
    for run, table in tables.items():
        names = listed[_judged_by(results, run)]
        found += [(run, each) for each in agent_figures(table, names, resamples=how.resamples, seed=how.seed)]
    times = Counter((each.model, each.agent) for _, each in found)
    agents = [
        ReportedAgent(
            run=run,
            model=name_with_run(each.model, run) if times[each.model, each.agent] > 1 else each.model,
            agent=each.agent,
            found=each,
            summary=results.summaries.get(run),
        )
        for run, each in found
    ]
    return tuple(sorted(agents, key=lambda each: (each.stand_in, each.model, each.agent)))


def _judged_by(results: SafetyResults, run: str) -> object:
    summary = results.summaries.get(run)
    return run if summary is None else summary.judged_by


def _categories(results: SafetyResults, run: str) -> list[str]:
    summary = results.summaries.get(run)
    return [] if summary is None or summary.map is None else [each.name for each in summary.map.categories]
