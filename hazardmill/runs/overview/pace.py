"""How far a generation run is, between two commits of its waves as well."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from hazardmill.generation.acting.dialogue import Dialogue
from hazardmill.generation.watch import SilentWatch
from hazardmill.reporting.time_left import TimeLeft

if TYPE_CHECKING:
    from hazardmill.generation.extract import ExtractResult
    from hazardmill.generation.refine import DraftAttempt
    from hazardmill.llm.call_tally import CallTally
    from hazardmill.records import Record
    from hazardmill.runs.config import RunConfig


_SLOW: Final = 0.5
"""Records per second below which they are counted per minute."""


class RunPace(SilentWatch):
    """Follows the steps of all records, and estimates when the last of them will be done.

    A wave commits all its records at once, so that their number would say nothing for most of a run. A step therefore
    counts as half of what was left of its record, since it is not known how many drafts the record will take.

    What the ledger answers before the first request ends says nothing about the pace of requests: until then, the time
    left is unknown.

    Args:
        config: The configuration of the run.
        pending: Records that are not done yet.
        clock: Returns the time, in seconds.

    Attributes:
        done: How many records are done; those under way count in part.
        on_step: Called after each step of a record.
        tally: Counts the requests of this process; null if any step says something about the pace.
    """

    def __init__(self, config: RunConfig, pending: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.done = 0.0
        self.on_step: Callable[[], None] | None = None
        self.tally: CallTally | None = None
        self._of: dict[str, float] = {}
        """How much is done of each record under way, from 0 to 1."""
        self._dialogues = config.kind == "hazard_task"
        self._turns: dict[str, int] = {}
        self._clock, self._began = clock, clock()
        # Whoever answers requests that are sent together does so when it suits them, not at a pace.
        self._left = TimeLeft(pending, clock) if config.channel == "single" else None

    @property
    def rate_text(self) -> str:
        """The records done per second or minute so far, such as ``1.4 records/s``; empty before the first step."""
        seconds = self._clock() - self._began
        if not self.done or seconds <= 0:
            return ""
        rate = self.done / seconds
        return f"{rate:.1f} records/s" if rate >= _SLOW else f"{60 * rate:.1f} records/min"

    @property
    def text(self) -> str:
        """The time that is left, in words; empty while it is unknown."""
        return "" if self._left is None else self._left.text

    def on_record(self, record: Record) -> None:
        """Note how many turns a dialogue will have."""
        if self._dialogues:
            self._turns[record.record_id] = Dialogue.of(record).turns

    def on_extraction(self, record: Record, extraction: ExtractResult) -> None:
        """Count an extraction: without a danger, nothing is left to do."""
        self._advance(record.record_id, 1.0 if extraction.danger is None else 0.5)

    def on_draft(self, record: Record, attempt: DraftAttempt) -> None:
        """Count a draft, or a turn of a dialogue: after an accepted draft, nothing is left to do."""
        name = record.record_id
        if self._dialogues:
            self._advance(name, min(attempt.draft.number / max(self._turns[name], 1), 1.0))
        elif attempt.draft.accepted:
            self._advance(name, 1.0)
        else:
            self._advance(name, (1 + self._of.get(name, 0.0)) / 2)

    def commit(self, record_id: str) -> None:
        """Count a record that is committed."""
        self._advance(record_id, 1.0)
        del self._of[record_id]

    def _advance(self, record_id: str, share: float) -> None:
        before = self._of.get(record_id, 0.0)
        # Extraction may be asked again after a draft; then nothing is lost.
        self._of[record_id] = max(before, share)
        self.done += self._of[record_id] - before
        if self._left is not None:
            asks = self.tally is None or self.tally.requests > 0
            (self._left.update if asks else self._left.skip)(self.done)
        if self.on_step is not None:
            self.on_step()
