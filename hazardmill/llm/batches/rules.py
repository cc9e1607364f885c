"""How a run sends its batches, and how long it waits for them."""

from __future__ import annotations

from dataclasses import dataclass

from hazardmill.llm.ledger import Channel


@dataclass(frozen=True)
class BatchRules:
    """How a run sends its batches, and how long it waits for them.

    Attributes:
        channel: ``batch`` or ``exchange``.
        place: Address of the provider, or the exchange folder; null is the provider's own address.
        fallbacks: Models that are asked the ordinary way if a line's own model cannot answer.
        max_age_s: Age of a batch, in seconds, from which on waiting for it makes no sense any more.
        wait: Whether to wait until answers are there, instead of ending the process.
        first_pause_s: Seconds until the first look at a batch; later pauses grow up to ``last_pause_s``.
    """

    channel: Channel = "batch"
    place: str | None = None
    fallbacks: tuple[str, ...] = ()
    max_age_s: float = 48 * 3600.0
    wait: bool = False
    first_pause_s: float = 5.0
    last_pause_s: float = 300.0
