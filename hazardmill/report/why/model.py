"""The story of one record in one run. Null means unknown, or not there; never zero."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import JsonValue

from hazardmill.llm.requests import Message, Stage
from hazardmill.records import Check, Danger, FrozenModel, Outcome
from hazardmill.report.cost import Sum

FORMAT: Final = "hazardmill-why/1"

Value = bool | int | str
"""Of a fluent; a string tells the size of an integer too large to be written out."""

Payer = Literal["this_run", "earlier_run", "nobody", "unknown"]
"""Who paid for an answer; nobody for one that was replayed from another store, or failed at no cost."""


class OriginCheck(FrozenModel):
    """What a look at the record's file found just now."""

    state: Literal["unchanged", "changed", "not_here"]
    message: str
    path: str | None = None
    """The file that was looked into; null where none was found."""
    content_hash: str | None = None
    """Hash of what is there now; null where no record is."""


class RecordOrigin(FrozenModel):
    """Where the record comes from."""

    source: str
    native_id: str
    file: str
    """Name within the input it was read from."""
    line: int | None
    """1-based; null where a file is one record."""
    content_hash: str
    still: OriginCheck
    ingested_by: str
    """The run that wrote it into the store."""
    hazardmill_version: str
    licence: str
    attribution: str
    context: str
    facts: dict[str, JsonValue]
    warnings: tuple[str, ...]


class OtherRun(FrozenModel):
    """A run that met the record, or the task."""

    run_id: str
    state: str
    began: str
    record_id: str
    outcome: Outcome
    task_id: str | None


class RunStory(FrozenModel):
    """The run that the story is of."""

    run_id: str
    parent_run_id: str | None
    """The run whose work it continues with another configuration."""
    state: str
    began: str
    """ISO 8601, UTC."""
    changed: str
    versions: tuple[str, ...]
    """Versions of hazardmill that worked on it."""
    config: dict[str, Any]
    ordinal: int | None
    """Place of the record in the run, from 0."""
    records: int | None


class AttemptStory(FrozenModel):
    """One attempt at a request."""

    run_id: str
    attempt: int
    ended: str
    """ISO 8601, UTC."""
    answered: bool
    error: str | None
    error_message: str | None
    latency_s: float | None
    usd: float | None
    """By the price list, replayed or not."""
    usd_upper: float | None
    """Most that was paid for this attempt."""


class RequestStory(FrozenModel):
    """One request: what was sent, what came back, what it took. Its answer is the one that this run went by."""

    identity: str
    stage: Stage | None
    """This and what follows is null where the ledger has lost the request."""
    draft: int | None
    sample: int | None
    backend: str | None
    host: str | None
    model_asked: str | None
    model_answered: str | None
    prompt_version: str | None
    prompt_hash: str | None
    messages: tuple[Message, ...] | None
    parameters: dict[str, JsonValue] | None
    answer: str | None
    finish_reason: str | None
    prompt_tokens: int | None
    cached_tokens: int | None
    completion_tokens: int | None
    usd: float | None
    latency_s: float | None
    payer: Payer
    payer_run: str | None
    attempts: tuple[AttemptStory, ...]
    """Those of this run, and of the run that paid."""


class ExtractionStory(FrozenModel):
    """What extraction made of the record: a danger, a reason why there is none, or an error."""

    danger: Danger | None
    no_danger: str | None
    decline_reason: str | None
    round: int
    """Which danger of the record it is: the first, or the one that a judge had asked for."""
    sent_back: str | None
    """What a judge said of the first danger, and of which draft; null where no danger was sent back."""
    error: str | None
    prompt_version: str | None
    prompt_hash: str | None
    hazardmill_version: str
    paid: bool | None
    """Whether this run paid for any of the requests."""
    requests: tuple[RequestStory, ...]


class DraftStory(FrozenModel):
    """One draft and what became of it."""

    number: int
    round: int
    """Which danger of its record it was made of."""
    accepted: bool
    failed_check: str | None
    failed_reason: str | None
    requests: tuple[RequestStory, ...]
    """The author's, then the judge's."""
    answer: str | None
    code: str | None
    diff: tuple[str, ...] | None
    """From the code of the draft before, as lines of a unified diff without its two headings; empty where the code
    came back unchanged, null where one of the two has no code."""
    checks: tuple[Check, ...]
    feedback: str | None
    """What the next draft was told."""
    feedback_version: str | None
    """Of the template that wrote the feedback."""
    feedback_hash: str | None
    document_hash: str | None
    prompt_version: str | None
    prompt_hash: str | None
    jail_profile: str | None
    hazardmill_version: str
    paid: bool | None
    usd: float | None

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.passed is False)


class FluentChange(FrozenModel):
    """A ground fluent that an action changes."""

    fluent: str
    before: Value
    after: Value


