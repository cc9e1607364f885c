"""Write estimates as text: a value followed by its interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hazardmill.reporting.numbers import UNKNOWN, share
from hazardmill.statistics.estimate import Estimate, Method

Form = Callable[[float], str]
"""A function that writes one number, such as ``share``, ``per_cent``, ``points`` or ``decimals(2)``."""

_NAMED: Final[dict[Method, str]] = {"averaged": "averaged", "wilson": "Wilson"}
"""Methods that are named beside an interval."""


def render_estimate(
    found: Estimate,
    form: Form,
    ends: Form | None = None,
    *,
    unknown: str | None = None,
    without: str | None = None,
    usual: Method | None = None,
) -> str:
    """Return an estimate as ``12.01 (4.75 to 19.26)``, or the reason why it is not known.

    Args:
        found: The estimate.
        form: Writes its value.
        ends: Writes the ends of its interval; null: as the value.
        unknown: The text where there is no value; null: "unknown" with the reason.
        without: The text in brackets where there is no interval; null: "no interval" with the reason.
        usual: As for ``render_interval``.
    """
    if found.value is None:
        return f"{UNKNOWN}: {found.why}" if unknown is None else unknown
    if without is None:
        without = "no interval" if found.why is None else f"no interval: {found.why}"
    return f"{form(found.value)} ({render_interval(found, ends or form, usual) or without})"


def render_interval(found: Estimate, form: Form, usual: Method | None = None) -> str | None:
    """Write the interval of an estimate as ``4.75 to 19.26``, or as ``78.5 to 100.0, Wilson``.

    Wilson's interval is named, because it often stands among intervals of a bootstrap, where (almost) all tasks agree.
    So is the averaged interval of a mean of two figures.

    Args:
        found: The estimate.
        form: Writes one end.
        usual: The method of all intervals around it, which a title names, so that it need not be named here.

    Returns:
        The text; null where an end is not known.
    """
    if found.low is None or found.high is None:
        return None
    named = _NAMED.get(found.method) if found.method is not None and found.method != usual else None
    return f"{form(found.low)} to {form(found.high)}" + (f", {named}" if named else "")


def render_share(found: Estimate, unknown: str, digits: int = 1, usual: Method | None = None) -> str:
    """Return the estimate of a share as ``81.2 % (78.0 to 84.1)``.

    Args:
        found: An estimate between 0 and 1.
        unknown: The text where it has no value.
        digits: How many digits follow the point, in the share and in the ends of its interval.
        usual: As for ``render_interval``.
    """
    return render_estimate(
        found,
        lambda value: share(value, digits),
        lambda end: f"{100 * end:.{digits}f}",
        unknown=unknown,
        without="no interval",
        usual=usual,
    )
