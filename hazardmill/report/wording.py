"""Sums with unknown parts, prices, outcomes and reasons as words."""

from __future__ import annotations

import textwrap
from typing import Final

from hazardmill.records import Outcome
from hazardmill.report.cost import Cost, Sum
from hazardmill.reporting.numbers import NONE, UNKNOWN, usd

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


def _with_unknown(total: Sum, known: str) -> str:
    if not total.unknown:
        return known
    return UNKNOWN if total.known is None else f"{known} + {total.unknown:,} unknown"
