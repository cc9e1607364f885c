"""Estimates what a run of dialogues will ask and cost, before anything is sent.

How many turns a dialogue has is known, and its prompts are rendered as they would be sent, with words of the assumed or
measured length in place of what is said. How often a script is rewritten is assumed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hazardmill.generation.acting.dialogue import Dialogue
from hazardmill.generation.context import Prompts, stage_request
from hazardmill.llm.charged_prices import charged_prices
from hazardmill.llm.prices import Prices, max_tokens, prompt_bytes
from hazardmill.llm.prompts import PromptTemplate
from hazardmill.llm.requests import Request
from hazardmill.records import Record
from hazardmill.runs.config import RunConfig
from hazardmill.runs.estimates.assumptions import ASSUMED, ASSUMED_OF_DIALOGUES, CASES, Case
from hazardmill.runs.estimates.estimate import CostEstimate
from hazardmill.runs.estimates.model_history import HISTORY_TABLES, ModelHistory, measure_history
from hazardmill.runs.estimates.spending import (
    Pricing,
    RequestTokens,
    Spending,
    assumption_in_words,
    bytes_per_token,
    cached_range,
    estimate_range,
    range_of,
    seconds_per_answer,
    sum_spending,
    tokens_per_answer,
)
from hazardmill.runs.estimates.ways import batch_assumptions, batch_hours, compare_ways, single_hours
from hazardmill.store.store import Store


def estimate_dialogues(
    store: Store, config: RunConfig, records: Sequence[Record], prices: Prices | None = None
) -> CostEstimate:
    """Return an estimate of what a run of dialogues will ask and cost.

    Args:
        store: Holds the ledger to measure from.
        config: The run.
        records: Its dialogues, one or more.
        prices: The known prices; by default those that come with hazardmill.

    Returns:
        The estimate. Its stages are ``turn`` (remarks), ``propose`` and, if scripts are rewritten, ``rewrite``.

    Raises:
        HazardmillError: As starting the run would raise it; a missing key does not matter.
    """
    config.check()
    prices = charged_prices(config, prices or Prices.load())
    dialogues = [(record, Dialogue.of(record)) for record in records]
    templates = _templates(config, rewrites=dialogues[0][1].rewrites)
    model = config.models.author
    known = store.query(
        lambda views: {
            name: measure_history(views, "author", model, template.hash) for name, template in templates.items()
        },
        HISTORY_TABLES,
    )
    guesses = [_Guess(config, dialogues, templates, known, case) for case in CASES]
    spent = [guess.spend(prices) for guess in guesses]
    totals = [sum_spending(case.values()) for case in spent]
    total = estimate_range(totals)
    # A recording or a replay is no provider.
    way = compare_ways(model, ("author",), total.usd, total.batch_usd, prices) if config.backend == "litellm" else None
    has_batches = way is not None and way.batches != "none"
    return CostEstimate(
        records=len(dialogues),
        answered=0,
        stages={name: estimate_range([case[name] for case in spent]) for name in templates},
        total=total,
        cached_share=cached_range(totals),
        unknown_prices=() if config.paid_before or model in prices else (model,),
        ways=() if way is None else (way,),
        hours=range_of([guess.hours(case) for guess, case in zip(guesses, spent, strict=True)])
        if way is not None
        else None,
        batch_rounds=range_of([guess.rounds() for guess in guesses]) if has_batches else None,
        batch_hours=range_of([guess.batch_hours() for guess in guesses]) if has_batches else None,
        assumptions=(*_assumptions(config, known), *(batch_assumptions() if has_batches else ())),
    )


def _templates(config: RunConfig, *, rewrites: bool) -> dict[str, PromptTemplate]:
    prompts = Prompts.load(config.author_format, config.kind, config.source_names, config.prompts)
    assert prompts.propose is not None and prompts.rewrite is not None, "they come with the kind"
    found = {"turn": prompts.author, "propose": prompts.propose}
    return {**found, "rewrite": prompts.rewrite} if rewrites else found


@dataclass
class _Guess:
    """Computes one of the three cases."""

    config: RunConfig
    dialogues: list[tuple[Record, Dialogue]]
    templates: dict[str, PromptTemplate]
    known: dict[str, ModelHistory]
    case: Case

    def spend(self, prices: Prices) -> dict[str, Spending]:
        """Return what each kind of turn takes."""
        pricing = Pricing(prices, self.config.models.author, self.case, self.config.paid_before)
        asked, limits = self._ask()
        return {
            name: pricing.spend(asked[name], self._answer(name, limits.get(name)), self.known[name].cached_share)
            for name in self.templates
        }

    def hours(self, spent: dict[str, Spending]) -> float:
        """Return the likely time of single requests; turns of one dialogue follow each other."""
        config = self.config
        return single_hours(
            sum(each.requests for each in spent.values()),
            sum(each.requests * seconds_per_answer(self.known[name], self.case) for name, each in spent.items()),
            sum(each.prompt + each.completion for each in spent.values()),
            concurrency=min(config.concurrency, len(self.dialogues)),
            rpm=config.requests_per_minute,
            tpm=config.tokens_per_minute,
        )

    def rounds(self) -> int:
        """Return the batches of the longest dialogue, one after the other."""
        return max(dialogue.turns + round(self._rewrites(dialogue)) for _, dialogue in self.dialogues)

    def batch_hours(self) -> float:
        """Return the likely time of all batches."""
        return batch_hours(self.rounds(), len(self.dialogues), self.config.wave_size, self.case)

    def _ask(self) -> tuple[dict[str, RequestTokens], dict[str, int | None]]:
        """Return what each kind of turn asks, and the most tokens of its answers."""
        asked = {name: RequestTokens(0, 0, 0, 0) for name in self.templates}
        limits: dict[str, int | None] = {}
        last: dict[str, str] = {}
        of_another: dict[int, str] = {}
        for record, dialogue in self.dialogues:
            for number, name, request in self._requests(record, dialogue):
                text = "".join(message.content for message in request.messages)
                sums, density = asked[name], bytes_per_token(self.known[name], self.case)
                sums.requests += 1
                sums.prompt += prompt_bytes(request) / density
                sums.alike += _alike(last.get(name, ""), text) / density
                sums.alike_in_batch += _alike(of_another.get(number, ""), text) / density
                limits[name] = max_tokens(request)
                last[name], of_another[number] = text, text
        if "rewrite" in asked:
            asked["rewrite"] = self._ask_to_rewrite(asked["propose"])
        return asked, limits

    def _ask_to_rewrite(self, proposing: RequestTokens) -> RequestTokens:
        # The task is shown in place of what was said; the domain, which comes first, is most of either prompt.
        number = sum(self._rewrites(dialogue) for _, dialogue in self.dialogues)
        alike = len((self.config.base_domain or "").encode()) / bytes_per_token(self.known["rewrite"], self.case)
        return RequestTokens(number, number * proposing.prompt / proposing.requests, number * alike, number * alike)

    def _requests(self, record: Record, dialogue: Dialogue) -> Iterator[tuple[int, str, Request]]:
        """Yield number, kind and request of each turn, with words of the right length in place of what was said."""
        said: list[tuple[str, str]] = []
        for number in range(1, dialogue.turns + 1):
            turn = dialogue.turn(number)
            name = "propose" if turn.round is None else "turn"
            yield (
                number,
                name,
                stage_request(
                    "author",
                    self.templates[name],
                    record,
                    model=self.config.models.author,
                    sample=self.config.sample,
                    draft=number,
                    product="hazard_task",
                    base=self.config.base_domain or "",
                    dialogue=dialogue,
                    turn=turn,
                    said=tuple(said),
                ),
            )
            shown = self._answer("turn", None) if name == "turn" else self._assume("proposed")
            said.append((turn.role.name, "x" * round(shown * bytes_per_token(self.known["turn"], self.case))))

    def _rewrites(self, dialogue: Dialogue) -> float:
        return len(dialogue.roles) * self._assume("rewrites") if dialogue.rewrites else 0.0

    def _answer(self, name: str, limit: int | None) -> float:
        return tokens_per_answer(self.known[name], ASSUMED_OF_DIALOGUES[name], self.case, limit)

    def _assume(self, name: str) -> float:
        return ASSUMED_OF_DIALOGUES[name].figures.of(self.case)


def _alike(before: str, text: str) -> int:
    """Return how many bytes two prompts begin with alike."""
    return len(os.path.commonprefix([before, text]).encode())  # noqa: RUF071  # of texts, not of paths


def _assumptions(config: RunConfig, known: dict[str, ModelHistory]) -> Iterator[str]:
    """Yield every assumption, in one sentence each."""
    rewriting = ("rewrite", "rewrites") if "rewrite" in known else ()
    for name in ("turn", "propose", "proposed", *rewriting):
        yield assumption_in_words(ASSUMED_OF_DIALOGUES[name], known)
    for name in ("density", "cached", "seconds"):
        of_any = ASSUMED[name].model_copy(update={"measured": tuple(known) if ASSUMED[name].attribute else ()})
        yield assumption_in_words(of_any, known)
    if "rewrite" in known:
        yield "a prompt for a rewritten script is as long as one for proposals"
    yield "answers in the ledger are not deducted, and a turn that cannot be read is not asked again"
    yield "attempts without an answer cost nothing"
    if config.fallback_models:
        yield "every request is answered by the model of its stage, none by a fallback model"
