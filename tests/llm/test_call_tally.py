from __future__ import annotations

from typing import Any

import pytest

from hazardmill.llm.call_tally import CallTally

PAID: dict[str, Any] = {"answered": True, "usd": 0.25, "usd_upper": 0.25}
UNPRICED: dict[str, Any] = {"answered": True, "usd": None, "usd_upper": 0.5}
CUT_OFF: dict[str, Any] = {"answered": False, "usd": None, "usd_upper": 0.5}
TURNED_AWAY: dict[str, Any] = {"answered": False, "usd": None, "usd_upper": 0.0}
REPLAYED: dict[str, Any] = {"answered": True, "usd": 0.25, "usd_upper": 0.0}
FREE: dict[str, Any] = {"answered": True, "usd": 0.0, "usd_upper": 0.0}


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([], ""),
        ([REPLAYED], ""),
        ([TURNED_AWAY], ""),
        ([FREE], ""),
        ([PAID, PAID, REPLAYED, TURNED_AWAY], "$0.500"),
        ([PAID, UNPRICED], "at least $0.250"),
        ([UNPRICED, CUT_OFF], "cost of 2 requests unknown"),
    ],
)
def test_the_cost_is_said_with_what_is_unknown_of_it(rows: list[dict[str, Any]], text: str) -> None:
    tally = CallTally()
    for row in rows:
        tally.add(row)
    assert tally.usd_text == text
