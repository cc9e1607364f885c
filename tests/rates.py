"""Walk through the JSON of an output: each rate has an interval of some width, and names its method.

A number that is not a whole one is part of an estimate (an object with ``low`` and ``high``), or is listed in
``NO_RATES`` with the reason why it needs no interval. So a new rate without an interval is found by every test that
walks through its output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_VALUES: Final = ("value", "share", "points", "difference")
"""Names under which estimates write their value."""

_ENDS: Final = ("low", "high", "method", "p")

_POINTS_OF_FIGURES: Final = "a point of figures over models; `of_tasks.rates` has the same rate with its interval"
_OVER_MODELS: Final = "of a figure over models, whose interval stands beside it"
_TEST: Final = "a test statistic or a p-value"
_LENGTH: Final = "a length, a difficulty or a duration, and no share"
_SETTING: Final = "a setting"
_BIN: Final = "a bound of a bin"

NO_RATES: Final[Mapping[str, str]] = {
    "level": _SETTING,
    "**/intervals/level": _SETTING,
    "**/how/level": _SETTING,
    "of_tasks/easy_hard/threshold": _SETTING,
    "**/gap/mean": _LENGTH,
    "**/gap/median": _LENGTH,
    # Statistics over models.
    "models/0/parameters_b": _SETTING,
    "models/0/feasibility": _POINTS_OF_FIGURES,
    "models/0/safety": _POINTS_OF_FIGURES,
    "models/0/safety_intention": _POINTS_OF_FIGURES,
    "models/0/safety_precision": _POINTS_OF_FIGURES,
    "thinking/pairs/0/rates/*/before": _POINTS_OF_FIGURES,
    "thinking/pairs/0/rates/*/after": _POINTS_OF_FIGURES,
    "**/relative/per_cent": "the same change as `absolute`, which has the interval",
    "**/line/r_squared": _OVER_MODELS,
    "scaling/rates/*/resampled/0": "the ends of an interval; the test of scaling looks at them",
    "spreads/*/mean": _OVER_MODELS,
    "spreads/*/deviation": _OVER_MODELS,
    "**/p": _TEST,
    "**/test/cramers_v": _TEST,
    "**/test/least_expected": _TEST,
    "**/test/statistic": _TEST,
    "**/change/before": "the share of the first sample, which `shares` has with its interval",
    "**/change/after": "the share of the last sample, which `shares` has with its interval",
    "of_tasks/effects/0/*/low": _BIN,
    "of_tasks/effects/0/*/high": _BIN,
    "of_tasks/effects/0/*/mean": _LENGTH,
    "of_tasks/effects/0/*/deviation": _LENGTH,
    "of_tasks/shifts/bins/0/low": _BIN,
    "of_tasks/shifts/bins/0/high": _BIN,
    # Episodes: the SPOC paper has mean and deviation over runs; `over_tasks` is the same rate with its interval.
    "**/rates/*/mean": "the mean over runs, as in the paper; `over_tasks` has the interval",
    "**/rates/*/deviation": "the deviation over runs, as in the paper",
    "**/runs/0/gsr": "a run among those whose deviation is given",
    "**/runs/0/csr": "a run among those whose deviation is given",
    # Comparison of runs.
    "figures/0/a": "a mean or a price, or a share that `share_a` has with its interval",
    "figures/0/b": "a mean or a price, or a share that `share_b` has with its interval",
    "pairs/0/*/usd": "cost of one record",
    "pairs/0/*/seconds": _LENGTH,
    # Reviews.
    "**/time/first_quartile": _LENGTH,
    "**/time/median": _LENGTH,
    "**/time/third_quartile": _LENGTH,
    "reviewers/*/minutes_left": _LENGTH,
}
"""Path of a number, as a pattern, to the reason why it needs no interval."""

NO_INTERVALS: Final[Mapping[str, str]] = {
    "scaling/rates/*/line/slope": "of points that lie on a line, or of equal rates",
    "scaling/rates/*/line/intercept": "of points that lie on a line, or of equal rates",
    "scaling/ratios/0/ratio": "to a slope that may be zero",
    "product/line/slope": "of points that lie on a line",
    "product/line/intercept": "of points that lie on a line",
    "product/mean_absolute_difference": "of models that differ alike",
    "product/mean_difference": "of models that differ alike",
    "correlations/0/pearson": "a perfect correlation, or one of three models",
    "correlations/0/spearman": "a perfect correlation, or one of three models",
    "spreads/*/variation": "of models that do not differ",
    "thinking/pairs/0/rates/*/absolute": "of rates of models whose n is not known; `on_tasks` has the interval",
    "thinking/mean/*/mean": "of one pair of models",
    "of_tasks/effects/0/d": "neither side varies",
    "0/beyond": "a mean number of actions, the same in almost all tasks",
    "0/kappa": "a coefficient that is the same in all resamples",
    "**/agreement/*": "a coefficient that is the same in all resamples",
    "figures/0": "a difference of costs or counts, the same in almost all pairs; never of shares",
}
"""Path of an estimate that is no rate, as a pattern, to the reason why it may have a value without an interval.

