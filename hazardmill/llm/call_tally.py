"""What the requests of a run have cost so far, for people who watch it; the ledger has the exact account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hazardmill.reporting.numbers import plural, usd


class CallTally:
    """A running total over the attempts of a run, by the rules of ``runs.status``.

    Attributes:
        known_usd: US dollars of the attempts whose cost is known.
        unknown: Number of attempts whose cost is unknown.
        requests: Number of attempts of this process that have ended.
        fallbacks: Answers that this process got from another model than the one that was to be asked first.
    """

    def __init__(self) -> None:
        self.known_usd = 0.0
        self.unknown = 0
        self.requests = 0
        self.fallbacks = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Count an attempt that has ended.

        Args:
            row: Its row in the table ``llm_calls``, with at least ``answered``, ``usd`` and ``usd_upper``.
        """
        # Turned away, or replayed from the ledger of an earlier run.
        if row["usd_upper"] == 0.0:
            return
        if row["usd"] is None:
            self.unknown += 1
        else:
            self.known_usd += row["usd"]

    @property
    def usd_text(self) -> str:
        """The cost in words, such as ``$0.42`` or ``at least $0.42``; empty as long as nothing was paid."""
        if not self.known_usd and not self.unknown:
            return ""
        if not self.known_usd:
            return f"cost of {plural(self.unknown, 'request')} unknown"
        return f"{'at least ' if self.unknown else ''}{usd(self.known_usd)}"
