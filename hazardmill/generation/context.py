"""What the stages share: client, prompts, models, jail and limits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from hazardmill.generation.execute import CHECKS, DraftCheck
from hazardmill.generation.models import Models
from hazardmill.generation.prompt_cache import Prefix, Warmup
from hazardmill.generation.watch import SilentWatch, Watch
from hazardmill.hazards.hazard_map import HazardMap
from hazardmill.llm.client import Client
from hazardmill.llm.prompts import PromptTemplate, load_guidance, load_prompt
from hazardmill.llm.requests import Answer, AnswerKey, Request, Stage
from hazardmill.records import ProductKind, Record, Round
from hazardmill.run_options import AuthorFormat, GenerationOptions
from hazardmill.sandbox.jail import Jail
from hazardmill.scenarios.draft import ProblemDraft
from hazardmill.scenarios.risk import Kind

_TEMPLATES: dict[AuthorFormat, str] = {"python": "task", "document": "document"}


@dataclass(frozen=True)
class Prompts:
    """The prompt templates of the stages.

    Attributes:
        extract: Asks for the danger in a record; includes the guidance of the sources.
        feedback: Renders what was found wrong with a draft, for the next one.
        judge: Asks for a judgement of a draft that passed every proof.
    """

    extract: PromptTemplate
    author: PromptTemplate
    """The template for the author's format."""
    feedback: PromptTemplate
    judge: PromptTemplate
    classify: PromptTemplate | None = None
    """Asks for the label of a scenario; None for tasks."""
    propose: PromptTemplate | None = None
    """Asks a role to propose tasks; None where there are no dialogues."""
    rewrite: PromptTemplate | None = None
    """Asks for a script that does harm; None likewise."""

    @classmethod
    def load(
        cls,
        author_format: AuthorFormat = "python",
        kind: ProductKind = "task",
        sources: Collection[str] = (),
        folder: Path | None = None,
    ) -> Prompts:
        """Return the templates of the prompts folder, with the sources' guidance on reading their records.

        Args:
            author_format: Which of the author's templates to load.
            kind: What the run makes; scenarios have templates of their own for author and judge, dialogues for turns.
            sources: The sources of the run, whose guidance is added if it comes from an installed package.
            folder: The prompts folder; by default the one of this installation.

        Raises:
            PromptError: A file is missing or invalid.
        """
        of_tasks = cls(
            extract=load_prompt("extract", "danger", folder).with_guidance(load_guidance(sources)),
            author=load_prompt("author", _TEMPLATES[author_format], folder),
            feedback=load_prompt("author", "feedback", folder),
            judge=load_prompt("judge", "task", folder),
        )
        if kind == "task":
            return of_tasks
        if kind == "hazard_task":
            return replace(
                of_tasks,
                author=load_prompt("acting", "turn", folder),
                propose=load_prompt("acting", "propose", folder),
                rewrite=load_prompt("pairs", "unsafe", folder),
            )
        return replace(
            of_tasks,
            author=load_prompt("scenario", kind, folder),
            judge=load_prompt("scenario", "judge", folder),
            classify=load_prompt("scenario", "classify", folder),
        )

    @property
    def author_format(self) -> AuthorFormat:
        """The format that the author's template asks for."""
        return "document" if self.author.front.output == "outline" else "python"


@dataclass(frozen=True)
class ScenarioSettings:
    """What the stages need besides to make scenarios.

    Attributes:
        kind: ``mal`` or ``sit``.
        base: The base domain.
        text: Its PDDL, as the author is shown it.
    """

    kind: Kind
    base: ProblemDraft = field(repr=False)
    text: str = field(repr=False)


@dataclass(frozen=True)
class ActingSettings:
    """What the stages need besides for dialogues that propose tasks.

    Attributes:
        base: The base domain.
        text: Its PDDL, as roles are shown it.
        hazards: The map that says what harm is.
        novelty: Rouge-L to an earlier task from which a task is not new.
    """

    base: ProblemDraft = field(repr=False)
    text: str = field(repr=False)
    hazards: HazardMap = field(repr=False)
    novelty: float


