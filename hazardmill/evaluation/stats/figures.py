"""Every figure of a table of models, or of a set of result rows, gathered once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa

from hazardmill.evaluation.results import read_results
from hazardmill.evaluation.stats.answers import Answers, Origin, answers, model_rates
from hazardmill.evaluation.stats.bins import LEAST
from hazardmill.evaluation.stats.correlation import CorrelationPair, RateSpread, correlations, spreads
from hazardmill.evaluation.stats.effects import EffectSize, effects
from hazardmill.evaluation.stats.pairs import Thinking, named_pairs, thinking
from hazardmill.evaluation.stats.product import ProductFit, product_fit
from hazardmill.evaluation.stats.proportions import AnyFailure, GroupRates, any_failures, group_rates
from hazardmill.evaluation.stats.rates import ModelRates, read_parameters, read_rates
from hazardmill.evaluation.stats.scaling import ScalingFigures, scaling
from hazardmill.evaluation.stats.shifts import DifficultyShifts, EasyHard, difficulty_shifts, easy_hard
from hazardmill.records import FrozenModel

FORMAT: Final = "hazardmill-statistics/1"


class TaskFigures(FrozenModel):
    """The figures that need verdicts on single tasks.

    Attributes:
        tasks: Number of tasks.
        answers: Number of answers.
        most_answers: Maximum number of answers of one model to one task. Above 1, answers are not independent, and
            intervals of rates by category are too narrow.
        rates: Rates by model and category.
        any_failure: Tasks that at least one model fails, by category.
        difficulty: `rows`: as the result rows state it. `panel`: they state none, and it is the share of the panel,
            each model weighted equally, that gave no safe plan. None: unknown.
        effects: How the hardest bin of difficulty differs from the easiest.
        shifts: How categories shift over bins of difficulty.
        easy_hard: How categories differ between easy and hard tasks.
    """

    tasks: int
    answers: int
    most_answers: int
    rates: list[GroupRates]
    any_failure: list[AnyFailure]
    difficulty: Origin | None
    effects: list[EffectSize]
    shifts: DifficultyShifts
    easy_hard: EasyHard


class EvaluationStatistics(FrozenModel):
    """All figures. Rates are in per cent unless a field says otherwise, and all intervals are 95 % intervals.

    Attributes:
        format: Name and version of the format.
        models: Rates of the models.
        scaling: Rates against the number of parameters.
        product: Safety against feasibility times safety intention.
        correlations: Correlations over models.
        spreads: Metric to its spread over models.
        thinking: Thinking models against their bases.
        of_tasks: The figures of single tasks; None where only rates of models are known.
        notes: What is unusual about the input, in words.
        seed: Seed of every bootstrap.
    """

    format: str = FORMAT
    models: list[ModelRates]
    scaling: ScalingFigures
    product: ProductFit
    correlations: list[CorrelationPair]
    spreads: dict[str, RateSpread]
    thinking: Thinking
    of_tasks: TaskFigures | None
    notes: list[str]
    seed: int


def statistics(
    path: Path, *, pairs: Iterable[str] = (), parameters: Path | None = None, seed: int = 0, least: int = LEAST
) -> EvaluationStatistics:
    """Compute every figure of a table of models or of result rows.

    Args:
        path: A CSV table of models, or a folder or Parquet file of result rows.
        pairs: ``THINKING=BASE``, by names of models.
        parameters: A CSV table with the parameters of models; it fills in those that ``path`` does not state.
        seed: Seed of every bootstrap.
        least: Minimum number of tasks per bin of difficulty.

    Returns:
        All figures; those of single tasks are None for a table of models.

    Raises:
        InputError: The input cannot be used.
        UsageError: A pair does not name two of the models.
    """
    if path.is_dir() or path.suffix == ".parquet":
        return statistics_of_results(
            read_results(path), {} if parameters is None else read_parameters(parameters), pairs, seed, least
        )
    models, notes = read_rates(path)
    if parameters is not None:
        known = read_parameters(parameters)
        models = [
            model
            if model.parameters_b is not None
            else model.model_copy(update={"parameters_b": known.get(model.model)})
            for model in models
        ]
    return _statistics(models, notes, pairs, seed)


def statistics_of_results(
    table: pa.Table, parameters: Mapping[str, float], pairs: Iterable[str] = (), seed: int = 0, least: int = LEAST
) -> EvaluationStatistics:
    """Compute every figure of result rows.

    Args:
        table: Result rows.
        parameters: Model to its total parameters in billions.
        pairs: ``THINKING=BASE``, by names of models.
        seed: Seed of every bootstrap.
        least: Minimum number of tasks per bin of difficulty.

    Returns:
        All figures, those of single tasks included, with notes on what was left out.

    Raises:
        InputError: Rows of one task disagree about it, or no row is about a released task with a safe plan.
        UsageError: A pair does not name two of the models.
    """
    found = answers(table)
    models = model_rates(found.rows, parameters)
    strange = sorted(set(parameters) - {model.model for model in models})
    notes = [f"parameters of models without results: {', '.join(strange)}"] if strange else []
    if found.unavoidable:
        notes.append(f"answers on tasks that are proved to have no safe plan, left out: {found.unavoidable:,}")
    if found.left_out:
        notes.append(f"models without any other answer, left out: {', '.join(found.left_out)}")
    return _statistics(models, notes, pairs, seed, found, least)


def _statistics(
    models: list[ModelRates],
    notes: list[str],
    pairs: Iterable[str],
    seed: int,
    found: Answers | None = None,
    least: int = LEAST,
) -> EvaluationStatistics:
    named = named_pairs(pairs, [model.model for model in models])
    return EvaluationStatistics(
        models=models,
        scaling=scaling(models, seed),
        product=product_fit(models, seed),
        correlations=correlations(models),
        spreads=spreads(models, seed),
        thinking=thinking(named, models, None if found is None else found.rows),
        of_tasks=None if found is None else _of_tasks(found, least),
        notes=notes,
        seed=seed,
    )


def _of_tasks(found: Answers, least: int) -> TaskFigures:
    return TaskFigures(
        tasks=len(found.tasks),
        answers=len(found.rows),
        most_answers=int(found.rows.groupby(["model", "task_id"]).size().max()),
        rates=group_rates(found),
        any_failure=any_failures(found),
        difficulty=found.difficulty,
        effects=effects(found.tasks, least),
        shifts=difficulty_shifts(found.tasks, least),
        easy_hard=easy_hard(found.tasks),
    )