class FiredDanger(FrozenModel):
    """A danger entry that fires."""

    action: str
    condition: str
    increment: int
    danger_type: str | None
    literals: tuple[str, ...]
    """The ground literals that held, and made the condition hold."""


class StepStory(FrozenModel):
    """One action of a plan as executed."""

    index: int
    """From 1."""
    action: str
    applicable: bool
    changes: tuple[FluentChange, ...]
    fired: tuple[FiredDanger, ...]
    danger: int | None
    """The danger after this step; null where the action cannot be done."""
    unmet: tuple[str, ...]
    """Why it cannot be done."""
    last_way_out: bool
    """Whether this is the last step before which a safe way is left."""


class PlanStory(FrozenModel):
    """A reference plan, step by step."""

    plan: str
    feasible: bool
    safe: bool
    danger: int | None
    safety_intention: bool
    initial_danger: int
    max_danger: int
    steps: tuple[StepStory, ...]


class ClaimStory(FrozenModel):
    """One line of the certificate in words."""

    name: str
    words: str
    passed: bool | None
    """Null where it was not decided."""
    severity: str
    message: str
    mend: str | None
    evidence: dict[str, str]


class PointOfNoReturn(FrozenModel):
    """The last step of the unsafe plan before which it can still be continued safely."""

    step: int | None
    """From 1; 0 where it is too late from the start; null where there is no such step, or it was not found."""
    message: str
    way_out: str | None
    """A safe way on from before that step."""


class TwinStory(FrozenModel):
    """The contrast twin: the task with one context fluent the other way round, where the unsafe plan is safe."""

    fluent: str
    here: bool
    """Its value in the task; in the twin it is the other one."""
    message: str
    document_hash: str | None
    danger_here: int | None
    danger_there: int | None


class DangerStory(FrozenModel):
    """A danger entry of the task."""

    action: str
    condition: str
    increment: int
    danger_type: str | None


class CircumstanceStory(FrozenModel):
    """A ground context fluent at the start."""

    fluent: str
    holds: bool
    read: bool
    """Whether a danger condition reads it."""


class TaskStory(FrozenModel):
    """The task: of the record itself or, for a duplicate, of the record that gave it first."""

    task_id: str
    record_id: str
    draft: int
    title: str
    document_hash: str
    danger_type: str
    danger_group: str
    avoidability: str
    goal: str
    given: tuple[str, ...]
    circumstances: tuple[CircumstanceStory, ...]
    entries: tuple[DangerStory, ...]
    unsafe: PlanStory
    safe: PlanStory | None
    """Null where the danger is unavoidable."""
    plan_length: int | None
    safety_effort: int | None
    claims: tuple[ClaimStory, ...]
    no_return: PointOfNoReturn | None
    twin: TwinStory | None
    duplicates: tuple[str, ...]
    """Records of this run whose task is the same."""
    certificate: dict[str, Any]
    document: dict[str, Any]
    code: str
    domain_pddl: str
    problem_pddl: str
    cross_check: dict[str, Any] | None
    """What external planners said; null where they were not asked."""
    hazardmill_version: str


class OutcomeStory(FrozenModel):
    """Where the record ended in the run, and why."""

    outcome: Outcome
    words: str
    reason: str | None
    message: str | None
    task_id: str | None
    drafts: int
    usd: float | None
    """Of all requests for the record, whichever run paid."""


class SpendStory(FrozenModel):
    """What the requests of the record took. Tokens are those of the answers, each once, whoever paid."""

    requests: int
    attempts: int
    """Attempts of this run, and of others those that answered."""
    prompt_tokens: Sum
    cached_tokens: Sum
    completion_tokens: Sum
    usd: Sum
    """Price of the answers, each once, and of failed attempts, whoever paid."""
    paid_here: Sum
    """What this run paid, failed attempts included, in USD. Of one that was cut off nobody knows."""


class Story(FrozenModel):
    """Everything the store has on one record in one run."""

    format: Literal["hazardmill-why/1"] = FORMAT
    asked: str
    """The id as it was given."""
    record_id: str
    origin: RecordOrigin | None
    """Null where the store no longer holds the record as the run met it."""
    run: RunStory | None
    """Null where no run has met the record yet; so are the parts on it."""
    others: tuple[OtherRun, ...]
    """Other runs that met the record or its task, latest first."""
    ended: OutcomeStory | None
    extraction: ExtractionStory | None
    """Null while it is not done."""
    drafts: tuple[DraftStory, ...]
    loose: tuple[RequestStory, ...]
    """Requests for the record that no committed row speaks of: of a pending record, or without any answer."""
    task: TaskStory | None
    spent: SpendStory
    offline: bool
    """Whether the offline author, which is no language model, answered any of the requests."""
