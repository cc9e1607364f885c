"""The figures of every model in the results, computed once and used by everything that is shown."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hazardmill.evaluation.metrics import Figures, figures
from hazardmill.evaluation.report.load import EvaluationSummary, ReleaseFacts, Results
from hazardmill.evaluation.report.model_names import is_stand_in
from hazardmill.evaluation.stats.answers import Answers, answers, model_rates
from hazardmill.evaluation.stats.bins import LEAST
from hazardmill.evaluation.stats.rates import ModelRates
from hazardmill.evaluation.tasks import TWIN
from hazardmill.statistics.estimate import LEVEL

SET: Final = 12
"""Number of hexadecimal digits that identify a set of tasks."""


@dataclass(frozen=True)
class ModelResults:
    """The results of one model or stand-in on tasks as released.

    Attributes:
        model: Name of the model.
        stand_in: Whether it is a rule-based stand-in.
        figures: Its figures on tasks as released.
        twin: Its figures on contrast twins; None where it was not asked about them.
        tasks: Tasks with a safe plan that it answered.
        runs: The runs that asked it.
    """

    model: str
    stand_in: bool
    figures: Figures
    twin: Figures | None
    tasks: frozenset[str] = field(repr=False)
    runs: tuple[EvaluationSummary, ...]

    @property
    def task_set(self) -> str:
        """Identifies its tasks: only members with the same value are ranked against each other."""
        return hashlib.sha256("\n".join(sorted(self.tasks)).encode()).hexdigest()[:SET]

    @property
    def judged(self) -> int:
        """Number of answers on tasks that have a safe plan."""
        return self.figures.rates["F"].n


@dataclass(frozen=True)
class IntervalOptions:
    """How intervals and bins are computed.

    Attributes:
        resamples: Number of bootstrap resamples.
        seed: Seed of every bootstrap.
        least: Minimum number of tasks per bin of difficulty.
    """

    resamples: int
    seed: int
    least: int = LEAST


@dataclass(frozen=True)
class ResultPanel:
    """Everything that figures are drawn from.

    Attributes:
        results: The results as read.
        members: Language models, best first by S, followed by stand-ins.
        answers: Answers of language models on tasks with a safe plan; None where there are none.
        rates: Rates of language models in per cent; without results, those of a table of models.
        from_table: Whether the rates are those of a table.
        release: The release that was evaluated on; None where it is unknown.
        how: How intervals and bins are computed.
    """

    results: Results
    members: tuple[ModelResults, ...]
    answers: Answers | None
    rates: tuple[ModelRates, ...]
    from_table: bool
    release: ReleaseFacts | None
    how: IntervalOptions

    @property
    def models(self) -> tuple[ModelResults, ...]:
        """The language models among the members."""
        return tuple(member for member in self.members if not member.stand_in)

    @property
    def stand_ins(self) -> tuple[ModelResults, ...]:
        """The stand-ins among the members."""
        return tuple(member for member in self.members if member.stand_in)

    @property
    def tasks(self) -> int:
        """Number of tasks with a safe plan that any member answered."""
        return len(frozenset().union(*(member.tasks for member in self.members)))


def panel_of(
    results: Results,
    table: Sequence[ModelRates],
    sizes: Mapping[str, float],
    release: ReleaseFacts | None,
    how: IntervalOptions,
) -> ResultPanel:
    """Compute the figures of every model in the results.

    Args:
        results: The results; they may be empty.
        table: Rates of models, used only where there are no rows: rates on other tasks must not stand beside these.
        sizes: Model to its parameters in billions.
        release: The release that was evaluated on; None where it is unknown.
        how: How intervals and bins are computed.

    Returns:
        The figures by model: language models first, the best by S at the top, then stand-ins.

    Raises:
        InputError: Rows of one task disagree about it.
    """
    rows = results.rows
    plain = rows.filter(pc.or_kleene(pc.is_null(rows["variant"]), pc.equal(rows["variant"], TWIN)))
    found = {
        (each.model, each.variant): each for each in figures(plain, resamples=how.resamples, level=LEVEL, seed=how.seed)
    }
    judged = plain.filter(pc.and_(pc.is_null(plain["variant"]), pc.is_valid(plain["safe"])))
    tasks, runs = _tasks_and_runs(judged, plain)
    members = [
        ModelResults(
            model,
            is_stand_in(model),
            each,
            found.get((model, TWIN)),
            frozenset(tasks[model]),
            tuple(results.runs.get(run, EvaluationSummary(run)) for run in sorted(runs[model])),
        )
        for (model, variant), each in found.items()
        if variant is None
    ]
    members.sort(key=lambda member: (member.stand_in, -(member.figures.rates["S"].value or 0.0), member.model))
    of_models = _drop_stand_ins(judged)
    known = answers(of_models.select([*_RESULT_COLUMNS])) if of_models.num_rows else None
    by_name = {member.figures.model: member for member in members}
    asked = dict(zip(rows["model"].to_pylist(), rows["asked"].to_pylist(), strict=True))
    of_name = {model: sizes[asked[model]] for model in by_name if asked[model] in sizes}
    return ResultPanel(
        results=results,
        members=tuple(members),
        answers=known,
        rates=tuple(table) if not rows.num_rows else () if known is None else tuple(model_rates(known.rows, of_name)),
        from_table=bool(table) and not rows.num_rows,
        release=release,
        how=how,
    )


_RESULT_COLUMNS: Final = (
    *("model", "task_id", "variant", "sample", "source", "danger_group", "danger_type", "entity_in_danger"),
    *("feasible", "safe", "safety_intention", "score", "empty", "plan_length", "optimal_length", "difficulty"),
)


def _tasks_and_runs(judged: pa.Table, plain: pa.Table) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the tasks and the runs of each model."""
    tasks: dict[str, set[str]] = defaultdict(set)
    runs: dict[str, set[str]] = defaultdict(set)
    for row in judged.group_by(["model", "task_id"]).aggregate([]).to_pylist():
        tasks[row["model"]].add(row["task_id"])
    for row in plain.group_by(["model", "run"]).aggregate([]).to_pylist():
        runs[row["model"]].add(row["run"])
    return tasks, runs


def _drop_stand_ins(rows: pa.Table) -> pa.Table:
    names = [model for model in rows["model"].unique().to_pylist() if not is_stand_in(model)]
    return rows.filter(pc.is_in(rows["model"], pa.array(names, pa.string())))
