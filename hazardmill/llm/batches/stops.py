"""The errors with which a run stops because of its batches, in the words that its user reads."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from hazardmill.errors import RunStopped, RunWaiting
from hazardmill.llm.batches.sent import SentBatch
from hazardmill.reporting.numbers import duration


def waiting_for(batches: Iterable[SentBatch], now: datetime) -> RunWaiting:
    """Return the error of a run that waits for batches: which, how far and how old they are.

    Args:
        batches: The open batches.
        now: The time.
    """
    return RunWaiting(
        f"waiting for {'; '.join(_describe(batch, now) for batch in batches)}",
        remedy="look again later, or wait for the answers with --wait",
    )


def too_old(batch: SentBatch, now: datetime, max_age_s: float) -> RunStopped:
    """Return the error of a run whose batch is too old.

    Args:
        batch: The batch.
        now: The time.
        max_age_s: The age in seconds up to which batches are waited for.
    """
    return RunStopped(
        f"{_describe(batch, now)}, which is over the limit of {duration(max_age_s)}",
        remedy="look for it at the provider; if it hangs, cancel it there: its answers are then recorded, and the rest "
        "is sent again; or wait longer with a larger --batch-max-age",
    )


def lost(batch: SentBatch) -> RunStopped:
    """Return the error of a run that cannot find out whether a batch exists."""
    tell = f"hazardmill run batch {batch.name}"
    return RunStopped(
        f"it is not known whether {batch.model} has the batch {batch.name}: it was about to be created on "
        f"{batch.created_at:%Y-%m-%d %H:%M} UTC with {batch.requests} requests, and this provider does not list "
        "batches by name",
        remedy=f"look for it at the provider, then record what you found: `{tell} --is ID`, or `{tell} --none`",
    )


def _describe(batch: SentBatch, now: datetime) -> str:
    done = max(batch.requests - len(batch.lines), batch.seen or 0)
    where = "" if batch.place is None else f" {'in' if batch.channel == 'exchange' else 'at'} {batch.place}"
    return (
        f"{batch.channel} {batch.batch_id or batch.name}{where} ({done} of {batch.requests} requests are answered, "
        f"{duration(batch.age_s(now))} old)"
    )
