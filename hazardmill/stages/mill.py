"""What the stages share: the client, the prompts, the models asked, the jail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hazardmill.formalism.effort import DRAFT_LIMIT
from hazardmill.llm.client import Client
from hazardmill.llm.prompts import Prompt, load_prompt
from hazardmill.llm.requests import Answer, OfflineKey, Request, Stage
from hazardmill.records import Frozen, Record
from hazardmill.sandbox.jail import Jail


class Models(Frozen):
    """The model asked at each stage."""

    extract: str
    author: str
    judge: str


@dataclass(frozen=True)
class Prompts:
    """The templates of the stages."""

    extract: Prompt
    author: Prompt
    feedback: Prompt
    judge: Prompt

    @classmethod
    def load(cls) -> Prompts:
        """Load all templates from the prompts folder.

        Raises:
            PromptError: One of them is missing or wrong.
        """
        return cls(
            extract=load_prompt("extract", "danger"),
            author=load_prompt("author", "task"),
            feedback=load_prompt("author", "feedback"),
            judge=load_prompt("judge", "task"),
        )


@dataclass(frozen=True)
class Mill:
    """Everything a record needs to be worked on."""

    client: Client
    prompts: Prompts
    models: Models
    jail: Jail
    sample: int = 0
    search_limit: int = DRAFT_LIMIT

    def request(
        self, stage: Stage, prompt: Prompt, record: Record, *, draft: int | None = None, **values: object
    ) -> Request:
        """A request of one stage for one record, rendered from its template."""
        return Request(
            stage=stage,
            model=getattr(self.models, stage),
            messages=prompt.render(record=record, **values),
            parameters=dict(prompt.parameters),
            sample=self.sample,
            record_id=record.record_id,
            input_hash=record.content_hash,
            key=OfflineKey(record_hash=record.content_hash, stage=stage, draft=draft, sample=self.sample),
            prompt_version=prompt.version,
            prompt_hash=prompt.hash,
        )


@dataclass(frozen=True)
class Provenance:
    """The columns that say where a row comes from."""

    input_hash: str
    prompt: Prompt
    model_asked: str
    answers: tuple[Answer, ...]
    jail_profile: str | None = None

    def columns(self) -> dict[str, Any]:
        """The values of the provenance columns."""
        last = self.answers[-1] if self.answers else None
        return {
            "input_hash": self.input_hash,
            "prompt_version": self.prompt.version,
            "prompt_hash": self.prompt.hash,
            "model_asked": self.model_asked,
            "model_answered": last.model_answered if last else None,
            "backend": last.backend if last else None,
            "jail_profile": self.jail_profile,
        }


def total_usd(answers: tuple[Answer, ...]) -> float | None:
    """The cost of answers to what was asked; null if one is unknown, or if nothing was answered."""
    return added(*(answer.usd for answer in answers)) if answers else None


def added(*costs: float | None) -> float | None:
    """Costs together; null as soon as one is unknown."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
