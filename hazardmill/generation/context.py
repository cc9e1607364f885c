"""What the stages share: the client, the prompts, the models asked, the jail."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from hazardmill.generation.models import Models
from hazardmill.generation.prompt_cache import Prefix, Warmup
from hazardmill.generation.watch import SilentWatch, Watch
from hazardmill.llm.client import Client
from hazardmill.llm.prompts import PromptTemplate, load_guidance, load_prompt
from hazardmill.llm.requests import Answer, AnswerKey, Request, Stage
from hazardmill.records import Record, Round
from hazardmill.run_options import AuthorFormat, GenerationOptions
from hazardmill.sandbox.jail import Jail

_TEMPLATES: dict[AuthorFormat, str] = {"python": "task", "document": "document"}


@dataclass(frozen=True)
class Prompts:
    """The templates of the stages."""

    extract: PromptTemplate
    author: PromptTemplate
    """The one of the author's format."""
    feedback: PromptTemplate
    judge: PromptTemplate

    @classmethod
    def load(cls, author_format: AuthorFormat = "python") -> Prompts:
        """Load the templates from the prompts folder, and what the sources say of how to read their records.

        Raises:
            PromptError: One of them is missing or wrong.
        """
        return cls(
            extract=load_prompt("extract", "danger").with_guidance(load_guidance()),
            author=load_prompt("author", _TEMPLATES[author_format]),
            feedback=load_prompt("author", "feedback"),
            judge=load_prompt("judge", "task"),
        )

    @property
    def author_format(self) -> AuthorFormat:
        """What the author's template asks for."""
        return "document" if self.author.front.output == "outline" else "python"


@dataclass(frozen=True)
class StageContext:
    """Everything a record needs to be worked on."""

    client: Client
    prompts: Prompts
    models: Models
    jail: Jail
    sample: int = 0
    options: GenerationOptions = field(default_factory=GenerationOptions)
    warmup: Warmup = field(default_factory=Warmup, compare=False)
    fallbacks: tuple[str, ...] = ()
    """Models to ask, in order, where a stage's model cannot answer."""
    watch: Watch = field(default_factory=SilentWatch, compare=False)
    """Told of each step of each record."""

    @property
    def author_format(self) -> AuthorFormat:
        """What the author answers with."""
        return self.prompts.author_format

    async def ask(self, request: Request) -> Answer:
        """The answer to a request. Of those with one static beginning the first is answered before others are sent.

        Raises:
            ProviderError, RunStopped: As the client's.
        """
        if self.client.knows(request):
            # It need not wait, and warms nothing, for nothing is sent.
            return await self.client.ask(request)
        async with self.warmup.turn(Prefix.of(request)) as turn:
            answer = await self.client.ask(request)
            # A request that was turned away is not computed either.
            turn.warms = answer.usage.prompt_tokens != 0
            return answer

    def request(
        self,
        stage: Stage,
        prompt: PromptTemplate,
        record: Record,
        *,
        round_: Round = 1,
        draft: int | None = None,
        response_format: JsonValue = None,
        **values: object,
    ) -> Request:
        """A request of one stage for one record, rendered from its template.

        Args:
            stage: Who is asked.
            prompt: The template.
            record: Which record it is about.
            round_: Of its formalization.
            draft: Number of the draft, if it is about one.
            response_format: Schema that the provider is to hold the model to, if any.
            values: What the template shows besides the record.
        """
        made = stage_request(
            stage,
            prompt,
            record,
            model=getattr(self.models, stage),
            sample=self.sample,
            round_=round_,
            draft=draft,
            response_format=response_format,
            **values,
        )
        return made.model_copy(update={"fallbacks": self.fallbacks}) if self.fallbacks else made


def stage_request(
    stage: Stage,
    prompt: PromptTemplate,
    record: Record,
    *,
    model: str,
    sample: int = 0,
    round_: Round = 1,
    draft: int | None = None,
    response_format: JsonValue = None,
    **values: object,
) -> Request:
    """A request as a mill makes it, for whoever has no mill: what a run would ask, and how long it is."""
    return Request(
        stage=stage,
        model=model,
        messages=prompt.render(record=record, **values),
        parameters=prompt.parameters | ({"response_format": response_format} if response_format else {}),
        sample=sample,
        record_id=record.record_id,
        input_hash=record.content_hash,
        key=AnswerKey(record_hash=record.content_hash, stage=stage, round=round_, draft=draft, sample=sample),
        prompt_version=prompt.version,
        prompt_hash=prompt.hash,
    )


@dataclass(frozen=True)
class Provenance:
    """The columns that say where a row comes from."""

    input_hash: str
    prompt: PromptTemplate
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
    return add_costs(*(answer.usd for answer in answers)) if answers else None


def add_costs(*costs: float | None) -> float | None:
    """Costs together; null as soon as one is unknown."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
