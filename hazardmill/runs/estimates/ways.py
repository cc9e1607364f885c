"""Compares the two ways in which a run can ask: by single requests, and in batches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, Literal

from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import MAX_REPAIRS, Stage
from hazardmill.records import MAX_DRAFTS, FrozenModel
from hazardmill.runs.estimates.assumptions import ASSUMED_IN_BATCHES, CASES, Case, Range
from hazardmill.runs.waves import AT_ONCE, wave_size

Way = Literal["single", "batch"]

BatchOffer = Literal["priced", "unpriced", "none"]
"""``priced``: the price inside a batch is known. ``unpriced``: it is not. ``none``: the provider takes no batches."""

_HALF_A_RECORD: Final = 0.5
"""Fewer records than this are taken to be none."""


class ModelWays(FrozenModel):
    """What the requests to one model cost in each way.

    Attributes:
        model: The model.
        stages: The stages that ask it.
        batches: Whether its provider takes batches, and at a known price.
        cache_holds: Whether cached input is cheaper than other input inside a batch, too; null without a price there.
        usd: Cost of single requests, in USD; null if a price is unknown.
        batch_usd: Cost in batches, in USD; null if a price is unknown, or if there are no batches.
        cheaper: The way that is cheaper in the expected case; null if a cost is unknown or both cost the same.
    """

    model: str
    stages: tuple[Stage, ...]
    batches: BatchOffer
    cache_holds: bool | None
    usd: Range | None
    batch_usd: Range | None
    cheaper: Way | None

    @property
    def holds_always(self) -> bool:
        """Whether the cheaper way is the same in the low, the expected and the high case."""
        if self.usd is None or self.batch_usd is None:
            return False
        return all(_cheaper(self.usd.of(case), self.batch_usd.of(case)) == self.cheaper for case in CASES)


def compare_ways(
    model: str, stages: tuple[Stage, ...], usd: Range | None, batch_usd: Range | None, prices: Prices
) -> ModelWays:
    """Return what the requests to one model cost in each way, and which is cheaper.

    Args:
        model: The model.
        stages: The stages that ask it.
        usd: What all these stages cost as single requests.
        batch_usd: What they cost in batches.
        prices: The known prices.
    """
    inside = prices.find(model, batch=True)
    offer: BatchOffer = "none" if model in prices and prices[model].has_no_batches else "unpriced"
    return ModelWays(
        model=model,
        stages=stages,
        batches=offer if inside is None else "priced",
        cache_holds=None if inside is None else inside.has_cache_discount,
        usd=usd,
        batch_usd=batch_usd,
        cheaper=None if usd is None or batch_usd is None else _cheaper(usd.expected, batch_usd.expected),
    )


def _cheaper(single: float, batch: float) -> Way | None:
    if single == batch:
        return None
    return "batch" if batch < single else "single"


def batch_rounds(
    records: float, dangers: float, drafts: float, repairs: dict[Stage, float], *, sent_back: bool = False
) -> int:
    """Return how many batches follow one after the other, until the slowest record is finished.

    A round begins when the last answer of the one before has come: first extraction, then author and judge for each
    draft. Records are left for another draft, and questions for another repair turn, as a constant share of those
    before; fewer than half a record is none.

    Args:
        records: Records to extract from; may be 0.
        dangers: Records that then have a danger.
        drafts: Drafts per danger, at least 1.
        repairs: Repair turns per question, of the stages that have them.
        sent_back: Whether judges reject dangers, so that every further draft waits for another extraction.
    """
    total = _asked(records, repairs["extract"], MAX_REPAIRS) if records else 0
    left, again = dangers, 1 - 1 / drafts
    for draft in range(_asked(dangers, again, MAX_DRAFTS - 1)):
        labelled = _asked(left, repairs["classify"], MAX_REPAIRS) if "classify" in repairs else 0
        total += 1 + _asked(left, repairs["judge"], MAX_REPAIRS) + labelled + (sent_back and draft > 0)
        left *= again
    return total


def _asked(questions: float, again: float, most: int) -> int:
    """How often the slowest of some questions is asked, if a share of them is asked again each time."""
    if questions < _HALF_A_RECORD:
        return 0
    turns = 0
    while turns < most and questions * again >= _HALF_A_RECORD:
        turns += 1
        questions *= again
    return 1 + turns


def batch_hours(rounds: int, records: int, size: int | None, case: Case) -> float:
    """Return how many hours the batches of a run are likely to take.

    Args:
        rounds: Batches of one wave, one after the other.
        records: Records of the run.
        size: Records per wave; None for the usual size.
        case: Decides how long a round takes.
    """
    waves = math.ceil(records / (size or wave_size(records)))
    return math.ceil(waves / AT_ONCE) * rounds * ASSUMED_IN_BATCHES["hours"].figures.of(case)


def single_hours(
    requests: float, seconds: float, tokens: float, *, concurrency: int, rpm: int | None, tpm: int | None
) -> float:
    """Return how many hours single requests are likely to take; time between them is not counted.

    Args:
        requests: All requests.
        seconds: Seconds that they take together.
        tokens: Tokens in and out, of all of them.
        concurrency: Requests under way at once.
        rpm: The most requests per minute; None for no limit.
        tpm: The most tokens per minute; None for no limit.
    """
    minutes = [seconds / concurrency / 60]
    minutes += [requests / rpm] if rpm else []
    minutes += [tokens / tpm] if tpm else []
    return max(minutes) / 60


def batch_assumptions() -> Iterator[str]:
    """Yield what is assumed of batches, in one sentence each, with where it comes from."""
    for assumption in ASSUMED_IN_BATCHES.values():
        figures = assumption.figures
        yield f"{assumption.what}: {figures.low:g}, {figures.expected:g}, {figures.high:g} ({assumption.basis})"
    yield "a round of batches begins when the slowest answer of the one before has come"
