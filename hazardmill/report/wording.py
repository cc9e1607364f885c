"""Write sums with unknown parts, prices, outcomes and reasons as text."""

from __future__ import annotations

import textwrap
from typing import Final

from hazardmill.records import Outcome
from hazardmill.report.cost import Cost, Sum
from hazardmill.reporting.numbers import NONE, UNKNOWN, usd

_LONGEST: Final = 140
"""Longest sentence in a table, in characters."""

OUTCOME_WORDS: Final = {
    Outcome.ACCEPTED: "accepted",
    Outcome.NO_DANGER: "no danger in it",
    Outcome.EXTRACTION_FAILED: "extraction failed",
    Outcome.EXECUTION_FAILED: "execution failed",
    Outcome.QUALITY_FAILED: "quality failed",
    Outcome.DUPLICATE: "duplicate",
    Outcome.PENDING: "pending",
}


def usd_sum(total: Sum) -> str:
    """Write a sum of dollars as ``$1.20``, or ``$1.20 + 3 unknown`` if it has unknown parts."""
    return _with_unknown(total, usd(total.known))


def token_sum(total: Sum) -> str:
    """Write a sum of tokens as ``1,200``, or ``1,200 + 3 unknown`` if it has unknown parts."""
    return _with_unknown(total, UNKNOWN if total.known is None else f"{total.known:,}")


def usd_per_task(cost: Cost) -> str:
    """Write the price per validated task: ``at least`` if an unknown price is behind it, a dash without tasks."""
    if not cost.accepted:
        return NONE
    return f"{'at least ' if cost.whole.unknown and cost.usd_per_task is not None else ''}{usd(cost.usd_per_task)}"


def reason(code: str | None) -> str:
    """Return a reason code as words, such as ``no unsafe plan`` for ``no_unsafe_plan``.

    Args:
        code: A code, or a sentence, which is only cut if it is long; null and empty: "no reason given".
    """
    if not code:
        return "no reason given"
    return textwrap.shorten(code, _LONGEST, placeholder=" ...") if " " in code else code.replace("_", " ")


def _with_unknown(total: Sum, known: str) -> str:
    if not total.unknown:
        return known
    return UNKNOWN if total.known is None else f"{known} + {total.unknown:,} unknown"
