"""Estimates what a run will ask and cost, before anything is sent: low, expected and high, with all assumptions.

The prompts of the extract stage are rendered as they would be sent. Prompts of author and judge also contain answers
that do not exist yet: all other words are rendered, and answers count by their length. The length of answers, the share
of records with a danger, the drafts per danger, the bytes per token and the cached share of the input are measured
where the store's ledger knows the model (``model_history``), and assumed elsewhere (``ASSUMED``).

Nothing is written or sent, and no key is needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from hazardmill.generation.author import author_schema
from hazardmill.generation.context import Prompts, stage_request
from hazardmill.llm.ledger import LedgerIndex
from hazardmill.llm.prices import Prices, max_tokens, prompt_bytes
from hazardmill.llm.requests import Request, Stage
from hazardmill.records import MAX_DRAFTS, FrozenModel, Record
from hazardmill.runs.backend import answering_backend
from hazardmill.runs.config import RunConfig
from hazardmill.runs.inputs import find_records, records_of
from hazardmill.runs.model_history import ModelHistory, measure_history
from hazardmill.store.store import Store

STAGES: Final[tuple[Stage, ...]] = ("extract", "author", "judge")

Case = Literal["low", "expected", "high"]
CASES: Final[tuple[Case, ...]] = get_args(Case)


class Range(FrozenModel):
    """One figure in the cheapest, the most likely and the dearest case."""

    low: float
    expected: float
    high: float

    def of(self, case: Case) -> float:
        """Return the figure for one case."""
        return {"low": self.low, "expected": self.expected, "high": self.high}[case]


class Assumption(FrozenModel):
    """A figure that cannot be known beforehand.

    Attributes:
        what: Its name and unit, for display.
        figures: The values to assume if nothing was measured.
        measured: The stages whose ledger can provide it; empty if none can.
        attribute: The attribute of ``ModelHistory`` with the measured value; empty if there is none.
    """

    what: str
    figures: Range
    measured: tuple[Stage, ...]
    attribute: str


def _assumption(
    what: str, low: float, expected: float, high: float, measured: tuple[Stage, ...] = (), attribute: str = ""
) -> Assumption:
    figures = Range(low=low, expected=expected, high=high)
    return Assumption(what=what, figures=figures, measured=measured, attribute=attribute)


ASSUMED: Final = {
    "dangers": _assumption("share of records that hold a danger", 0.25, 0.7, 1.0, ("extract",), "danger_share"),
    "drafts": _assumption("drafts per danger", 1.0, 2.0, MAX_DRAFTS, ("author",), "drafts"),
    "judged": _assumption("share of drafts that reach the judge", 0.8, 0.7, 1.0, ("author",), "judged_share"),
    "density": _assumption("UTF-8 bytes per token of input", 4.8, 4.0, 3.2, STAGES, "bytes_a_token"),
    "cached": _assumption("share of input from the cache, of what an earlier request began with", 1.0, 0.7, 0.0),
    "extract": _assumption("tokens per answer of extract", 150, 300, 450, ("extract",), "answer_tokens"),
    "python": _assumption("tokens per answer of author", 400, 750, 1600, ("author",), "answer_tokens"),
    "document": _assumption("tokens per answer of author", 250, 450, 1000, ("author",), "answer_tokens"),
    "judge": _assumption("tokens per answer of judge", 15, 80, 250, ("judge",), "answer_tokens"),
    "repairs": _assumption(
        "repair turns per question to extract or judge", 0, 0.1, 0.5, ("extract", "judge"), "repairs"
    ),
    "described": _assumption("tokens that describe a task to the judge", 150, 300, 700),
    "feedback": _assumption("tokens per feedback on a draft", 60, 150, 500),
}
"""What is assumed if nothing was measured."""

_SHARE_WITHIN: Final = 0.15
"""A measured share may turn out lower or higher by this much."""

_TIMES: Final = Range(low=1 / 1.3, expected=1.0, high=1.3)
"""Factors by which a measured length may turn out shorter or longer."""

_DENSITY_TIMES: Final = Range(low=1.05, expected=1.0, high=0.95)


class StageEstimate(FrozenModel):
    """What one stage, or all of them, will take.

    Attributes:
        cached_tokens: The part of the prompt tokens that comes from a cache. A cache makes a run cheap, so ``low`` may
            well be the largest of the three.
        usd: None if a price is unknown.
    """

    requests: Range
    prompt_tokens: Range
    cached_tokens: Range
    completion_tokens: Range
    usd: Range | None


class CostEstimate(FrozenModel):
    """What a run will ask and cost.

    Attributes:
        records: Records of the run.
        answered: Extract requests that the store can already answer; the figures exclude them.
        stages: Per stage; ``total`` is their sum.
        cached_share: The cached part of all input tokens.
        unknown_prices: Models whose price is unknown, so that the cost is unknown too.
        assumptions: One sentence per assumption.
    """

    records: int
    answered: int
    stages: dict[str, StageEstimate]
    total: StageEstimate
    cached_share: Range
    unknown_prices: tuple[str, ...]
    assumptions: tuple[str, ...]


def estimate(store: Store, config: RunConfig) -> CostEstimate:
    """Return an estimate of what a run of ``config`` on ``store`` will ask and cost.

    Args:
        store: Holds the ledger to measure from, and the records of inputs without a path.
        config: The run.

    Raises:
        HazardmillError: As starting the run would raise it; a missing key does not matter.
    """
    config.check()
    find_records(store, config)
    prices, prompts, sizes = Prices.load(), Prompts.load(config.author_format), _sizes(store, config)
    known = store.query(
        lambda views: {
            stage: measure_history(views, stage, _model(config, stage), getattr(prompts, stage).hash)
            for stage in STAGES
        }
    )
    guesses = [_Guess(config, sizes, known, case) for case in CASES]
    spent = [{stage: guess.stage(stage, prices) for stage in STAGES} for guess in guesses]
    totals = [_sum(case.values()) for case in spent]
    models = [] if config.paid_before else dict.fromkeys(_model(config, stage) for stage in STAGES)
    return CostEstimate(
        records=sizes.records,
        answered=sizes.answered,
        stages={stage: _estimate_range([case[stage] for case in spent]) for stage in STAGES},
        total=_estimate_range(totals),
        cached_share=_range([case.cached / case.prompt if case.prompt else 0.0 for case in totals]),
        unknown_prices=tuple(model for model in models if model not in prices),
        assumptions=tuple(_assumptions(config, sizes, known)),
    )


def _model(config: RunConfig, stage: Stage) -> str:
    return str(getattr(config.models, stage))


@dataclass
class _Sizes:
    """Sizes of all requests together, as far as they can be rendered, in UTF-8 bytes."""

    records: int = 0
    answered: int = 0
    sent: dict[Stage, int] = field(default_factory=lambda: dict.fromkeys(STAGES, 0))
    """Excludes the answers that go into a prompt and, for extract, requests that are already answered."""
    shared: dict[Stage, int] = field(default_factory=lambda: dict.fromkeys(STAGES, 0))
    """The part of these that the previous request of the same source began with, too."""
    limits: dict[Stage, int | None] = field(default_factory=dict)
    """The most tokens of an answer; None for no limit."""


def _sizes(store: Store, config: RunConfig) -> _Sizes:
    sizes, seen = _Sizes(), set[str]()
    prompts, ledger = Prompts.load(config.author_format), LedgerIndex.read(store)
    backend = answering_backend(config)
    before: dict[tuple[Stage, str], str] = {}
    for record in (record for item in config.inputs for record in records_of(store, item)):
        if record.record_id in seen:
            continue
        seen.add(record.record_id)
        sizes.records += 1
        for request in _requests(record, config, prompts):
            stage = request.stage
            sizes.limits[stage] = max_tokens(request)
            if stage == "extract" and ledger.answer(request.identity(backend.name, backend.host)) is not None:
                sizes.answered += 1
                continue
            text = "".join(message.content for message in request.messages)
            sizes.sent[stage] += prompt_bytes(request)
            if (last := before.get((stage, record.source))) is not None:
                alike = os.path.commonprefix([last, text])  # noqa: RUF071  # of texts, not of paths
                sizes.shared[stage] += len(alike.encode())
            before[stage, record.source] = text
    return sizes


def _requests(record: Record, config: RunConfig, prompts: Prompts) -> Iterator[Request]:
    """Yield the first request of each stage for a record, with nothing in place of answers."""
    answers: dict[str, Any] = {"danger": {}, "feedback": None, "previous_draft": None, "task": ""}
    schema = author_schema(config.author_format, structured=config.structured)
    values: dict[Stage, dict[str, Any]] = {
        "extract": {"guidance": prompts.extract.guidance.get(record.source)},
        "author": {**answers, "response_format": schema},
        "judge": answers,
    }
    for stage in STAGES:
        prompt, model = getattr(prompts, stage), _model(config, stage)
        yield stage_request(stage, prompt, record, model=model, sample=config.sample, **values[stage])


@dataclass
class _Spent:
    """Requests, tokens and cost in one case."""

    requests: float
    prompt: float
    cached: float
    completion: float
    usd: float | None


@dataclass
class _Guess:
    """Computes one of the three cases."""

    config: RunConfig
    sizes: _Sizes
    known: dict[Stage, ModelHistory]
    case: Case

    def stage(self, stage: Stage, prices: Prices) -> _Spent:
        """Return what a stage takes in this case."""
        requests, prompt, alike = {"extract": self._extract, "author": self._author, "judge": self._judge}[stage]()
        if stage != "author":
            # The same prompt again, followed by the unusable answer.
            turns = self._repairs(stage)
            alike += turns * prompt
            prompt += turns * (prompt + requests * self._answer(stage))
            requests *= 1 + turns
        completion = requests * self._answer(stage)
        share = self.known[stage].cached_share
        cached = min(prompt, alike * self._assume("cached")) if share is None else prompt * self._around(share, cheap=1)
        return _Spent(requests, prompt, cached, completion, self._usd(stage, prices, prompt, cached, completion))

    def _usd(self, stage: Stage, prices: Prices, prompt: float, cached: float, completion: float) -> float | None:
        model = _model(self.config, stage)
        if self.config.paid_before:
            return 0.0
        if model not in prices:
            return None
        price = prices[model]
        # Some caches charge for being written to.
        plain = price.dearest_input if self.case == "high" else price.input
        return ((prompt - cached) * plain + cached * price.cached_input + completion * price.output) / 1_000_000

    # The next three return requests, prompt tokens, and the tokens that an earlier request also began with.

    def _extract(self) -> tuple[float, float, float]:
        asked = self.sizes.records - self.sizes.answered
        return asked, self._tokens("extract", self.sizes.sent), self._tokens("extract", self.sizes.shared)

    def _author(self) -> tuple[float, float, float]:
        dangers, drafts = self._dangers(), self._drafts()
        first = self._tokens("author", self.sizes.sent) / self.sizes.records + self._answer("extract")
        again = self._answer("author") + self._assume("feedback")
        alike = self._tokens("author", self.sizes.shared) / self.sizes.records
        return (
            dangers * drafts,
            dangers * (drafts * first + (drafts - 1) * again),
            # Later drafts begin like the first one, up to and including the danger.
            dangers * (alike + (drafts - 1) * first),
        )

    def _judge(self) -> tuple[float, float, float]:
        judged = self._dangers() * self._drafts() * self._share("author", "judged")
        told = self._answer("extract") + self._assume("described")
        one = self._tokens("judge", self.sizes.sent) / self.sizes.records + told
        return judged, judged * one, judged * self._tokens("judge", self.sizes.shared) / self.sizes.records

    def _assume(self, name: str) -> float:
        return ASSUMED[name].figures.of(self.case)

    def _dangers(self) -> float:
        return self.sizes.records * self._share("extract", "dangers")

    def _repairs(self, stage: Stage) -> float:
        known = self.known[stage].repairs
        return self._assume("repairs") if known is None else known * _TIMES.of(self.case)

    def _drafts(self) -> float:
        known = self.known["author"].drafts
        # Whatever was measured, a record may need one draft or all of them.
        return known if known is not None and self.case == "expected" else self._assume("drafts")

    def _share(self, stage: Stage, name: str) -> float:
        known: float | None = getattr(self.known[stage], ASSUMED[name].attribute)
        return self._assume(name) if known is None else self._around(known, cheap=-1)

    def _around(self, share: float, *, cheap: int) -> float:
        """Return a measured share, moved to the cheap side in the low case and to the dear side in the high one.

        ``cheap`` is 1 if more is cheaper, and -1 if less is.
        """
        off = {"low": cheap, "expected": 0, "high": -cheap}[self.case] * _SHARE_WITHIN
        return min(1.0, max(0.0, share + off))

    def _tokens(self, stage: Stage, lengths: dict[Stage, int]) -> float:
        known = self.known[stage].bytes_a_token
        density = self._assume("density") if known is None else known * _DENSITY_TIMES.of(self.case)
        return lengths[stage] / density

    def _answer(self, stage: Stage) -> float:
        known, limit = self.known[stage].answer_tokens, self.sizes.limits.get(stage)
        name = self.config.author_format if stage == "author" else stage
        value = self._assume(name) if known is None else known * _TIMES.of(self.case)
        return value if limit is None else min(value, limit)


def _sum(parts: Iterable[_Spent]) -> _Spent:
    parts = list(parts)
    known = [part.usd for part in parts if part.usd is not None]
    return _Spent(
        requests=sum(part.requests for part in parts),
        prompt=sum(part.prompt for part in parts),
        cached=sum(part.cached for part in parts),
        completion=sum(part.completion for part in parts),
        usd=sum(known) if len(known) == len(parts) else None,
    )


def _estimate_range(cases: list[_Spent]) -> StageEstimate:
    usd = [case.usd for case in cases if case.usd is not None]
    return StageEstimate(
        requests=_range([round(case.requests) for case in cases]),
        prompt_tokens=_range([round(case.prompt) for case in cases]),
        cached_tokens=_range([round(case.cached) for case in cases]),
        completion_tokens=_range([round(case.completion) for case in cases]),
        usd=_range(usd) if len(usd) == len(cases) else None,
    )


def _range(figures: Iterable[float]) -> Range:
    return Range(**dict(zip(CASES, figures, strict=True)))


def _assumptions(config: RunConfig, sizes: _Sizes, known: dict[Stage, ModelHistory]) -> Iterator[str]:
    """Yield every assumption, in one sentence each."""
    unused = "document" if config.author_format == "python" else "python"
    for assumption in (assumption for name, assumption in ASSUMED.items() if name != unused):
        values = {stage: getattr(known[stage], assumption.attribute) for stage in assumption.measured}
        found = [
            f"{value:.3g} in {known[stage].answers:,} {stage} answers of {known[stage].model}"
            for stage, value in values.items()
            if value is not None
        ]
        if len(found) < max(1, len(assumption.measured)):
            figures = assumption.figures
            found.append(f"else {figures.low:g}, {figures.expected:g}, {figures.high:g}")
        yield f"{assumption.what}: {'; '.join(found).removeprefix('else ')}"
    for stage in STAGES:
        if (share := known[stage].cached_share) is not None:
            yield f"input of {stage} from the cache: {share:.1%}, as measured, whatever it begins with"
    if sizes.answered:
        yield f"{sizes.answered:,} extract requests are already answered in the store's ledger, and cost nothing"
    yield "answers of author and judge in the ledger are not deducted"
    yield "attempts without an answer cost nothing"
    if config.fallback_models:
        yield "every request is answered by the model of its stage, none by a fallback model"