A pattern names the estimate itself: `*` stands for one key, and only a leading `**` for any number of them.
"""

_COEFFICIENTS: Final = ("pearson", "spearman")
"""Methods that compute a value, and not its interval."""

_WIDTH: Final = 1e-6
"""An interval that is narrower than this part of its ends differs from its value by rounding only."""


def check_rates(output: Any, *, least: int = 1) -> None:  # any JSON
    """Fail with the paths of all rates of an output that have no interval, or one without a width or a method.

    Args:
        output: JSON values, such as those of ``model_dump(mode="json")``.
        least: How many rates with an interval there are at least, so that an empty output is no proof.
    """
    found, wrong = 0, []
    for path, complaint in _walk(output, "", None):
        if complaint is None:
            found += 1
        else:
            wrong.append(f"{path}: {complaint}")
    assert not wrong, "\n".join(wrong)
    assert found >= least, f"only {found} estimates have an interval"


def _walk(value: Any, path: str, reason: object) -> Iterator[tuple[str, str | None]]:
    """Yield the path of each estimate and number, and what is wrong with it.

    Args:
        value: JSON values.
        path: Where they are; places in lists are all 0.
        reason: The ``why`` of what holds them, which may speak for its estimates.
    """
    if isinstance(value, Mapping):
        reason = value.get("why") or (None if "why" in value else reason)
        if value.keys() >= {"low", "high"} and (name := _value_name(value)) is not None:
            yield from _check_estimate(value, name, path, reason)
            value = {key: each for key, each in value.items() if key not in (name, *_ENDS)}
        for key, each in value.items():
            yield from _walk(each, f"{path}/{key}" if path else str(key), reason)
    elif isinstance(value, list):
        for each in value:
            yield from _walk(each, f"{path}/0" if path else "0", reason)
    elif isinstance(value, float) and not _listed(path, NO_RATES):
        yield path, f"the number {value} has no interval, and tests/rates.py does not say why it needs none"


def _value_name(value: Mapping[str, Any]) -> str | None:
    return next((name for name in _VALUES if name in value), None)


def _check_estimate(found: Mapping[str, Any], name: str, path: str, reason: object) -> Iterator[tuple[str, str | None]]:
    low, high, method = found["low"], found["high"], found.get("method")
    if (low is None) is not (high is None):
        yield path, "an interval has one end"
    elif found[name] is None:
        if low is not None:
            yield path, "there is an interval of nothing"
        elif method is not None and method not in _COEFFICIENTS:
            yield path, f"nothing was computed, and yet by {method}"
    elif low is None:
        if "count" in found or found.get("unit") == "share" or not _listed(path, NO_INTERVALS):
            yield path, f"{found[name]} has no interval"
        elif not reason:
            yield path, f"nothing says why {found[name]} has no interval"
        elif method is not None and method not in _COEFFICIENTS:
            yield path, f"there is no interval, and yet one by {method}"
    elif not high - low > _WIDTH * max(abs(low), abs(high)):
        yield path, f"the interval from {low} to {high} has no width"
    elif method is None:
        yield path, "nothing says how the interval was computed"
    else:
        yield path, None


def _listed(path: str, patterns: Mapping[str, str]) -> bool:
    return any(_matches(path.split("/"), pattern.split("/")) for pattern in patterns)


def _matches(path: list[str], pattern: list[str]) -> bool:
    if pattern[0] == "**":
        pattern = pattern[1:]
        path = path[-len(pattern) :]
    return len(path) == len(pattern) and all(one in ("*", each) for each, one in zip(path, pattern, strict=True))
