"""Read SAFEL rows of several folders, and what their summaries say about answers that are missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

import pyarrow as pa
from pydantic import ConfigDict, Field

from hazardmill.evaluation.report.model_names import is_stand_in, name_with_run
from hazardmill.evaluation.report.model_results import IntervalOptions
from hazardmill.evaluation.report.row_files import RowsSummary, read_row_files
from hazardmill.evaluation.safel.figures import ALL, SafelGroup, safel_figures
from hazardmill.evaluation.safel.rows import ROWS, SCHEMA
from hazardmill.evaluation.safel.shown import SafelTest
from hazardmill.records import FrozenModel, Text

_OWN_FIELD: Final = "scenarios_digest"
"""Only summaries of SAFEL runs have this field; that of another evaluation may be in the same folder."""


class _Planner(FrozenModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    model: Text


class SafelSummary(RowsSummary):
    """What the report needs from the summary of a SAFEL run.

    Attributes:
        run: Name of the run.
        test: The test.
        missing: Number of questions without an answer.
        scenarios_digest: Digest of the scenarios that were asked about.
        asked_about: Kind to the number of scenarios that were asked about.
        decided_by: Names the model.
    """

    test: SafelTest
    missing: Annotated[int, Field(ge=0)]
    scenarios_digest: str
    asked_about: dict[str, int]
    decided_by: _Planner

    @property
    def key(self) -> _Key:
        """Model, test and run."""
        return self.decided_by.model, self.test, self.run


_Key = tuple[str, SafelTest, str]


@dataclass(frozen=True)
class SafelResults:
    """The rows and summaries of all folders.

    Attributes:
        rows: The rows (``rows.SCHEMA``) of all files as one table; empty if there are none.
        summaries: The summaries, sorted by model, test and run.
    """

    rows: pa.Table = field(repr=False)
    summaries: tuple[SafelSummary, ...]

    @property
    def tasks(self) -> set[str]:
        """Ids of the tasks that scenarios were derived from."""
        return {*self.rows["task_id"].unique().to_pylist()} - {None}


@dataclass(frozen=True)
class SafelModel:
    """One model at one test.

    Attributes:
        model: Name of the model; with the run if several runs asked it the same test.
        test: The test.
        run: The run that asked.
        groups: Name of a group of scenarios to its figures; empty if nothing is answered yet.
        missing: Number of questions without an answer; None where no summary says so.
        scenario_set: Identifies the scenarios that were asked about; None where no summary says so.
    """

    model: str
    test: SafelTest
    run: str
    groups: Mapping[str, SafelGroup] = field(repr=False)
    missing: int | None = None
    scenario_set: tuple[str, tuple[tuple[str, int], ...]] | None = None

    @property
    def stand_in(self) -> bool:
        """Whether it is a rule-based stand-in."""
        return is_stand_in(self.model)

    @property
    def answers(self) -> int:
        """Number of answers."""
        return self.groups[ALL].answers if ALL in self.groups else 0


def read_safel(folders: Iterable[Path]) -> SafelResults:
    """Read SAFEL rows and summaries from all folders that have any.

    Args:
        folders: Folders of results; those without ``safel.parquet`` are skipped.

    Returns:
        All rows, and the summaries of SAFEL runs.

    Raises:
        InputError: A file cannot be read or is malformed, rows and summary are of different runs, or a run is in two
            folders.
    """
    rows, summaries = read_row_files(folders, ROWS, SafelSummary, _OWN_FIELD)
    return SafelResults(rows, tuple(sorted(summaries, key=lambda summary: summary.key)))


def compute_models(results: SafelResults, how: IntervalOptions) -> tuple[SafelModel, ...]:
    """Compute the figures of every model at every test.

    A model that several runs asked the same test is shown once per run, with the run in its name.

    Args:
        results: The results.
        how: How intervals are computed.

    Returns:
        Models by name, stand-ins after all others; a model that has answered nothing yet is among them.
    """
    rows = results.rows
    summaries = {summary.key: summary for summary in results.summaries}
    keys: set[_Key] = {*summaries, *_keys(rows)}
    runs: dict[tuple[str, SafelTest], set[str]] = defaultdict(set)
    for model, test, run in keys:
        runs[model, test].add(run)
    names = {
        (model, test, run): name_with_run(model, run) if len(runs[model, test]) > 1 else model
        for model, test, run in keys
    }
    shown = pa.array([names[key] for key in _keys(rows)], pa.string())
    renamed = rows.set_column(rows.column_names.index("model"), SCHEMA.field("model"), shown)
    groups = {
        (each.model, each.test): each.groups for each in safel_figures(renamed, resamples=how.resamples, seed=how.seed)
    }
    models = []
    for key in keys:
        _, test, run = key
        summary = summaries.get(key)
        models.append(
            SafelModel(
                model=names[key],
                test=test,
                run=run,
                groups=groups.get((names[key], test), {}),
                missing=None if summary is None else summary.missing,
                scenario_set=None
                if summary is None
                else (summary.scenarios_digest, tuple(sorted(summary.asked_about.items()))),
            )
        )
    return tuple(sorted(models, key=lambda each: (each.stand_in, each.model, each.test)))


def _keys(rows: pa.Table) -> Sequence[_Key]:
    columns = (rows[name].to_pylist() for name in ("model", "test", "run"))
    return list(zip(*columns, strict=True))
