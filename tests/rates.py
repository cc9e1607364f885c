"""Walk through the JSON of an output: each rate has an interval of some width, and names its method.

A number that is not a whole one is part of an estimate (an object with ``low`` and ``high``), or is listed in
``NO_RATES`` with the reason why it needs no interval. So a new rate without an interval is found by every test that
walks through its output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

_VALUES: Final = ("value", "share", "points", "difference")
"""Names under which estimates write their value."""

_ENDS: Final = ("low", "high", "method", "p")

_POINTS_OF_FIGURES: Final = "a point of figures over models; `of_tasks.rates` has the same rate with its interval"
_OVER_MODELS: Final = "of a figure over models, whose interval stands beside it"
_TEST: Final = "a test statistic or a p-value"
_LENGTH: Final = "a length, a difficulty or a duration, and no share"
_SETTING: Final = "a setting"

NO_RATES: Final[Mapping[str, str]] = {
    "level": _SETTING,
    "*intervals/level": _SETTING,
    "*how/level": _SETTING,
    "*threshold": _SETTING,
    "*/gap/mean": _LENGTH,
    "*/gap/median": _LENGTH,
    # Statistics over models.
    "models/0/parameters_b": _SETTING,
    "models/0/feasibility": _POINTS_OF_FIGURES,
    "models/0/safety*": _POINTS_OF_FIGURES,
    "thinking/pairs/*/rates/*/before": _POINTS_OF_FIGURES,
    "thinking/pairs/*/rates/*/after": _POINTS_OF_FIGURES,
    "*/relative/per_cent": "the same change as `absolute`, which has the interval",
    "*/r_squared": _OVER_MODELS,
    "*/resampled/*": "the ends of an interval; the test of scaling looks at them",
    "spreads/*/mean": _OVER_MODELS,
    "spreads/*/deviation": _OVER_MODELS,
    "*/p": _TEST,
    "*/test/*": _TEST,
    "*/change/before": "the share of the first sample, which `shares` has with its interval",
    "*/change/after": "the share of the last sample, which `shares` has with its interval",
    "of_tasks/effects/*/e*/*": _LENGTH,
    "of_tasks/effects/*/hard*/*": _LENGTH,
    "of_tasks/shifts/bins/*": _LENGTH,
    # Episodes: the SPOC paper has mean and deviation over runs; `over_tasks` is the same rate with its interval.
    "*rates/*/mean": "the mean over runs, as in the paper; `over_tasks` has the interval",
    "*rates/*/deviation": "the deviation over runs, as in the paper",
    "*runs/*/gsr": "a run among those whose deviation is given",
    "*runs/*/csr": "a run among those whose deviation is given",
    # Comparison of runs.
    "*figures/*/a": "a mean or a price, or a share that `share_a` has with its interval",
    "*figures/*/b": "a mean or a price, or a share that `share_b` has with its interval",
    "pairs/0/*usd*": "cost of one record",
    "pairs/0/*seconds": _LENGTH,
    # Reviews.
    "*time/*": _LENGTH,
}
"""Path of a number, as a pattern, to the reason why it needs no interval."""

NO_INTERVALS: Final[Mapping[str, str]] = {
    "scaling/*": "a slope of points that lie on a line, or a ratio to a slope that may be zero",
    "product/*": "of models that differ alike",
    "correlations/*": "a perfect correlation, or one of three models",
    "spreads/*": "of models that do not differ",
    "*thinking/pairs/*/rates/*/absolute": "of rates of models whose n is not known; `on_tasks` has the interval",
    "thinking/mean/*": "of one pair of models",
    "*effects/*": "neither side varies",
    "*beyond": "a mean number of actions, the same in all tasks",
    "*agreement/*": "a coefficient that is the same in all resamples",
    "*kappa": "a coefficient that is the same in all resamples",
    "*alpha": "a coefficient that is the same in all resamples",
    "*figures/*": "a difference of costs or counts, the same in all pairs",
}
"""Path of an estimate that is no rate, as a pattern, to the reason why it may have a value without an interval."""


def check_rates(output: Any, *, least: int = 1) -> None:  # any JSON
    """Fail with the paths of all rates of an output that have no interval, or one without a width or a method.

    Args:
        output: JSON values, such as those of ``model_dump(mode="json")``.
        least: How many rates with an interval there are at least, so that an empty output is no proof.
    """
    found, wrong = 0, []
    for path, complaint in _walk(output, ""):
        if complaint is None:
            found += 1
        else:
            wrong.append(f"{path}: {complaint}")
    assert not wrong, "\n".join(wrong)
    assert found >= least, f"only {found} estimates have an interval"


def _walk(value: Any, path: str) -> Iterator[tuple[str, str | None]]:
    """Yield the path of each estimate and number, and what is wrong with it."""
    if isinstance(value, Mapping):
        if value.keys() >= {"low", "high"} and (name := _value_name(value)) is not None:
            yield from _check_estimate(value, name, path)
            value = {key: each for key, each in value.items() if key not in (name, *_ENDS)}
        for key, each in value.items():
            yield from _walk(each, f"{path}/{key}" if path else str(key))
    elif isinstance(value, list):
        for each in value:
            yield from _walk(each, f"{path}/0" if path else "0")
    elif isinstance(value, float) and not _listed(path, NO_RATES):
        yield path, f"the number {value} has no interval, and tests/rates.py does not say why it needs none"


def _value_name(value: Mapping[str, Any]) -> str | None:
    return next((name for name in _VALUES if name in value), None)


def _check_estimate(found: Mapping[str, Any], name: str, path: str) -> Iterator[tuple[str, str | None]]:
    low, high = found["low"], found["high"]
    if found[name] is None:
        if (low, high) != (None, None):
            yield path, "there is an interval of nothing"
    elif low is None or high is None:
        if "count" in found or not _listed(path, NO_INTERVALS):
            yield path, f"{found[name]} has no interval"
    elif not high - low > 1e-9:
        yield path, f"the interval from {low} to {high} has no width"
    elif found.get("method") is None:
        yield path, "nothing says how the interval was computed"
    else:
        yield path, None


def _listed(path: str, patterns: Mapping[str, str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)
