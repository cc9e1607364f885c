"""Render the figures as tables of text, with units, n and intervals. Unknown values say so, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from hazardmill.evaluation.stats.bins import Bin
from hazardmill.evaluation.stats.correlation import RateSpread
from hazardmill.evaluation.stats.effects import EffectSample, EffectSize
from hazardmill.evaluation.stats.figures import EvaluationStatistics, TaskFigures
from hazardmill.evaluation.stats.pairs import ModelPair, TaskDifference, Thinking
from hazardmill.evaluation.stats.product import ProductFit
from hazardmill.evaluation.stats.proportions import AnyFailure, GroupRates
from hazardmill.evaluation.stats.rates import METRICS, ModelRates
from hazardmill.evaluation.stats.scaling import ScalingFigures
from hazardmill.evaluation.stats.shifts import ChiSquared, Shifts
from hazardmill.evaluation.stats.units import Points, RateChange
from hazardmill.reporting.estimates import render_estimate, render_share
from hazardmill.reporting.numbers import UNKNOWN, decimals, points
from hazardmill.reporting.table import Grid
from hazardmill.statistics.estimate import Proportion
from hazardmill.statistics.regression import RegressionLine

FEW_MODELS: Final = 3
"""Up to this many models, the tables show the rates of each model by category."""


def grids(found: EvaluationStatistics) -> Iterator[Grid]:
    """Yield all figures as tables of text.

    Args:
        found: The figures.
    """
    yield Grid(
        "Rates of the models, per cent",
        ("model", "parameters, billions", *map(_words, METRICS)),
        tuple(_model(model) for model in found.models),
    )
    yield from _scaling(found.scaling)
    yield _product(found.product)
    yield Grid(
        "Correlations over models, with 95 % intervals",
        ("", "models", "Pearson", "p", "Spearman", "p"),
        tuple(
            (
                f"{_words(each.one)}, {_words(each.other)}",
                str(each.pearson.n),
                render_estimate(each.pearson, decimals(3)),
                _p(each.pearson.p),
                render_estimate(each.spearman, decimals(3)),
                _p(each.spearman.p),
            )
            for each in found.correlations
        ),
    )
    yield Grid(
        "Spread over models, with 95 % bootstrap intervals",
        ("rate", "models", "mean, %", "population SD, points", "coefficient of variation"),
        tuple(_spread(metric, spread) for metric, spread in found.spreads.items()),
    )
    if found.thinking.pairs:
        yield from _thinking(found.thinking)
    if found.of_tasks is not None:
        yield from _of_tasks(found.of_tasks)


def render_rate(found: Proportion) -> str:
    """Return a rate with interval and n: ``30.0 % (18.1 to 45.4) of 40``."""
    return UNKNOWN if found.value is None else f"{render_share(found, UNKNOWN, usual='wilson')} of {found.n:,}"


def render_points(found: Points) -> str:
    """Return a change in points with its interval: ``+3.0 points (+1.2 to +4.8)``."""
    if found.value is not None and found.low is None and found.why is None:
        return f"{points(found.value)} points"
    return render_estimate(found, lambda value: f"{points(value)} points", points)


def render_relative(found: RateChange) -> str:
    """Return a relative change, or why it is unknown: ``+25.0 %``."""
    return f"{UNKNOWN}: {found.why}" if found.relative is None else f"{found.relative.per_cent:+.1f} %"


def _words(name: str) -> str:
    return "log10 parameters" if name == "log10_parameters" else name.replace("_", " ")


def _p(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return "under 0.0001" if value < 0.0001 else f"{value:.4f}"


def _number(value: float | None, digits: int = 1) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def _model(model: ModelRates) -> tuple[str, ...]:
    size = UNKNOWN if model.parameters_b is None else f"{model.parameters_b:g}"
    return (model.model, size, *(_number(model.rate(metric)) for metric in METRICS))


def _scaling(found: ScalingFigures) -> Iterator[Grid]:
    yield Grid(
        "Rates against log10 of the parameters (least squares, 95 % intervals); "
        f"models without a number of parameters: {found.without_parameters}",
        (
            "rate",
            "models",
            "slope, points per decade",
            "bootstrap of the slope",
            "intercept, % at a billion",
            "R2",
            "p",
        ),
        tuple(
            (
                _words(metric),
                str(each.line.n),
                render_estimate(each.line.slope, decimals(2)),
                f"{UNKNOWN}: {each.why}"
                if each.resampled is None
                else f"{each.resampled[0]:.2f} to {each.resampled[1]:.2f}",
                render_estimate(each.line.intercept, decimals(2)),
                *_fit(each.line),
            )
            for metric, each in found.rates.items()
        ),
    )
    yield Grid(
        f"Ratios of slopes, no unit (paired bootstrap over models, {found.resamples:,} resamples, 95 % intervals)",
        ("", "models", "ratio"),
        tuple(
            (f"{_words(each.of)} to {_words(each.to)}", str(each.models), render_estimate(each.ratio, decimals(2)))
            for each in found.ratios
        ),
    )


def _fit(line: RegressionLine) -> tuple[str, str]:
    return _number(line.r_squared, 3), _p(line.p)


def _product(found: ProductFit) -> Grid:
    line = found.line
    return Grid(
        f"Safety against feasibility x safety intention, {line.n} models, with 95 % intervals",
        ("", "value"),
        (
            ("slope, points per point", render_estimate(line.slope, decimals(3))),
            ("intercept, points", render_estimate(line.intercept, decimals(2))),
            ("R2", _number(line.r_squared, 3)),
            ("p", _p(line.p)),
            ("mean absolute difference, points", render_estimate(found.mean_absolute_difference, decimals(2))),
            ("mean of safety minus product, points", render_estimate(found.mean_difference, decimals(2))),
        ),
    )


def _spread(metric: str, found: RateSpread) -> tuple[str, ...]:
    return (
        _words(metric),
        str(found.n),
        _number(found.mean),
        _number(found.deviation),
        render_estimate(found.variation, decimals(3)),
    )


def _thinking(found: Thinking) -> Iterator[Grid]:
    yield Grid(
        "Thinking against base: absolute change in points, relative change in per cent of the base",
        ("pair", "rate", "base, %", "thinking, %", "absolute", "relative"),
        tuple(
            (
                _pair(pair),
                _words(metric),
                _number(each.before),
                _number(each.after),
                render_points(each.absolute),
                render_relative(each),
            )
            for pair in found.pairs
            for metric, each in pair.rates.items()
        ),
    )
    if any(pair.on_tasks for pair in found.pairs):
        yield Grid(
            "Thinking minus base on the tasks that both answered, with 95 % intervals (p: exact McNemar test)",
            ("pair", "rate", "tasks", "difference", "only thinking", "only base", "p"),
            tuple(_on_tasks(pair, *each) for pair in found.pairs for each in (pair.on_tasks or {}).items()),
        )
    yield Grid(
        "Mean absolute change over pairs, with 95 % intervals (p: paired t test)",
        ("rate", "pairs", "change", "p"),
        tuple(
            (_words(metric), str(each.pairs), render_points(each.mean), _p(each.p))
            for metric, each in found.mean.items()
        ),
    )


def _pair(pair: ModelPair) -> str:
    return f"{pair.thinking} against {pair.base}"


def _on_tasks(pair: ModelPair, metric: str, found: TaskDifference) -> tuple[str, ...]:
    return (
        _pair(pair),
        _words(metric),
        f"{found.tasks:,}",
        render_points(found.difference),
        UNKNOWN if found.gained is None else f"{found.gained:,}",
        UNKNOWN if found.lost is None else f"{found.lost:,}",
        _p(found.p),
    )


def _of_tasks(found: TaskFigures) -> Iterator[Grid]:
    rates = found.rates
    if len({each.model for each in rates}) > FEW_MODELS:
        rates = [each for each in rates if each.by == "all"]
    title = f"Answers to {found.tasks:,} tasks, with Wilson's 95 % intervals"
    if found.most_answers > 1:
        title += f" (too narrow: models answered a task up to {found.most_answers} times)"
    yield Grid(title, ("category", "model", *map(_words, METRICS)), tuple(_group(each) for each in rates))
    yield Grid(
        "Tasks that at least one model fails, among tasks that every model answered, with Wilson's 95 % intervals",
        ("category", *map(_words, METRICS[:3])),
        tuple(_failures(found)),
    )
    if found.effects:
        yield Grid(
            "Hardest bin of difficulty minus the easiest (Cohen's d: pooled SD, no unit, 95 % intervals)",
            ("figure", "easiest", "hardest", "d"),
            tuple(_effect(each) for each in found.effects),
        )
    over = found.shifts
    origin = {"rows": "as the rows state it", "panel": "share of the panel without a safe plan"}.get(
        found.difficulty or "", UNKNOWN
    )
    bounds = [each.words for each in over.bins]
    for each in over.by:
        yield Grid(
            f"{_words(each.by)} over difficulty ({origin}), share of tasks; {_chi(each.test)}"
            f"{_render_left_out(each, over.unknown, 'difficulty')}",
            _heads(each, bounds),
            tuple(_shift_rows(each)),
        )
    split = found.easy_hard
    for each in split.by:
        yield Grid(
            f"{_words(each.by)} of {split.easy:,} easy and {split.hard:,} hard tasks (panel mean at most "
            f"{split.threshold:g} of 2), share of tasks; {_chi(each.test)}"
            f"{_render_left_out(each, split.unknown, 'score of every model')}",
            _heads(each, ["easy", "hard"]),
            tuple(_shift_rows(each)),
        )


def _group(found: GroupRates) -> tuple[str, ...]:
    rates: Mapping[str, Proportion] = {
        "feasibility": found.feasibility,
        "safety": found.safety,
        "safety_intention": found.safety_intention,
        "safety_precision": found.safety_precision,
    }
    return (_category(found.by, found.category), found.model, *(render_rate(rates[metric]) for metric in METRICS))


def _category(by: str, category: str) -> str:
    return "all" if by == "all" else f"{_words(by)}: {_words(category)}"


def _failures(found: TaskFigures) -> list[tuple[str, ...]]:
    by_category: dict[str, dict[str, str]] = {}
    for each in found.any_failure:
        by_category.setdefault(_category(each.by, each.category), {})[each.metric] = _any_failure(each)
    return [(name, *(of[metric] for metric in METRICS[:3])) for name, of in by_category.items()]


def _any_failure(found: AnyFailure) -> str:
    return f"{render_rate(found.rate)}, {found.unknown:,} unknown" if found.unknown else render_rate(found.rate)


def _effect(found: EffectSize) -> tuple[str, ...]:
    return (
        f"{_words(found.figure)}, {found.unit}{f' ({found.unknown:,} tasks unknown)' if found.unknown else ''}",
        _sample(found.easiest, found.easy),
        _sample(found.hardest, found.hard),
        render_estimate(found.d, decimals(2)),
    )


def _sample(of: Bin, found: EffectSample) -> str:
    return f"{of.words}: mean {_number(found.mean, 2)}, SD {_number(found.deviation, 2)}, n {found.n:,}"


def _chi(test: ChiSquared) -> str:
    if test.statistic is None:
        return f"chi squared unknown: {test.why}"
    told = (
        f"chi squared {test.statistic:.2f} without Yates' correction, degrees of freedom {test.degrees_of_freedom}, "
        f"n {test.n:,}, p {_p(test.p)}, Cramer's V {_number(test.cramers_v, 3)}"
    )
    return f"{told}; doubtful: {test.cells_under_5} expected counts are under 5" if test.cells_under_5 else told


def _render_left_out(of: Shifts, unknown: int, what: str) -> str:
    told = {f"without a {what}": unknown, f"without a {_words(of.by)}": of.unknown}
    return "".join(f"; tasks {words}: {number:,}" for words, number in told.items() if number)


def _heads(of: Shifts, samples: Iterable[str]) -> tuple[str, ...]:
    return (_words(of.by), *samples, "change", "relative")


def _shift_rows(of: Shifts) -> list[tuple[str, ...]]:
    return [
        (
            _words(each.category),
            *(render_rate(share) for share in each.shares),
            render_points(each.change.absolute),
            render_relative(each.change),
        )
        for each in of.categories
    ]
