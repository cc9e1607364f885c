"""What requests take in one case: tokens, the part of them that a cache knows, and what they cost in either way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hazardmill.llm.prices import Prices, TokenPrices
from hazardmill.records import FrozenModel
from hazardmill.runs.estimates.assumptions import ASSUMED, ASSUMED_IN_BATCHES, CASES, Assumption, Case, Range
from hazardmill.runs.estimates.model_history import ModelHistory

TIMES: Final = Range(low=1 / 1.3, expected=1.0, high=1.3)
"""Factors by which a measured length may turn out shorter or longer."""

_DENSITY_TIMES: Final = Range(low=1.05, expected=1.0, high=0.95)

_SHARE_WITHIN: Final = 0.15
"""A measured share may turn out lower or higher by this much."""


class StageEstimate(FrozenModel):
    """What one stage, or all of them, will take.

    Attributes:
        cached_tokens: The part of the prompt tokens that comes from a cache. A cache makes a run cheap, so ``low`` may
            well be the largest of the three.
        usd: Cost of single requests; None if a price is unknown.
        batch_usd: Cost in batches; None if a price inside a batch is unknown, or if a provider takes no batches.
    """

    requests: Range
    prompt_tokens: Range
    cached_tokens: Range
    completion_tokens: Range
    usd: Range | None
    batch_usd: Range | None = None


@dataclass
class RequestTokens:
    """What a stage asks in one case, repair turns excluded."""

    requests: float
    prompt: float
    alike: float
    """Tokens that an earlier request began with, too."""
    alike_in_batch: float
    """Those of them that a request about another record began with: earlier drafts were rounds, so hours, ago."""


@dataclass
class Spending:
    """Requests, tokens and cost in one case."""

    requests: float
    prompt: float
    cached: float
    completion: float
    usd: float | None
    batch_usd: float | None


@dataclass(frozen=True)
class Pricing:
    """What decides the cost of requests to a model in one case.

    Attributes:
        prices: The known prices.
        model: The model.
        case: The case.
        is_free: Whether everything was paid for before.
    """

    prices: Prices
    model: str
    case: Case
    is_free: bool

    def spend(self, asked: RequestTokens, answer: float, cached_share: float | None) -> Spending:
        """Return what requests take.

        Args:
            asked: The requests.
            answer: Tokens per answer.
            cached_share: The measured part of the input that comes from a cache; None if nothing was measured.
        """
        prompt, completion = asked.prompt, asked.requests * answer
        cached = min(prompt, asked.alike * ASSUMED["cached"].figures.of(self.case))
        if cached_share is not None:
            cached = prompt * move_share(cached_share, self.case, cheap=1)
        shared = asked.alike_in_batch / asked.alike if asked.alike else 0.0
        in_batch = cached * shared * ASSUMED_IN_BATCHES["cached"].figures.of(self.case)
        single = self._usd(self.prices.find(self.model), prompt, cached, completion)
        batch = self._usd(self.prices.find(self.model, batch=True), prompt, in_batch, completion)
        return Spending(asked.requests, prompt, cached, completion, single, batch)

    def _usd(self, price: TokenPrices | None, prompt: float, cached: float, completion: float) -> float | None:
        if self.is_free:
            return 0.0
        if price is None:
            return None
        # Some caches charge for being written to.
        plain = price.dearest_input if self.case == "high" else price.input
        return ((prompt - cached) * plain + cached * price.cached_input + completion * price.output) / 1_000_000


def move_share(share: float, case: Case, *, cheap: int) -> float:
    """Return a measured share, moved to the cheap side in the low case and to the dear side in the high one.

    Args:
        share: The share.
        case: The case.
        cheap: 1 if more is cheaper, and -1 if less is.
    """
    off = {"low": cheap, "expected": 0, "high": -cheap}[case] * _SHARE_WITHIN
    return min(1.0, max(0.0, share + off))


def bytes_per_token(known: ModelHistory, case: Case) -> float:
    """Return the UTF-8 bytes per token of input, as measured or else as assumed."""
    measured = known.bytes_a_token
    return ASSUMED["density"].figures.of(case) if measured is None else measured * _DENSITY_TIMES.of(case)


def seconds_per_answer(known: ModelHistory, case: Case) -> float:
    """Return the seconds per answer to a single request, as measured or else as assumed."""
    measured = known.answer_seconds
    return ASSUMED["seconds"].figures.of(case) if measured is None else measured * TIMES.of(case)


def tokens_per_answer(known: ModelHistory, assumption: Assumption, case: Case, limit: int | None) -> float:
    """Return the tokens per answer, as measured or else as assumed.

    Args:
        known: What was measured.
        assumption: What else is assumed.
        case: The case.
        limit: The most tokens of an answer; None for no limit.
    """
    measured = known.answer_tokens
    value = assumption.figures.of(case) if measured is None else measured * TIMES.of(case)
    return value if limit is None else min(value, limit)


def sum_spending(parts: Iterable[Spending]) -> Spending:
    """Return the sum of what several stages take; a cost is None if one of theirs is."""
    parts = list(parts)
    return Spending(
        requests=sum(part.requests for part in parts),
        prompt=sum(part.prompt for part in parts),
        cached=sum(part.cached for part in parts),
        completion=sum(part.completion for part in parts),
        usd=_sum_known([part.usd for part in parts]),
        batch_usd=_sum_known([part.batch_usd for part in parts]),
    )


def _sum_known(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def estimate_range(cases: list[Spending]) -> StageEstimate:
    """Return what is spent in each case as ranges; requests and tokens are whole numbers."""
    return StageEstimate(
        requests=range_of([round(case.requests) for case in cases]),
        prompt_tokens=range_of([round(case.prompt) for case in cases]),
        cached_tokens=range_of([round(case.cached) for case in cases]),
        completion_tokens=range_of([round(case.completion) for case in cases]),
        usd=_known_range([case.usd for case in cases]),
        batch_usd=_known_range([case.batch_usd for case in cases]),
    )


def cached_range(cases: list[Spending]) -> Range:
    """Return the cached part of all input tokens in each case."""
    return range_of([case.cached / case.prompt if case.prompt else 0.0 for case in cases])


def _known_range(figures: list[float | None]) -> Range | None:
    known = [figure for figure in figures if figure is not None]
    return range_of(known) if len(known) == len(figures) else None


def range_of(figures: Iterable[float]) -> Range:
    """Return one figure in each case, given in the order of the cases."""
    return Range(**dict(zip(CASES, figures, strict=True)))


def assumption_in_words(assumption: Assumption, known: Mapping[str, ModelHistory]) -> str:
    """Return an assumption as a sentence: what was measured, and what else is assumed.

    Args:
        assumption: The assumption.
        known: What was measured, by stage.
    """
    values = {stage: getattr(known[stage], assumption.attribute) for stage in assumption.measured if stage in known}
    found = [
        f"{value:.3g} in {known[stage].answers:,} {stage} answers of {known[stage].model}"
        for stage, value in values.items()
        if value is not None
    ]
    if len(found) < max(1, len(values)):
        figures = assumption.figures
        found.append(f"else {figures.low:g}, {figures.expected:g}, {figures.high:g}")
    return f"{assumption.what}: {'; '.join(found).removeprefix('else ')}"
