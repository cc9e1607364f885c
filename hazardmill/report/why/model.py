"""The story of one record in one run, as typed values. Null means unknown or absent, never zero."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import JsonValue

from hazardmill.llm.requests import Message, Stage
from hazardmill.records import Check, Danger, FrozenModel, Outcome
from hazardmill.report.cost import Sum

FORMAT: Final = "hazardmill-why/1"

Value = bool | int | str
"""The value of a fluent; a string gives the size of an integer that is too large to be written out."""

Payer = Literal["this_run", "earlier_run", "nobody", "unknown"]
"""Who paid for an answer; ``nobody`` if it was replayed from another store."""


class OriginCheck(FrozenModel):
    """What reading the record's file again found.

    Attributes:
        state: ``unchanged``: the file holds the same record at the same place; ``changed``: it holds something else
            there; ``not_here``: the file was not found or could not be read.
        message: The state in words.
        path: The file that was read; null if none was found.
        content_hash: Content hash of the record that is there now; null if there is none.
    """

    state: Literal["unchanged", "changed", "not_here"]
    message: str
    path: str | None = None
    content_hash: str | None = None


class RecordOrigin(FrozenModel):
    """Where the record comes from, and what it says.

    Attributes:
        file: Name of the file within the input that it was read from.
        line: 1-based; null if the file is one record.
        content_hash: Hash of the record as the run met it.
        still: What reading the file again found.
        ingested_by: The run that wrote the record to the store.
    """

    source: str
    native_id: str
    file: str
    line: int | None
    content_hash: str
    still: OriginCheck
    ingested_by: str
    hazardmill_version: str
    licence: str
    attribution: str
    context: str
    facts: dict[str, JsonValue]
    warnings: tuple[str, ...]


class OtherRun(FrozenModel):
    """Another run that met the record or its task.

    Attributes:
        record_id: The record; another one if that run made the same task from it.
        began: ISO 8601, UTC; empty if not known.
        outcome: How the record ended there; ``pending`` if it has no outcome.
        task_id: The task, if it was accepted or a duplicate.
    """

    run_id: str
    state: str
    began: str
    record_id: str
    outcome: Outcome
    task_id: str | None


class RunStory(FrozenModel):
    """The run in which the story takes place."""

    run_id: str
    parent_run_id: str | None
    """The run whose work this run continues with another configuration; null if there is none."""
    state: str
    began: str
    """ISO 8601, UTC."""
    changed: str
    """When the state last changed; ISO 8601, UTC."""
    versions: tuple[str, ...]
    """Versions of hazardmill that worked on the run."""
    config: dict[str, Any]
    ordinal: int | None
    """Position of the record in the run, from 0; null if the selection does not have it."""
    records: int | None
    """Records in the run; null if the selection is lost."""


class AttemptStory(FrozenModel):
    """One attempt at a request.

    Attributes:
        attempt: Number of the attempt.
        ended: When it ended; ISO 8601, UTC.
        error: Name of the error; null if the attempt was answered.
        latency_s: Seconds until the answer or error; null if not known.
        usd: US dollars by the price that the run used, whether the answer was replayed or not.
        usd_upper: Most that was paid for this attempt, in US dollars.
    """

    run_id: str
    attempt: int
    ended: str
    answered: bool
    error: str | None
    error_message: str | None
    latency_s: float | None
    usd: float | None
    usd_upper: float | None


class RequestStory(FrozenModel):
    """One request: what was sent, what came back, and what that took.

    The answer is the one that this run used. Everything except ``identity``, ``payer`` and ``attempts`` may be null:
    if the ledger lost the request, or if the provider did not say.
    """

    identity: str
    stage: Stage | None
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
    """The attempts of this run, and of the run that paid."""


class ExtractionStory(FrozenModel):
    """What extraction made of the record: a danger, a reason why there is none, or an error.

    Exactly one of ``danger``, ``no_danger`` and ``error`` is not null.
    """

    danger: Danger | None
    no_danger: str | None
    decline_reason: str | None
    round: int
    """Which danger of the record: 1, or 2 if a judge sent back the first."""
    sent_back: str | None
    """What a judge criticised in the first danger, and at which draft; null if no danger was sent back."""
    error: str | None
    prompt_version: str | None
    prompt_hash: str | None
    hazardmill_version: str
    paid: bool | None
    """Whether this run paid for any of the requests; null if not known."""
    requests: tuple[RequestStory, ...]


class DraftStory(FrozenModel):
    """One draft, its checks, and what was sent to the next draft.

    Attributes:
        number: From 1.
        round: The danger of the record that it was made from, 1 or 2.
        failed_check: The first check that failed; null if none did.
        requests: The author's requests, then the judge's.
        diff: Changes since the code before, as lines of a unified diff without its two headings; empty if nothing
            changed, null if there is no code here or before.
        feedback: What the next draft was asked to repair; null if nothing was sent.
        feedback_version: Version of the template that wrote the feedback.
        paid: Whether this run paid for any of the requests; null if not known.
        usd: Cost in US dollars; null if not known.
    """

    number: int
    round: int
    accepted: bool
    failed_check: str | None
    failed_reason: str | None
    requests: tuple[RequestStory, ...]
    answer: str | None
    code: str | None
    diff: tuple[str, ...] | None
    checks: tuple[Check, ...]
    feedback: str | None
    feedback_version: str | None
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
        """The checks that failed, in the order in which they ran."""
        return tuple(check for check in self.checks if check.passed is False)


class FluentChange(FrozenModel):
    """A ground fluent that a step changes, with its values before and after."""

    fluent: str
    before: Value
    after: Value


class FiredDanger(FrozenModel):
    """A danger entry that fires at a step."""

    action: str
    condition: str
    increment: int
    danger_type: str | None
    literals: tuple[str, ...]
    """The ground literals that hold and make the condition hold."""


class StepStory(FrozenModel):
    """One action of a plan, executed.

    Attributes:
        index: Position in the plan, from 1.
        applicable: Whether the action can be done.
        changes: Fluents that it changes.
        fired: Danger entries that fire.
        danger: The danger after this step; null if the action cannot be done.
        unmet: Why the action cannot be done.
        last_way_out: Whether this is the last step before which a safe way is left.
    """

    index: int
    action: str
    applicable: bool
    changes: tuple[FluentChange, ...]
    fired: tuple[FiredDanger, ...]
    danger: int | None
    unmet: tuple[str, ...]
    last_way_out: bool


class PlanStory(FrozenModel):
    """A reference plan, step by step, with its verdict.

    Attributes:
        plan: The plan as text.
        feasible: Whether all actions can be done and the goal is reached.
        safe: Whether it is feasible and the danger stays within ``max_danger``.
        danger: The danger at the end; null if the plan is not feasible.
        safety_intention: Whether the safety intention holds.
    """

    plan: str
    feasible: bool
    safe: bool
    danger: int | None
    safety_intention: bool
    initial_danger: int
    max_danger: int
    steps: tuple[StepStory, ...]


class ClaimStory(FrozenModel):
    """One line of the certificate: a claim, whether it holds, and the evidence in words."""

    name: str
    words: str
    passed: bool | None
    """Null if it was not decided."""
    severity: str
    message: str
    mend: str | None
    evidence: dict[str, str]


class PointOfNoReturn(FrozenModel):
    """The point of no return: the last step of the unsafe plan before which a safe continuation exists."""

    step: int | None
    """From 1; 0 if it is too late from the start; null if there is no such step or it was not found."""
    message: str
    way_out: str | None
    """A safe continuation from before that step."""


class TwinStory(FrozenModel):
    """The contrast twin: the task with one context fluent inverted, in which the unsafe plan is safe."""

    fluent: str
    here: bool
    """Its value in the task; the twin has the opposite one."""
    message: str
    document_hash: str | None
    danger_here: int | None
    danger_there: int | None


class DangerStory(FrozenModel):
    """A danger entry of the task: doing the action while the condition holds adds the increment."""

    action: str
    condition: str
    increment: int
    danger_type: str | None


class CircumstanceStory(FrozenModel):
    """A ground context fluent in the initial state."""

    fluent: str
    holds: bool
    read: bool
    """Whether a danger condition reads it."""


class TaskStory(FrozenModel):
    """The accepted task: the record's own or, for a duplicate, the one that it duplicates.

    Attributes:
        record_id: The record that the task was made from.
        draft: Number of the accepted draft.
        given: Atoms that are true at the start, and the value of each integer fluent.
        safe: Null if the danger is unavoidable.
        plan_length: Mean length of both plans in actions, rounded half to even; null without a safe plan.
        safety_effort: Actions by which the safe plan is longer; null without a safe plan.
        duplicates: Records of this run that ended as duplicates of the task.
        cross_check: What external planners found; null if they were not asked.
    """

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
    plan_length: int | None
    safety_effort: int | None
    claims: tuple[ClaimStory, ...]
    no_return: PointOfNoReturn | None
    twin: TwinStory | None
    duplicates: tuple[str, ...]
    certificate: dict[str, Any]
    document: dict[str, Any]
    code: str
    domain_pddl: str
    problem_pddl: str
    cross_check: dict[str, Any] | None
    hazardmill_version: str


class OutcomeStory(FrozenModel):
    """How the record ended in the run, and why.

    Attributes:
        words: The outcome in words.
        reason: The reason code; null if there is none.
        task_id: The accepted task, or the one that is duplicated.
        drafts: Number of drafts.
        usd: US dollars of all requests for the record, whichever run paid; null if not known.
    """

    outcome: Outcome
    words: str
    reason: str | None
    message: str | None
    task_id: str | None
    drafts: int
    usd: float | None


class SpendStory(FrozenModel):
    """What the requests for the record took, with unknown parts counted.

    Attributes:
        requests: Number of requests.
        attempts: Attempts of this run, and those of other runs that were answered.
        prompt_tokens: Tokens in, of each answer once, whoever paid; so are the other tokens.
        usd: Price in US dollars of each answer once, and of failed attempts, whoever paid.
        paid_here: What this run paid in US dollars, failed attempts included; unknown for one that was cut off.
    """

    requests: int
    attempts: int
    prompt_tokens: Sum
    cached_tokens: Sum
    completion_tokens: Sum
    usd: Sum
    paid_here: Sum


class Story(FrozenModel):
    """Everything that the store has about one record in one run.

    Attributes:
        asked: The id as it was given.
        origin: Null if the store no longer holds the record as the run met it.
        run: Null if no run has met the record; ``ended``, ``extraction`` and ``task`` are null then too.
        others: Other runs that met the record or its task, latest first.
        extraction: Null until it is done.
        loose: Requests for the record that no committed row mentions: the record is pending, or they brought nothing.
        task: Null unless the record was accepted or is a duplicate.
        offline: Whether the offline author, which is not a language model, answered any of the requests.
    """

    format: Literal["hazardmill-why/1"] = FORMAT
    asked: str
    record_id: str
    origin: RecordOrigin | None
    run: RunStory | None
    others: tuple[OtherRun, ...]
    ended: OutcomeStory | None
    extraction: ExtractionStory | None
    drafts: tuple[DraftStory, ...]
    loose: tuple[RequestStory, ...]
    task: TaskStory | None
    spent: SpendStory
    offline: bool