@dataclass(frozen=True)
class StageContext:
    """Everything that the stages need to work on a record.

    Attributes:
        sample: Number of the sample, from 0; part of every request's identity.
        options: How tasks are generated: the search limit and whether the author is sent a schema, for example.
        warmup: Lets one request through first to warm the provider's prompt cache.
    """

    client: Client
    prompts: Prompts
    models: Models
    jail: Jail
    sample: int = 0
    options: GenerationOptions = field(default_factory=GenerationOptions)
    checks: tuple[DraftCheck, ...] = field(default=CHECKS, compare=False)
    """The checks of a draft's code, in order: hazardmill's own, then those of packages that the run names."""
    warmup: Warmup = field(default_factory=Warmup, compare=False)
    fallbacks: tuple[str, ...] = ()
    """Models to try, in order, if a stage's model cannot answer."""
    scenarios: ScenarioSettings | None = None
    """Set where scenarios are made, instead of tasks."""
    acting: ActingSettings | None = None
    """Set where roles propose tasks in dialogues."""
    watch: Watch = field(default_factory=SilentWatch, compare=False)
    """Notified of each step of each record."""

    @property
    def author_format(self) -> AuthorFormat:
        """What the author answers with."""
        return self.prompts.author_format

    async def ask(self, request: Request) -> Answer:
        """Return the answer to a request.

        Of all requests with the same static beginning, the first is answered before others are sent.

        Raises:
            ProviderError: As raised by the client.
            RunStopped: The client is closed.
        """
        if self.client.defers or self.client.knows(request):
            # Nothing will be sent now, so it need not wait, and warms nothing.
            return await self.client.ask(request)
        async with self.warmup.turn(Prefix.of(request)) as turn:
            answer = await self.client.ask(request)
            # A rejected request was not computed, so it warms nothing.
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
        product: ProductKind = "task",
        response_format: JsonValue = None,
        **values: object,
    ) -> Request:
        """Render the request of one stage for one record.

        Args:
            stage: The stage that asks.
            prompt: The template.
            record: The record that it is about.
            round_: Round of the formalization.
            draft: Number of the draft; null if it is not about one.
            product: What is made of the record; part of the key of the answer.
            response_format: Schema that the provider should enforce; null for none.
            values: What the template shows besides the record.

        Returns:
            The request, with the stage's model and the fallbacks.
        """
        made = stage_request(
            stage,
            prompt,
            record,
            model=getattr(self.models, stage),
            sample=self.sample,
            round_=round_,
            draft=draft,
            product=product,
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
    product: ProductKind = "task",
    response_format: JsonValue = None,
    **values: object,
) -> Request:
    """Return the request that a run would send, without a run's client or jail; used for estimates, for example.

    Args:
        stage: The stage that asks.
        prompt: The template.
        record: The record that it is about.
        model: The model asked.
        sample: Number of the sample, from 0.
        round_: Round of the formalization.
        draft: Number of the draft; null if it is not about one.
        product: What is made of the record; part of the key of the answer.
        response_format: Schema that the provider should enforce; null for none.
        values: What the template shows besides the record.
    """
    return Request(
        stage=stage,
        model=model,
        messages=prompt.render(record=record, **values),
        parameters=prompt.parameters | ({"response_format": response_format} if response_format else {}),
        sample=sample,
        record_id=record.record_id,
        input_hash=record.content_hash,
        key=AnswerKey(
            record_hash=record.content_hash, stage=stage, round=round_, draft=draft, sample=sample, kind=product
        ),
        prompt_version=prompt.version,
        prompt_hash=prompt.hash,
    )


@dataclass(frozen=True)
class Provenance:
    """Where a row comes from: the input, the prompt, the models and the jail.

    Attributes:
        input_hash: Content hash of the record.
        prompt: The template that was rendered.
        model_asked: The stage's model.
        answers: The answers used; the last one names the model and backend that answered.
        jail_profile: Profile of the jail that ran the code; null if none ran.
    """

    input_hash: str
    prompt: PromptTemplate
    model_asked: str
    answers: tuple[Answer, ...]
    jail_profile: str | None = None

    def columns(self) -> dict[str, Any]:
        """Return the values of the provenance columns, by name."""
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
    """Return the total cost of some answers in US dollars; null if one cost is unknown, or if there are no answers."""
    return add_costs(*(answer.usd for answer in answers)) if answers else None


def add_costs(*costs: float | None) -> float | None:
    """Return the sum of some costs in US dollars; null if one of them is unknown."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
