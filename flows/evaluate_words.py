"""What an evaluation measured, as Markdown."""

from __future__ import annotations

from typing import Final

from hazardmill.evaluation.metrics import Figures
from hazardmill.reporting.estimates import render_interval
from hazardmill.reporting.markdown import grid_markdown
from hazardmill.reporting.numbers import UNKNOWN, per_cent
from hazardmill.reporting.table import Grid
from hazardmill.statistics.estimate import Proportion

SHOWN: Final = ("F", "S", "SP", "SI", "SI_nonempty", "empty", "refused", "overcautious")
"""The rates that are shown; the message of the flow run has the first four."""


def in_words(title: str, found: list[Figures]) -> str:
    """Render the rates with their intervals, as Markdown."""
    rows = []
    for each in found:
        for name, rate in ((name, each.rates[name]) for name in SHOWN if each.rates[name].n):
            counted, interval = f"{rate.count:,} of {rate.n:,}", render_interval(rate, per_cent) or UNKNOWN
            rows.append((name, each.variant or "as released", share_of(rate), interval, counted))
    return grid_markdown(Grid(title, ("rate", "tasks", "value", "95 % interval", "answers"), tuple(rows), words=2))


def share_of(rate: Proportion) -> str:
    """Render a rate in percent."""
    return UNKNOWN if rate.value is None else per_cent(rate.value)
