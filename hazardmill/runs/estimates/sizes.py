"""Sizes of what a run will ask, rendered as it would be sent, with nothing in place of answers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hazardmill.generation.author import author_schema
from hazardmill.generation.context import Prompts, stage_request
from hazardmill.llm.ledger import LedgerIndex
from hazardmill.llm.prices import max_tokens, prompt_bytes
from hazardmill.llm.requests import Request, Stage
from hazardmill.records import Record
from hazardmill.runs.backend import answering_backend
from hazardmill.runs.config import RunConfig
from hazardmill.runs.estimates.assumptions import SCENARIO_STAGES, STAGES
from hazardmill.runs.inputs import records_of
from hazardmill.store.store import Store


@dataclass
class PromptSizes:
    """Sizes of all requests together, as far as they can be rendered, in UTF-8 bytes."""

    records: int = 0
    answered: int = 0
    sent: Counter[Stage] = field(default_factory=Counter)
    """Excludes the answers that go into a prompt and, for extract, requests that are already answered."""
    shared: Counter[Stage] = field(default_factory=Counter)
    """The part of these that the previous request of the same source began with, too."""
    limits: dict[Stage, int | None] = field(default_factory=dict)
    """The most tokens of an answer; None for no limit."""


def measure_sizes(store: Store, config: RunConfig) -> PromptSizes:
    """Return the sizes of the first request of each stage about every record of a run, added up.

    Args:
        store: Holds the ledger that may know answers already, and the records of inputs without a path.
        config: The run.
    """
    sizes, seen = PromptSizes(), set[str]()
    prompts = Prompts.load(config.author_format, config.kind, config.source_names, config.prompts)
    ledger = LedgerIndex.read(store)
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
    answers: dict[str, Any] = {"feedback": None, "previous_draft": None, "task": ""}
    values: dict[Stage, dict[str, Any]]
    if config.kind == "task":
        answers["danger"] = {}
        schema = author_schema(config.author_format, structured=config.structured)
        values = {
            "extract": {"guidance": prompts.extract.guidance.get(record.source)},
            "author": {**answers, "response_format": schema},
            "judge": answers,
        }
    else:
        answers |= {"kind": config.kind, "base": config.base_domain or "", "earlier": ()}
        values = dict.fromkeys(SCENARIO_STAGES, answers)
    for stage in stages_of(config):
        prompt, model = getattr(prompts, stage), model_of(config, stage)
        yield stage_request(stage, prompt, record, model=model, sample=config.sample, **values[stage])


def model_of(config: RunConfig, stage: Stage) -> str:
    """Return the model that a stage of a run asks.

    Args:
        config: The run.
        stage: The stage.
    """
    return str(getattr(config.models, "judge" if stage == "classify" else stage))


def stages_of(config: RunConfig) -> tuple[Stage, ...]:
    """Return the stages of a run that ask, in order."""
    return STAGES if config.kind == "task" else SCENARIO_STAGES
