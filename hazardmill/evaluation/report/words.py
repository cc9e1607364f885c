"""Rates and their intervals in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from hazardmill import __version__
from hazardmill.evaluation.metrics import Figures
from hazardmill.evaluation.report.model_results import IntervalOptions
from hazardmill.reporting.estimates import render_estimate, render_share
from hazardmill.reporting.numbers import NONE, decimals
from hazardmill.reporting.svg.axes import Interval
from hazardmill.statistics.estimate import LEVEL, Estimate, Method, Proportion


def render_rate(rate: Estimate, digits: int = 1, usual: Method | None = None) -> str:
    """Return a rate with its interval: ``81.2 % (78.0 to 84.1)``.

    Args:
        rate: The rate; a dash stands for one without a value.
        digits: Decimals to show.
        usual: Method of all intervals around it; null: one of other methods is named.
    """
    return render_share(rate, NONE, digits, usual)


def render_rate_of(rate: Proportion, digits: int = 1, usual: Method | None = None) -> str:
    """Return a rate with its interval, and with how many it counts among how many.

    Args:
        rate: The rate; a dash stands for one without a value.
        digits: Decimals to show.
        usual: Method of all intervals around it; null: one of other methods is named.
    """
    return NONE if rate.value is None else f"{render_rate(rate, digits, usual)}, {rate.count:,} of {rate.n:,}"


def render_number(found: Estimate, digits: int = 2) -> str:
    """Return a number with its interval, or why there is none: ``12.01 (4.75 to 19.26)``.

    Args:
        found: The number.
        digits: Decimals to show.
    """
    return render_estimate(found, decimals(digits), without="no interval")


def render_p(value: float | None) -> str:
    """Return a p-value in words: ``p = 0.0123``."""
    if value is None:
        return "p unknown"
    return "p < 0.0001" if value < 0.0001 else f"p = {value:.4f}"


def interval(rate: Estimate) -> Interval | None:
    """Return value, low and high of a rate in per cent.

    Returns:
        None where the rate has no value. Where it has no interval, low and high equal the value.
    """
    if rate.value is None:
        return None
    low = rate.value if rate.low is None else rate.low
    high = rate.value if rate.high is None else rate.high
    return 100 * rate.value, 100 * low, 100 * high


def last_pass(figures: Figures, name: str) -> tuple[int, Estimate] | None:
    """Return the largest k for which pass^k is known, and pass^k.

    Args:
        figures: Figures of a model.
        name: ``F`` or ``S``.

    Returns:
        None where no pass^k is known.
    """
    by_k = figures.pass_k.get(name, {})
    known = [k for k in by_k if by_k[k].value is not None]
    return (max(known), by_k[max(known)]) if known else None


def section_json(format_name: str, rows: Iterable[Mapping[str, Any]], how: IntervalOptions, drawn: str) -> str:
    """Return the text of the JSON file of a section.

    Args:
        format_name: Name and version of its format.
        rows: Its rows as JSON values.
        how: How intervals are computed.
        drawn: What the bootstrap draws, such as ``task``.
    """
    whole = {
        "format": format_name,
        "hazardmill_version": __version__,
        "intervals": {"level": LEVEL, "resamples": how.resamples, "seed": how.seed, "drawn": drawn},
        "rows": list(rows),
    }
    return json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=True) + "\n"
