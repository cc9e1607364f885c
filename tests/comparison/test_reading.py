from __future__ import annotations

import duckdb

from hazardmill.comparison.load import _latencies


def test_seconds_are_those_of_the_first_answer_that_was_waited_for() -> None:
    views = duckdb.connect()
    views.execute(
        "CREATE TABLE llm_calls"
        ' (identity TEXT, answered BOOL, usd DOUBLE, usd_upper DOUBLE, latency_s DOUBLE, "at" INT)'
    )
    views.executemany(
        "INSERT INTO llm_calls VALUES (?, ?, ?, ?, ?, ?)",
        [
            ("priced", True, 0.25, 0.5, 3.0, 1),
            # Replayed: it has the price of the answer, but none was paid, and nobody waited.
            ("priced", True, 0.25, 0.0, 0.001, 0),
            ("priced", True, 0.25, 0.5, 4.0, 2),
            # No price is known, and none is nought.
            ("unpriced", True, None, None, 5.0, 1),
            ("free", True, 0.0, 0.0, 6.0, 1),
            ("failed", False, None, 0.5, 7.0, 1),
            ("only replayed", True, 0.25, 0.0, 0.001, 1),
        ],
    )
    asked = ["priced", "unpriced", "free", "failed", "only replayed"]
    assert _latencies(views, asked) == {"priced": 3.0, "unpriced": 5.0, "free": 6.0}
    assert _latencies(views, []) == {}
