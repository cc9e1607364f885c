"""Estimates what a run will ask and cost, before anything is sent: low, expected and high, with all assumptions.

Each figure of money is given for single requests and for batches (``hazardmill.runs.estimates.ways``).

The prompts of the extract stage are rendered as they would be sent. Prompts of author and judge also contain answers
that do not exist yet: all other words are rendered, and answers count by their length. The length of answers, the share
of records with a danger, the drafts per danger, the bytes per token and the cached share of the input are measured
where the store's ledger knows the model (``model_history``), and assumed elsewhere (``ASSUMED``).

Nothing is written or sent, and no key is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hazardmill.generation.context import Prompts
from hazardmill.llm.charged_prices import charged_prices
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import Stage
from hazardmill.records import FrozenModel
from hazardmill.runs.config import RunConfig
from hazardmill.runs.estimates.assumptions import ASSUMED, CASES, Case, Range
from hazardmill.runs.estimates.model_history import HISTORY_TABLES, ModelHistory, measure_history
from hazardmill.runs.estimates.sizes import PromptSizes, measure_sizes, model_of, stages_of
from hazardmill.runs.estimates.spending import (
    TIMES,
    Pricing,
    RequestTokens,
    Spending,
    StageEstimate,
    assumption_in_words,
    bytes_per_token,
    cached_range,
    estimate_range,
    move_share,
    range_of,
    seconds_per_answer,
    sum_spending,
    tokens_per_answer,
)
from hazardmill.runs.estimates.ways import (
    ModelWays,
    batch_assumptions,
    batch_hours,
    batch_rounds,
    compare_ways,
    single_hours,
)
from hazardmill.runs.inputs import find_records
from hazardmill.store.store import Store


class CostEstimate(FrozenModel):
    """What a run will ask and cost.

    Attributes:
        records: Records of the run, or dialogues.
        answered: Extract requests that the store can already answer; the figures exclude them.
        stages: Per stage; ``total`` is their sum.
        cached_share: The cached part of all input tokens.
        unknown_prices: Models whose price is unknown, so that the cost is unknown too.
        ways: Per model, what single requests and batches cost; empty if nothing is sent.
        hours: Likely time of the single requests, without the work between them; None if nothing is sent.
        batch_rounds: Batches that follow one after the other; None like ``batch_hours``.
        batch_hours: Likely time of the batches; None if nothing is sent, or if a provider is known to take none.
        assumptions: One sentence per assumption.
    """

    records: int
    answered: int
    stages: dict[str, StageEstimate]
    total: StageEstimate
    cached_share: Range
    unknown_prices: tuple[str, ...]
    ways: tuple[ModelWays, ...]
    hours: Range | None
    batch_rounds: Range | None
    batch_hours: Range | None
    assumptions: tuple[str, ...]


def estimate(store: Store, config: RunConfig, prices: Prices | None = None) -> CostEstimate:
    """Return an estimate of what a run of ``config`` on ``store`` will ask and cost.

    Args:
        store: Holds the ledger to measure from, and the records of inputs without a path.
        config: The run.
        prices: The known prices; by default those that come with hazardmill.

    Raises:
        HazardmillError: As starting the run would raise it; a missing key does not matter.
    """
    config.check()
    find_records(store, config)
    prices = charged_prices(config, prices or Prices.load())
    prompts = Prompts.load(config.author_format, config.kind, config.source_names, config.prompts)
    sizes = measure_sizes(store, config)
    known = store.query(
        lambda views: {
            stage: measure_history(views, stage, model_of(config, stage), getattr(prompts, stage).hash)
            for stage in stages_of(config)
        },
        HISTORY_TABLES,
    )
    guesses = [_Guess(config, sizes, known, case) for case in CASES]
    spent = [{stage: guess.stage(stage, prices) for stage in stages_of(config)} for guess in guesses]
    totals = [sum_spending(case.values()) for case in spent]
    # The offline author is no provider, and has neither a time worth telling nor batches.
    asked = [] if config.backend != "litellm" else dict.fromkeys(model_of(config, stage) for stage in stages_of(config))
    ways = tuple(_ways(model, config, spent, prices) for model in asked)
    has_batches = bool(ways) and all(each.batches != "none" for each in ways)
    return CostEstimate(
        records=sizes.records,
        answered=sizes.answered,
        stages={stage: estimate_range([case[stage] for case in spent]) for stage in stages_of(config)},
        total=estimate_range(totals),
        cached_share=cached_range(totals),
        unknown_prices=tuple(model for model in _priced(config) if model not in prices),
        ways=ways,
        hours=range_of([guess.hours(case) for guess, case in zip(guesses, spent, strict=True)]) if ways else None,
        batch_rounds=range_of([guess.rounds() for guess in guesses]) if has_batches else None,
        batch_hours=range_of([guess.batch_hours() for guess in guesses]) if has_batches else None,
        assumptions=(*_assumptions(config, sizes, known), *(batch_assumptions() if has_batches else ())),
    )


def _priced(config: RunConfig) -> Iterable[str]:
    """The models whose price matters."""
    return () if config.paid_before else dict.fromkeys(model_of(config, stage) for stage in stages_of(config))


def _ways(model: str, config: RunConfig, spent: list[dict[Stage, Spending]], prices: Prices) -> ModelWays:
    stages = tuple(stage for stage in stages_of(config) if model_of(config, stage) == model)
    both = estimate_range([sum_spending(case[stage] for stage in stages) for case in spent])
    return compare_ways(model, stages, both.usd, both.batch_usd, prices)


@dataclass
class _Guess:
    """Computes one of the three cases."""

    config: RunConfig
    sizes: PromptSizes
    known: dict[Stage, ModelHistory]
    case: Case

    def stage(self, stage: Stage, prices: Prices) -> Spending:
        """Return what a stage takes in this case."""
        by_stage = {
            "extract": self._extract,
            "author": self._author,
            "judge": self._judge,
            "classify": self._classify,
        }
        asked = by_stage[stage]()
        if stage != "author":
            # The same prompt again, followed by the unusable answer.
            turns = self._repairs(stage)
            asked = RequestTokens(
                requests=asked.requests * (1 + turns),
                prompt=asked.prompt * (1 + turns) + turns * asked.requests * self._answer(stage),
                alike=asked.alike + turns * asked.prompt,
                alike_in_batch=asked.alike_in_batch * (1 + turns),
            )
        pricing = Pricing(prices, model_of(self.config, stage), self.case, self.config.paid_before)
        return pricing.spend(asked, self._answer(stage), self.known[stage].cached_share)

    def rounds(self) -> int:
        """Return the batches of the slowest record, one after the other."""
        extracted = self.sizes.records - self.sizes.answered if self.config.kind == "task" else 0
        repairs = {stage: self._repairs(stage) for stage in stages_of(self.config)}
        return batch_rounds(extracted, self._dangers(), self._drafts(), repairs, sent_back=self.case == "high")

    def batch_hours(self) -> float:
        """Return the likely time of all batches."""
        return batch_hours(self.rounds(), self.sizes.records, self.config.wave_size, self.case)

    def hours(self, spent: dict[Stage, Spending]) -> float:
        """Return the likely time of single requests.

        Args:
            spent: What each stage takes in this case.
        """
        config = self.config
        return single_hours(
            sum(each.requests for each in spent.values()),
            sum(each.requests * seconds_per_answer(self.known[stage], self.case) for stage, each in spent.items()),
            sum(each.prompt + each.completion for each in spent.values()),
            concurrency=config.concurrency,
            rpm=config.requests_per_minute,
            tpm=config.tokens_per_minute,
        )

    def _extract(self) -> RequestTokens:
        asked, alike = self.sizes.records - self.sizes.answered, self._tokens("extract", self.sizes.shared)
        return RequestTokens(asked, self._tokens("extract", self.sizes.sent), alike, alike)

    def _author(self) -> RequestTokens:
        dangers, drafts = self._dangers(), self._drafts()
        first = self._tokens("author", self.sizes.sent) / self.sizes.records + self._extracted()
        again = self._answer("author") + self._assume("feedback")
        alike = self._tokens("author", self.sizes.shared) / self.sizes.records
        return RequestTokens(
            requests=dangers * drafts,
            prompt=dangers * (drafts * first + (drafts - 1) * again),
            # Later drafts begin like the first one, up to and including the danger.
            alike=dangers * (alike + (drafts - 1) * first),
            alike_in_batch=dangers * drafts * alike,
        )

    def _judge(self) -> RequestTokens:
        judged = self._judged()
        told = self._extracted() + self._assume("described")
        one = self._tokens("judge", self.sizes.sent) / self.sizes.records + told
        alike = judged * self._tokens("judge", self.sizes.shared) / self.sizes.records
        return RequestTokens(judged, judged * one, alike, alike)

    def _classify(self) -> RequestTokens:
        # Only about scenarios that the judge approved: one per seed at most.
        asked = min(self._dangers(), self._judged())
        one = self._tokens("classify", self.sizes.sent) / self.sizes.records + self._assume("described")
        alike = asked * self._tokens("classify", self.sizes.shared) / self.sizes.records
        return RequestTokens(asked, asked * one, alike, alike)

    def _judged(self) -> float:
        return self._dangers() * self._drafts() * self._share("author", "judged")

    def _extracted(self) -> float:
        """Return the tokens of a danger that author and judge are shown; nothing is extracted for scenarios."""
        return self._answer("extract") if self.config.kind == "task" else 0.0

    def _assume(self, name: str) -> float:
        return ASSUMED[name].figures.of(self.case)

    def _dangers(self) -> float:
        if self.config.kind != "task":
            return self.sizes.records  # Each record is a seed.
        return self.sizes.records * self._share("extract", "dangers")

    def _repairs(self, stage: Stage) -> float:
        known = self.known[stage].repairs
        return self._assume("repairs") if known is None else known * TIMES.of(self.case)

    def _drafts(self) -> float:
        known = self.known["author"].drafts
        # Whatever was measured, a record may need one draft or all of them.
        return known if known is not None and self.case == "expected" else self._assume("drafts")

    def _share(self, stage: Stage, name: str) -> float:
        known: float | None = getattr(self.known[stage], ASSUMED[name].attribute)
        return self._assume(name) if known is None else move_share(known, self.case, cheap=-1)

    def _tokens(self, stage: Stage, lengths: dict[Stage, int]) -> float:
        return lengths[stage] / bytes_per_token(self.known[stage], self.case)

    def _answer(self, stage: Stage) -> float:
        made = self.config.author_format if self.config.kind == "task" else "scenario"
        name = made if stage == "author" else stage
        return tokens_per_answer(self.known[stage], ASSUMED[name], self.case, self.sizes.limits.get(stage))


def _assumptions(config: RunConfig, sizes: PromptSizes, known: dict[Stage, ModelHistory]) -> Iterator[str]:
    """Yield every assumption, in one sentence each."""
    authors = {"python", "document", "scenario"}
    if config.kind == "task":
        unused = authors - {config.author_format} | {"classify"}
    else:
        unused = authors - {"scenario"} | {"dangers", "extract"}
    by_name: dict[str, ModelHistory] = {str(stage): found for stage, found in known.items()}
    for assumption in (assumption for name, assumption in ASSUMED.items() if name not in unused):
        yield assumption_in_words(assumption, by_name)
    for stage in stages_of(config):
        if (share := known[stage].cached_share) is not None:
            yield f"input of {stage} from the cache: {share:.1%}, as measured, whatever it begins with"
    if sizes.answered:
        yield f"{sizes.answered:,} extract requests are already answered in the store's ledger, and cost nothing"
    yield "answers of author and judge in the ledger are not deducted"
    yield "attempts without an answer cost nothing"
    if config.fallback_models:
        yield "every request is answered by the model of its stage, none by a fallback model"
