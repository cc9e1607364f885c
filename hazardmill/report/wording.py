"""Figures as words: counts, dollars, shares, sums with unknown parts, outcomes and reasons."""

from __future__ import annotations

import math
import textwrap
from typing import Final

from hazardmill.records import Outcome
from hazardmill.report.cost import Cost, Sum

UNKNOWN: Final = "unknown"
NONE: Final = "-"
"""Where there is nothing to say: a share of nothing, a price a task without tasks."""

_LONGEST: Final = 140
"""Characters of a sentence in a table."""

OUTCOME_WORDS: Final = {
    Outcome.ACCEPTED: "accepted",
    Outcome.NO_DANGER: "no danger in it",
    Outcome.EXTRACTION_FAILED: "extraction failed",
    Outcome.EXECUTION_FAILED: "execution failed",
    Outcome.QUALITY_FAILED: "quality failed",
    Outcome.DUPLICATE: "duplicate",
    Outcome.PENDING: "pending",
}


def count(number: int) -> str:
    """``12,345``."""
    return f"{number:,}"


def share(value: float | None) -> str:
    """``46.0 %``, or a dash for a share of nothing."""
    return NONE if value is None else f"{100 * value:.1f} %"


def usd(value: float | None) -> str:
    """``$0.0112``: two decimals, and below a dollar three significant figures."""
    if value is None:
        return UNKNOWN
    if value == 0 or value >= 1:
        return f"${value:,.2f}"
    return f"${value:.{min(2 - math.floor(math.log10(value)), 12)}f}"


def usd_sum(total: Sum) -> str:
    """``$1.20``; with unknown parts ``$1.20 + 3 unknown``."""
    return _with_unknown(total, usd(total.known))


def token_sum(total: Sum) -> str:
    """``1,200``; with unknown parts ``1,200 + 3 unknown``."""
    return _with_unknown(total, UNKNOWN if total.known is None else f"{total.known:,}")


def usd_per_task(cost: Cost) -> str:
    """USD a validated task; ``at least`` where a price behind it is unknown, a dash without tasks."""
    if not cost.accepted:
        return NONE
    return f"{'at least ' if cost.whole.unknown and cost.usd_per_task is not None else ''}{usd(cost.usd_per_task)}"


def reason(code: str | None) -> str:
    """A reason code as words, ``no_unsafe_plan`` as ``no unsafe plan``; a sentence stays one, cut if it is long."""
    if not code:
        return "no reason given"
    return textwrap.shorten(code, _LONGEST, placeholder=" ...") if " " in code else code.replace("_", " ")


def plural(number: int, noun: str) -> str:
    """``1 task``, ``1,200 tasks``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _with_unknown(total: Sum, known: str) -> str:
    if not total.unknown:
        return known
    return UNKNOWN if total.known is None else f"{known} + {total.unknown:,} unknown"
