"""The progress of a run: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from hazardmill.llm.call_tally import CallTally
from hazardmill.llm.client import Retry
from hazardmill.records import Outcome
from hazardmill.runs.overview.pace import RunPace

_EVERY_S = 3.0
_LONGEST_REASON = 200


class RunProgress:
    """Shows how many records are done, by outcome, on standard error.

    A context manager, to be called after each record, as ``OnRecord`` is.

    Args:
        total: Records of the run.
        quiet: Whether to print nothing.
        pace: What follows the steps of the records, for the time that is left; null to count records only.

    Attributes:
        tally: What the run has spent; null to leave it out.
    """

    def __init__(self, total: int, *, quiet: bool = False, pace: RunPace | None = None) -> None:
        self._total = total
        self._pace = pace
        self.tally: CallTally | None = None
        if pace is not None:
            pace.on_step = self._show_step
        self._counts: Counter[str] = Counter()
        self._console = Console(stderr=True, quiet=quiet)
        self._last = time.monotonic()
        self._told: float | None = None
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        if self._console.is_terminal and not quiet:
            self._bar = Progress(
                TextColumn("milling"),
                BarColumn(),
                TextColumn("{task.fields[ended]}/{task.total:.0f}"),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
                *([] if pace is None else [_TimeLeftColumn(pace)]),
                console=self._console,
            )

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("", total=self._total, ended=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif not self._console.quiet:
            self._say(last=True)

    def __call__(self, record_id: str, outcome: Outcome) -> None:
        """Count a finished record."""
        self._counts[outcome.value] += 1
        if self._pace is None:
            self._show_step()
        else:
            self._pace.commit(record_id)

    def _show_step(self) -> None:
        if self._bar is not None and self._task is not None:
            ended = sum(self._counts.values())
            # Records of a wave are committed together: without those under way, the bar would stand still until then.
            done = ended if self._pace is None else self._pace.done
            self._bar.update(self._task, completed=done, ended=ended, description=self._summary())
        elif time.monotonic() - self._last >= _EVERY_S:
            self._last = time.monotonic()
            if not self._console.quiet:
                self._say()

    def on_retry(self, retry: Retry) -> None:
        """Report that a request waits for another attempt, and why: at most one line every few seconds."""
        now = time.monotonic()
        if self._console.quiet or (self._told is not None and now - self._told < _EVERY_S):
            return
        self._told = now
        reason = " ".join(retry.error.message.split())
        if len(reason) > _LONGEST_REASON:
            reason = f"{reason[:_LONGEST_REASON]}..."
        most = "" if retry.max_attempts is None else f" of {retry.max_attempts}"
        text = f"attempt {retry.attempt}{most} in {retry.wait_s:.0f} s: {reason}"
        with contextlib.suppress(BrokenPipeError):
            if self._bar is not None:
                self._console.print(text, markup=False, highlight=False)
            else:
                print(text, file=sys.stderr, flush=True)

    def _say(self, *, last: bool = False) -> None:
        # A reader that has gone away is no reason to stop a run.
        with contextlib.suppress(BrokenPipeError):
            # The last line stands when nothing more will be done, even if records are left.
            left = f"; {self._pace.text}" if not last and self._pace is not None and self._pace.text else ""
            done = f"{sum(self._counts.values())}/{self._total} records: {self._summary()}"
            print(f"{done}{left}", file=sys.stderr, flush=True)

    def _summary(self) -> str:
        """Return the outcomes so far, and what was spent."""
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self._counts.items())) or "none yet"
        spent = "" if self.tally is None else self.tally.usd_text
        return f"{counts}; {spent}" if spent else counts


class _TimeLeftColumn(ProgressColumn):
    """Shows the time that is left, which changes while nothing gets done too."""

    max_refresh = 1.0

    def __init__(self, pace: RunPace) -> None:
        super().__init__()
        self._pace = pace

    def render(self, task: Task) -> Text:
        return Text(self._pace.text)
